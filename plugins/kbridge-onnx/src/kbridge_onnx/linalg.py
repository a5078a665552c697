"""Products in ONNX."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.shapes import batch_dot_axes
from kbridge_onnx.graph import (
    Unsized,
    as_value,
    dims,
    moved,
    primitive,
    product,
    reshaped,
    wide,
)


@primitive
def transpose(x: Any) -> Any:
    return moved(x, range(x.ndim)[::-1])


@primitive
def matmul(x: Any, y: Any) -> Any:
    return wide("MatMul", x, y)


@primitive
def dot(x: Any, y: Any) -> Any:
    if not x.ndim or not y.ndim:
        return wide("Mul", x, y)
    if y.ndim < 3:
        return wide("MatMul", x, y)
    turned = moved(as_value(y), [y.ndim - 2, *(a for a in range(y.ndim) if a != y.ndim - 2)])
    size, *others = dims(turned)
    kept = dims(as_value(x))[:-1]
    columns = reshaped(turned, [size, product(others)])
    return reshaped(wide("MatMul", x, columns), [*kept, *others])


@primitive
def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    x, y = as_value(x), as_value(y)
    a, b = batch_dot_axes(x.shape, y.shape, axes)
    if x.shape[0] != y.shape[0]:
        raise Unsized("the batch")  # of which one is unknown; MatMul would broadcast a batch of one
    left_kept = [i for i in range(x.ndim) if i not in (0, a)]
    right_kept = [i for i in range(y.ndim) if i not in (0, b)]
    x_sizes, y_sizes = dims(x), dims(y)
    rows, columns = (
        [s[i] for i in kept] for s, kept in ((x_sizes, left_kept), (y_sizes, right_kept))
    )
    batch = x_sizes[0]
    left = reshaped(moved(x, [0, *left_kept, a]), [batch, product(rows), x_sizes[a]])
    right = reshaped(moved(y, [0, b, *right_kept]), [batch, y_sizes[b], product(columns)])
    return reshaped(wide("MatMul", left, right), [batch, *(rows + columns or [1])])
