"""Fixed contents on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic.dtypes import to_numpy


def full(shape: Any, value: float, dtype: str) -> Any:
    return np.full(shape, value, to_numpy(dtype))


def full_like(x: Any, value: float, dtype: str | None = None) -> Any:
    return np.full(x.shape, value, x.dtype if dtype is None else to_numpy(dtype))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    begin, end = (0, start) if stop is None else (start, stop)
    return np.arange(begin, end, step).astype(to_numpy(dtype))
