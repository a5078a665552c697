"""Element by element on TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.backends.tensorflow.failures import cleared
from kbridge.backends.tensorflow.linalg import product
from kbridge.backends.tensorflow.support import (
    EAGER,
    REFUSED,
    VALUES,
    binary,
    is_native,
    like,
    no_tape,
    recorded,
    truth,
    unary,
)

# Of bools TensorFlow computes next to nothing, of unsigned integers not everything.
_BOOL = {"bool": "int8"}
_UNSIGNED = {"uint8": "int16", "uint16": "int32", "uint32": "int64", "uint64": "int64"}

add = binary(tf.add, **_BOOL)
subtract = binary(tf.subtract)
multiply = binary(tf.multiply, **_BOOL)
divide = binary(tf.realdiv)
floor_divide = binary(tf.math.floordiv)
mod = binary(tf.math.floormod)
negative = unary(tf.negative, **_UNSIGNED)
square = unary(tf.square, **_BOOL)
abs = unary(tf.abs, **_BOOL, **_UNSIGNED)
exp = tf.exp
log = tf.math.log
sin = tf.sin
cos = tf.cos
round = unary(tf.round, **_BOOL)
sign = unary(tf.sign, **_BOOL, **_UNSIGNED)
equal = binary(tf.equal)
not_equal = binary(tf.not_equal)
greater = binary(tf.greater, **_BOOL)
greater_equal = binary(tf.greater_equal, **_BOOL)
less = binary(tf.less, **_BOOL)
less_equal = binary(tf.less_equal, **_BOOL)
stop_gradient = tf.stop_gradient


def logical_and(x: Any, y: Any) -> Any:
    return tf.logical_and(truth(x), truth(y))


def logical_or(x: Any, y: Any) -> Any:
    return tf.logical_or(truth(x), truth(y))


def logical_xor(x: Any, y: Any) -> Any:
    return tf.math.logical_xor(truth(x), truth(y))


def logical_not(x: Any) -> Any:
    return tf.logical_not(truth(x))


def _halved_at_ties(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``function`` with the gradient split at ties, where TensorFlow gives ``x`` all of it."""
    plain = binary(function, **_BOOL)

    def run(x: Any, y: Any) -> Any:
        if x.__class__ is EAGER and y.__class__ in VALUES and no_tape():
            try:
                return function(x, y)
            except REFUSED:
                pass
        if not recorded(x, y):
            return plain(x, y)
        first, second = plain(x, y), plain(y, x)
        return 0.5 * first + 0.5 * second if first.dtype.is_floating else first

    return run


maximum = _halved_at_ties(tf.maximum)
minimum = _halved_at_ties(tf.minimum)


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    # The upper bound first: where the bounds cross, the lower one wins.
    if max_value is not None:
        x = _lower(x, max_value)
    return x if min_value is None else _higher(x, min_value)


_lower = binary(tf.minimum, **_BOOL)
_higher = binary(tf.maximum, **_BOOL)


def sqrt(x: Any) -> Any:
    return tf.sqrt(tf.maximum(x, 0.0))


_power = binary(tf.pow, **_UNSIGNED)


def pow(x: Any, a: Any) -> Any:
    if x.__class__ is EAGER and a.__class__ in VALUES and no_tape():
        try:
            return tf.pow(x, a)
        except REFUSED:
            pass
    if is_native(a) and not a.dtype.is_floating:
        with cleared():  # of an integer to a negative power
            return _power(x, a)
    if not recorded(x, a):
        return _power(x, a)
    if not is_native(a):
        return _power(x, a) if a else tf.ones_like(x)
    # 0 to the power 0: its gradient with respect to x is 0, which TensorFlow finds as 0 * inf.
    x = like(x, a)
    return tf.pow(tf.where(tf.logical_and(x == 0.0, a == 0.0), tf.ones_like(x), x), a)


def where(condition: Any, x: Any, y: Any) -> Any:
    x = like(x, y)
    return tf.where(truth(condition), x, like(y, x))


def matmul(x: Any, y: Any) -> Any:
    row, column = len(x.shape) == 1, len(y.shape) == 1
    left = tf.expand_dims(x, 0) if row else x
    right = tf.expand_dims(y, 1) if column else y
    ends = [axis for axis, added in ((-2, row), (-1, column)) if added]
    result = product(left, right)
    return tf.squeeze(result, ends) if ends else result


def cast(x: Any, dtype: Any) -> Any:
    return tf.cast(x, dtype)


def identity(x: Any, name: str | None = None) -> Any:
    return tf.identity(x)
