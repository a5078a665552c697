"""Element by element on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.errors import ArgumentError
from kbridge.symbolic.dtypes import to_numpy

add = np.add
subtract = np.subtract
multiply = np.multiply
divide = np.true_divide
floor_divide = np.floor_divide
mod = np.mod
negative = np.negative
logical_and = np.logical_and
logical_or = np.logical_or
logical_xor = np.logical_xor
logical_not = np.logical_not
abs = np.absolute
exp = np.exp
log = np.log
sin = np.sin
cos = np.cos
equal = np.equal
not_equal = np.not_equal
greater = np.greater
greater_equal = np.greater_equal
less = np.less
less_equal = np.less_equal
maximum = np.maximum
minimum = np.minimum


def where(condition: Any, x: Any, y: Any) -> Any:
    if (
        y.__class__ is float
        and str(y) == "0.0"
        and x.__class__ is condition.__class__ is np.ndarray
    ):
        return kept(condition, x)
    return np.where(condition, x, y)


def kept(condition: Any, x: Any) -> Any:
    """``x`` where the condition holds, else 0.

    ``np.where`` branches at each element, and takes six times as long where it cannot foresee them.
    """
    if condition.dtype.kind != "b" or x.dtype.kind != "f" or not x.ndim:
        return np.where(condition, x, x.dtype.type(0))
    bits = np.dtype(f"i{x.dtype.itemsize}")
    mask = np.negative(condition, dtype=bits)  # all bits, or none
    return np.bitwise_and(mask, x.view(bits)).view(x.dtype)


def square(x: Any) -> Any:
    return multiply(x, x)  # np.square makes int8 of bool


def round(x: Any) -> Any:
    return x if x.dtype.kind in "iub" else np.rint(x)  # which makes floats of them


def sign(x: Any) -> Any:
    return x if x.dtype.kind == "b" else np.sign(x)


def sqrt(x: Any) -> Any:
    return np.sqrt(np.maximum(x, 0))


def pow(x: Any, a: Any) -> Any:
    try:
        return x**a  # the operator squares for 2, and knows a few more
    except ValueError:
        raise ArgumentError(
            "K.pow: an integer to a negative power is no integer; cast the base with "
            "K.cast(x, K.floatx())."
        ) from None


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    # The upper bound first: where the bounds cross, the lower one wins.
    below = x if max_value is None else minimum(x, max_value)
    return below if min_value is None else maximum(below, min_value)


def cast(x: Any, dtype: str) -> Any:
    return x.astype(to_numpy(dtype), copy=False)


def identity(x: Any, name: str | None = None) -> Any:
    return np.array(x)


def stop_gradient(variables: Any) -> Any:
    return variables
