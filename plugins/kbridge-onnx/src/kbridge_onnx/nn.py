"""Activations in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.api.rules import as_data_format
from kbridge.symbolic.conv_shapes import channel_axis
from kbridge_onnx.elementwise import expm1, log1p, wide_where
from kbridge_onnx.graph import as_value, dims, emit, primitive, reshaped, wide


@primitive
def tanh(x: Any) -> Any:
    return wide("Tanh", x)


@primitive
def sigmoid(x: Any) -> Any:
    return wide("Sigmoid", x)


@primitive
def softmax(x: Any, axis: int = -1) -> Any:
    return wide("Softmax", x, axis=int(axis))


@primitive
def softplus(x: Any) -> Any:
    return wide("Add", wide("Max", x, 0.0), log1p(wide("Exp", wide("Neg", wide("Abs", x)))))


@primitive
def softsign(x: Any) -> Any:
    return wide("Div", x, wide("Add", wide("Abs", x), 1.0))


@primitive
def elu(x: Any, alpha: float = 1.0) -> Any:
    below = wide("Mul", expm1(wide("Min", x, 0.0)), alpha)
    return wide_where(wide("Greater", x, 0.0), x, below)


@primitive
def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    dead = isinstance(alpha, (int, float)) and not alpha
    if dead and max_value is None and not threshold:
        return wide("Relu", x) if x.dtype in ("float32", "float64") else wide("Max", x, 0)
    above = x if max_value is None else wide("Max", wide("Min", x, max_value), 0.0)
    if dead:
        return wide_where(wide("Less", x, threshold), 0.0, above)
    below = wide("Sub", x, threshold)
    return wide_where(wide("Less", below, 0.0), wide("Mul", below, alpha), above)


@primitive
def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    x, bias = as_value(x), as_value(bias)
    axis = channel_axis(x.ndim, as_data_format(data_format))
    if axis != x.ndim - 1:
        sizes = dims(bias)
        ones = [1] * (x.ndim - 1 - bias.ndim)
        bias = reshaped(bias, [sizes[-1], *sizes[:-1], *ones])
    elif bias.ndim == 1 and bias.shape[0] == 1 != x.shape[-1]:
        bias = emit("Reshape", bias, np.array([x.shape[-1] or -2]))  # refused, not broadcast
    return wide("Add", x, bias)
