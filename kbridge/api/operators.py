"""What the operators of a Tensor record, and the graph's own bookkeeping: no names of K."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import operation
from kbridge.api.rules import TensorLike
from kbridge.symbolic import index_shapes, shapes


@operation("x y", promote="x y", host=True, public=False)
def add(x: TensorLike, y: TensorLike) -> Any:
    """``x + y``."""


@operation("x y", promote="x y", host=True, numeric=True, public=False)
def subtract(x: TensorLike, y: TensorLike) -> Any:
    """``x - y``."""


@operation("x y", promote="x y", host=True, public=False)
def multiply(x: TensorLike, y: TensorLike) -> Any:
    """``x * y``."""


@operation("x y", promote="x y", floating=True, host=True, public=False)
def divide(x: TensorLike, y: TensorLike) -> Any:
    """``x / y``: true division, of integers in floatx."""


@operation("x y", promote="x y", host=True, differentiable=False, numeric=True, public=False)
def floor_divide(x: TensorLike, y: TensorLike) -> Any:
    """``x // y``, rounded towards minus infinity."""


@operation("x y", promote="x y", host=True, numeric=True, public=False)
def mod(x: TensorLike, y: TensorLike) -> Any:
    """``x % y``, with the sign of ``y`` as in Python."""


@operation("x", host=True, numeric=True, public=False)
def negative(x: TensorLike) -> Any:
    """``-x``."""


@operation("x y", promote="x y", public=False, shape=lambda x, y: shapes.matmul(x.shape, y.shape))
def matmul(x: TensorLike, y: TensorLike) -> Any:
    """``x @ y``, with NumPy's rules for ranks and broadcasting."""


@operation("x y", dtype="bool", host=True, differentiable=False, public=False)
def logical_and(x: TensorLike, y: TensorLike) -> Any:
    """``x & y`` of truth values; a number is true where it is not 0."""


@operation("x y", dtype="bool", host=True, differentiable=False, public=False)
def logical_or(x: TensorLike, y: TensorLike) -> Any:
    """``x | y`` of truth values."""


@operation("x y", dtype="bool", host=True, differentiable=False, public=False)
def logical_xor(x: TensorLike, y: TensorLike) -> Any:
    """``x ^ y`` of truth values."""


@operation("x", dtype="bool", host=True, differentiable=False, public=False)
def logical_not(x: TensorLike) -> Any:
    """``~x`` of truth values."""


@operation(
    "condition x y",
    promote="x y",
    shape=lambda c, x, y: shapes.broadcast_all(*(getattr(part, "shape", ()) for part in (c, x, y))),
    dtype=lambda c, x, y: getattr(x, "dtype", None) or y.dtype,
    differentiable="x y",
    numbers=True,
    host=True,
    public=False,
)
def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Any:
    """``x`` where ``condition`` holds, ``y`` elsewhere; all three broadcast."""


@operation(
    "x",
    shape=lambda x, key: index_shapes.getitem(x.shape, _settled(key)),
    host_arguments="key",
    host=True,
    public=False,
)
def getitem(x: TensorLike, key: Any) -> Any:
    """``x[key]`` with ints, slices, ``None``, ``...`` and integer tensors."""


def _settled(key: Any) -> Any:
    from kbridge.symbolic import host

    return host.settled(key)


@operation("x", public=False)
def item(x: Any, index: int) -> Any:
    """One of the results of an operation that has several."""
