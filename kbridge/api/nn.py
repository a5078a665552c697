"""Activations and normalisation."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, operation, replaceable
from kbridge.api.rules import TensorLike, as_axis, as_data_format, as_float
from kbridge.errors import ArgumentError
from kbridge.symbolic import conv_shapes, shapes


@operation(
    "x alpha",
    promote="x alpha",
    floating=True,
    resolve={"max_value": as_float, "threshold": as_float},
    shape=lambda x, alpha, max_value, threshold: x.shape,
)
def relu(
    x: TensorLike, alpha: Any = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Any:
    """Rectified linear unit.

    ``x`` where ``x >= threshold``, else ``alpha * (x - threshold)``; the part above the
    threshold is clipped to ``[0, max_value]`` where ``max_value`` is given.
    """


@operation("x", floating=True, resolve={"alpha": as_float})
def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """Exponential linear unit: ``x`` where positive, else ``alpha * (exp(x) - 1)``."""


def _softmax_shape(x: Any, axis: Any) -> Any:
    shapes.normalize_axis(axis, len(x.shape))
    return x.shape


@operation("x", floating=True, shape=_softmax_shape, resolve={"axis": as_axis})
def softmax(x: TensorLike, axis: int = -1) -> Any:
    """``exp(x) / sum(exp(x))`` along ``axis``, stable for large inputs."""


@operation("x", floating=True)
def softplus(x: TensorLike) -> Any:
    """``log(1 + exp(x))``, stable for large inputs."""


@operation("x", floating=True)
def softsign(x: TensorLike) -> Any:
    """``x / (1 + abs(x))``."""


@operation("x", floating=True)
def sigmoid(x: TensorLike) -> Any:
    """``1 / (1 + exp(-x))``."""


@operation("x", floating=True)
def tanh(x: TensorLike) -> Any:
    """Hyperbolic tangent."""


@composite
def hard_sigmoid(K: Any, x: TensorLike) -> Any:
    """``clip(0.2 * x + 0.5, 0, 1)``: a sigmoid in straight lines."""
    return K.clip(K.add(K.multiply(x, 0.2), 0.5), 0.0, 1.0)


@operation(
    "x bias",
    promote="x bias",
    shape=lambda x, bias, data_format: conv_shapes.bias_add(x.shape, bias.shape, data_format),
    resolve={"data_format": as_data_format},
)
def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Any:
    """``x`` plus a bias per channel (or per position and channel)."""


def _normalized(x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: Any, epsilon: Any) -> Any:
    shapes.normalize_axis(axis, len(x.shape))
    return x.shape


@replaceable(
    "x mean var beta gamma",
    promote="x mean var beta gamma",
    floating=True,
    shape=_normalized,
    resolve={"axis": as_axis, "epsilon": as_float},
)
def batch_normalization(
    K: Any,
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    axis: int = -1,
    epsilon: float = 0.001,
) -> Any:
    """``(x - mean) / sqrt(var + epsilon) * gamma + beta`` along ``axis``.

    ``beta`` and ``gamma`` may be None.
    """
    rank = K.ndim(x)
    axis = shapes.normalize_axis(axis, rank)

    def along(tensor: Any) -> Any:
        if tensor is None or K.ndim(tensor) in (0, rank) or axis == rank - 1:
            return tensor
        return K.reshape(tensor, [-1 if i == axis else 1 for i in range(rank)])

    scale = K.divide(1.0, K.sqrt(K.add(along(var), epsilon)))
    if gamma is not None:
        scale = K.multiply(scale, along(gamma))
    result = K.multiply(K.subtract(x, along(mean)), scale)
    return result if beta is None else K.add(result, along(beta))


@composite
def normalize_batch_in_training(
    K: Any,
    x: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    reduction_axes: Any,
    epsilon: float = 0.001,
) -> Any:
    """``x`` normalised by its own mean and variance over ``reduction_axes``.

    Returns ``(normalized, mean, variance)``.
    """
    axes = shapes.normalize_axes(reduction_axes, K.ndim(x))
    kept = [axis for axis in range(K.ndim(x)) if axis not in axes]
    mean, variance = K.mean(x, axis=axes), K.var(x, axis=axes)
    if len(kept) == 1:
        normal = K.batch_normalization(x, mean, variance, beta, gamma, kept[0], epsilon)
        return normal, mean, variance
    if not kept:
        raise ArgumentError("K.normalize_batch_in_training: reduction_axes leave no axis.")
    wide_mean, wide_variance = (
        K.mean(x, axis=axes, keepdims=True),
        K.var(x, axis=axes, keepdims=True),
    )
    sizes = [
        K.shape(x)[axis] if K.int_shape(x)[axis] is None else K.int_shape(x)[axis] for axis in kept
    ]
    shape = [1 if axis in axes else sizes[kept.index(axis)] for axis in range(K.ndim(x))]
    wide = [None if t is None else K.reshape(t, shape) for t in (beta, gamma)]
    normal = K.batch_normalization(x, wide_mean, wide_variance, *wide, -1, epsilon)
    return normal, mean, variance


@composite
def in_top_k(K: Any, predictions: TensorLike, targets: TensorLike, k: int) -> Any:
    """Whether the prediction of the target class is among the ``k`` largest of its row.

    Classes tied with the k-th largest count as in. A row whose target's prediction is not
    finite, or whose target is out of range, is False.
    """
    classes = K.int_shape(predictions)[-1] or K.shape(predictions)[-1]
    targets = K.cast(targets, "int32")
    index = K.arange(classes) if not isinstance(classes, int) else K.arange(0, classes)
    chosen = K.equal(K.expand_dims(targets, -1), index)
    own = K.sum(K.where(chosen, predictions, 0.0), axis=-1, keepdims=True)
    larger = K.sum(K.cast(K.greater(predictions, own), "int32"), axis=-1)
    finite = K.equal(K.subtract(own, own), 0.0)
    valid = K.logical_and(K.any(chosen, axis=-1), K.all(finite, axis=-1))
    return K.logical_and(K.less(larger, k), valid)
