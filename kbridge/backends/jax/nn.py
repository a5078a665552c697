"""Activations and normalisation on JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from kbridge.api.rules import as_data_format
from kbridge.backends.jax.staging import guarded
from kbridge.symbolic import conv_shapes, shapes

tanh = jnp.tanh
sigmoid = lax.logistic
softplus = guarded(floating=True)(jax.nn.softplus)
softsign = guarded(floating=True)(jax.nn.soft_sign)
softmax = guarded("axis", floating=True)(jax.nn.softmax)


@guarded(floating=True)
def _relu(x: Any) -> Any:
    return jnp.where(x <= 0, 0, x)  # nan passes


@guarded("threshold", floating=True)
def _bent_relu(x: Any, alpha: Any, max_value: Any, threshold: float) -> Any:
    above = x if max_value is None else jnp.where(x > max_value, max_value, x)
    if max_value is not None and threshold < 0:
        above = jnp.where(x < 0, 0, above)
    # At 0 the slope is that of the lower part; at another threshold an equal element passes.
    lower = x < threshold if threshold else x <= 0
    return jnp.where(lower, 0 if alpha is None else alpha * (x - threshold), above)


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    max_value = None if max_value is None else max(max_value, 0.0)
    dead = alpha.__class__ is float and alpha == 0.0
    if dead and max_value is None and threshold == 0.0:
        return _relu(x)
    return _bent_relu(x, None if dead else alpha, max_value, threshold)


@guarded(floating=True)
def elu(x: Any, alpha: float = 1.0) -> Any:
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x)))


@guarded("data_format")
def _bias_add(x: Any, bias: Any, data_format: str) -> Any:
    shape = conv_shapes.bias_add(x.shape, bias.shape, data_format)
    if data_format == "channels_first" and x.ndim > 2:
        ones = (1,) * (x.ndim - 1 - bias.ndim)
        bias = bias.reshape(bias.shape[-1:] + bias.shape[:-1] + ones)
    return jnp.broadcast_to(x + bias, shape)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    return _bias_add(x, bias, as_data_format(data_format))


@guarded("axis", floating=True)
def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 0.001
) -> Any:
    axis = shapes.normalize_axis(axis, x.ndim)
    along = [-1 if i == axis else 1 for i in range(x.ndim)]

    def wide(tensor: Any) -> Any:
        same = tensor is None or jnp.ndim(tensor) in (0, x.ndim) or axis == x.ndim - 1
        return tensor if same else jnp.reshape(tensor, along)

    scale = 1 / jnp.sqrt(wide(var) + epsilon)
    scale = scale if gamma is None else scale * wide(gamma)
    result = (x - wide(mean)) * scale
    return result if beta is None else result + wide(beta)
