"""Reductions on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

argmax = np.argmax
argmin = np.argmin


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(x, axis, keepdims=keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.min(x, axis, keepdims=keepdims)


def _sum_dtype(x: Any) -> Any:
    return np.int32 if x.dtype == bool else x.dtype


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis, dtype=_sum_dtype(x), keepdims=keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.prod(x, axis, dtype=_sum_dtype(x), keepdims=keepdims)


def cumsum(x: Any, axis: int = 0) -> Any:
    return np.cumsum(x, axis, dtype=_sum_dtype(x))


def cumprod(x: Any, axis: int = 0) -> Any:
    return np.cumprod(x, axis, dtype=_sum_dtype(x))


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.mean(x, axis, keepdims=keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.var(x, axis, keepdims=keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.any(x, axis, keepdims=keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.all(x, axis, keepdims=keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    top = np.max(x, axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(x - top), axis, keepdims=True)) + top
    if keepdims:
        return total
    return np.squeeze(total, axis) if axis is not None else total.reshape(())
