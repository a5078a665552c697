"""Random numbers on JAX; ``seed`` is a key: the engine's in a compiled function, or the user's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.backends.jax.staging import in_width, sizes
from kbridge.symbolic.dtypes import is_integer, to_numpy

# Half-precision numbers are drawn in float32 and rounded, so that their tails are there.


def _shape(shape: Any, name: str) -> Any:
    shape = sizes(shape, name)
    return shape if isinstance(shape, tuple) else (shape,)


def _drawn_in(dtype: str) -> Any:
    return np.dtype(np.float64 if dtype == "float64" else np.float32)


def random_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    return in_width(dtype, _normal, _shape(shape, "random_normal"), mean, stddev, dtype, seed)


def _normal(shape: Any, mean: float, stddev: float, dtype: str, key: Any) -> Any:
    values = jax.random.normal(key, shape, _drawn_in(dtype))
    return lax.convert_element_type(values * stddev + mean, to_numpy(dtype))


def random_uniform(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> Any:
    return in_width(dtype, _uniform, _shape(shape, "random_uniform"), minval, maxval, dtype, seed)


def _uniform(shape: Any, minval: float, maxval: float, dtype: str, key: Any) -> Any:
    kind = to_numpy(dtype)
    if is_integer(dtype):
        return jax.random.randint(key, shape, int(minval), int(maxval), kind)
    values = jax.random.uniform(key, shape, _drawn_in(dtype)) * (maxval - minval) + minval
    values = lax.convert_element_type(values, kind)
    # Rounding to fewer digits may reach the upper end, which is not part of the range.
    return jnp.minimum(values, np.nextafter(kind.type(maxval), kind.type(minval)))


def truncated_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    return in_width(dtype, _truncated, _shape(shape, "truncated_normal"), mean, stddev, dtype, seed)


def _truncated(shape: Any, mean: float, stddev: float, dtype: str, key: Any) -> Any:
    values = jax.random.truncated_normal(key, -2.0, 2.0, shape, _drawn_in(dtype))
    return lax.convert_element_type(values * stddev + mean, to_numpy(dtype))
