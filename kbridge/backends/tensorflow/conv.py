"""Convolution and pooling on TensorFlow.

Inside, channels are last: the CPU has no other kernels, and on a GPU TensorFlow changes the
layout of a graph as it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.api.rules import as_data_format
from kbridge.backends.tensorflow.nn import floats
from kbridge.backends.tensorflow.support import dims
from kbridge.symbolic.conv_shapes import check_padding, tuple_of


def _channels_last(x: Any, data_format: Any, function: Callable[[Any], Any]) -> Any:
    """``function`` of ``x`` with the channels brought to the end, and back."""
    if as_data_format(data_format) == "channels_last":
        return function(x)
    rank = x.shape.rank
    result = function(tf.transpose(x, (0, *range(2, rank), 1)))
    return tf.transpose(result, (0, rank - 1, *range(1, rank - 1)))


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    floats(x)
    steps, gaps = tuple_of(strides, 2, "strides"), tuple_of(dilation_rate, 2, "dilation_rate")
    rule = check_padding(padding).upper()
    return _channels_last(x, data_format, lambda x: _convolved(x, kernel, steps, rule, gaps))


def _convolved(x: Any, kernel: Any, steps: Any, rule: str, gaps: Any) -> Any:
    if x.shape[0] == 0 and x.dtype is not tf.float64:
        # Of an empty batch oneDNN, which has no float64, returns the shape of the input.
        wide = _convolved(tf.cast(x, tf.float64), tf.cast(kernel, tf.float64), steps, rule, gaps)
        return tf.cast(wide, x.dtype)
    if x.dtype is tf.float64 and max(gaps) > 1:
        kernel, gaps = _dilated(kernel, gaps), (1, 1)
    return tf.nn.conv2d(x, kernel, steps, rule, dilations=gaps)


def _dilated(kernel: Any, gaps: Any) -> Any:
    """The kernel with zeros between its elements: the CPU has no dilated gradient in float64."""
    for axis, gap in enumerate(gaps):
        if gap > 1:
            sizes = dims(kernel)
            sizes[axis] *= gap
            zeros = [tf.zeros_like(kernel)] * (gap - 1)
            spread = tf.reshape(tf.stack([kernel, *zeros], axis + 1), sizes)
            kernel = spread[(*[slice(None)] * axis, slice(1 - gap))]
    return kernel


_POOLS = {"max": tf.nn.max_pool2d, "avg": tf.nn.avg_pool2d}


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    floats(x)
    sizes, steps = tuple_of(pool_size, 2, "pool_size"), tuple_of(strides, 2, "strides")
    rule, pool = check_padding(padding).upper(), _POOLS[pool_mode]
    return _channels_last(x, data_format, lambda x: pool(x, sizes, steps, rule))
