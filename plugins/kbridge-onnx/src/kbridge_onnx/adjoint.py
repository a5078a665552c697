"""Adjoints: what gradients need beyond the K functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic import dtypes
from kbridge_onnx import reduction, shaping
from kbridge_onnx.control import running
from kbridge_onnx.conv import _prepared, close, input_adjoint, last, repeated, windows_of
from kbridge_onnx.graph import (
    as_value,
    dims,
    emit,
    expanded,
    known,
    moved,
    numbered,
    primitive,
    product,
    reshaped,
    to,
    wider,
)

# --- shapes --------------------------------------------------------------------------------------


@primitive
def broadcast_like(x: Any, like: Any) -> Any:
    x = as_value(x)
    return x if x.shape == like.shape and None not in x.shape else expanded(x, dims(like))


@primitive
def sum_like(x: Any, like: Any) -> Any:
    x = as_value(x)
    if None not in (*x.shape, *like.shape):
        if x.shape == like.shape:
            return x
        extra = x.ndim - like.ndim
        ones = (a + extra for a, n in enumerate(like.shape) if n == 1 != x.shape[a + extra])
        return reshaped(reduction.sum(x, (*range(extra), *ones)), list(like.shape))
    sizes = emit("Shape", like)
    aligned = emit("Concat", np.ones(x.ndim - like.ndim, np.int64), sizes, axis=0)
    differ = emit("Not", emit("Equal", aligned, emit("Shape", x)))
    axes = emit("Reshape", emit("NonZero", differ), [-1])
    kept = emit(
        "ReduceSum", wider(x), axes, shape=(None,) * x.ndim, noop_with_empty_axes=1, keepdims=1
    )
    return to(emit("Reshape", kept, sizes, shape=like.shape, allowzero=1), x.dtype)


@primitive
def reshape_like(x: Any, like: Any) -> Any:
    return reshaped(as_value(x), dims(as_value(like)))


# --- parts and repeats ---------------------------------------------------------------------------


def _scattered(g: Any, x: Any, places: Any) -> Any:
    """Zeros like ``x``, with ``g`` added where the elements are whose numbers are ``places``."""
    g, x = as_value(g), as_value(x)
    rows, values = (reshaped(v, [product(dims(v))]) for v in (as_value(places), wider(g)))
    zeros = expanded(np.zeros(1, dtypes.to_numpy(values.dtype)), [product(dims(x))])
    found = emit("ScatterElements", zeros, rows, values, axis=0, reduction="add")
    return to(reshaped(found, dims(x)), g.dtype)


def _numbers(x: Any) -> Any:
    """The number of each element of ``x``, in its shape."""
    return numbered(dims(as_value(x)))


@primitive
def getitem_adjoint(g: Any, x: Any, key: Any) -> Any:
    return _scattered(g, x, shaping.getitem(_numbers(x), key))


@primitive
def slice_adjoint(g: Any, x: Any, start: Any, size: Any) -> Any:
    return _scattered(g, x, shaping.slice(_numbers(x), start, size))


@primitive
def gather_adjoint(g: Any, reference: Any, indices: Any) -> Any:
    return _scattered(g, reference, shaping.gather(_numbers(reference), as_value(indices)))


@primitive
def repeat_elements_adjoint(g: Any, x: Any, rep: Any, axis: int) -> Any:
    sizes, at = dims(as_value(x)), axis % x.ndim
    rep = rep if isinstance(rep, int) else shaping._size(rep)
    return reduction.sum(reshaped(as_value(g), [*sizes[: at + 1], rep, *sizes[at + 1 :]]), at + 1)


@primitive
def tile_adjoint(g: Any, x: Any, n: Any) -> Any:
    times = [shaping._size(part) for part in shaping._listed(n)]
    sizes = dims(as_value(x))
    rank = max(len(sizes), len(times))
    times = [1] * (rank - len(times)) + times
    wider = [1] * (rank - len(sizes)) + sizes
    pairs = [size for pair in zip(times, wider, strict=True) for size in pair]
    total = reduction.sum(reshaped(as_value(g), pairs), tuple(range(0, 2 * rank, 2)))
    return reshaped(total, sizes)


# --- along an axis -------------------------------------------------------------------------------


@primitive
def recurrence(a: Any, b: Any, axis: int) -> Any:
    a, b = as_value(a), as_value(b)

    def step(before: Any, now: Any) -> Any:
        return emit("Add", emit("Mul", now[1], before), now[0])

    return to(running(step, [wider(b), wider(a)], axis, 0), b.dtype)


# --- windows -------------------------------------------------------------------------------------


@primitive
def conv_input_adjoint(
    g: Any, x: Any, kernel: Any, strides: Any, padding: str, layout: str, gaps: Any, depthwise: bool
) -> Any:
    g, weights = _prepared(g, kernel)
    where = windows_of(x, weights.shape[:-2], strides, padding, layout, gaps)
    return close(input_adjoint(where, last(g, layout), weights, depthwise), layout, g.dtype)


@primitive
def conv_kernel_adjoint(
    g: Any, x: Any, kernel: Any, strides: Any, padding: str, layout: str, gaps: Any, depthwise: bool
) -> Any:
    shape = known(kernel)
    where = windows_of(x, shape[:-2], strides, padding, layout, gaps)
    opened, wide = where.open(last(x, layout)), last(g, layout)
    if depthwise:
        opened = repeated(opened, shape[-1])
        axes = list(range(opened.ndim - 1))
        parts = [
            reduction.sum(emit("Mul", take(opened), wide), axes) for _, take in where.positions()
        ]
    else:
        rows = _rows(wide)
        parts = [
            emit("MatMul", moved(_rows(take(opened)), [1, 0]), rows)
            for _, take in where.positions()
        ]
    stacked = emit("Concat", *(emit("Unsqueeze", p, [0]) for p in parts), axis=0)
    return to(reshaped(stacked, list(shape)), g.dtype)


def _rows(x: Any) -> Any:
    """``x`` as a matrix with all axes but the last in one."""
    *lead, size = dims(x)
    return reshaped(x, [product(lead), size])
