"""Random numbers on JAX; ``seed`` is a key: the engine's in a compiled function, or the user's."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.backends.jax.staging import compiled, in_width, sizes
from kbridge.symbolic.dtypes import is_integer, to_numpy

# Half-precision numbers are drawn in float32 and rounded, so that their tails are there. Those of
# float64 are made of 32-bit words here, as JAX's own need its 64-bit mode, which a trace of the
# user's may not be in.


def _shape(shape: Any, name: str) -> Any:
    shape = sizes(shape, name)
    return shape if isinstance(shape, tuple) else (shape,)


def _unit(key: Any, shape: Any, dtype: str) -> Any:
    """Uniform draws in [0, 1)."""
    if dtype != "float64":
        return jax.random.uniform(key, shape, np.float32)
    high, low = jax.random.bits(key, (2, *shape), np.uint32).astype(np.float64)
    return jnp.floor(high / 2**5) / 2**27 + jnp.floor(low / 2**6) / 2**53


def random_uniform(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> Any:
    shape = _shape(shape, "random_uniform")
    return in_width(dtype, _uniform, seed, shape, minval, maxval, dtype)


@compiled("shape", "minval", "maxval", "dtype")
def _uniform(key: Any, shape: Any, minval: float, maxval: float, dtype: str) -> Any:
    kind = to_numpy(dtype)
    if is_integer(dtype):
        return jax.random.randint(key, shape, int(minval), int(maxval), kind)
    values = (_unit(key, shape, dtype) * (maxval - minval) + minval).astype(kind)
    if maxval <= minval:
        return values
    # Rounding to fewer digits may reach the upper end, which is not part of the range.
    return jnp.minimum(values, np.nextafter(kind.type(maxval), kind.type(minval)))


def random_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    shape = _shape(shape, "random_normal")
    return in_width(dtype, _normal, seed, shape, mean, stddev, dtype, np.inf)


def truncated_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    shape = _shape(shape, "truncated_normal")
    return in_width(dtype, _normal, seed, shape, mean, stddev, dtype, 2.0)


@compiled("shape", "dtype", "limit")
def _normal(key: Any, shape: Any, mean: float, stddev: float, dtype: str, limit: float) -> Any:
    """The inverse of the distribution function, between -limit and limit."""
    share = math.erf(limit / math.sqrt(2.0))
    middle = 2.0**-53 if dtype == "float64" else 2.0**-23  # of a step: neither -1 nor 1
    centred = (2.0 * _unit(key, shape, dtype) - 1.0 + middle) * share
    values = jnp.clip(math.sqrt(2.0) * lax.erf_inv(centred), -limit, limit)
    return (values * stddev + mean).astype(to_numpy(dtype))
