"""Shapes and picking on NumPy."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from kbridge import config
from kbridge.errors import ArgumentError, IndexRangeError, ShapeError
from kbridge.symbolic.dtypes import to_numpy
from kbridge.symbolic.host import host_ints
from kbridge.symbolic.shapes import empty_reshape

reverse = np.flip
tile = np.tile
stack = np.stack


def shape(x: Any) -> Any:
    return host_ints(x.shape)


def size(x: Any, name: str | None = None) -> Any:
    return host_ints(x.size)


def reshape(x: Any, shape: Any) -> Any:
    try:
        return x.reshape(shape)
    except ValueError:
        if x.size or 0 not in shape or -1 not in shape:
            raise
        return x.reshape(empty_reshape(x.shape, shape))


def concatenate(tensors: Any, axis: int = -1) -> Any:
    if axis is None:  # which NumPy takes as an order to flatten
        raise TypeError(axis)
    return np.concatenate(tensors, axis)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    return x.transpose(tuple(pattern))


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    return x.repeat(rep, axis)


def repeat(x: Any, n: int) -> Any:
    samples, size = x.shape  # or it is no matrix
    return x.reshape(samples, 1, size).repeat(n, 1)


def flatten(x: Any) -> Any:
    return x.reshape(-1)


def batch_flatten(x: Any) -> Any:
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


def expand_dims(x: Any, axis: int = -1) -> Any:
    sizes, rank = x.shape, x.ndim + 1
    if not -rank <= axis < rank:
        raise IndexError(axis)
    axis %= rank
    return x.reshape((*sizes[:axis], 1, *sizes[axis:]))


def squeeze(x: Any, axis: int) -> Any:
    if axis is None:  # which NumPy takes for all axes of size 1
        raise TypeError(axis)
    return x.squeeze(axis)


def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
    sizes = zip(x.shape, pairs, strict=True)
    result = np.full([size + before + after for size, (before, after) in sizes], value, x.dtype)
    sizes = zip(x.shape, pairs, strict=True)
    result[tuple(builtins.slice(before, before + size) for size, (before, _) in sizes)] = x
    return result


def gather(reference: Any, indices: Any) -> Any:
    if indices.dtype.kind not in "iu":
        indices = indices.astype(np.int64)
    if indices.size and np.minimum.reduce(indices, None) < 0:
        raise _outside(reference, indices)
    try:
        return reference.take(indices, 0)
    except IndexError:
        raise _outside(reference, indices) from None


def _outside(reference: Any, indices: Any) -> IndexRangeError:
    rows = reference.shape[0]
    wrong = indices[(indices < 0) | (indices >= rows)].flat[0]
    return IndexRangeError(
        f"K.gather: the index {wrong} is outside the valid range [0, {rows}) of a reference of "
        f"shape {reference.shape}."
    )


def one_hot(indices: Any, num_classes: int, dtype: str | None = None) -> Any:
    if num_classes < 0:
        raise ArgumentError(f"K.one_hot: num_classes must be at least 0, got {num_classes}.")
    rows = np.asarray(indices)[..., None] == np.arange(num_classes)
    return rows.astype(to_numpy(dtype or config.floatx()))


def slice(x: Any, start: Any, size: Any) -> Any:
    parts = list(zip(np.atleast_1d(start).tolist(), np.atleast_1d(size).tolist(), strict=True))
    for axis, ((begin, count), whole) in enumerate(zip(parts, x.shape, strict=True)):
        if begin < 0 or begin + builtins.max(count, 0) > whole:
            raise ShapeError(
                f"K.slice: the part from {begin} of size {count} reaches past axis {axis} of "
                f"{x.shape}, which has {whole} elements."
            )
    return x[tuple(builtins.slice(b, None if n == -1 else b + n) for b, n in parts)]


def getitem(x: Any, key: Any) -> Any:
    return x[plain_key(key)]


def plain_key(key: Any) -> tuple[Any, ...]:
    """A subscript with sizes on the host as ints, which index as such and not as arrays."""
    return tuple(_plain(part) for part in key)


def _plain(part: Any) -> Any:
    if isinstance(part, builtins.slice):
        return builtins.slice(*(_plain(p) for p in (part.start, part.stop, part.step)))
    return int(part) if isinstance(part, np.ndarray) and part.ndim == 0 else part
