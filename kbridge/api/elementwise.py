"""Functions of each element: arithmetic, comparison, rounding."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import operation
from kbridge.api.rules import TensorLike, as_dtype


@operation("x")
def square(x: TensorLike) -> Any:
    """Element-wise square."""


@operation("x")
def abs(x: TensorLike) -> Any:
    """Element-wise absolute value."""


@operation("x", floating=True)
def sqrt(x: TensorLike) -> Any:
    """Element-wise square root; 0, with gradient 0, for a negative element."""


@operation("x", floating=True)
def exp(x: TensorLike) -> Any:
    """Element-wise exponential."""


@operation("x", floating=True)
def log(x: TensorLike) -> Any:
    """Element-wise natural logarithm."""


@operation("x", differentiable=False)
def round(x: TensorLike) -> Any:
    """Element-wise rounding to the nearest integer, halves to the even one."""


@operation("x")
def sign(x: TensorLike) -> Any:
    """Element-wise sign: -1, 0 or 1; its gradient is zero."""


@operation("x a", promote="x a")
def pow(x: TensorLike, a: TensorLike) -> Any:
    """Element-wise ``x`` to the power ``a``."""


@operation("x min_value max_value", promote="x min_value max_value")
def clip(x: TensorLike, min_value: TensorLike, max_value: TensorLike) -> Any:
    """Element-wise clipping to ``[min_value, max_value]``.

    A bound may be a number, a tensor, or ``None`` for no bound. Where ``max_value`` is less
    than ``min_value`` it is raised to it.
    """


@operation("x y", promote="x y", dtype="bool", differentiable=False)
def equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x == y``."""


@operation("x y", promote="x y", dtype="bool", differentiable=False)
def not_equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x != y``."""


@operation("x y", promote="x y", dtype="bool", differentiable=False)
def greater(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x > y``."""


@operation("x y", promote="x y", dtype="bool", differentiable=False)
def greater_equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x >= y``."""


@operation("x y", promote="x y", dtype="bool", differentiable=False)
def less(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x < y``."""


@operation("x y", promote="x y", dtype="bool", differentiable=False)
def less_equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x <= y``."""


@operation("x y", promote="x y", host=True)
def maximum(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise maximum."""


@operation("x y", promote="x y", host=True)
def minimum(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise minimum."""


@operation("x", floating=True)
def sin(x: TensorLike) -> Any:
    """Element-wise sine."""


@operation("x", floating=True)
def cos(x: TensorLike) -> Any:
    """Element-wise cosine."""


@operation("x", dtype=lambda x, dtype: dtype, resolve={"dtype": as_dtype}, host=True)
def cast(x: TensorLike, dtype: Any) -> Any:
    """``x`` with another dtype; ``x`` itself is unchanged."""


@operation("x")
def identity(x: TensorLike, name: str | None = None) -> Any:
    """A new tensor with the contents of ``x``."""


@operation("variables", differentiable=False)
def stop_gradient(variables: TensorLike) -> Any:
    """``variables`` as a constant to ``K.gradients``."""
