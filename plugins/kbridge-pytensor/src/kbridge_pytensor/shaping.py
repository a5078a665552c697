"""Shapes, and picking and arranging elements."""

from __future__ import annotations

import builtins
import functools
import operator
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant

from kbridge.errors import IndexRangeError, ShapeError
from kbridge_pytensor.creation import dims, filled, sizes_of
from kbridge_pytensor.engine import contract, engine, numpy_dtype, plain_getitem
from kbridge_pytensor.host import Host


@contract
def reshape(x: Any, shape: Any) -> Any:
    shape = [_number(size) for size in dims(shape)]
    numbers = [size for size in shape if isinstance(size, int)]
    if -1 in numbers and (0 in numbers or len(numbers) < len(shape)):
        rest = _rest(x, [size for size in shape if not isinstance(size, int) or size != -1])
        shape = [rest if isinstance(size, int) and size == -1 else size for size in shape]
    return pt.reshape(x, tuple(shape) or pt.constant([], dtype="int64"), ndim=len(shape))


def _number(size: Any) -> Any:
    known = engine.known_sizes(size) if engine.is_native(size) else size
    return size if known is None else int(known)


def _rest(x: Any, sizes: list[Any]) -> Any:
    """What -1 stands for beside ``sizes``: with a 0 among them the sizes that are not 0 tell."""
    beside = pt.stack([pt.as_tensor(size, dtype="int64") for size in sizes])
    parts = pt.prod(pt.maximum(x.shape, 1)) // pt.prod(pt.maximum(beside, 1))
    rest = pt.switch(pt.any(pt.eq(beside, 0)), parts, -1)
    return _number(rest)


@contract
def flatten(x: Any) -> Any:
    return pt.reshape(x, (pt.prod(x.shape) if x.ndim else 1,))


@contract
def batch_flatten(x: Any) -> Any:
    samples, *rest = sizes_of(x)
    return pt.reshape(x, (samples, functools.reduce(operator.mul, rest, 1)))


@contract
def permute_dimensions(x: Any, pattern: Any) -> Any:
    return pt.transpose(x, [axis % x.ndim for axis in pattern])


@contract
def expand_dims(x: Any, axis: int = -1) -> Any:
    return pt.expand_dims(x, axis)


@contract
def squeeze(x: Any, axis: int) -> Any:
    axis %= x.ndim
    return x[(slice_(None),) * axis + (0,)] if x.type.shape[axis] is None else pt.squeeze(x, axis)


slice_ = builtins.slice


@contract
def concatenate(tensors: Any, axis: int = -1) -> Any:
    return pt.concatenate(tensors, axis=axis % tensors[0].ndim)


@contract
def stack(x: Any, axis: int = 0) -> Any:
    return pt.stack(x, axis=axis)


@contract
def repeat_elements(x: Any, rep: Any, axis: int) -> Any:
    axis %= x.ndim
    copies = pt.expand_dims(x, axis + 1)
    sizes = [x.shape[i] for i in range(x.ndim)]
    copies = pt.broadcast_to(copies, (*sizes[: axis + 1], rep, *sizes[axis + 1 :]))
    return pt.reshape(copies, (*sizes[:axis], sizes[axis] * rep, *sizes[axis + 1 :]))


@contract
def repeat(x: Any, n: Any) -> Any:
    return pt.broadcast_to(pt.expand_dims(x, 1), (x.shape[0], n, x.shape[1]))


@contract
def tile(x: Any, n: Any) -> Any:
    counts = dims(n)
    return pt.tile(x, (*(1,) * (x.ndim - len(counts)), *counts))


@contract
def reverse(x: Any, axes: Any) -> Any:
    turned = {a % x.ndim for a in (axes if isinstance(axes, tuple) else (axes,))}
    return x[tuple(slice_(None, None, -1 if i in turned else None) for i in range(x.ndim))]


@contract
def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
    for axis, (before, after) in enumerate(pairs):
        rows = [_rows(x, axis, before, value), x, _rows(x, axis, after, value)]
        x = pt.concatenate([row for row in rows if row is not None], axis=axis)
    return x


def _rows(x: Any, axis: int, count: Any, value: float) -> Any:
    """So many rows of ``value`` along ``axis``."""
    if isinstance(count, int) and count == 0:
        return None
    # Not ``alloc``, which infers its sizes anew whenever a graph is copied, and takes its time.
    row = filled(pt.sum(x, axis=axis, keepdims=True), value, x.type.dtype)
    return pt.take(row, pt.zeros_like(pt.arange(count)), axis=axis)


@contract
def gather(reference: Any, indices: Any) -> Any:
    def checked(indices: Any, rows: Any) -> Any:
        wrong = indices[(indices < 0) | (indices >= rows)]
        if wrong.size:
            raise IndexRangeError(
                f"K.gather: the index {wrong.flat[0]} is outside the valid range [0, {rows}) of "
                f"the reference."
            )
        return indices

    rows = reference.type.shape[0]
    if (
        isinstance(indices, Constant)
        and rows
        and np.all((indices.data >= 0) & (indices.data < rows))
    ):
        return plain_getitem(reference, indices)
    whole = pt.cast(indices, "int64")
    inside = Host(checked, "int64", indices.type.shape)(whole, reference.shape[0])
    return plain_getitem(reference, inside)


@contract
def one_hot(indices: Any, num_classes: Any, dtype: str | None = None) -> Any:
    classes = pt.arange(num_classes, dtype="int64")
    rows = pt.eq(pt.expand_dims(indices, -1), classes)
    return pt.cast(rows, numpy_dtype(dtype))  # type: ignore[arg-type]


@contract
def slice(x: Any, start: Any, size: Any) -> Any:
    starts, counts = dims(start), dims(size)
    parts = []
    for axis, (begin, count) in enumerate(zip(starts, counts, strict=True)):
        if engine.is_native(count):
            known = engine.known_sizes(count)
            count = count if known is None else known
        if isinstance(count, int) and count == -1:
            parts.append(slice_(begin, None))
            continue
        if not all(isinstance(n, int) for n in (begin, count)) or x.type.shape[axis] is None:
            begin = _inside(begin, count, x.shape[axis], axis)
        end = begin + count
        if engine.is_native(count):
            end = pt.switch(pt.eq(count, -1), x.shape[axis], end)
        parts.append(slice_(begin, end))
    return x[tuple(parts)]


def _inside(begin: Any, count: Any, whole: Any, axis: int) -> Any:
    def checked(begin: Any, count: Any, whole: Any) -> Any:
        if begin < 0 or begin + max(count, 0) > whole:
            raise ShapeError(
                f"K.slice: the part from {begin} of size {count} reaches past axis {axis}, which "
                f"has {whole} elements."
            )
        return begin

    return Host(checked, "int64", ())(
        *(pt.as_tensor(n, dtype="int64") for n in (begin, count)), whole
    )


@contract
def getitem(x: Any, key: Any) -> Any:
    return plain_getitem(x, key)
