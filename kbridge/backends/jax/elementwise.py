"""Element by element on JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from kbridge.backends.jax.staging import compiled, in_width, strong
from kbridge.symbolic import dtypes

add = jnp.add
subtract = jnp.subtract
multiply = jnp.multiply
divide = jnp.true_divide
floor_divide = jnp.floor_divide
mod = jnp.remainder
negative = jnp.negative
matmul = jnp.matmul
logical_and = jnp.logical_and
logical_or = jnp.logical_or
logical_xor = jnp.logical_xor
logical_not = jnp.logical_not
where = jnp.where
square = jnp.square
exp = jnp.exp
log = jnp.log
sin = jnp.sin
cos = jnp.cos
sign = jnp.sign
equal = jnp.equal
not_equal = jnp.not_equal
greater = jnp.greater
greater_equal = jnp.greater_equal
less = jnp.less
less_equal = jnp.less_equal
maximum = jnp.maximum
minimum = jnp.minimum
stop_gradient = compiled()(lax.stop_gradient)


@compiled()
def abs(x: Any) -> Any:
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.abs(x))  # its slope at 0 is 0, JAX's 1


@compiled()
def sqrt(x: Any) -> Any:
    # The input is masked too, so that no derivative of any order meets the root of 0 in vain.
    negative = x < 0
    return jnp.where(negative, 0, jnp.sqrt(jnp.where(negative, 1, x)))


@compiled()
def pow(x: Any, a: Any) -> Any:
    dtype = jnp.result_type(x, a)
    if not jnp.issubdtype(dtype, jnp.floating):
        return jnp.power(x, a)
    return _power(*jnp.broadcast_arrays(jnp.asarray(x, dtype), jnp.asarray(a, dtype)))


@jax.custom_jvp
def _power(x: Any, a: Any) -> Any:
    return lax.pow(x, a)


@_power.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # The derivative by the exponent is 0 where the base is not positive and has no logarithm.
    (x, a), (dx, da) = primals, tangents
    y = _power(x, a)
    by_base = a * _power(x, jnp.where(a == 0, 1, a - 1))
    return y, dx * by_base + da * (y * jnp.log(jnp.where(x > 0, x, 1)))


@compiled()
def round(x: Any) -> Any:
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@compiled()
def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    # A bound itself passes with its gradient. Where the bounds cross, the lower one wins.
    if max_value is not None:
        x = jnp.where(x > max_value, max_value, x)
    return x if min_value is None else jnp.where(x < min_value, min_value, x)


def cast(x: Any, dtype: Any) -> Any:
    # JAX reads `float` as 64 bits wide, so names are kbridge's first.
    name = dtypes.normalize(dtype)
    return in_width(name, _cast, x, dtypes.to_numpy(name))


_cast = compiled("new_dtype")(lax.convert_element_type)


def identity(x: Any, name: str | None = None) -> Any:
    return strong(x)  # arrays are immutable, so that it may be itself
