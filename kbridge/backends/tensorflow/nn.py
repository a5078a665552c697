"""Activations on TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from kbridge.api.rules import as_data_format
from kbridge.backends.tensorflow.elementwise import add
from kbridge.backends.tensorflow.support import REFUSED, number
from kbridge.symbolic import conv_shapes

softplus = tf.nn.softplus
softsign = tf.nn.softsign
sigmoid = tf.sigmoid
tanh = tf.tanh
_SINGLE = tf.float32
_NUMBERS = (float, int)


def floats(x: Any) -> None:
    """Refuse integers, which TensorFlow would leave as they are; the caller makes them floats."""
    if not x.dtype.is_floating:
        raise TypeError(f"expected floats, not {x.dtype.name}")


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    if x.dtype is not _SINGLE:
        floats(x)
    max_value = None if max_value is None else max(max_value, 0.0)
    if alpha.__class__ in _NUMBERS and not alpha and not threshold:
        above = tf.nn.relu(x)
        return above if max_value is None else tf.minimum(above, number(max_value, x.dtype))
    above = x if max_value is None else tf.minimum(tf.maximum(x, 0.0), max_value)
    # At 0 the slope is that of the lower part; at another threshold an equal element passes.
    lower = x < threshold if threshold else x <= 0.0
    if alpha.__class__ in _NUMBERS and not alpha:
        return tf.where(lower, tf.zeros_like(x), above)
    return tf.where(lower, number(alpha, x.dtype) * (x - threshold), above)


def elu(x: Any, alpha: float = 1.0) -> Any:
    return tf.nn.elu(x) if alpha == 1 else tf.where(x > 0, x, alpha * tf.nn.elu(x))


def softmax(x: Any, axis: int = -1) -> Any:
    if axis is None:  # which TensorFlow takes for the last
        raise TypeError("axis must be an integer, not None")
    return tf.nn.softmax(x, axis)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    layout = as_data_format(data_format)
    if layout == "channels_last":
        try:
            return tf.nn.bias_add(x, bias)
        except REFUSED:
            pass  # it has a value for each position, or it does not fit
    conv_shapes.bias_add(tuple(x.shape), tuple(bias.shape), layout)
    rank = x.shape.rank
    if layout == "channels_first" and rank > 2:
        if bias.shape.rank == 1:
            bias = tf.reshape(bias, [-1] + [1] * (rank - 2))
        else:
            sizes = tf.shape(bias)
            bias = tf.reshape(bias, tf.concat([sizes[-1:], sizes[:-1]], 0))
    return add(x, bias)
