"""Shapes and picking on JAX."""

from __future__ import annotations

import builtins
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge import config
from kbridge.backends.jax import checks
from kbridge.backends.jax.staging import Tracer, guarded, in_width, sizes
from kbridge.errors import UnsupportedError
from kbridge.symbolic import dtypes, index_shapes, shapes
from kbridge.symbolic.host import host_ints

# Where JAX takes what the contract refuses, the contract's rule is asked: as each program is
# compiled once per shape, that costs nothing later.


def shape(x: Any) -> Any:
    return host_ints(x.shape)


def size(x: Any, name: str | None = None) -> Any:
    return host_ints(x.size)


_reshape = guarded("shape")(jnp.reshape)
_tile = guarded("reps")(jnp.tile)


def reshape(x: Any, shape: Any) -> Any:
    shape = sizes(shape, "reshape")
    if not x.size and isinstance(shape, tuple) and 0 in shape and -1 in shape:
        shape = shapes.empty_reshape(x.shape, shape)
    return _reshape(x, shape)


def tile(x: Any, n: Any) -> Any:
    return _tile(x, sizes(n, "tile"))


@guarded("axis")
def concatenate(tensors: Any, axis: int = -1) -> Any:
    shapes.concatenate([tensor.shape for tensor in tensors], axis)
    return jnp.concatenate(tensors, axis)


@guarded("axis")
def stack(x: Any, axis: int = 0) -> Any:
    shapes.stack([tensor.shape for tensor in x], axis)
    return jnp.stack(x, axis)


@guarded("axis")
def expand_dims(x: Any, axis: int = -1) -> Any:
    return jnp.reshape(x, shapes.expand_dims(x.shape, axis))


@guarded("pattern")
def _permute(x: Any, pattern: Any) -> Any:
    shapes.permute(x.shape, pattern)
    return jnp.transpose(x, pattern)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    return _permute(x, sizes(pattern, "permute_dimensions"))


@guarded("axis")
def squeeze(x: Any, axis: int) -> Any:
    shapes.squeeze(x.shape, axis)
    return jnp.squeeze(x, axis)


@guarded("rep", "axis")
def _repeat_elements(x: Any, rep: int, axis: int) -> Any:
    shapes.repeat_elements(x.shape, rep, axis)
    return jnp.repeat(x, rep, axis)


def repeat_elements(x: Any, rep: Any, axis: int) -> Any:
    return _repeat_elements(x, sizes(rep, "repeat_elements"), axis)


@guarded("n")
def _repeat(x: Any, n: int) -> Any:
    return jnp.broadcast_to(x[:, None], shapes.repeat(x.shape, n))


def repeat(x: Any, n: Any) -> Any:
    return _repeat(x, sizes(n, "repeat"))


def flatten(x: Any) -> Any:
    return _reshape(x, (-1,))


def batch_flatten(x: Any) -> Any:
    return _reshape(x, shapes.batch_flatten(x.shape))


@guarded("pairs")
def _pad(x: Any, pairs: Any, value: Any) -> Any:
    filling = jnp.asarray(value, x.dtype)
    return lax.pad(x, filling, [(before, after, 0) for before, after in pairs])


def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
    return _pad(x, sizes(pairs, "pad"), value)


@guarded("axes")
def _reverse(x: Any, axes: Any) -> Any:
    return lax.rev(x, shapes.normalize_axes(axes, x.ndim))


def reverse(x: Any, axes: Any) -> Any:
    return _reverse(x, sizes(axes, "reverse"))


# --- picking -----------------------------------------------------------------------------------


_INDEX = frozenset({np.dtype(np.int32), np.dtype(np.int64)})


def _as_index(indices: Any) -> Any:
    """Indices in a dtype that can hold every size."""
    if indices.dtype in _INDEX:
        return indices
    return lax.convert_element_type(indices, np.int32)


def _outside_rows(index: int, *shape: int) -> str:
    return (
        f"K.gather: the index {index} is outside the valid range [0, {shape[0]}) of a reference "
        f"of shape {shape}."
    )


