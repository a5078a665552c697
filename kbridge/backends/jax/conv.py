"""Convolution and pooling on JAX."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.api.rules import as_data_format
from kbridge.backends.jax.staging import guarded
from kbridge.symbolic import conv_shapes

_LAYOUTS = {"channels_last": "NHWC", "channels_first": "NCHW"}


@guarded("strides", "padding", "data_format", "dilation_rate", floating=True)
def _conv2d(
    x: Any, kernel: Any, strides: Any, padding: str, data_format: str, dilation_rate: Any
) -> Any:
    conv_shapes.conv(
        x.shape, kernel.shape, strides, padding, data_format, dilation_rate, spatial_rank=2
    )
    layout = _LAYOUTS[data_format]
    return lax.conv_general_dilated(
        x,
        kernel,
        strides,
        padding.upper(),  # "SAME" pads as TensorFlow does
        rhs_dilation=dilation_rate,
        dimension_numbers=(layout, "HWIO", layout),
    )


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    strides = conv_shapes.tuple_of(strides, 2, "strides")
    rates = conv_shapes.tuple_of(dilation_rate, 2, "dilation_rate")
    return _conv2d(x, kernel, strides, padding, as_data_format(data_format), rates)


@guarded("pool_size", "strides", "padding", "data_format", "pool_mode", floating=True)
def _pool2d(
    x: Any, pool_size: Any, strides: Any, padding: str, data_format: str, pool_mode: str
) -> Any:
    conv_shapes.pool(x.shape, pool_size, strides, padding, data_format, spatial_rank=2)
    first = 1 if data_format == "channels_last" else 2
    window, steps = [1] * 4, [1] * 4
    window[first : first + 2], steps[first : first + 2] = pool_size, strides
    rule = padding.upper()
    if pool_mode == "max":
        # Its gradient goes to the first maximum of a window.
        return lax.reduce_window(x, -np.inf, lax.max, window, steps, rule)
    total = lax.reduce_window(x, 0.0, lax.add, window, steps, rule)
    return total / jnp.asarray(_counts(x.shape, window, steps, padding), x.dtype)


def _counts(shape: Any, window: Any, steps: Any, padding: str) -> Any:
    """How many elements of the input each window holds."""
    result = np.ones((), np.int64)
    for size, width, step in zip(shape, window, steps, strict=True):
        counts: Any = np.ones(1, np.int64)
        if width > 1:
            same = padding == "same"
            before, after = conv_shapes.same_padding(size, width, step) if same else (0, 0)
            starts = np.arange(0, before + size + after - width + 1, step) - before
            counts = np.minimum(starts + width, size) - np.maximum(starts, 0)
        result = result[..., None] * counts
    return result


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    if pool_mode not in ("max", "avg"):
        raise ValueError(pool_mode)
    sizes = conv_shapes.tuple_of(pool_size, 2, "pool_size")
    steps = conv_shapes.tuple_of(strides, 2, "strides")
    return _pool2d(x, sizes, steps, padding, as_data_format(data_format), pool_mode)
