"""Pooling on TensorFlow; channels are last inside, as in ``conv.py``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.api.rules import as_data_format
from kbridge.backends.tensorflow.conv import _channels_last, _fitting
from kbridge.backends.tensorflow.nn import floats
from kbridge.backends.tensorflow.support import EAGER, dims, recorded
from kbridge.symbolic import conv_shapes

_shape = functools.lru_cache(1024)(conv_shapes.pool)
_KERNELS = {
    ("max", 2): tf.nn.max_pool2d,
    ("avg", 2): tf.nn.avg_pool2d,
    ("max", 3): tf.nn.max_pool3d,
    ("avg", 3): tf.nn.avg_pool3d,
}
_ADJOINTS = {2: tf.raw_ops.MaxPoolGrad, 3: tf.raw_ops.MaxPool3DGrad}
#: The dtypes for which the CPU has kernels of three axes.
_VOLUMES = frozenset({tf.float32, tf.bfloat16})


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    return _pool(x, 2, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    return _pool(x, 3, pool_size, strides, padding, data_format, pool_mode)


def _pool(
    x: Any, n: int, pool_size: Any, strides: Any, padding: Any, data_format: Any, pool_mode: Any
) -> Any:
    single = x.dtype is tf.float32
    if not single:
        floats(x)
    layout, kernel = as_data_format(data_format), _KERNELS[pool_mode, n]
    sizes = conv_shapes.tuple_of(pool_size, n, "pool_size")
    steps = conv_shapes.tuple_of(strides, n, "strides")
    _shape(tuple(x.shape.as_list()), sizes, steps, padding, layout, n)
    rule = padding.upper()
    if single and x.__class__ is EAGER and layout == "channels_last":
        return kernel(x, sizes, steps, rule)
    pool = _maximum if pool_mode == "max" else _mean

    def run(x: Any) -> Any:
        x = _fitting(x, sizes, (1,) * n, padding)
        if n == 2 or x.dtype in _VOLUMES:
            return pool(x, sizes, steps, rule)

        def in_plane(tensors: Any, sizes: Any, steps: Any) -> Any:
            return [pool(tensors[0], sizes, steps, rule)]

        return _by_planes(in_plane, [x], sizes, steps)[0]

    return _channels_last(x, layout, run)


def _by_planes(run: Callable[..., Any], tensors: Any, sizes: Any, steps: Any) -> list[Any]:
    """Pooling of volumes: by rows and columns, then by the depth.

    The first maximum of a window is that of its first plane, and the mean of means is the mean.
    """
    batch, depth, rows, columns, channels = dims(tensors[0])
    planes = [tf.reshape(x, (batch * depth, rows, columns, channels)) for x in tensors]
    planes = run(planes, sizes[1:], steps[1:])
    _, rows, columns, _ = dims(planes[0])
    lines = [tf.reshape(x, (batch, depth, rows * columns, channels)) for x in planes]
    lines = run(lines, (sizes[0], 1), (steps[0], 1))
    depth = dims(lines[0])[1]
    return [tf.reshape(x, (batch, depth, rows, columns, channels)) for x in lines]


# --- the maximum ---------------------------------------------------------------------------------


def _maximum(x: Any, sizes: Any, steps: Any, rule: str) -> Any:
    n = len(sizes)
    kernel, adjoint = _KERNELS["max", n], _ADJOINTS[n]
    if tf.executing_eagerly() or not recorded(x):
        return kernel(x, sizes, steps, rule)
    # In a graph the second derivative's own kernel may take its operand's memory for its result,
    # where both have one shape, clears it first, and so gives zeros.
    how = {"ksize": (1, *sizes, 1), "strides": (1, *steps, 1), "padding": rule}

    @tf.custom_gradient
    def maximum(x: Any) -> Any:
        y = kernel(x, sizes, steps, rule)

        @tf.custom_gradient
        def spread(g: Any) -> Any:
            result = adjoint(orig_input=x, orig_output=y, grad=g, **how)
            return result, lambda values: _picked(values, x, sizes, steps, rule)

        return y, spread

    return maximum(x)


def _picked(values: Any, x: Any, sizes: Any, steps: Any, rule: str) -> Any:
    """The element of ``values`` where each window of ``x`` has its first maximum."""

    def pick(tensors: Any, sizes: Any, steps: Any) -> Any:
        x, values = tensors
        y, at = tf.nn.max_pool_with_argmax(x, sizes, steps, rule, include_batch_in_index=True)
        return y, tf.gather(tf.reshape(values, (-1,)), at)

    pair = [x, values]
    return (pick if len(sizes) == 2 else functools.partial(_by_planes, pick))(pair, sizes, steps)[1]


# --- the mean ------------------------------------------------------------------------------------


def _mean(x: Any, sizes: Any, steps: Any, rule: str) -> Any:
    kernel = _KERNELS["avg", len(sizes)]
    columns = x.shape[-2]
    fits = columns is not None and (columns >= sizes[-1] or columns == 0)
    if x.dtype is tf.float32 or rule == "VALID" or fits or not recorded(x):
        return kernel(x, sizes, steps, rule)
    # Of float64 and float16 the kernel of the gradient is wrong where a window is wider than x.
    pairs = []
    for size, width, step in zip(dims(x)[1:-1], sizes, steps, strict=True):
        total = (-(-size // step) - 1) * step + width - size
        total = max(total, 0) if isinstance(total, int) else tf.maximum(total, 0)
        pairs.append((total // 2, total - total // 2))
    around = [(0, 0), *pairs, (0, 0)]

    def padded(x: Any) -> Any:
        return kernel(tf.pad(x, around), sizes, steps, "VALID")

    return padded(x) / padded(tf.ones_like(x[:1, ..., :1]))
