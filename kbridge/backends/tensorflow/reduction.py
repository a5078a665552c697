"""Reductions on TensorFlow."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.backends.tensorflow.support import REFUSED, recorded, truth
from kbridge.symbolic.shapes import normalize_axes

_HALF, _SINGLE, _INT, _BOOL = tf.float16, tf.float32, tf.int32, tf.bool


def _check_elements(x: Any, axis: Any) -> None:
    if builtins.any(x.shape[at] == 0 for at in normalize_axes(axis, x.shape.rank)):
        raise ValueError(f"no elements along {axis} of {x.shape}")


def _extreme(function: Any, of_bools: Any) -> Callable[..., Any]:
    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if 0 in x.shape.as_list():  # of no elements TensorFlow gives an infinity
            _check_elements(x, axis)
        try:
            return function(x, axis, keepdims)
        except REFUSED:
            return of_bools(x, axis, keepdims)

    return run


max = _extreme(tf.reduce_max, tf.reduce_any)
min = _extreme(tf.reduce_min, tf.reduce_all)


def _truths(function: Any) -> Callable[..., Any]:
    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        try:
            return function(x, axis, keepdims)
        except REFUSED:
            return function(truth(x), axis, keepdims)

    return run


any = _truths(tf.reduce_any)
all = _truths(tf.reduce_all)


def _total(function: Any) -> Callable[..., Any]:
    """A sum or product: bools in int32, and float16 in float32, as its sums end at 2048."""

    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        dtype = x.dtype
        if dtype is _HALF:
            return tf.cast(function(tf.cast(x, _SINGLE), axis, keepdims), _HALF)
        return function(tf.cast(x, _INT) if dtype is _BOOL else x, axis, keepdims)

    return run


sum = _total(tf.reduce_sum)
prod = _total(tf.reduce_prod)


def _average(function: Any) -> Callable[..., Any]:
    """A mean of floats, of float16 in float32."""

    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        dtype = x.dtype
        if dtype is _SINGLE:
            return function(x, axis, keepdims)
        if dtype is _HALF:
            return tf.cast(function(tf.cast(x, _SINGLE), axis, keepdims), _HALF)
        if not dtype.is_floating:
            raise TypeError(f"a mean of {dtype.name}, which TensorFlow would round")
        return function(x, axis, keepdims)

    return run


mean = _average(tf.reduce_mean)
var = _average(tf.math.reduce_variance)
logsumexp = tf.reduce_logsumexp


def _one(axis: Any) -> Any:
    # Where no axis is given TensorFlow takes the first.
    if axis is None:
        raise TypeError("axis must be an integer, not None")
    return axis


def argmax(x: Any, axis: int = -1) -> Any:
    return tf.argmax(x, _one(axis))


def argmin(x: Any, axis: int = -1) -> Any:
    return tf.argmin(x, _one(axis))


def cumsum(x: Any, axis: int = 0) -> Any:
    return tf.cumsum(tf.cast(x, _INT) if x.dtype is _BOOL else x, axis)


def cumprod(x: Any, axis: int = 0) -> Any:
    x = tf.cast(x, _INT) if x.dtype is _BOOL else x
    if not recorded(x) or not x.dtype.is_floating:
        return tf.math.cumprod(x, axis)
    # TensorFlow's gradient divides by the elements, and is wrong where one of them is 0.
    order = list(range(x.shape.rank))
    order.insert(0, order.pop(axis))
    back = [order.index(i) for i in range(len(order))]
    return tf.transpose(_running_product(tf.transpose(x, order)), back)


def _running_product(x: Any) -> Any:
    length = x.shape[0]
    if length is None:
        length = tf.shape(x)[0]
        return tf.while_loop(
            lambda step, runs: step < length,
            lambda step, runs: (2 * step, _doubled(runs, step, length)),
            (1, x),
        )[1]
    step = 1
    while step < length:
        x = _doubled(x, step, length)
        step *= 2
    return x


def _doubled(runs: Any, step: Any, length: Any) -> Any:
    """Products of twice as many elements, from those of ``step`` elements."""
    return tf.concat([runs[:step], runs[step:] * runs[: length - step]], 0)
