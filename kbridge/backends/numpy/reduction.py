"""Reductions on NumPy: 16-bit floats are added up in 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

argmax = np.argmax
argmin = np.argmin

# The ufuncs' own methods: np.sum and the like spend a microsecond before they come to these.
_largest: Any = np.maximum.reduce
_smallest: Any = np.minimum.reduce
_either: Any = np.logical_or.reduce
_both: Any = np.logical_and.reduce
_total: Any = np.add.reduce
_product: Any = np.multiply.reduce

_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _largest(x, axis, None, None, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _smallest(x, axis, None, None, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _either(x, axis, None, None, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _both(x, axis, None, None, keepdims)


def _accumulators(dtype: Any) -> tuple[Any, Any]:
    """The dtype of a sum, and the dtype in which it is added up."""
    if dtype.kind == "b":
        return _INT32, _INT32
    narrow = dtype.itemsize == 2 and dtype.kind not in "iu"
    return dtype, _FLOAT32 if narrow else dtype


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dtype = x.dtype
    if dtype.itemsize > 2:
        return _total(x, axis, dtype, None, keepdims)
    dtype, wide = _accumulators(dtype)
    return _total(x, axis, wide, None, keepdims).astype(dtype, copy=False)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dtype, wide = _accumulators(x.dtype)
    return _product(x, axis, wide, None, keepdims).astype(dtype, copy=False)


def cumsum(x: Any, axis: int = 0) -> Any:
    dtype, wide = _accumulators(x.dtype)
    return np.add.accumulate(x, axis, wide).astype(dtype, copy=False)


def cumprod(x: Any, axis: int = 0) -> Any:
    dtype, wide = _accumulators(x.dtype)
    return np.multiply.accumulate(x, axis, wide).astype(dtype, copy=False)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dtype, wide = _accumulators(x.dtype)
    total = _total(x, axis, wide, None, keepdims)
    # Where there is nothing to add up, the quotient is nan.
    return (total / (x.size // total.size if total.size else 1)).astype(dtype, copy=False)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dtype, wide = _accumulators(x.dtype)
    x = x.astype(wide, copy=False)
    return mean(np.square(x - mean(x, axis, True)), axis, keepdims).astype(dtype, copy=False)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dtype, wide = _accumulators(x.dtype)
    x = x.astype(wide, copy=False)
    top = np.maximum.reduce(x, axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, wide.type(0))
    total = np.log(_total(np.exp(x - top), axis, None, None, keepdims))
    return (total + top.reshape(total.shape)).astype(dtype, copy=False)
