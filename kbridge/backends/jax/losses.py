"""Cross-entropies on JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from kbridge.backends.jax.staging import guarded
from kbridge.errors import ShapeError


@guarded()
def softmax_cost(target: Any, output: Any) -> Any:
    if not jnp.issubdtype(output.dtype, jnp.floating):
        return ()
    if target.shape != output.shape[:-1]:
        raise ShapeError(f"the sizes of {target.shape} and {output.shape} differ")
    if not output.shape[-1]:  # what is beyond the end of nothing is 0
        return jnp.full(target.shape, jnp.nan, output.dtype)
    logs = jax.nn.log_softmax(output, -1)
    # Beyond the end the filling is nan; a negative index would count from there.
    classes = jnp.where(target < 0, output.shape[-1], target)
    return -jnp.take_along_axis(logs, classes[..., None], -1, mode="fill")[..., 0]
