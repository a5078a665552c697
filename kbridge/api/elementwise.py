"""Functions of each element: arithmetic, comparison, rounding."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import operation
from kbridge.api.rules import TensorLike, as_dtype
from kbridge.errors import ArgumentError
from kbridge.symbolic import dtypes


@operation("x", host=True)
def square(x: TensorLike) -> Any:
    """Element-wise square, in the dtype of ``x``.

    >>> K.eval(K.square(K.constant([-3.0, 0.5]))).tolist()
    [9.0, 0.25]
    """


@operation("x", host=True)
def abs(x: TensorLike) -> Any:
    """Element-wise absolute value, in the dtype of ``x``; the gradient at 0 is 0.

    >>> K.eval(K.abs(K.constant([-3.0, 0.5]))).tolist()
    [3.0, 0.5]
    """


@operation("x", floating=True, host=True)
def sqrt(x: TensorLike) -> Any:
    """Element-wise square root; 0 for a negative element.

    Integers become floatx first. The gradient is 0 for a negative element and inf at 0: mask the
    input, not only the result, where an element may be 0.

    >>> K.eval(K.sqrt(K.constant([4.0, 0.0, -1.0]))).tolist()
    [2.0, 0.0, 0.0]
    """


@operation("x", floating=True, host=True)
def exp(x: TensorLike) -> Any:
    """Element-wise exponential. Integers become floatx first.

    >>> K.eval(K.exp(K.constant([0.0, -1000.0]))).tolist()
    [1.0, 0.0]
    """


@operation("x", floating=True, host=True)
def log(x: TensorLike) -> Any:
    """Element-wise natural logarithm: -inf at 0, nan for a negative element.

    Integers become floatx first.

    >>> K.eval(K.log(K.constant([1.0, 0.0]))).tolist()
    [0.0, -inf]
    """


@operation("x", differentiable=False, host=True)
def round(x: TensorLike) -> Any:
    """Element-wise rounding to the nearest integer, halves to the even one, in the dtype of ``x``.

    It is not differentiable: ``K.gradients`` finds no way through it.

    >>> K.eval(K.round(K.constant([-1.5, 0.5, 1.5, 2.5]))).tolist()
    [-2.0, 0.0, 2.0, 2.0]
    """


@operation("x", host=True)
def sign(x: TensorLike) -> Any:
    """Element-wise sign, -1, 0 or 1, in the dtype of ``x``; its gradient is zero, not None.

    >>> K.eval(K.sign(K.constant([-3.0, 0.0, 2.0]))).tolist()
    [-1.0, 0.0, 1.0]
    """


def _powered(x: Any, a: Any) -> str:
    """The operands' dtype; a negative power of an integer is no integer."""
    dtype: str = getattr(x, "dtype", None) or a.dtype
    if isinstance(a, int) and a < 0 and not dtypes.is_float(dtype):
        raise ArgumentError(
            f"an integer to the power {a} is no integer; cast the base to a float first"
        )
    return dtype


@operation("x a", promote="x a", numeric=True, dtype=_powered, host=True)
def pow(x: TensorLike, a: TensorLike) -> Any:
    """Element-wise ``x`` to the power ``a``, promoted and broadcast.

    An integer to a negative power, which is no integer, raises ArgumentError.

    >>> K.eval(K.pow(K.constant([2.0, 3.0]), 2)).tolist()
    [4.0, 9.0]
    """


@operation("x min_value? max_value?", promote="x min_value max_value", host=True)
def clip(x: TensorLike, min_value: TensorLike, max_value: TensorLike) -> Any:
    """Element-wise clipping to ``[min_value, max_value]``.

    The operands are promoted and broadcast. A bound is a number, a tensor, or None for no bound.
    Where ``max_value`` is less than ``min_value`` it is raised to it, so that the lower bound wins.

    >>> K.eval(K.clip(K.constant([-2.0, 0.0, 2.0]), -1.0, 1.0)).tolist()
    [-1.0, 0.0, 1.0]
    >>> K.eval(K.clip(K.constant([-2.0, 0.0, 2.0]), 1.0, -1.0)).tolist()
    [1.0, 1.0, 1.0]
    """


