"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike
from kbridge.symbolic import shapes


@operation("x y", promote="x y", shape=lambda x, y: shapes.dot(x.shape, y.shape))
def dot(x: TensorLike, y: TensorLike) -> Any:
    """Product of the last axis of ``x`` with the second-to-last of ``y``, as ``np.dot``."""


@operation(
    "x y",
    promote="x y",
    shape=lambda x, y, axes: shapes.batch_dot(x.shape, y.shape, axes),
)
def batch_dot(x: TensorLike, y: TensorLike, axes: Any = None) -> Any:
    """Product of two batches over one axis of each, sample by sample."""


@composite
def l2_normalize(K: Any, x: TensorLike, axis: Any = None) -> Any:
    """``x`` divided by its L2 norm along ``axis``: ``x / sqrt(max(sum(x^2), 1e-12))``."""
    norm = K.sqrt(K.maximum(K.sum(K.square(x), axis=axis, keepdims=True), 1e-12))
    return K.divide(x, norm)


@operation("x", shape=lambda x: shapes.transpose(x.shape))
def transpose(x: TensorLike) -> Any:
    """``x`` with its axes in reverse order."""
