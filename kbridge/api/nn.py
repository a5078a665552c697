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
    numbers=True,
    resolve={"max_value": as_float, "threshold": as_float},
    shape=lambda x, alpha, max_value, threshold: x.shape,
)
def relu(
    x: TensorLike, alpha: Any = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Any:
    """Rectified linear unit: ``x`` where ``x >= threshold``, else ``alpha * (x - threshold)``.

    With ``max_value`` the part above the threshold is clipped to ``[0, max_value]``. ``alpha`` may
    be a tensor, which broadcasts. Integers become floatx first.

    >>> K.eval(K.relu(K.constant([-2.0, 0.5, 7.0]))).tolist()
    [0.0, 0.5, 7.0]
    >>> x = K.constant([-2.0, 1.0, 7.0])
    >>> K.eval(K.relu(x, alpha=0.5, max_value=5.0, threshold=1.0)).tolist()
    [-1.5, 1.0, 5.0]
    """


@operation("x", floating=True, resolve={"alpha": as_float})
def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """Exponential linear unit: ``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Integers become floatx first. It is due to Clevert et al., 2016, arXiv:1511.07289.

    >>> K.eval(K.elu(K.constant([-1000.0, 0.0, 2.0]), alpha=0.5)).tolist()
    [-0.5, 0.0, 2.0]
    """


def _softmax_shape(x: Any, axis: Any) -> Any:
    shapes.normalize_axis(axis, len(x.shape))
    return x.shape


@operation("x", floating=True, shape=_softmax_shape, resolve={"axis": as_axis})
def softmax(x: TensorLike, axis: int = -1) -> Any:
    """``exp(x) / sum(exp(x))`` along ``axis``, which does not overflow.

    Integers become floatx first. An axis that ``x`` lacks raises AxisError.

    >>> K.eval(K.softmax(K.constant([[1000.0, 1000.0]]))).tolist()
    [[0.5, 0.5]]
    """


@operation("x", floating=True)
def softplus(x: TensorLike) -> Any:
    """Element-wise ``log(1 + exp(x))``, which does not overflow. Integers become floatx first.

    >>> K.eval(K.softplus(K.constant([-1000.0, 1000.0]))).tolist()
    [0.0, 1000.0]
    """


@operation("x", floating=True)
def softsign(x: TensorLike) -> Any:
    """Element-wise ``x / (1 + abs(x))``. Integers become floatx first.

    >>> K.eval(K.softsign(K.constant([-1.0, 0.0, 3.0]))).tolist()
    [-0.5, 0.0, 0.75]
    """


@operation("x", floating=True)
def sigmoid(x: TensorLike) -> Any:
    """Element-wise ``1 / (1 + exp(-x))``, which does not overflow. Integers become floatx first.

    >>> K.eval(K.sigmoid(K.constant([-1000.0, 0.0, 1000.0]))).tolist()
    [0.0, 0.5, 1.0]
    """


@operation("x", floating=True)
def tanh(x: TensorLike) -> Any:
    """Element-wise hyperbolic tangent. Integers become floatx first.

    >>> K.eval(K.tanh(K.constant([-1000.0, 0.0, 1000.0]))).tolist()
    [-1.0, 0.0, 1.0]
    """


@composite
def hard_sigmoid(K: Any, x: TensorLike) -> Any:
    """Element-wise ``clip(0.2 * x + 0.5, 0, 1)``: Keras 2's sigmoid in straight lines.

    >>> K.eval(K.hard_sigmoid(K.constant([-3.0, 0.0, 3.0]))).tolist()
    [0.0, 0.5, 1.0]
    """
    return K.clip(K.add(K.multiply(x, 0.2), 0.5), 0.0, 1.0)


@operation(
    "x bias",
    promote="x bias",
    shape=lambda x, bias, data_format: conv_shapes.bias_add(x.shape, bias.shape, data_format),
    resolve={"data_format": as_data_format},
)
def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Any:
    """``x`` plus a bias: one value per channel, or one per position and channel.

    The latter has the shape (spatial..., channels); where the channels come first its elements are
    taken in order as (channels, spatial...), as Keras does. ``data_format`` tells where ``x`` has
    its channels; None is the configured one. The operands are promoted; a bias that does not fit
    raises ShapeError.

    >>> K.eval(K.bias_add(K.constant([[1.0, 2.0], [3.0, 4.0]]), K.constant([10.0, 20.0]))).tolist()
    [[11.0, 22.0], [13.0, 24.0]]
    """


def _normalized(x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: Any, epsilon: Any) -> Any:
    shapes.normalize_axis(axis, len(x.shape))
    return x.shape


@replaceable(
    "x mean var beta? gamma?",
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
    """``gamma * (x - mean) / sqrt(var + epsilon) + beta`` along ``axis``, that of the channels.

    ``mean``, ``var``, ``beta`` and ``gamma`` have one value per channel, or a shape that broadcasts
    against ``x``; ``beta`` and ``gamma`` may be None. The operands are promoted; integers become
    floatx first. It is due to Ioffe and Szegedy, 2015, arXiv:1502.03167.

    >>> x, mean, var = K.constant([[1.0, 7.0]]), K.constant([1.0, 3.0]), K.constant([4.0, 4.0])
    >>> K.eval(K.batch_normalization(x, mean, var, None, None, epsilon=0.0)).tolist()
    [[0.0, 2.0]]
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

    Returns the triple (normalised, mean, variance), with the population variance, as
    ``K.batch_normalization`` uses it. ``gamma`` and ``beta``, which may be None, have the shape of
    the axes that are left; if none is, ArgumentError is raised.

    >>> x = K.constant([[1.0, 2.0], [3.0, 6.0]])
    >>> [K.eval(t).tolist() for t in K.normalize_batch_in_training(x, None, None, [0], epsilon=0.0)]
    [[[-1.0, -1.0], [1.0, 1.0]], [2.0, 4.0], [1.0, 4.0]]
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
    """Whether the prediction for the target is among the ``k`` largest of its row; bool.

    ``predictions`` is (samples, classes), ``targets`` (samples,) of classes. Classes that tie with
    the k-th largest count as in. Where the target is out of range, or its prediction is not finite,
    the answer is False.

    >>> predictions = K.constant([[0.25, 0.5, 0.25], [0.5, 0.5, 0.0]])
    >>> K.eval(K.in_top_k(predictions, K.constant([0, 1], dtype="int32"), 1)).tolist()
    [False, True]
    """
    classes = K.int_shape(predictions)[-1] or K.shape(predictions)[-1]
    targets = K.cast(targets, "int32")
    chosen = K.cast(K.one_hot(targets, classes), "bool")
    own = K.sum(K.where(chosen, predictions, 0.0), axis=-1, keepdims=True)
    larger = K.sum(K.cast(K.greater(predictions, own), "int32"), axis=-1)
    finite = K.equal(K.subtract(own, own), 0.0)
    valid = K.logical_and(K.any(chosen, axis=-1), K.all(finite, axis=-1))
    return K.logical_and(K.less(larger, k), valid)
