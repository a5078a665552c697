"""Adjoints: what gradients need beyond the K functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kbridge.backends.numpy import shaping
from kbridge.backends.numpy.conv import Windows, input_adjoint, repeated, rows_of, strided
from kbridge.backends.numpy.elementwise import kept
from kbridge.backends.numpy.pooling import slid
from kbridge.backends.numpy.reduction import sum as _sum

# --- shapes --------------------------------------------------------------------------------------


def broadcast_like(x: Any, like: Any) -> Any:
    return np.broadcast_to(x, like.shape)


def sum_like(x: Any, like: Any) -> Any:
    shape = like.shape
    if x.shape == shape:
        return x
    extra = x.ndim - len(shape)
    ones = (a + extra for a, size in enumerate(shape) if size == 1 != x.shape[a + extra])
    return _sum(x, (*range(extra), *ones)).reshape(shape)


def reshape_like(x: Any, like: Any) -> Any:
    return x.reshape(like.shape)


# --- parts and repeats ---------------------------------------------------------------------------


def getitem_adjoint(g: Any, x: Any, key: Any) -> Any:
    result = np.zeros(x.shape, g.dtype)
    plain = shaping.plain_key(key)
    if any(isinstance(part, np.ndarray) for part in plain):
        np.add.at(result, plain, g)  # the same element may be picked twice
    else:
        result[plain] = g
    return result


def slice_adjoint(g: Any, x: Any, start: Any, size: Any) -> Any:
    result = np.zeros(x.shape, g.dtype)
    shaping.slice(result, start, size)[...] = g
    return result


def gather_adjoint(g: Any, reference: Any, indices: Any) -> Any:
    result = np.zeros(reference.shape, g.dtype)
    np.add.at(result, np.asarray(indices).astype(np.int64, copy=False), g)
    return result


def repeat_elements_adjoint(g: Any, x: Any, rep: int, axis: int) -> Any:
    axis = axis % x.ndim
    return _sum(g.reshape(*x.shape[: axis + 1], int(rep), *x.shape[axis + 1 :]), axis + 1)


def tile_adjoint(g: Any, x: Any, n: Any) -> Any:
    times = np.atleast_1d(n).tolist()
    rank = max(x.ndim, len(times))
    times = [1] * (rank - len(times)) + times
    sizes = (1,) * (rank - x.ndim) + x.shape
    pairs = [size for pair in zip(times, sizes, strict=True) for size in pair]
    return _sum(g.reshape(pairs), tuple(range(0, 2 * rank, 2))).reshape(x.shape)


# --- along an axis -------------------------------------------------------------------------------


def recurrence(a: Any, b: Any, axis: int) -> Any:
    result = np.array(b)
    steps, factors = np.moveaxis(result, axis, 0), np.moveaxis(a, axis, 0)
    for t in range(1, len(steps)):
        steps[t] += factors[t] * steps[t - 1]
    return result


# --- windows -------------------------------------------------------------------------------------


def conv_input_adjoint(
    g: Any,
    x: Any,
    kernel: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilation_rate: Any,
    depthwise: bool = False,
) -> Any:
    where = Windows(x, kernel.shape[:-2], strides, padding, data_format, dilation_rate)
    return input_adjoint(where, g, kernel, depthwise)


def conv_kernel_adjoint(
    g: Any,
    x: Any,
    kernel: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilation_rate: Any,
    depthwise: bool = False,
) -> Any:
    where = Windows(x, kernel.shape[:-2], strides, padding, data_format, dilation_rate)
    if 0 in where.counts:
        return np.zeros(kernel.shape, g.dtype)
    opened, wide = where.open(x), where.channels_last(g)
    if depthwise:
        opened, term = repeated(opened, kernel.shape[-1]), np.empty_like(wide)
        result = np.empty((*where.sizes, wide.shape[-1]), wide.dtype)
        for at, index in where.positions():
            np.multiply(opened[index], wide, out=term)
            result[at] = _sum(rows_of(term), 0)
    else:
        columns, rows = where.columns(opened)
        result = np.dot(columns.T if rows else columns, rows_of(wide))
    return result.reshape(kernel.shape).astype(g.dtype, copy=False)


def pool_adjoint(
    g: Any, x: Any, pool_size: Any, strides: Any, padding: str, data_format: str, pool_mode: str
) -> Any:
    where = Windows(x, pool_size, strides, padding, data_format)
    wide = where.channels_last(g)
    if pool_mode == "avg":
        result = _spread(where, wide / where.occupancy())
    else:
        result = np.zeros((len(x), *where.padded, wide.shape[-1]), wide.dtype)
        for index, hit in _first_maxima(where, x):
            result[index] += kept(hit, wide)
    return where.close(result[where.inside()], g.dtype)


def pool_pick(
    values: Any, x: Any, pool_size: Any, strides: Any, padding: str, data_format: str
) -> Any:
    where = Windows(x, pool_size, strides, padding, data_format)
    wide = where.open(values)
    result = np.zeros((len(x), *where.counts, wide.shape[-1]), wide.dtype)
    for index, hit in _first_maxima(where, x):
        np.copyto(result, wide[index], where=hit)
    return where.close(result, values.dtype)


def _spread(where: Windows, g: Any) -> Any:
    """Each element added to all of its window: the adjoint of a sum, axis by axis."""
    axes = list(
        enumerate(zip(where.sizes, where.strides, where.counts, where.padded, strict=True), 1)
    )
    for axis, (size, step, count, padded) in reversed(axes):
        result = np.zeros((*g.shape[:axis], padded, *g.shape[axis + 1 :]), g.dtype)
        for a in range(size):
            result[(slice(None),) * axis + (strided(a, step, count),)] += g
        g = result
    return g


def _first_maxima(where: Windows, x: Any) -> Iterator[tuple[Any, Any]]:
    """For each position in the window: its elements, and where it is the first maximum."""
    opened = where.open(x, -np.inf)
    largest = slid(where, opened, np.maximum)
    inside = np.zeros((1, *where.padded, 1), bool)
    inside[where.inside()] = True
    free = np.ones(largest.shape, bool)
    for _, index in where.positions():
        hit = opened[index] == largest
        hit &= free
        hit &= inside[index]
        free ^= hit
        yield index, hit
