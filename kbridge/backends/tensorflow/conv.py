"""Convolution on TensorFlow.

Inside, channels are last: the CPU has no other kernels everywhere, and on a GPU TensorFlow
changes the layout of a graph as it likes. Shapes are checked by the contract's rules first:
TensorFlow takes wrong ones for groups of channels, returns what is no result, or ends the process.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.api.rules import as_data_format
from kbridge.backends.tensorflow.nn import floats
from kbridge.backends.tensorflow.support import EAGER, build, dims, is_native, sizes
from kbridge.symbolic import conv_shapes

_CONV = {2: tf.nn.conv2d, 3: tf.nn.conv3d}
_TRANSPOSE = {2: tf.nn.conv2d_transpose, 3: tf.nn.conv3d_transpose}

_conv_rule = functools.lru_cache(1024)(conv_shapes.conv)
_depthwise_rule = functools.lru_cache(1024)(conv_shapes.depthwise_conv)
_transposed_rule = functools.lru_cache(1024)(conv_shapes.conv_transpose)


def _several(value: Any, n: int) -> tuple[int, ...]:
    if value.__class__ is tuple and len(value) == n and min(value) > 0:
        return value
    return conv_shapes.tuple_of(value, n, "strides or dilation_rate")


def _around(inner: Any) -> list[Any]:
    """What is along the spatial axes, with 1 for the batch and the channels."""
    return [1, *inner, 1]


def _at_once(x: Any, shape: Any, gaps: Any) -> bool:
    """Whether TensorFlow's function needs nothing around it: a value, elements, no dilation."""
    return x.__class__ is EAGER and max(gaps) == 1 and 0 not in shape


# --- ordinary ------------------------------------------------------------------------------------


def _convolution(n: int) -> Callable[..., Any]:
    """The function of the contract for ``n`` spatial axes."""

    def conv(
        x: Any,
        kernel: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
    ) -> Any:
        if x.dtype is not tf.float32:
            floats(x)
        layout = as_data_format(data_format)
        steps, gaps = _several(strides, n), _several(dilation_rate, n)
        shape = tuple(x.shape.as_list())
        _conv_rule(shape, tuple(kernel.shape.as_list()), steps, padding, layout, gaps, n)
        aligned = n == 2 or (n == 3 and (padding == "valid" or max(steps) == 1))
        if aligned and layout == "channels_last" and _at_once(x, shape, gaps):
            return _CONV[n](x, kernel, _around(steps), padding.upper())
        run = functools.partial(_convolved, kernel=kernel, steps=steps, padding=padding, gaps=gaps)
        return _channels_last(x, layout, functools.partial(_of_any_size, run, padding))

    return conv


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


def _convolved(x: Any, kernel: Any, steps: Any, padding: str, gaps: Any) -> Any:
    window = dims(kernel)[:-2]
    if padding == "causal":
        x, padding = tf.pad(x, [[0, 0], [(window[0] - 1) * gaps[0], 0], [0, 0]]), "valid"
    else:
        x = _fitting(x, window, gaps, padding)
    if x.shape[-1] is None or kernel.shape[-2] is None:  # of a part of them TensorFlow makes groups
        text = ["the kernel has a shape for other channels than there are"]
        same = tf.shape(x)[-1] == tf.shape(kernel)[-2]
        with tf.control_dependencies([tf.debugging.Assert(same, text)]):
            x = tf.identity(x)
    if len(steps) == 1:  # as one row
        row = tf.expand_dims(x, 1)
        row = _whole(row, tf.expand_dims(kernel, 0), (1, *steps), padding, (1, *gaps))
        return tf.squeeze(row, [1])
    return _whole(x, kernel, steps, padding, gaps)


def _whole(x: Any, kernel: Any, steps: Any, padding: str, gaps: Any) -> Any:
    kernel, rates = _in_reach(x, kernel, gaps)
    rule = padding
    if _misaligned(x, kernel, steps, padding):
        pairs = _pairs(dims(x)[1:-1], dims(kernel), steps)
        x, rule = tf.pad(x, [[0, 0], *pairs, [0, 0]]), "valid"
    return _CONV[len(steps)](x, kernel, _around(steps), rule.upper(), dilations=_around(rates))


