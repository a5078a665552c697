"""Fixed contents on JAX."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.backends.jax.staging import in_width, numbers, sizes
from kbridge.symbolic import dtypes


def full(shape: Any, value: float, dtype: str) -> Any:
    shape = sizes(shape, "ones" if value == 1 else "zeros")
    shape = shape if isinstance(shape, tuple) else (shape,)
    return in_width(dtype, lax.full, shape, value, dtypes.to_numpy(dtype))


def full_like(x: Any, value: float, dtype: str | None = None) -> Any:
    return full(x.shape, value, dtypes.normalize(x.dtype) if dtype is None else dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    begin, end = (0, start) if stop is None else (start, stop)
    values = np.arange(*(numbers(part, "arange") for part in (begin, end, step)))
    return in_width(dtype, jnp.asarray, values.astype(dtypes.to_numpy(dtype)))