@operation("x y", promote="x y", dtype="bool", differentiable=False, host=True)
def equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x == y``, promoted and broadcast; the result is bool.

    Tensors are compared here, and not by ``==``, which asks whether two are the same object.

    >>> K.eval(K.equal(K.constant([1.0, 2.0]), 2.0)).tolist()
    [False, True]
    """


@operation("x y", promote="x y", dtype="bool", differentiable=False, host=True)
def not_equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x != y``, promoted and broadcast; the result is bool.

    Tensors are compared here, and not by ``!=``, which asks whether two are different objects.

    >>> K.eval(K.not_equal(K.constant([1.0, 2.0]), 2.0)).tolist()
    [True, False]
    """


@operation("x y", promote="x y", dtype="bool", differentiable=False, host=True)
def greater(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x > y``, promoted and broadcast; the result is bool.

    >>> K.eval(K.greater(K.constant([1.0, 2.0]), 1.0)).tolist()
    [False, True]
    """


@operation("x y", promote="x y", dtype="bool", differentiable=False, host=True)
def greater_equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x >= y``, promoted and broadcast; the result is bool.

    >>> K.eval(K.greater_equal(K.constant([1.0, 2.0]), 2.0)).tolist()
    [False, True]
    """


@operation("x y", promote="x y", dtype="bool", differentiable=False, host=True)
def less(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x < y``, promoted and broadcast; the result is bool.

    >>> K.eval(K.less(K.constant([1.0, 2.0]), 2.0)).tolist()
    [True, False]
    """


@operation("x y", promote="x y", dtype="bool", differentiable=False, host=True)
def less_equal(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise truth of ``x <= y``, promoted and broadcast; the result is bool.

    >>> K.eval(K.less_equal(K.constant([1.0, 2.0]), 1.0)).tolist()
    [True, False]
    """


@operation("x y", promote="x y", host=True)
def maximum(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise larger of ``x`` and ``y``, promoted and broadcast.

    Where they are equal each gets half of the gradient; where one is nan the result is. ``K.max``
    looks along axes instead.

    >>> K.eval(K.maximum(K.constant([1.0, 5.0]), 3.0)).tolist()
    [3.0, 5.0]
    """


@operation("x y", promote="x y", host=True)
def minimum(x: TensorLike, y: TensorLike) -> Any:
    """Element-wise smaller of ``x`` and ``y``, promoted and broadcast.

    Where they are equal each gets half of the gradient; where one is nan the result is. ``K.min``
    looks along axes instead.

    >>> K.eval(K.minimum(K.constant([1.0, 5.0]), 3.0)).tolist()
    [1.0, 3.0]
    """


@operation("x", floating=True)
def sin(x: TensorLike) -> Any:
    """Element-wise sine of an angle in radians. Integers become floatx first.

    >>> K.eval(K.sin(K.constant([0.0]))).tolist()
    [0.0]
    """


@operation("x", floating=True)
def cos(x: TensorLike) -> Any:
    """Element-wise cosine of an angle in radians. Integers become floatx first.

    >>> K.eval(K.cos(K.constant([0.0]))).tolist()
    [1.0]
    """


@operation("x", dtype=lambda x, dtype: dtype, resolve={"dtype": as_dtype}, host=True)
def cast(x: TensorLike, dtype: Any) -> Any:
    """``x`` in another dtype; ``x`` itself is unchanged.

    ``dtype`` is a name such as ``"float16"``, or the dtype object of NumPy or of an engine; one
    that is not known raises DTypeError. A float becomes an integer by dropping its fraction, a
    number becomes True where it is not 0. A cast to an integer or bool dtype is not differentiable.

    >>> K.eval(K.cast(K.constant([-1.5, 0.0, 2.75]), "int32")).tolist()
    [-1, 0, 2]
    """


@operation("x", host=True)
def identity(x: TensorLike, name: str | None = None) -> Any:
    """A new tensor with the contents, shape and dtype of ``x``, and none of its attributes.

    >>> x = K.constant([1.0, 2.0])
    >>> K.identity(x) is x, K.eval(K.identity(x)).tolist()
    (False, [1.0, 2.0])
    """


@operation("variables", differentiable=False, each=True)
def stop_gradient(variables: TensorLike) -> Any:
    """The value of ``variables``, which counts as a constant for ``K.gradients``.

    A list of tensors gives a list.

    >>> x = K.variable([3.0])
    >>> K.eval(K.gradients(x * K.stop_gradient(x), x)[0]).tolist()
    [3.0]
    >>> K.gradients(K.stop_gradient(x), x)
    [None]
    """
