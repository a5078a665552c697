"""Pooling on NumPy, axis by axis over the windows of ``conv.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.backends.numpy.conv import Windows, strided
from kbridge.symbolic.conv_shapes import tuple_of


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    return pool(x, tuple_of(pool_size, 2, "pool_size"), strides, padding, data_format, pool_mode)


def pool3d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    return pool(x, tuple_of(pool_size, 3, "pool_size"), strides, padding, data_format, pool_mode)


def pool(
    x: Any, pool_size: Any, strides: Any, padding: str, data_format: Any, pool_mode: str
) -> Any:
    """The maximum or the average of each window: both go axis by axis."""
    where = Windows(x, pool_size, strides, padding, data_format)
    if pool_mode == "max":
        return where.close(slid(where, where.open(x, -np.inf), np.maximum), x.dtype)
    if pool_mode == "avg":
        return where.close(slid(where, where.open(x), np.add) / where.occupancy(), x.dtype)
    raise ValueError(pool_mode)


def slid(where: Windows, x: Any, combine: Any) -> Any:
    """All elements of each window combined by a ufunc."""
    steps = zip(where.sizes, where.strides, where.counts, strict=True)
    for axis, (size, step, count) in enumerate(steps, 1):
        lead = (slice(None),) * axis
        parts = [x[(*lead, strided(a, step, count))] for a in range(size)]
        x = parts[0] if size == 1 else combine(parts[0], parts[1])
        for part in parts[2:]:
            combine(x, part, out=x)
    return x
