"""Cross-entropies, per sample. The order of the arguments is (target, output)."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite
from kbridge.api.rules import TensorLike
from kbridge.errors import ShapeError
from kbridge.symbolic import shapes


def _clipped(K: Any, output: Any) -> Any:
    """Probabilities kept off 0 and 1 by epsilon (at least what their dtype can tell from 1)."""
    smallest = {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(K.dtype(output), 0.0)
    epsilon = max(K.epsilon(), smallest)
    return K.clip(output, epsilon, 1.0 - epsilon)


@composite
def categorical_crossentropy(
    K: Any, target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Any:
    """``-sum(target * log(output))`` along ``axis``; ``output`` is normalised to sum 1 first.

    With ``from_logits`` the outputs are logits.
    """
    axis = shapes.normalize_axis(axis, K.ndim(output))
    if from_logits:
        logs = K.subtract(output, K.logsumexp(output, axis=axis, keepdims=True))
    else:
        output = K.divide(output, K.sum(output, axis=axis, keepdims=True))
        logs = K.log(_clipped(K, output))
    return K.negative(K.sum(K.multiply(target, logs), axis=axis))


@composite
def binary_crossentropy(
    K: Any, target: TensorLike, output: TensorLike, from_logits: bool = False
) -> Any:
    """``-target * log(output) - (1 - target) * log(1 - output)``, element-wise.

    With ``from_logits`` the outputs are logits, and large ones stay finite.
    """
    if from_logits:
        # max(x, 0) - x * z + log(1 + exp(-|x|)), which overflows nowhere
        tail = K.softplus(K.negative(K.abs(output)))
        return K.add(K.subtract(K.relu(output), K.multiply(output, target)), tail)
    output = _clipped(K, output)
    first = K.multiply(target, K.log(output))
    second = K.multiply(K.subtract(1.0, target), K.log(K.subtract(1.0, output)))
    return K.negative(K.add(first, second))


_SPARSE_RANKS = "the targets' rank must be that of the outputs, or one less"


@composite
def sparse_categorical_crossentropy(
    K: Any,
    target: TensorLike,
    output: TensorLike,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: int | None = None,
) -> Any:
    """The categorical cross-entropy of integer targets.

    Samples whose target is ``ignore_class`` cost 0.
    """
    rank = K.ndim(output)
    axis = shapes.normalize_axis(axis, rank)
    if axis != rank - 1:
        order = [*(i for i in range(rank) if i != axis), axis]
        output = K.permute_dimensions(output, order)
    if K.ndim(target) == rank:
        target = K.squeeze(target, axis if K.int_shape(target)[axis] == 1 else rank - 1)
    if K.ndim(target) != rank - 1:
        raise ShapeError(
            f"K.sparse_categorical_crossentropy: {_SPARSE_RANKS}, got {K.int_shape(target)} and "
            f"{K.int_shape(output)}"
        )
    target = K.cast(target, "int32")
    if from_logits:
        logs = K.subtract(output, K.logsumexp(output, axis=-1, keepdims=True))
    else:
        output = K.divide(output, K.sum(output, axis=-1, keepdims=True))
        logs = K.log(_clipped(K, output))
    classes = K.int_shape(logs)[-1]
    index = K.arange(0, K.shape(logs)[-1] if classes is None else classes)
    chosen = K.equal(K.expand_dims(target, -1), index)
    loss = K.negative(K.sum(K.where(chosen, logs, 0.0), axis=-1))
    if ignore_class is None:
        return loss
    return K.where(K.equal(target, ignore_class), 0.0, loss)


def _focal(K: Any, probability: Any, gamma: float) -> Any:
    return K.pow(K.subtract(1.0, probability), gamma)


@composite
def binary_focal_crossentropy(
    K: Any,
    target: TensorLike,
    output: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> Any:
    """The binary cross-entropy, weighted by ``(1 - p_t) ** gamma`` (Lin et al., 2017).

    ``p_t`` is the probability given to the true class; with ``apply_class_balancing`` the
    classes are weighted by ``alpha`` and ``1 - alpha``.
    """
    probability = K.sigmoid(output) if from_logits else output
    other = K.multiply(K.subtract(1.0, target), K.subtract(1.0, probability))
    truth = K.add(K.multiply(target, probability), other)
    loss = K.multiply(_focal(K, truth, gamma), K.binary_crossentropy(target, output, from_logits))
    if not apply_class_balancing:
        return loss
    weight = K.add(K.multiply(target, alpha), K.multiply(K.subtract(1.0, target), 1.0 - alpha))
    return K.multiply(weight, loss)


@composite
def categorical_focal_crossentropy(
    K: Any,
    target: TensorLike,
    output: TensorLike,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> Any:
    """The categorical cross-entropy, weighted by ``alpha * (1 - p) ** gamma`` per class."""
    if from_logits:
        output = K.softmax(output, axis=axis)
    output = K.divide(output, K.sum(output, axis=axis, keepdims=True))
    output = _clipped(K, output)
    cross = K.negative(K.multiply(target, K.log(output)))
    weight = K.multiply(_focal(K, output, gamma), alpha)
    return K.sum(K.multiply(weight, cross), axis=axis)
