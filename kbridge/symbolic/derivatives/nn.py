"""Derivatives of activations and of adding a bias."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.autodiff import rule, shrink


def _passes(K: Any, x: Any, threshold: float) -> Any:
    """Where an element counts as above the threshold.

    At 0 a rectifier has the slope of its lower part, as on all engines; at another threshold,
    where it jumps, the element that passes has that of the upper part. What is clipped passes
    up to the bounds, as with ``clip``.
    """
    return K.greater_equal(x, threshold) if threshold else K.greater(x, 0.0)


def _relu(K: Any, g: Any, y: Any, x: Any, alpha: Any, max_value: Any, threshold: float) -> Any:
    above = g
    if max_value is not None:
        above = K.where(K.less_equal(x, max_value), above, 0.0)
        if threshold < 0:
            above = K.where(K.greater_equal(x, 0.0), above, 0.0)
    below = 0.0 if isinstance(alpha, float) and alpha == 0.0 else g * alpha
    return K.where(_passes(K, x, threshold), above, below)


def _relu_slope(
    K: Any, g: Any, y: Any, x: Any, alpha: Any, max_value: Any, threshold: float
) -> Any:
    part = K.where(K.less(x, threshold), g * (x - threshold), 0.0)
    return shrink(K, part, alpha, (alpha, x))


def _softmax(K: Any, g: Any, y: Any, x: Any, axis: int) -> Any:
    product = g * y
    return product - y * K.sum(product, axis=axis, keepdims=True)


def _bias(K: Any, g: Any, y: Any, x: Any, bias: Any, data_format: str) -> Any:
    """The sum over all axes but the bias's own; a bias of full rank may have sizes of 1."""
    rank = len(x.shape)
    axis = 1 if data_format == "channels_first" else rank - 1
    if len(bias.shape) == 1:
        return K.sum(g, axis=tuple(a for a in range(rank) if a != axis))
    if axis == rank - 1:
        return shrink(K, g, bias, (bias, g))
    run = K.shape(bias)
    sizes = [run[a] if size is None else size for a, size in enumerate(bias.shape)]
    laid = K.reshape(bias, [sizes[-1], *sizes[:-1]])
    return K.reshape_like(shrink(K, g, laid, (laid, g)), bias)


rule("relu", _relu, _relu_slope)
rule("elu", lambda K, g, y, x, alpha: K.where(K.greater(x, 0.0), g, g * (y + alpha)))
rule("softmax", _softmax)
rule("softplus", lambda K, g, y, x: g * K.sigmoid(x))
rule("softsign", lambda K, g, y, x: g / K.square(K.abs(x) + 1.0))
rule("sigmoid", lambda K, g, y, x: g * (y * (1.0 - y)))
rule("tanh", lambda K, g, y, x: g * (1.0 - K.square(y)))
rule("bias_add", lambda K, g, y, x, bias, data_format: g, _bias)
