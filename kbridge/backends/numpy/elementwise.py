"""Element by element on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic.dtypes import to_numpy

add = np.add
subtract = np.subtract
multiply = np.multiply
divide = np.true_divide
floor_divide = np.floor_divide
mod = np.mod
negative = np.negative
matmul = np.matmul
logical_and = np.logical_and
logical_or = np.logical_or
logical_xor = np.logical_xor
logical_not = np.logical_not
square = np.square
abs = np.absolute
exp = np.exp
sin = np.sin
cos = np.cos
tanh = np.tanh
round = np.rint
sign = np.sign
equal = np.equal
not_equal = np.not_equal
greater = np.greater
greater_equal = np.greater_equal
less = np.less
less_equal = np.less_equal
maximum = np.maximum
minimum = np.minimum


def where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


def choose(condition: Any, x: Any, y: Any) -> Any:
    return x if condition else y


def sqrt(x: Any) -> Any:
    return np.sqrt(np.maximum(x, 0))


def log(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(x)


def pow(x: Any, a: Any) -> Any:
    return np.power(x, a)


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    if min_value is None:
        return x if max_value is None else np.minimum(x, max_value)
    # The upper bound first: where the bounds cross, the lower one wins.
    return np.maximum(x if max_value is None else np.minimum(x, max_value), min_value)


def cast(x: Any, dtype: str) -> Any:
    return np.asarray(x).astype(to_numpy(dtype))


def identity(x: Any, name: str | None = None) -> Any:
    return np.array(x)


def stop_gradient(variables: Any) -> Any:
    return variables
