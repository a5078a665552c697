"""Products on NumPy, by BLAS wherever it has one; 16-bit floats are added up in 32 bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kbridge.symbolic.shapes import batch_dot_axes

transpose = np.transpose

_dot = np.dot
#: The dtypes whose products NumPy computes well by itself.
_WHOLE = frozenset({"float32", "float64", "int32", "int64"})


def _product(function: Any, x: Any, y: Any) -> Any:
    dtype = x.dtype
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        return function(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    return function(x, y)


def matmul(x: Any, y: Any) -> Any:
    return _product(np.matmul, x, y)


def dot(x: Any, y: Any) -> Any:
    if x.ndim < 3 and y.ndim < 3:
        return _dot(x, y) if x.dtype.itemsize > 2 else _product(_dot, x, y)
    if not x.ndim or not y.ndim:
        return np.multiply(x, y)
    # np.dot takes BLAS for matrices only.
    size = x.shape[-1]
    turned = np.moveaxis(y, -2, 0) if y.ndim > 1 else y
    if turned.shape[0] != size:
        raise ValueError(x.shape, y.shape)
    kept, others = x.shape[:-1], turned.shape[1:]
    left, right = x.reshape(math.prod(kept), size), turned.reshape(size, math.prod(others))
    return _product(_dot, left, right).reshape(kept + others)


def dot_in_plans(x: Any, y: Any) -> Any:
    """NumPy's own function, where ranks and dtype are such that ``dot`` would call it."""
    return _dot if len(x.shape) < 3 and len(y.shape) < 3 and x.dtype in _WHOLE else None


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    if axes is None and x.ndim == 3 == y.ndim and len(x) == len(y):
        return np.matmul(x, y) if x.itemsize > 2 else _product(np.matmul, x, y)
    a, b = batch_dot_axes(x.shape, y.shape, axes)
    # The contracted axes to the end of x and to the middle of y, the rest flattened.
    x_kept = [n for i, n in enumerate(x.shape) if i not in (0, a)]
    y_kept = [n for i, n in enumerate(y.shape) if i not in (0, b)]
    batch, size = x.shape[0], x.shape[a]
    if y.shape[0] != batch:
        raise ValueError(x.shape, y.shape)  # np.matmul would broadcast a batch of one
    left = np.moveaxis(x, a, -1).reshape(batch, math.prod(x_kept), size)
    right = np.moveaxis(y, b, 1).reshape(batch, y.shape[b], math.prod(y_kept))
    return _product(np.matmul, left, right).reshape(batch, *(x_kept + y_kept or [1]))
