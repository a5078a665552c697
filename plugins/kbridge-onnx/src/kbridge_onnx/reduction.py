"""Reductions in ONNX: 16-bit floats are added up in 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.errors import ShapeError
from kbridge.symbolic import dtypes
from kbridge.symbolic.shapes import normalize_axes
from kbridge_onnx import graph
from kbridge_onnx.control import running
from kbridge_onnx.elementwise import wide_where
from kbridge_onnx.graph import dims, emit, primitive, to, truth, wider


def reduced(op: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduction along the axes, in a dtype in which the runtime adds up."""
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        return x
    return to(emit(op, wider(x), axes, keepdims=int(keepdims)), x.dtype)


def _counted(x: Any) -> Any:
    return to(x, "int32") if x.dtype == "bool" else x


@primitive
def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _largest("ReduceMax", x, axis, keepdims)


@primitive
def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _largest("ReduceMin", x, axis, keepdims)


def _largest(op: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """An extreme, with the nan among the elements that the runtime passes over."""
    for at in normalize_axes(axis, x.ndim):
        if x.shape[at] == 0:
            raise ShapeError(
                f"K.{op[6:].lower()}: axis {at} is empty, and no elements have no largest or "
                f"smallest one."
            )
    found = reduced(op, x, axis, keepdims)
    if not dtypes.is_float(x.dtype):
        return found
    missing = reduced("ReduceMax", to(emit("IsNaN", wider(x)), "float32"), axis, keepdims)
    return wide_where(truth(missing), np.nan, found)


@primitive
def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return truth(reduced("ReduceSum", to(truth(x), "int32"), axis, keepdims))


@primitive
def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    missing = to(emit("Not", truth(x)), "int32")
    return emit("Not", truth(reduced("ReduceSum", missing, axis, keepdims)))


@primitive
def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced("ReduceSum", _counted(x), axis, keepdims)


@primitive
def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduced("ReduceProd", _counted(x), axis, keepdims)


@primitive
def cumsum(x: Any, axis: int = 0) -> Any:
    x = _counted(x)
    return to(emit("CumSum", wider(x), axis), x.dtype)


@primitive
def cumprod(x: Any, axis: int = 0) -> Any:
    x = _counted(x)
    found = running(lambda before, now: emit("Mul", before, now[0]), [wider(x)], axis, 1)
    return to(found, x.dtype)


@primitive
def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """A sum and a quotient: ONNX's own mean of nothing is an error."""
    sizes = dims(x)
    count = graph.product(sizes[a] for a in normalize_axes(axis, x.ndim))
    total = reduced("ReduceSum", wider(x), axis, keepdims)
    return to(emit("Div", total, to(count, total.dtype)), x.dtype)


@primitive
def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    used = wider(x)
    far = emit("Sub", used, mean(used, axis, True))
    return to(mean(emit("Mul", far, far), axis, keepdims), x.dtype)


@primitive
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        return x
    used = wider(x)
    dtype = dtypes.to_numpy(used.dtype)
    top = reduced("ReduceMax", _nonempty(used, axes), axes, True)
    finite = emit("Less", emit("Abs", top), np.asarray(np.inf, dtype))
    top = wide_where(finite, top, 0.0)
    total = reduced("ReduceSum", emit("Exp", emit("Sub", used, top)), axes, True)
    found = emit("Add", emit("Log", total), top)
    if not keepdims:
        found = emit("Squeeze", found, axes)
    return to(found, x.dtype)


def _nonempty(x: Any, axes: Any) -> Any:
    """``x`` with an element of minus infinity more on each axis, for the maximum of nothing."""
    if 0 not in (x.shape[a] for a in axes):
        return x
    pairs = [(0, 1 if axis in axes else 0) for axis in range(x.ndim)]
    return graph.padded(x, pairs, -np.inf)


def _extreme(op: str, x: Any, axis: int) -> Any:
    return emit(op, wider(x), axis=int(axis), keepdims=0)


@primitive
def argmax(x: Any, axis: int = -1) -> Any:
    return _extreme("ArgMax", x, axis)


@primitive
def argmin(x: Any, axis: int = -1) -> Any:
    return _extreme("ArgMin", x, axis)
