"""Activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kbridge.api.rules import as_data_format
from kbridge.backends.namespace.tools import cast, is_half, public, wide
from kbridge.symbolic.conv_shapes import channel_axis


def primitives(xp: Any, engine: Any) -> dict[str, Callable[..., Any]]:
    def _in_single(function: Callable[..., Any]) -> Callable[..., Any]:
        """16-bit floats have too few digits for what lies between."""

        def run(x: Any, *args: Any) -> Any:
            return cast(function(wide(x), *args), x.dtype) if is_half(x) else function(x, *args)

        return run

    def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
        number = x.dtype.type
        zero = xp.zeros_like(x)
        above = x if max_value is None else xp.minimum(x, number(max_value))
        above = above if max_value is None else xp.maximum(above, zero)
        slope = alpha if engine.is_native(alpha) else number(alpha)
        if not engine.is_native(alpha) and not alpha:
            below = zero
        else:
            below = (x - number(threshold)) * slope
        return xp.where(x < number(threshold), below, above)

    def elu(x: Any, alpha: float = 1.0) -> Any:
        low = xp.expm1(xp.minimum(x, xp.zeros_like(x))) * x.dtype.type(alpha)
        return xp.where(x > 0, x, low)

    def _softmax(x: Any, axis: int = -1) -> Any:
        powers = xp.exp(x - xp.max(x, axis=axis, keepdims=True)) if x.shape[axis] else x
        return powers / xp.sum(powers, axis=axis, keepdims=True)

    softmax = _in_single(_softmax)

    def _softplus(x: Any) -> Any:
        return xp.maximum(x, xp.zeros_like(x)) + xp.log1p(xp.exp(-xp.abs(x)))

    softplus = _in_single(_softplus)

    def softsign(x: Any) -> Any:
        return x / (xp.abs(x) + x.dtype.type(1))

    def _sigmoid(x: Any) -> Any:
        small = xp.exp(-xp.abs(x))  # in (0, 1], so that nothing overflows
        return xp.where(x >= 0, xp.ones_like(x), small) / (small + x.dtype.type(1))

    sigmoid = _in_single(_sigmoid)

    def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
        axis = channel_axis(x.ndim, as_data_format(data_format))
        if bias.ndim not in (1, x.ndim - 1) or bias.shape[-1] != x.shape[axis]:
            raise ValueError(x.shape, bias.shape)
        if axis != x.ndim - 1:
            ones = (1,) * (x.ndim - 1 - bias.ndim)
            bias = xp.reshape(bias, bias.shape[-1:] + bias.shape[:-1] + ones)
        return x + bias

    return public(locals())
