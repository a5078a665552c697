"""Shapes and picking in ONNX."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from kbridge import config
from kbridge.errors import ArgumentError, ShapeError
from kbridge.symbolic import dtypes
from kbridge.symbolic.host import host_ints
from kbridge.symbolic.shapes import empty_reshape, normalize_axes, normalize_axis
from kbridge_onnx import graph
from kbridge_onnx.elementwise import wide_where
from kbridge_onnx.graph import (
    Unsized,
    Value,
    as_value,
    cut,
    dims,
    emit,
    expanded,
    moved,
    numbered,
    primitive,
    product,
    reshaped,
    static,
    to,
    traced,
    vector,
    wide,
    wider,
)

_FAR = np.iinfo(np.int64)


@primitive
def shape(x: Any) -> Any:
    return to(emit("Shape", x), "int32") if None in x.shape else host_ints(x.shape)


@primitive
def size(x: Any, name: str | None = None) -> Any:
    return to(emit("Size", x), "int32") if None in x.shape else host_ints(np.prod(x.shape))


@primitive
def reshape(x: Any, shape: Any) -> Any:
    x, sizes = as_value(x), [_size(n) for n in _listed(shape)]
    if -1 not in sizes and (0 in sizes or not traced(sizes)):
        return reshaped(x, sizes)
    if None not in x.shape and not traced(sizes):
        return reshaped(x, _filled(x.shape, sizes))
    if 0 in sizes:
        raise Unsized("what an empty tensor becomes")
    # A size that only the run tells may be -1 as well.
    known = tuple(None if size == -1 else size for size in static(sizes))
    return emit("Reshape", x, vector(sizes), shape=known)


def _filled(shape: Any, sizes: Any) -> Any:
    """Sizes with the number that stands for -1."""
    if 0 in sizes and not math.prod(shape):
        return empty_reshape(shape, sizes)
    others = -math.prod(sizes)
    if others < 1 or math.prod(shape) % others:
        raise ShapeError(f"K.reshape: {tuple(shape)} cannot be reshaped to {tuple(sizes)}.")
    return [math.prod(shape) // others if s == -1 else s for s in sizes]


def _entries(sizes: Any) -> list[Any]:
    """A vector of sizes as scalars."""
    if not sizes.ndim:
        return [sizes]
    if None in sizes.shape:
        raise Unsized("the rank")
    return [emit("Gather", sizes, i) for i in range(sizes.shape[0])]


@primitive
def concatenate(tensors: Any, axis: int = -1) -> Any:
    return emit("Concat", *tensors, axis=int(axis))


@primitive
def stack(x: Any, axis: int = 0) -> Any:
    x = [as_value(t) for t in x]
    at = normalize_axis(axis, x[0].ndim + 1)
    return emit("Concat", *(emit("Unsqueeze", t, [at]) for t in x), axis=at)


@primitive
def permute_dimensions(x: Any, pattern: Any) -> Any:
    return moved(x, pattern)


@primitive
def repeat_elements(x: Any, rep: Any, axis: int) -> Any:
    x = as_value(x)
    at = axis % x.ndim
    sizes = dims(x)
    rep = _size(rep)
    runs = emit("Unsqueeze", x, [at + 1])
    runs = expanded(runs, [*sizes[: at + 1], rep, *sizes[at + 1 :]])
    return reshaped(runs, [*sizes[:at], product([sizes[at], rep]), *sizes[at + 1 :]])


def _listed(sizes: Any) -> list[Any]:
    """Sizes, given as a list, a vector or one number, one by one."""
    if isinstance(sizes, Value):
        return _entries(sizes)
    return list(sizes) if isinstance(sizes, (list, tuple)) else np.atleast_1d(sizes).tolist()


def _size(n: Any) -> Any:
    """A size as an int or an int64 scalar."""
    return reshaped(to(n, "int64"), []) if isinstance(n, Value) else int(n)


@primitive
def repeat(x: Any, n: Any) -> Any:
    x = as_value(x)
    samples, width = dims(x)
    return expanded(emit("Unsqueeze", x, [1]), [samples, _size(n), width])


@primitive
def tile(x: Any, n: Any) -> Any:
    x = as_value(x)
    times = [_size(part) for part in _listed(n)]
    if len(times) < x.ndim:
        times = [1] * (x.ndim - len(times)) + times
    sizes = [1] * (len(times) - x.ndim) + dims(x)
    x = reshaped(x, sizes)
    shape = tuple(
        s * t if isinstance(s, int) and isinstance(t, int) else None
        for s, t in zip(sizes, times, strict=True)
    )
    return emit("Tile", x, vector(times), shape=shape)


@primitive
def flatten(x: Any) -> Any:
    return reshaped(x, [product(dims(x))])


@primitive
def batch_flatten(x: Any) -> Any:
    first, *rest = dims(x)
    return reshaped(x, [first, product(rest)])


@primitive
def expand_dims(x: Any, axis: int = -1) -> Any:
    return emit("Unsqueeze", x, [int(axis)])


@primitive
def squeeze(x: Any, axis: Any) -> Any:
    axes = normalize_axes(axis, x.ndim)
    return emit("Squeeze", x, axes) if axes else x


@primitive
def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
    return graph.padded(x, pairs, value)


@primitive
def gather(reference: Any, indices: Any) -> Any:
    """A negative index is moved out of the range, for the runtime to refuse it."""
    indices = to(indices, "int64")
    rows = dims(as_value(reference))[0]
    below = emit("Less", indices, 0)
    return emit("Gather", reference, wide_where(below, wide("Sub", indices, rows), indices), axis=0)


@primitive
def one_hot(indices: Any, num_classes: Any, dtype: str | None = None) -> Any:
    count = _size(num_classes)
    if isinstance(count, int) and count < 0:
        raise ArgumentError(f"K.one_hot: num_classes must be at least 0, got {num_classes}.")
    indices = as_value(indices)
    used = wider(indices) if dtypes.is_float(indices.dtype) else to(indices, "int64")
    classes = np.arange(count) if isinstance(count, int) else numbered([count])
    hit = emit("Equal", emit("Unsqueeze", used, [-1]), to(classes, used.dtype))
    return to(hit, dtype or config.floatx())


@primitive
def reverse(x: Any, axes: Any) -> Any:
    axes = normalize_axes(axes, x.ndim)
    if not axes:
        return x
    back, ends = [-1] * len(axes), [_FAR.min] * len(axes)
    return emit("Slice", x, back, ends, axes, back, shape=x.shape)


@primitive
def slice(x: Any, start: Any, size: Any) -> Any:
    x = as_value(x)
    starts, counts = ([_size(n) for n in _listed(part)] for part in (start, size))
    for axis, (begin, count) in enumerate(zip(starts, counts, strict=True)):
        whole = x.shape[axis]
        if whole is None or traced((begin, count)):
            x = _block(x, axis, begin, count)
            continue
        count = whole - begin if count == -1 else count
        if begin < 0 or begin + count > whole:
            raise ShapeError(
                f"K.slice: the part from {begin} of size {count} reaches past axis {axis} of "
                f"{x.shape}, which has {whole} elements."
            )
        x = x if count == whole else cut(x, axis, begin, begin + count)
    return x


def _block(x: Any, axis: int, begin: Any, count: Any) -> Any:
    """The part of an axis; the reshape fails in the run where it reaches past the end."""
    if not isinstance(count, int) or count == -1:
        rest = emit("Sub", dims(x)[axis], begin)
        count = (
            rest if isinstance(count, int) else emit("Where", emit("Less", count, 0), rest, count)
        )
    kept = cut(x, axis, begin, emit("Add", begin, count))
    return reshaped(kept, [*dims(kept)[:axis], count, *dims(kept)[axis + 1 :]])


@primitive
def getitem(x: Any, key: Any) -> Any:
    """Slices first, then what picks, from the last axis on; new axes at the end."""
    x = as_value(x)
    used = builtins.sum(p is not None and p is not Ellipsis for p in key)
    entries: list[Any] = []
    for part in key:
        entries += [builtins.slice(None)] * (x.ndim - used) if part is Ellipsis else [part]
    plain = [p for p in entries if p is not None]
    for axis, part in enumerate(plain):
        if isinstance(part, builtins.slice) and part != builtins.slice(None):
            x = _sliced(x, axis, part)
    for axis, part in reversed(list(enumerate(plain))):
        if not isinstance(part, builtins.slice):
            index = to(part, "int64") if isinstance(part, Value) else np.asarray(part, np.int64)
            x = emit("Gather", x, index, axis=axis)
    # Where each entry stands in the result: an index of rank n brings as many axes.
    ranks = [1 if p is None or isinstance(p, builtins.slice) else np.ndim(p) for p in entries]
    places = [builtins.sum(ranks[:i]) for i, p in enumerate(entries) if p is None]
    return emit("Unsqueeze", x, places) if places else x


def _sliced(x: Any, axis: int, part: Any) -> Any:
    size = x.shape[axis]
    if size is not None and not traced(part):
        start, stop, step = builtins.slice(
            *(None if p is None else int(p) for p in (part.start, part.stop, part.step))
        ).indices(size)
        stop = _FAR.min if stop < 0 else stop
        return cut(x, axis, start, stop, step)
    if isinstance(part.step, Value):
        raise Unsized("the step of a slice")
    step = 1 if part.step is None else int(part.step)
    start = (0 if step > 0 else -1) if part.start is None else _size(part.start)
    stop = (_FAR.max if step > 0 else _FAR.min) if part.stop is None else _size(part.stop)
    return cut(x, axis, start, stop, step)
