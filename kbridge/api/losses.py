"""Cross-entropies, per sample. The order of the arguments is (target, output)."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, replaceable
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
    """Cross-entropy ``-sum(target * log(output))`` along ``axis``, that of the classes.

    ``output`` has the shape of ``target``. It holds probabilities, which are divided by their sum
    and kept epsilon away from 0 and 1; or with ``from_logits`` logits, of which the softmax is
    taken. The result has no ``axis``.

    >>> target, output = K.constant([[0.0, 1.0]]), K.constant([[2.0, 2.0]])
    >>> round(float(K.eval(K.categorical_crossentropy(target, output))[0]), 4)
    0.6931
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
    """Cross-entropy ``-target * log(output) - (1 - target) * log(1 - output)``, element-wise.

    ``output`` holds probabilities, which are kept epsilon away from 0 and 1 (in float16 and
    bfloat16 as far as their digits ask); or with ``from_logits`` logits, where large ones stay
    finite.

    >>> loss = K.binary_crossentropy(K.constant([0.0, 1.0]), K.constant([0.5, 0.25]))
    >>> [round(x, 4) for x in K.eval(loss).tolist()]
    [0.6931, 1.3863]
    >>> loss = K.binary_crossentropy(K.constant([1.0]), K.constant([-100.0]), from_logits=True)
    >>> K.eval(loss).tolist()
    [100.0]
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
    """``K.categorical_crossentropy`` of integer classes: ``-log(output[target])`` along ``axis``.

    ``target`` has the shape of ``output`` without ``axis``, or with size 1 there. ``output`` holds
    probabilities, which are divided by their sum and kept epsilon away from 0 and 1; or with
    ``from_logits`` logits. A sample whose target is ``ignore_class`` costs 0, one whose target is
    no class nan. Another rank raises ShapeError.

    >>> target, output = K.constant([1, 0], dtype="int32"), K.constant([[2.0, 2.0], [1.0, 3.0]])
    >>> [round(x, 4) for x in K.eval(K.sparse_categorical_crossentropy(target, output)).tolist()]
    [0.6931, 1.3863]
    """
    rank = K.ndim(output)
    axis = shapes.normalize_axis(axis, rank)
    if axis != rank - 1:
        order = [*(i for i in range(rank) if i != axis), axis]
        output = K.permute_dimensions(output, order)
    if K.ndim(target) == rank:
        size, last = K.int_shape(target)[axis], K.int_shape(target)[-1]
        if size is None and last is None and axis != rank - 1:  # the run tells which of them is 1
            target = K.reshape(target, K.shape(output)[:-1])
        else:
            here = size == 1 or (size is None and last != 1)
            target = K.squeeze(target, axis if here else rank - 1)
    if K.ndim(target) != rank - 1:
        raise ShapeError(
            f"K.sparse_categorical_crossentropy: {_SPARSE_RANKS}, got {K.int_shape(target)} and "
            f"{K.int_shape(output)}"
        )
    target = K.cast(target, "int32")
    _check_sizes(K, target, output)
    if from_logits:
        loss = K.softmax_cost(target, output)
    else:
        output = K.divide(output, K.sum(output, axis=-1, keepdims=True))
        loss = _cost(K, target, K.log(_clipped(K, output)))
    if ignore_class is None:
        return loss
    return K.where(K.equal(target, ignore_class), 0.0, loss)


def _check_sizes(K: Any, target: Any, output: Any) -> None:
    """Raise where known sizes of the targets and of the outputs differ."""
    given, needed = K.int_shape(target), K.int_shape(output)[:-1]
    if shapes.differ(given, needed):
        raise ShapeError(
            f"K.sparse_categorical_crossentropy: outputs of {K.int_shape(output)}, the classes "
            f"last, need targets of {needed}, got {given}; give each output one target"
        )


@replaceable(
    "target output",
    promote="output",
    floating=True,
    shape=lambda target, output: output.shape[:-1],
    dtype=lambda target, output: output.dtype,
    differentiable="output",
    public=False,
)
def softmax_cost(K: Any, target: TensorLike, output: TensorLike) -> Any:
    """``-log(softmax(output)[target])`` along the last axis, nan where ``target`` is no class."""
    logs = K.subtract(output, K.logsumexp(output, axis=-1, keepdims=True))
    return _cost(K, target, logs)


def _cost(K: Any, target: Any, logs: Any) -> Any:
    """``-logs[target]`` along the last axis, nan where ``target`` is no class."""
    classes = K.int_shape(logs)[-1]
    classes = K.shape(logs)[-1] if classes is None else classes
    chosen = K.cast(K.one_hot(target, classes), "bool")
    loss = K.negative(K.sum(K.where(chosen, logs, 0.0), axis=-1))
    known = K.any(chosen, axis=-1)
    if None in (*K.int_shape(target), *K.int_shape(logs)):
        # Targets must not broadcast: the run finds that these two cannot stand side by side.
        sides = [K.expand_dims(known, -1), K.greater(logs[..., :1], 0.0)]
        known = K.concatenate(sides, axis=-1)[..., 0]
    return K.where(known, loss, float("nan"))


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
    """``(1 - p_t) ** gamma`` times the binary cross-entropy, element-wise.

    ``p_t`` is the probability that ``output`` gives to the true class. With
    ``apply_class_balancing`` the class 1 is weighted by ``alpha``, the class 0 by ``1 - alpha``.
    From Lin et al., "Focal Loss for Dense Object Detection", 2017, arXiv:1708.02002.

    >>> loss = K.binary_focal_crossentropy(K.constant([1.0]), K.constant([0.5]))
    >>> round(float(K.eval(loss)[0]), 4)
    0.1733
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
    """The sum of ``-alpha * (1 - output) ** gamma * target * log(output)`` along ``axis``.

    ``output`` is taken as by ``K.categorical_crossentropy``. From Lin et al., "Focal Loss for Dense
    Object Detection", 2017, arXiv:1708.02002, as Keras extends it to many classes.

    >>> loss = K.categorical_focal_crossentropy(K.constant([[0.0, 1.0]]), K.constant([[0.5, 0.5]]))
    >>> round(float(K.eval(loss)[0]), 4)
    0.0433
    """
    if from_logits:
        output = K.softmax(output, axis=axis)
    output = K.divide(output, K.sum(output, axis=axis, keepdims=True))
    output = _clipped(K, output)
    cross = K.negative(K.multiply(target, K.log(output)))
    weight = K.multiply(_focal(K, output, gamma), alpha)
    return K.sum(K.multiply(weight, cross), axis=axis)
