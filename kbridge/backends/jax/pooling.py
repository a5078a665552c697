"""Pooling on JAX."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.api.rules import as_data_format
from kbridge.backends.jax.staging import guarded
from kbridge.symbolic import conv_shapes


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
