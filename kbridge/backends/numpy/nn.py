"""Activations on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.api.rules import as_data_format


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    if alpha is not None and np.ndim(alpha) == 0 and alpha == 0 and not threshold:
        above = np.maximum(x, 0)
        return above if max_value is None else np.minimum(above, x.dtype.type(max_value))
    above = x if max_value is None else np.clip(x, 0, max_value)
    below = np.multiply(x - x.dtype.type(threshold), alpha)
    return np.where(x >= threshold, above, below).astype(x.dtype, copy=False)


def elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(np.minimum(x, 0)))


def softmax(x: Any, axis: int = -1) -> Any:
    powers = np.exp(x - np.max(x, axis, keepdims=True))
    return powers / np.sum(powers, axis, keepdims=True)


def softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softsign(x: Any) -> Any:
    return x / (1 + np.abs(x))


def sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # in (0, 1], so that nothing overflows
    return np.where(x >= 0, 1, small) / (1 + small)


tanh = np.tanh


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    if as_data_format(data_format) == "channels_last" or x.ndim == 2:
        return x + bias
    if bias.ndim == 1:
        return x + bias.reshape((-1,) + (1,) * (x.ndim - 2))
    return x + np.moveaxis(bias, -1, 0)