# --- channel by channel --------------------------------------------------------------------------


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    if x.dtype is not tf.float32:
        floats(x)
    layout = as_data_format(data_format)
    steps, gaps = _several(strides, 2), _several(dilation_rate, 2)
    kernel_shape = tuple(depthwise_kernel.shape.as_list())
    shape = tuple(x.shape.as_list())
    _depthwise_rule(shape, kernel_shape, steps, padding, layout, gaps, 2)
    if layout == "channels_last" and _at_once(x, shape, gaps) and steps[0] == steps[1]:
        return tf.nn.depthwise_conv2d(x, depthwise_kernel, _around(steps), padding.upper())

    def run(x: Any) -> Any:
        kernel, x = depthwise_kernel, _fitting(x, dims(depthwise_kernel)[:2], gaps, padding)
        # Strides that differ are oneDNN's alone: each place is computed, and some are taken.
        equal = steps[0] == steps[1]
        if gaps == (1, 1) and (equal or not (_plain(x.dtype) or _gpus())):
            return tf.nn.depthwise_conv2d(x, kernel, _around(steps), padding.upper())
        if padding == "same":
            pairs = _pairs(dims(x)[1:-1], dims(kernel), steps, gaps)
            x = tf.pad(x, [[0, 0], *pairs, [0, 0]])
        used = _around(steps if equal else (1, 1))
        result = tf.nn.depthwise_conv2d(x, kernel, used, "VALID", dilations=gaps)
        return result if equal else result[:, :: steps[0], :: steps[1]]

    return _channels_last(x, layout, functools.partial(_of_any_size, run, padding))


# --- transposed ----------------------------------------------------------------------------------


def _transpose(x: Any, kernel: Any, output_shape: Any, n: int, *how: Any) -> Any:
    strides, padding, data_format, dilation = how
    if x.dtype is not tf.float32:
        floats(x)
    layout, steps, gaps = as_data_format(data_format), _several(strides, n), _several(dilation, n)
    if is_native(output_shape):
        known = tf.get_static_value(output_shape)
        output_shape = tf.unstack(output_shape, n + 2) if known is None else known.tolist()
    target = [s if s is None or is_native(s) else operator.index(s) for s in output_shape]
    static = tuple([size if size.__class__ is int else None for size in target])
    shapes = tuple(x.shape.as_list()), tuple(kernel.shape.as_list())
    _transposed_rule(*shapes, static, steps, padding, layout, gaps, n)
    if layout == "channels_first":
        target = [target[0], *target[2:], target[1]]
    target[0] = dims(x)[0] if target[0] is None else target[0]
    target[-1] = dims(kernel)[-2] if target[-1] is None else target[-1]

    def from_last(given: Any) -> Any:
        def run(x: Any) -> Any:
            weights, rates = _in_reach(x, kernel, gaps)
            how = {"strides": _around(steps), "dilations": _around(rates)}
            batch, *spatial, filters = target if x is given else [1, *target[1:]]
            shape = sizes([batch, *spatial, filters])
            if not _misaligned(x, weights, steps, padding):
                return _TRANSPOSE[n](x, weights, shape, padding=padding.upper(), **how)
            pairs = _pairs(spatial, dims(weights), steps)
            wide = [size + sum(pair) for size, pair in zip(spatial, pairs, strict=True)]
            wide = sizes([batch, *wide, filters])
            result = _TRANSPOSE[n](x, weights, wide, padding="VALID", **how)
            return tf.slice(result, [0, *[before for before, _ in pairs], 0], shape)

        return _of_any_size(run, "valid", given)

    return _channels_last(x, layout, from_last)


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    return _transpose(x, kernel, output_shape, 2, strides, padding, data_format, dilation_rate)


def conv3d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    return _transpose(x, kernel, output_shape, 3, strides, padding, data_format, 1)


# --- what TensorFlow lacks -----------------------------------------------------------------------


