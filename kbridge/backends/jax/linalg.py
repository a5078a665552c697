"""Products on JAX."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from kbridge.backends.jax.staging import guarded
from kbridge.symbolic import shapes

dot = jnp.dot
transpose = guarded()(jnp.transpose)


@guarded("axes")
def _batch_dot(x: Any, y: Any, axes: Any) -> Any:
    shape = shapes.batch_dot(x.shape, y.shape, axes)
    a, b = shapes.batch_dot_axes(x.shape, y.shape, axes)
    return lax.dot_general(x, y, (((a,), (b,)), ((0,), (0,)))).reshape(shape)


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    return _batch_dot(x, y, tuple(axes) if axes.__class__ is list else axes)
