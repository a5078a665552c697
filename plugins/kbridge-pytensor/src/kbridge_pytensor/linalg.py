"""Products."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pytensor.raise_op import CheckAndRaise

from kbridge.errors import ShapeError
from kbridge.symbolic.shapes import batch_dot_axes
from kbridge_pytensor.engine import contract


def _wide(function: Any, x: Any, y: Any) -> Any:
    """A product of bools counts in whole numbers; one of 16-bit floats is added up in 32 bits."""
    if x.type.dtype == "bool":
        x, y = pt.cast(x, "int8"), pt.cast(y, "int8")
    if x.type.dtype == "float16":
        x, y = pt.cast(x, "float32"), pt.cast(y, "float32")
    return function(x, y)


@contract
def dot(x: Any, y: Any) -> Any:
    if not x.ndim or not y.ndim:
        return x * y
    axes = [[x.ndim - 1], [0 if y.ndim == 1 else y.ndim - 2]]
    if x.ndim < 3 and y.ndim < 3:
        return _wide(pt.dot, x, y)
    return _wide(lambda a, b: pt.tensordot(a, b, axes), x, y)


@contract
def matmul(x: Any, y: Any) -> Any:
    return _wide(pt.matmul, x, y)


_paired = CheckAndRaise(ShapeError, "K.batch_dot: the batch sizes of x and y differ at the run.")


@contract
def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    a, b = batch_dot_axes(x.type.shape, y.type.shape, axes)
    if None in (x.type.shape[0], y.type.shape[0]):  # a batch of one would be broadcast
        x = _paired(x, pt.eq(x.shape[0], y.shape[0]))
    # The contracted axes to the end of x and to the middle of y, the rest flattened.
    x_kept = [x.shape[i] for i in range(1, x.ndim) if i != a]
    y_kept = [y.shape[i] for i in range(1, y.ndim) if i != b]
    left = pt.moveaxis(x, a, -1).reshape((x.shape[0], pt.prod([1, *x_kept]), x.shape[a]))
    right = pt.moveaxis(y, b, 1).reshape((y.shape[0], y.shape[b], pt.prod([1, *y_kept])))
    product = _wide(pt.matmul, left, right)
    return product.reshape((x.shape[0], *(x_kept + y_kept or [1])))


@contract
def transpose(x: Any) -> Any:
    return pt.transpose(x)
