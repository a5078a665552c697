"""Activations on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.api.rules import as_data_format
from kbridge.symbolic.conv_shapes import channel_axis

tanh = np.tanh

# An array beside an array: NumPy takes as long for a number as for the whole maximum.
_ZEROS = {np.dtype(name): np.zeros((), name) for name in ("float16", "float32", "float64")}


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    dead = alpha.__class__ is float and not alpha
    if dead and max_value is None and not threshold:
        return np.maximum(x, _ZEROS.get(x.dtype, 0))
    number = x.dtype.type  # bfloat16 would take a Python float for a wider one
    above = x if max_value is None else np.maximum(np.minimum(x, number(max_value)), 0)
    if dead:
        return np.where(x < number(threshold), 0, above)
    below = x - number(threshold)
    slope = alpha if isinstance(alpha, np.ndarray) else number(alpha)
    return np.where(below < 0, below * slope, above)


def elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)) * x.dtype.type(alpha))


def softmax(x: Any, axis: int = -1) -> Any:
    dtype = x.dtype
    if dtype.itemsize == 2:
        return softmax(x.astype(np.float32), axis).astype(dtype)
    powers = np.exp(x - np.maximum.reduce(x, axis, keepdims=True, initial=-np.inf))
    return powers / np.add.reduce(powers, axis, keepdims=True)


def softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softsign(x: Any) -> Any:
    return x / (np.abs(x) + 1)


def sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # in (0, 1], so that nothing overflows
    return np.where(x >= 0, 1, small) / (small + 1)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    if data_format is None and x.ndim == 2 and bias.shape == x.shape[1:]:  # has but one meaning
        return np.add(x, bias)
    axis = channel_axis(x.ndim, as_data_format(data_format))
    if bias.ndim not in (1, x.ndim - 1) or bias.shape[-1] != x.shape[axis]:
        raise ValueError(x.shape, bias.shape)
    if axis != x.ndim - 1:
        ones = (1,) * (x.ndim - 1 - bias.ndim)
        bias = bias.reshape(bias.shape[-1:] + bias.shape[:-1] + ones)
    return x + bias
