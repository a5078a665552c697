"""Pooling on JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.api.rules import as_data_format
from kbridge.backends.jax.staging import guarded
from kbridge.symbolic import conv_shapes

#: The widest windows that are taken apart. XLA compiles wider ones for seconds, and gains nothing
#: from it where they do not overlap.
_WIDEST = 5


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
    if pool_mode not in ("max", "avg"):
        raise ValueError(pool_mode)
    sizes = conv_shapes.tuple_of(pool_size, n, "pool_size")
    steps = conv_shapes.tuple_of(strides, n, "strides")
    return _windows(x, sizes, steps, padding, as_data_format(data_format), pool_mode)


@guarded("pool_size", "strides", "padding", "data_format", "pool_mode", floating=True)
def _windows(
    x: Any, pool_size: Any, strides: Any, padding: str, data_format: str, pool_mode: str
) -> Any:
    n = len(pool_size)
    conv_shapes.pool(x.shape, pool_size, strides, padding, data_format, spatial_rank=n)
    first = 1 if data_format == "channels_last" else 2
    window, steps = [1] * (n + 2), [1] * (n + 2)
    window[first : first + n], steps[first : first + n] = pool_size, strides
    fill, join, joined = (
        (-np.inf, lax.max, _first_maximum) if pool_mode == "max" else (0.0, lax.add, lax.add)
    )
    if x.size and max(pool_size) <= _WIDEST:
        result = _by_axis(x, window, steps, padding, fill, joined)
    else:  # the gradient goes to the first maximum of a window here as well
        result = lax.reduce_window(x, fill, join, window, steps, padding.upper())
    if pool_mode == "max":
        return result
    return result / jnp.asarray(_counts(x.shape, window, steps, padding), x.dtype)


def _by_axis(
    x: Any, window: Any, steps: Any, padding: str, fill: float, join: Callable[[Any, Any], Any]
) -> Any:
    """``reduce_window`` along one axis after the other, each by as many slices as a window is wide.

    On XLA's CPU backend it takes half as long, and its gradient a tenth. The last axis comes first,
    so that of equal elements the first in the order of memory is the first that is joined.
    """
    for axis in reversed(range(x.ndim)):
        width, step = window[axis], steps[axis]
        if width == step == 1:
            continue
        if padding == "same":
            around = [(0, 0, 0)] * x.ndim
            around[axis] = (*conv_shapes.same_padding(x.shape[axis], width, step), 0)
            x = lax.pad(x, jnp.asarray(fill, x.dtype), around)
        reach = (x.shape[axis] - width) // step * step + 1
        parts = [lax.slice_in_dim(x, at, at + reach, step, axis) for at in range(width)]
        x = functools.reduce(join, parts)
    return x


def _first_maximum(x: Any, y: Any) -> Any:
    """The larger, nan if either is; its gradient is that of ``x`` where they are equal."""
    return jnp.where((y > x) | jnp.isnan(y), y, x)


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
