"""Random numbers on NumPy; ``seed`` is a generator at one position of its stream.

These are also the draws of every backend outside compiled functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic.dtypes import to_numpy


def _drawn(values: Any, dtype: str) -> Any:
    return np.asarray(values).astype(to_numpy(dtype))


def random_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    return _drawn(seed.standard_normal(shape) * stddev + mean, dtype)


def random_uniform(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> Any:
    if to_numpy(dtype).kind in "iu":
        return _drawn(seed.integers(int(minval), int(maxval), shape), dtype)
    values = _drawn(seed.random(shape) * (maxval - minval) + minval, dtype)
    # Rounding to fewer digits may reach the upper end, which is not part of the range.
    below = np.nextafter(to_numpy(dtype).type(maxval), to_numpy(dtype).type(minval))
    return np.minimum(values, below) if maxval > minval else values


def truncated_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    values = np.asarray(seed.standard_normal(shape))
    while True:
        outside = np.abs(values) > 2
        count = int(outside.sum())
        if not count:
            return _drawn(values * stddev + mean, dtype)
        values[outside] = seed.standard_normal(count)
