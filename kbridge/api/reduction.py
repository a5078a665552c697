"""Functions that combine elements along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike, accumulated, as_axis, reduced
from kbridge.symbolic import shapes

_AXIS: dict[str, Callable[[Any], Any]] = {"axis": as_axis, "keepdims": bool}


@operation("x", shape=reduced, resolve=_AXIS)
def max(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Largest element along ``axis``."""


@operation("x", shape=reduced, resolve=_AXIS)
def min(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Smallest element along ``axis``."""


@operation("x", shape=reduced, dtype=accumulated, resolve=_AXIS)
def sum(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Sum along ``axis``."""


@operation("x", shape=reduced, dtype=accumulated, resolve=_AXIS, host=True)
def prod(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Product along ``axis``."""


@operation(
    "x",
    shape=lambda x, axis: shapes.cumulate(x.shape, axis),
    dtype=accumulated,
    resolve={"axis": as_axis},
)
def cumsum(x: TensorLike, axis: int = 0) -> Any:
    """Running sum along ``axis``."""


@operation(
    "x",
    shape=lambda x, axis: shapes.cumulate(x.shape, axis),
    dtype=accumulated,
    resolve={"axis": as_axis},
)
def cumprod(x: TensorLike, axis: int = 0) -> Any:
    """Running product along ``axis``."""


@operation("x", floating=True, shape=reduced, resolve=_AXIS)
def mean(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Mean along ``axis``; of integers and bools in floatx."""


@operation("x", floating=True, shape=reduced, resolve=_AXIS)
def var(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Population variance along ``axis``: the mean of the squared distance from the mean."""


@composite
def std(K: Any, x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Standard deviation along ``axis``: the square root of :func:`var`."""
    return K.sqrt(K.var(x, axis=axis, keepdims=keepdims))


@operation("x", shape=reduced, dtype="bool", differentiable=False, resolve=_AXIS)
def any(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element along ``axis`` is true (not 0)."""


@operation("x", shape=reduced, dtype="bool", differentiable=False, resolve=_AXIS)
def all(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements along ``axis`` are true (not 0)."""


@operation(
    "x",
    shape=lambda x, axis: shapes.arg_reduce(x.shape, axis),
    dtype="int64",
    differentiable=False,
    resolve={"axis": as_axis},
)
def argmax(x: TensorLike, axis: int = -1) -> Any:
    """Index of the largest element along ``axis``; the first of equals."""


@operation(
    "x",
    shape=lambda x, axis: shapes.arg_reduce(x.shape, axis),
    dtype="int64",
    differentiable=False,
    resolve={"axis": as_axis},
)
def argmin(x: TensorLike, axis: int = -1) -> Any:
    """Index of the smallest element along ``axis``; the first of equals."""


@operation("x", floating=True, shape=reduced, resolve=_AXIS)
def logsumexp(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Logarithm of the sum of exponentials along ``axis``, stable for large and small inputs."""
