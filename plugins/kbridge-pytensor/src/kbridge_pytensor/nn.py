"""Activations and biases."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt

from kbridge.symbolic.conv_shapes import channel_axis
from kbridge_pytensor.engine import contract, engine
from kbridge_pytensor.reduction import largest_or, wide


@contract
def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    zero = pt.zeros_like(x)
    above = x
    if max_value is not None:
        above = pt.switch(pt.gt(x, max_value), pt.cast(max_value, x.type.dtype), x)
        above = pt.switch(pt.lt(above, 0), zero, above)
    shifted = x - pt.cast(threshold, x.type.dtype)
    dead = not getattr(alpha, "data", 1.0) if engine.is_native(alpha) else not alpha
    below = zero if dead else shifted * pt.cast(alpha, x.type.dtype)
    # At 0 the slope is that below, at another threshold that above.
    fails = pt.lt(x, threshold) if threshold else pt.le(x, 0)
    return pt.switch(fails, below, above)


@contract
def elu(x: Any, alpha: float = 1.0) -> Any:
    below = pt.expm1(pt.switch(pt.gt(x, 0), pt.zeros_like(x), x))
    return pt.switch(pt.gt(x, 0), x, below * pt.cast(alpha, x.type.dtype))


@contract
def softmax(x: Any, axis: int = -1) -> Any:
    x, axis = wide(x), axis % x.ndim
    powers = pt.exp(x - largest_or(x, [axis], float("-inf")))
    return powers / pt.sum(powers, axis=axis, keepdims=True, dtype=x.type.dtype)


@contract
def softplus(x: Any) -> Any:
    return pt.softplus(x)


@contract
def softsign(x: Any) -> Any:
    return x / (pt.abs(x) + 1)


@contract
def sigmoid(x: Any) -> Any:
    return pt.sigmoid(x)


@contract
def tanh(x: Any) -> Any:
    return pt.tanh(x)


@contract
def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    axis = channel_axis(x.ndim, data_format)
    if axis != x.ndim - 1:
        # Channels to the front; of a bias for each position the elements in order.
        sizes = [bias.shape[i] for i in range(bias.ndim)]
        ones = [1] * (x.ndim - 1 - bias.ndim)
        bias = pt.reshape(bias, (sizes[-1], *sizes[:-1], *ones))
    return x + bias