@functools.cache
def _one_dnn() -> bool:
    """Whether TensorFlow was built with oneDNN for the CPU, and uses it."""
    with tf.init_scope(), tf.device("CPU"):
        try:
            tf.nn.depthwise_conv2d(tf.zeros((1, 1, 2, 1)), tf.zeros((1,) * 4), (1, 1, 2, 1), "SAME")
        except tf.errors.InvalidArgumentError:
            return False
    return True


@functools.cache
def _gpus() -> bool:
    return bool(tf.config.list_physical_devices("GPU"))


def _plain(dtype: Any) -> bool:
    """Whether the CPU has no kernels but TensorFlow's own: oneDNN has none for float64."""
    return dtype is tf.float64 or not _one_dnn()


def _in_reach(x: Any, kernel: Any, gaps: Any) -> tuple[Any, Any]:
    """The kernel and the dilation, in the kernel where TensorFlow's own kernels lack it."""
    if max(gaps) == 1 or not _plain(x.dtype):
        return kernel, gaps
    for axis, gap in enumerate(gaps):
        if gap > 1:  # zeros between the elements
            shape = dims(kernel)
            shape[axis] *= gap
            zeros = [tf.zeros_like(kernel)] * (gap - 1)
            spread = tf.reshape(tf.stack([kernel, *zeros], axis + 1), shape)
            kernel = spread[(*[slice(None)] * axis, slice(1 - gap))]
    return kernel, (1,) * len(gaps)


def _of_any_size(run: Callable[[Any], Any], padding: str, x: Any) -> Any:
    """``run(x)`` also where there is no sample, or nothing along an axis that is padded.

    It is then computed for one more, which is left out. Of an empty input oneDNN returns the shape
    of the input, and the gradient by the kernel of a depthwise convolution is whatever lay in
    memory.
    """
    axes = range(1 if padding == "valid" else x.shape.rank - 1)

    def of_empty() -> Any:
        empty = [size == 0 for size in dims(x)[: len(axes)]]
        wider = x  # not by tf.pad, which is taken for the empty tensor itself
        for axis, none in enumerate(empty):
            if none is not False:
                shape = dims(wider)
                shape[axis] = tf.cast(none, tf.int32)
                wider = tf.concat([wider, tf.zeros(sizes(shape), x.dtype)], axis)
        result = run(wider)
        there = zip(empty, dims(result), strict=False)
        ends = [tf.where(none, 0, n) if is_native(none) else 0 if none else n for none, n in there]
        return result[tuple([slice(end) for end in ends])]

    known = [x.shape[axis] for axis in axes]
    graph = build()
    if None in known and graph is not None:
        graph.sensitive = True
        if graph.empty:
            empty = tf.reduce_any(tf.equal(tf.shape(x)[: len(axes)], 0))
            return tf.cond(empty, of_empty, lambda: run(x))
    return of_empty() if 0 in known else run(x)


def _channels_last(x: Any, data_format: str, function: Callable[[Any], Any]) -> Any:
    """``function`` of ``x`` with the channels brought to the end, and back."""
    if data_format == "channels_last":
        return function(x)
    rank = x.shape.rank
    result = function(tf.transpose(x, (0, *range(2, rank), 1)))
    return tf.transpose(result, (0, rank - 1, *range(1, rank - 1)))


def _misaligned(x: Any, kernel: Any, steps: Any, padding: str) -> bool:
    """Whether TensorFlow's own kernel in 3-D would begin a "same" convolution inside the input.

    It does so where no padding is needed, since a window is smaller than the stride.
    """
    if len(steps) < 3 or padding != "same" or not _plain(x.dtype):
        return False
    axes = zip(dims(kernel), steps, strict=False)
    return any(not isinstance(width, int) or width < step for width, step in axes)


def _pairs(sizes: Any, window: Any, steps: Any, gaps: Any = (1, 1, 1)) -> Any:
    """The zeros of "same" before and after each spatial axis, of a size that the run may tell."""
    pairs = []
    for size, width, step, gap in zip(sizes, window, steps, gaps, strict=False):
        total = (-(-size // step) - 1) * step + (width - 1) * gap + 1 - size
        total = max(total, 0) if isinstance(total, int) else tf.maximum(total, 0)
        pairs.append([total // 2, total - total // 2])
    return pairs


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
