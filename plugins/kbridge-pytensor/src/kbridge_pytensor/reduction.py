"""Reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad
from pytensor.raise_op import CheckAndRaise

from kbridge.errors import ShapeError
from kbridge.symbolic.dtypes import accumulate
from kbridge_pytensor.elementwise import is_float, truth
from kbridge_pytensor.engine import contract
from kbridge_pytensor.host import weighted


def axes_of(x: Any, axis: Any) -> Any:
    """The axes, counted from the front; PyTensor takes () for all of them."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(a % x.ndim for a in axes)


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction over no axis leaves its operand."""

    def reduce(x: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        axes = axes_of(x, axis)
        return function(x, axis=axes, keepdims=keepdims, **options) if axes else x

    return reduce


_sum, _prod = _reduced(pt.sum), _reduced(pt.prod)
_any, _all = _reduced(pt.any), _reduced(pt.all)


@contract
def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dtype = accumulate(x.type.dtype)
    return _sum(pt.cast(x, dtype), axis, keepdims, dtype=dtype)


@contract
def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dtype = accumulate(x.type.dtype)
    return _prod(pt.cast(x, dtype), axis, keepdims, dtype=dtype)


@contract
def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _any(truth(x), axis, keepdims)


@contract
def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _all(truth(x), axis, keepdims)


def count(x: Any, axes: Any) -> Any:
    """How many elements are reduced to one."""
    total = pt.constant(1, dtype="int64")
    for axis in axes:
        total = total * x.shape[axis]
    return pt.cast(total, "float64" if x.type.dtype == "float64" else "float32")


def wide(x: Any) -> Any:
    """16-bit floats are added up in 32 bits."""
    return pt.cast(x, "float32") if x.type.dtype == "float16" else x


@contract
def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = wide(x)
    return _sum(x, axis, keepdims, dtype=x.type.dtype) / count(x, axes_of(x, axis))


@contract
def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = wide(x)
    return mean(pt.sqr(x - mean(x, axis, True)), axis, keepdims)


@contract
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    axes, x = axes_of(x, axis), wide(x)
    if not axes:
        return x
    # One more element of no weight, so that there is a largest one also of none.
    top = largest_or(x, axes, float("-inf"))
    top = pt.switch(pt.isinf(top), pt.zeros_like(top), top)
    total = pt.log(pt.sum(pt.exp(x - top), axis=axes, keepdims=True, dtype=x.type.dtype)) + top
    return total if keepdims else pt.squeeze(total, axes)


def largest_or(x: Any, axes: Any, value: float) -> Any:
    """The largest elements, axes kept and out of the derivative; ``value`` where there is none."""
    for axis in axes:
        row = pt.full_like(pt.sum(x, axis=axis, keepdims=True), value, dtype=x.type.dtype)
        x = pt.max(pt.concatenate([x, row], axis=axis), axis=axis, keepdims=True)
    return disconnected_grad(x)


_some = CheckAndRaise(
    ShapeError,
    "K.max, K.min: a reduced axis is empty, and no elements have no largest or smallest one.",
)


def _extreme(x: Any, axis: Any, keepdims: bool, function: Any) -> Any:
    """Equal largest elements share the derivative, of which PyTensor gives all to each."""
    axes = axes_of(x, axis)
    if not axes:
        return x
    if x.type.dtype == "bool":
        x = pt.cast(x, "int8")
    open_axes = [axis for axis in axes if x.type.shape[axis] is None]
    if open_axes:  # compiled code finds infinity where there is nothing
        x = _some(x, *(pt.gt(x.shape[axis], 0) for axis in open_axes))
    if is_float(x):
        hit = pt.cast(pt.eq(x, function(x, axis=axes, keepdims=True)), x.type.dtype)
        x = weighted(x, hit / pt.sum(hit, axis=axes, keepdims=True, dtype=hit.type.dtype))
    return function(x, axis=axes, keepdims=keepdims)


@contract
def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(x, axis, keepdims, pt.max)


@contract
def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if is_float(x) or x.type.dtype == "bool":
        return _extreme(x, axis, keepdims, pt.min)
    # PyTensor negates, and of the least integer there is no negative.
    return pt.invert(_extreme(pt.invert(x), axis, keepdims, pt.max))


def _place(x: Any, axis: Any, function: Any) -> Any:
    x = pt.cast(x, "int8") if x.type.dtype == "bool" else x
    return function(pt.flatten(x) if axis is None else x, 0 if axis is None else axis % x.ndim)


@contract
def argmax(x: Any, axis: Any = -1) -> Any:
    return _place(x, axis, pt.argmax)


@contract
def argmin(x: Any, axis: Any = -1) -> Any:
    if is_float(x) or x.type.dtype == "bool":
        return _place(x, axis, pt.argmin)
    return _place(pt.invert(x), axis, pt.argmax)


def _running(x: Any, axis: int, function: Any) -> Any:
    """PyTensor promises the operand's dtype, and gives NumPy's wider one."""
    dtype = accumulate(x.type.dtype)
    return function(wide(pt.cast(x, "int64" if "int" in dtype else dtype)), axis % x.ndim)


@contract
def cumsum(x: Any, axis: int = 0) -> Any:
    return _running(x, axis, pt.cumsum)


@contract
def cumprod(x: Any, axis: int = 0) -> Any:
    return _running(x, axis, pt.cumprod)
