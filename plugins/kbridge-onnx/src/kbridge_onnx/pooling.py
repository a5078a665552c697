"""Pooling in ONNX, and its adjoints, axis by axis over the windows of ``conv.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kbridge.symbolic import dtypes
from kbridge.symbolic.conv_shapes import tuple_of
from kbridge_onnx.conv import Windows, _spread, close, last, windows_of
from kbridge_onnx.elementwise import wide_where
from kbridge_onnx.graph import as_value, cut, emit, moved, padded, primitive


@primitive
def pool2d(x: Any, size: Any, strides: Any, padding: str, layout: str, mode: str) -> Any:
    x = as_value(x)
    where = windows_of(x, tuple_of(size, x.ndim - 2, "pool_size"), strides, padding, layout)
    wide = last(x, layout)
    if wide.dtype == "float32" and 0 not in where.spatial:
        return close(_native(where, wide, mode), layout, x.dtype)
    if mode == "max":
        found = _slid(where, where.open(wide, -np.inf), "Max")
    else:
        total = _slid(where, where.open(wide), "Add")
        found = emit("Div", total, _occupancy(where, wide.dtype))
    return close(found, layout, x.dtype)


@primitive
def pool3d(*args: Any) -> Any:
    return pool2d(*args)


def _native(where: Windows, x: Any, mode: str) -> Any:
    """The runtime's own pooling, whose tensors are channels first."""
    n = len(where.sizes)
    starts, ends = zip(*where.pads, strict=True)
    found = emit(
        "MaxPool" if mode == "max" else "AveragePool",
        moved(x, [0, n + 1, *range(1, n + 1)]),
        kernel_shape=where.sizes,
        strides=where.strides,
        pads=[*starts, *ends],
    )
    return moved(found, [0, *range(2, n + 2), 1])


def _slid(where: Windows, x: Any, op: str) -> Any:
    """All elements of each window combined."""
    steps = zip(where.sizes, where.strides, where.counts, strict=True)
    for axis, (size, step, count) in enumerate(steps, 1):
        parts = [_along(x, axis, a, step, count) for a in range(size)]
        x = parts[0]
        for part in parts[1:]:
            x = emit(op, x, part)
    return x


def _along(x: Any, axis: int, start: int, step: int, count: int) -> Any:
    return cut(x, axis, start, start + max((count - 1) * step + 1, 0), step)


def _occupancy(where: Windows, dtype: str) -> Any:
    """How many elements of each window are not padding, (windows..., 1)."""
    result = np.ones(1)
    steps = zip(where.spatial, where.sizes, where.strides, where.counts, where.pads, strict=True)
    for size, width, step, count, (start, _) in reversed(list(steps)):
        begin = np.arange(count) * step - start
        inside = np.minimum(begin + width, size) - np.maximum(begin, 0)
        result = np.multiply.outer(inside, result)
    return result.astype(dtypes.to_numpy(dtype))


def _placed(where: Windows, g: Any, at: Any) -> Any:
    """``g``, spread out by the strides, where its windows have the position ``at``."""
    pairs = [
        (a, size - a - ((count - 1) * step + 1))
        for a, size, count, step in zip(at, where.padded, where.counts, where.strides, strict=True)
    ]
    return padded(g, [(0, 0), *pairs, (0, 0)])


def _wide_apart(where: Windows, g: Any) -> Any:
    for axis, (step, count) in enumerate(zip(where.strides, where.counts, strict=True), 1):
        g = _spread(g, axis, step, count)
    return g


@primitive
def pool_adjoint(
    g: Any, x: Any, pool_size: Any, strides: Any, padding: str, data_format: str, pool_mode: str
) -> Any:
    x = as_value(x)
    where = windows_of(x, pool_size, strides, padding, data_format)
    wide = last(g, data_format)
    result: Any = None
    if pool_mode == "avg":
        even = _wide_apart(where, emit("Div", wide, _occupancy(where, wide.dtype)))
        parts = (_placed(where, even, at) for at, _ in where.positions())
    else:
        parts = (
            _placed(where, _wide_apart(where, wide_where(hit, wide, 0.0)), at)
            for at, _, hit in _first_maxima(where, last(x, data_format))
        )
    for part in parts:
        result = part if result is None else emit("Add", result, part)
    return close(where.inside(result), data_format, g.dtype)


@primitive
def pool_pick(
    values: Any, x: Any, pool_size: Any, strides: Any, padding: str, data_format: str
) -> Any:
    x = as_value(x)
    where = windows_of(x, pool_size, strides, padding, data_format)
    opened = where.open(last(values, data_format))
    result: Any = None
    for _, take, hit in _first_maxima(where, last(x, data_format)):
        part = wide_where(hit, take(opened), 0.0)
        result = part if result is None else emit("Add", result, part)
    return close(result, data_format, values.dtype)


def _first_maxima(where: Windows, x: Any) -> Iterator[tuple[Any, Any, Any]]:
    """For each position in the window: what takes its elements, and where these come first."""
    opened = where.open(x, -np.inf)
    largest = _slid(where, opened, "Max")
    inside = np.zeros((1, *where.padded, 1), bool)
    sizes = zip(where.pads, where.spatial, strict=True)
    place: Any = (0, *(slice(before, before + size) for (before, _), size in sizes))
    inside[place] = True
    free: Any = None
    for at, take in where.positions():
        hit = emit("And", emit("Equal", take(opened), largest), take(inside))
        if free is not None:
            hit = emit("And", hit, free)
        rest = emit("Not", hit)
        free = rest if free is None else emit("And", free, rest)
        yield at, take, hit
