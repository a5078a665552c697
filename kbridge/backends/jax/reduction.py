"""Reductions on JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.backends.jax.staging import enable_x64, guarded
from kbridge.symbolic import shapes


def _reduction(function: Callable[..., Any], floating: bool = False) -> Callable[..., Any]:
    """Compiled with its axes, which a list (as the dispatcher passes it on) cannot be."""
    run = guarded("axis", "keepdims", floating=floating)(function)

    def reduction(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return run(x, tuple(axis) if axis.__class__ is list else axis, keepdims)

    return reduction


def _counted(x: Any) -> Any:
    # Said, as JAX would widen small integers, and int32 too in 64-bit mode.
    return np.dtype(np.int32) if x.dtype == bool else x.dtype


max = _reduction(lambda x, axis, keepdims: jnp.max(x, axis, keepdims=keepdims))
min = _reduction(lambda x, axis, keepdims: jnp.min(x, axis, keepdims=keepdims))
sum = _reduction(lambda x, axis, keepdims: jnp.sum(x, axis, _counted(x), keepdims=keepdims))
prod = _reduction(lambda x, axis, keepdims: jnp.prod(x, axis, _counted(x), keepdims=keepdims))
mean = _reduction(lambda x, axis, keepdims: jnp.mean(x, axis, keepdims=keepdims), True)
var = _reduction(lambda x, axis, keepdims: jnp.var(x, axis, keepdims=keepdims), True)
any = _reduction(lambda x, axis, keepdims: jnp.any(x, axis, keepdims=keepdims))
all = _reduction(lambda x, axis, keepdims: jnp.all(x, axis, keepdims=keepdims))


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    top = lax.stop_gradient(jnp.max(x, axis, keepdims=True))
    top = jnp.where(jnp.isfinite(top), top, 0)
    total = jnp.sum(jnp.exp(x - top), axis, keepdims=True)
    # Masked where all elements are -inf, so that the gradient is 0 there.
    result = jnp.where(total == 0, -jnp.inf, jnp.log(jnp.where(total == 0, 1, total)) + top)
    return result if keepdims else jnp.squeeze(result, axis)


logsumexp = _reduction(_logsumexp, True)


@guarded("axis")
def cumsum(x: Any, axis: int = 0) -> Any:
    shapes.cumulate(x.shape, axis)  # JAX would flatten where the axis is None
    return jnp.cumsum(x, axis, _counted(x))


@guarded("axis")
def cumprod(x: Any, axis: int = 0) -> Any:
    shapes.cumulate(x.shape, axis)
    return jnp.cumprod(x, axis, _counted(x))


@guarded("largest", "axis")
def _position(x: Any, largest: bool, axis: int) -> Any:
    shapes.arg_reduce(x.shape, axis)
    axis = shapes.normalize_axis(axis, x.ndim)
    # In a trace of the user's, which is not in 64-bit mode, JAX can cast to and reduce 64 bits,
    # but not search them: there the search is for where the extreme, or nan, stands.
    if x.dtype.itemsize == 8:
        extreme = (jnp.max if largest else jnp.min)(x, axis, keepdims=True)
        x, largest = ((x == extreme) | (x != x)).astype(np.int8), True
    found = (lax.argmax if largest else lax.argmin)(x, axis, np.int32)
    return lax.convert_element_type(found, np.int64)


def argmax(x: Any, axis: int = -1) -> Any:
    with enable_x64(True):
        return _position(x, True, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    with enable_x64(True):
        return _position(x, False, axis)
