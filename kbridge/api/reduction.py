"""Functions that combine elements along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike, accumulated, as_axis, reduced
from kbridge.errors import ShapeError
from kbridge.symbolic import shapes

_AXIS: dict[str, Callable[[Any], Any]] = {"axis": as_axis, "keepdims": bool}


def _nonempty(x: Any, axis: Any, keepdims: Any) -> Any:
    """The shape of a reduction that has no value over no elements."""
    for at in shapes.normalize_axes(axis, len(x.shape)):
        if x.shape[at] == 0:
            raise ShapeError(f"axis {at} is empty, and no elements have no largest or smallest one")
    return shapes.reduce(x.shape, axis, keepdims)


@operation("x", shape=_nonempty, resolve=_AXIS, host=True)
def max(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Largest element along ``axis``, in the dtype of ``x``.

    ``axis`` is an integer, a list of them, or None for all; ``keepdims`` keeps the reduced axes
    with size 1. Elements that tie for the maximum share the gradient evenly.

    >>> K.eval(K.max(K.constant([[1.0, 4.0], [3.0, 2.0]]), axis=0)).tolist()
    [3.0, 4.0]
    """


@operation("x", shape=_nonempty, resolve=_AXIS, host=True)
def min(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Smallest element along ``axis``, in the dtype of ``x``.

    ``axis`` is an integer, a list of them, or None for all; ``keepdims`` keeps the reduced axes
    with size 1. Elements that tie for the minimum share the gradient evenly.

    >>> K.eval(K.min(K.constant([[1.0, 4.0], [3.0, 2.0]]), axis=0)).tolist()
    [1.0, 2.0]
    """


@operation("x", shape=reduced, dtype=accumulated, resolve=_AXIS, host=True)
def sum(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Sum along ``axis``, in the dtype of ``x``; of bools the number of True, int32.

    ``axis`` is an integer, a list of them, or None for all; ``keepdims`` keeps the reduced axes
    with size 1.

    >>> x = K.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> K.eval(K.sum(x)).tolist(), K.eval(K.sum(x, axis=1, keepdims=True)).tolist()
    (10.0, [[3.0], [7.0]])
    """


@operation("x", shape=reduced, dtype=accumulated, resolve=_AXIS, host=True)
def prod(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Product along ``axis``, in the dtype of ``x``; of bools int32.

    ``axis`` is an integer, a list of them, or None for all; ``keepdims`` keeps the reduced axes
    with size 1.

    >>> K.eval(K.prod(K.constant([[1.0, 2.0], [3.0, 4.0]]), axis=0)).tolist()
    [3.0, 8.0]
    """


@operation(
    "x",
    shape=lambda x, axis: shapes.cumulate(x.shape, axis),
    dtype=accumulated,
    resolve={"axis": as_axis},
    host=True,
)
def cumsum(x: TensorLike, axis: int = 0) -> Any:
    """Running sum along the one ``axis``, with the shape and dtype of ``x``; of bools int32.

    >>> K.eval(K.cumsum(K.constant([[1.0, 2.0], [3.0, 4.0]]), axis=1)).tolist()
    [[1.0, 3.0], [3.0, 7.0]]
    """


@operation(
    "x",
    shape=lambda x, axis: shapes.cumulate(x.shape, axis),
    dtype=accumulated,
    resolve={"axis": as_axis},
    host=True,
)
def cumprod(x: TensorLike, axis: int = 0) -> Any:
    """Running product along the one ``axis``, with the shape and dtype of ``x``; of bools int32.

    >>> K.eval(K.cumprod(K.constant([1.0, 2.0, 4.0]))).tolist()
    [1.0, 2.0, 8.0]
    """


@operation("x", floating=True, shape=reduced, resolve=_AXIS, host=True)
def mean(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Arithmetic mean along ``axis``; of integers and bools in floatx.

    ``axis`` is an integer, a list of them, or None for all; ``keepdims`` keeps the reduced axes
    with size 1.

    >>> K.eval(K.mean(K.constant([1, 2], dtype="int32"))).tolist()
    1.5
    """


@operation("x", floating=True, shape=reduced, resolve=_AXIS)
def var(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Population variance along ``axis``: the mean of the squared distance from the mean.

    Integers and bools become floatx first. ``axis`` is an integer, a list of them, or None for all;
    ``keepdims`` keeps the reduced axes with size 1.

    >>> K.eval(K.var(K.constant([1.0, 5.0]))).tolist()
    4.0
    """


@composite
def std(K: Any, x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Population standard deviation along ``axis``: the square root of ``K.var``.

    Integers and bools become floatx first. ``axis`` is an integer, a list of them, or None for all;
    ``keepdims`` keeps the reduced axes with size 1.

    >>> K.eval(K.std(K.constant([1.0, 5.0]))).tolist()
    2.0
    """
    return K.sqrt(K.var(x, axis=axis, keepdims=keepdims))


@operation("x", shape=reduced, dtype="bool", differentiable=False, resolve=_AXIS, host=True)
def any(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element along ``axis`` is true (not 0); the result is bool.

    ``axis`` is an integer, a list of them, or None for all; ``keepdims`` keeps the reduced axes
    with size 1.

    >>> K.eval(K.any(K.constant([[0.0, 2.0], [0.0, 0.0]]), axis=1)).tolist()
    [True, False]
    """


@operation("x", shape=reduced, dtype="bool", differentiable=False, resolve=_AXIS, host=True)
def all(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements along ``axis`` are true (not 0); the result is bool.

    ``axis`` is an integer, a list of them, or None for all; ``keepdims`` keeps the reduced axes
    with size 1.

    >>> K.eval(K.all(K.constant([[1.0, 2.0], [0.0, 3.0]]), axis=1)).tolist()
    [True, False]
    """


@operation(
    "x",
    shape=lambda x, axis: shapes.arg_reduce(x.shape, axis),
    dtype="int64",
    differentiable=False,
    resolve={"axis": as_axis},
    host=True,
)
def argmax(x: TensorLike, axis: int = -1) -> Any:
    """Index of the largest element along the one ``axis``, int64; the first of equals.

    The result has no ``axis``. It is not differentiable. An empty axis raises ShapeError.

    >>> K.eval(K.argmax(K.constant([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]]))).tolist()
    [1, 0]
    """


@operation(
    "x",
    shape=lambda x, axis: shapes.arg_reduce(x.shape, axis),
    dtype="int64",
    differentiable=False,
    resolve={"axis": as_axis},
    host=True,
)
def argmin(x: TensorLike, axis: int = -1) -> Any:
    """Index of the smallest element along the one ``axis``, int64; the first of equals.

    The result has no ``axis``. It is not differentiable. An empty axis raises ShapeError.

    >>> K.eval(K.argmin(K.constant([[1.0, 0.0, 0.0], [2.0, 3.0, 4.0]]))).tolist()
    [1, 0]
    """


@operation("x", floating=True, shape=reduced, resolve=_AXIS)
def logsumexp(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(exp(x)))`` along ``axis``, which neither overflows nor underflows.

    Integers and bools become floatx first. ``axis`` is an integer, a list of them, or None for all;
    ``keepdims`` keeps the reduced axes with size 1.

    >>> K.eval(K.logsumexp(K.constant([-1000.0, 1000.0]))).tolist()
    1000.0
    """