@guarded("checked")
def _rows(reference: Any, indices: Any, checked: bool) -> Any:
    if checked:
        return reference.at[indices].get(mode="promise_in_bounds")
    # JAX counts a negative index from the end; here it is outside, and gives nan (or the like).
    indices = jnp.where(indices < 0, reference.shape[0], indices)
    return reference.at[indices].get(mode="fill")


def gather(reference: Any, indices: Any) -> Any:
    indices = _as_index(indices)
    shape = reference.shape
    return _rows(reference, indices, checks.inside(indices, 0, shape[0], _outside_rows, *shape))


@guarded("num_classes", "dtype")
def _one_hot(indices: Any, num_classes: int, dtype: Any) -> Any:
    index_shapes.one_hot(indices.shape, num_classes)
    return (indices[..., None] == jnp.arange(num_classes, dtype=np.int32)).astype(dtype)


def one_hot(indices: Any, num_classes: int, dtype: str | None = None) -> Any:
    dtype, classes = dtype or config.floatx(), sizes(num_classes, "one_hot")
    return in_width(dtype, _one_hot, indices, classes, dtypes.to_numpy(dtype))


@guarded("start", "size")
def _slice(x: Any, start: Any, size: Any) -> Any:
    lengths = index_shapes.slice_(x.shape, start, size)
    return lax.slice(x, start, [begin + n for begin, n in zip(start, lengths, strict=True)])


def _outside_slice(index: int, axis: int, length: int, *shape: int) -> str:
    return (
        f"K.slice: the part from {index} of size {length} reaches past axis {axis} of {shape}, "
        f"which has {shape[axis]} elements."
    )


def slice(x: Any, start: Any, size: Any) -> Any:
    length = _flat(sizes(size, "slice"))
    traced = isinstance(start, Tracer) or (
        isinstance(start, (tuple, list)) and builtins.any(isinstance(n, Tracer) for n in start)
    )
    if not traced:
        return _slice(x, _flat(sizes(start, "slice")), length)
    if -1 in length:
        raise UnsupportedError(
            "K.slice: a size of -1 from a start that depends on data: the result's size is not "
            "known while JAX compiles. Give the size"
        )
    index_shapes.slice_(x.shape, start, length)
    begins = [start[axis] for axis in range(x.ndim)]
    for axis, (begin, n) in enumerate(zip(begins, length, strict=True)):
        end = x.shape[axis] - n + 1
        checks.inside(jnp.asarray(begin), 0, end, _outside_slice, axis, n, *x.shape)
    return lax.dynamic_slice(x, begins, length)


def _flat(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value,)


def _outside_axis(index: int, axis: int, *shape: int) -> str:
    return (
        f"K.getitem: index {index} is out of range for axis {axis} of {shape}, which has "
        f"{shape[axis]} elements."
    )


def getitem(x: Any, key: Any) -> Any:
    key = tuple([_part(part) for part in key])
    index_shapes.getitem(x.shape, key)  # JAX would clamp an index that is out of range
    axis, checked = 0, True
    for part in key:
        if part is Ellipsis:
            axis += x.ndim - builtins.sum(p is not None and p is not Ellipsis for p in key)
        elif part is not None:
            if hasattr(part, "dtype"):
                size = x.shape[axis]
                inside = checks.inside(part, -size, size, _outside_axis, axis, *x.shape)
                checked = checked and inside
            axis += 1
    return x[key] if checked else x.at[key].get(mode="fill")


def _part(part: Any) -> Any:
    """Sizes on the host as plain integers."""
    if isinstance(part, builtins.slice):
        bounds = (part.start, part.stop, part.step)
        return builtins.slice(*[sizes(bound, "getitem") for bound in bounds])
    if isinstance(part, np.ndarray) and part.ndim == 0:
        return int(part)
    return _as_index(part) if hasattr(part, "dtype") else part
