"""Convolution and pooling on TensorFlow.

Inside, channels are last: the CPU has no other kernels everywhere, and on a GPU TensorFlow
changes the layout of a graph as it likes. Shapes are checked by the contract's rules first:
TensorFlow takes wrong ones for groups of channels, returns what is no result, or ends the process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.api.rules import as_data_format
from kbridge.backends.tensorflow.nn import floats
from kbridge.backends.tensorflow.support import EAGER, build, dims
from kbridge.symbolic import conv_shapes

_conv = functools.lru_cache(1024)(conv_shapes.conv)
_pool = functools.lru_cache(1024)(conv_shapes.pool)


def _pair(value: Any) -> tuple[int, int]:
    if value.__class__ is tuple and len(value) == 2 and value[0] > 0 < value[1]:
        return value
    first, second = conv_shapes.tuple_of(value, 2, "strides, dilation_rate or pool_size")
    return first, second


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    if x.dtype is not tf.float32:
        floats(x)
    layout = as_data_format(data_format)
    steps, gaps = _pair(strides), _pair(dilation_rate)
    shape = tuple(x.shape.as_list())
    _conv(shape, tuple(kernel.shape.as_list()), steps, padding, layout, gaps, 2)
    if x.__class__ is EAGER and layout == "channels_last" and shape[0] and gaps == (1, 1):
        return tf.nn.conv2d(x, kernel, steps, padding.upper())

    def run(x: Any) -> Any:
        x = _fitting(x, dims(kernel)[:2], gaps, padding)
        return _convolved(x, kernel, steps, padding.upper(), gaps)

    return _channels_last(x, layout, run)


def _convolved(x: Any, kernel: Any, steps: Any, rule: str, gaps: Any) -> Any:
    if x.dtype is tf.float64:
        if max(gaps) > 1:
            kernel, gaps = _dilated(kernel, gaps), (1, 1)
        return tf.nn.conv2d(x, kernel, steps, rule, dilations=gaps)

    def usual() -> Any:
        return tf.nn.conv2d(x, kernel, steps, rule, dilations=gaps)

    def of_empty() -> Any:
        # Of an empty batch oneDNN, which has no float64, returns the shape of the input.
        wide = _convolved(tf.cast(x, tf.float64), tf.cast(kernel, tf.float64), steps, rule, gaps)
        return tf.cast(wide, x.dtype)

    graph = build()
    if x.shape[0] is None and graph is not None:
        graph.sensitive = True
        if graph.empty:
            return tf.cond(tf.shape(x)[0] == 0, of_empty, usual)
    return of_empty() if x.shape[0] == 0 else usual()


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
    if x.dtype is not tf.float32:
        floats(x)
    layout, pool = as_data_format(data_format), _POOLS[pool_mode]
    sizes, steps = _pair(pool_size), _pair(strides)
    _pool(tuple(x.shape.as_list()), sizes, steps, padding, layout, 2)

    if x.__class__ is EAGER and layout == "channels_last":
        return pool(x, sizes, steps, padding.upper())

    def run(x: Any) -> Any:
        return pool(_fitting(x, sizes, (1, 1), padding), sizes, steps, padding.upper())

    return _channels_last(x, layout, run)


def _channels_last(x: Any, data_format: str, function: Callable[[Any], Any]) -> Any:
    """``function`` of ``x`` with the channels brought to the end, and back."""
    if data_format == "channels_last":
        return function(x)
    rank = x.shape.rank
    result = function(tf.transpose(x, (0, *range(2, rank), 1)))
    return tf.transpose(result, (0, rank - 1, *range(1, rank - 1)))


def _fitting(x: Any, sizes: Any, gaps: Any, padding: str) -> Any:
    """``x``, checked at run time where a window may be larger than what only the run knows."""
    if padding != "valid":
        return x
    for axis, (size, gap) in enumerate(zip(sizes, gaps, strict=True), 1):
        if x.shape[axis] is None or not isinstance(size, int):
            reach, there = (size - 1) * gap + 1, tf.shape(x)[axis]
            text = ["a window of", reach, "does not fit on a spatial axis of", there]
            with tf.control_dependencies([tf.debugging.Assert(there >= reach, text)]):
                x = tf.identity(x)
    return x
