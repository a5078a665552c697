"""Choosing: by a condition, by the learning phase."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, graph_function, operation
from kbridge.api.rules import TensorLike
from kbridge.errors import ArgumentError, ShapeError
from kbridge.symbolic import loops, structure
from kbridge.symbolic.record import is_number
from kbridge.symbolic.tensor import Tensor


def _chosen_shape(condition: Any, x: Any, y: Any) -> Any:
    """One branch's shape: sizes on which the branches differ are unknown."""
    if len(x.shape) != len(y.shape):
        raise ArgumentError(
            f"the branches must have one rank, got the shapes {x.shape} and {y.shape}"
        )
    return tuple(p if p == q else None for p, q in zip(x.shape, y.shape, strict=True))


@operation(
    "condition x y",
    promote="x y",
    shape=_chosen_shape,
    dtype=lambda c, x, y: x.dtype,
    host=True,
    differentiable="x y",
    public=False,
)
def choose(condition: TensorLike, x: TensorLike, y: TensorLike) -> Any:
    """``x`` where the scalar ``condition`` holds, else ``y``; their sizes may differ."""


def _filling(K: Any, x: Any, other: Any) -> Any:
    """``x``; a number beside a tensor fills the tensor's shape."""
    return K.add(K.zeros_like(other), x) if is_number(x) and not is_number(other) else x


@graph_function
def switch(K: Any, condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """``then_expression`` where ``condition`` is not 0, else ``else_expression``.

    A scalar condition chooses one of the expressions, which may differ in their sizes, not in their
    rank; a number fills the shape of the other. Any other chooses element by element, and all three
    broadcast; one of lower rank gets axes at the end. The expressions may be functions without
    arguments. What is not chosen does not matter for the value, even where it is nan. A condition
    of higher rank raises ArgumentError.

    >>> x = K.constant([-1.0, 4.0])
    >>> K.eval(K.switch(K.greater(x, 0.0), K.sqrt(x), lambda: x * 0.5)).tolist()
    [-0.5, 2.0]
    """
    x = then_expression() if callable(then_expression) else then_expression
    y = else_expression() if callable(else_expression) else else_expression
    if not isinstance(condition, Tensor) and K.ndim(condition) == 0 and not K.is_tensor(condition):
        return K.identity(x) if bool(condition) else K.identity(y)
    rank = K.ndim(condition)
    if rank == 0:
        return K.choose(condition, _filling(K, x, y), _filling(K, y, x))
    wide = max(K.ndim(x), K.ndim(y))
    if rank > wide:
        raise ArgumentError(
            f"K.switch: the condition has rank {rank}, more than the branches' rank {wide}; it "
            f"must be a scalar or have at most their rank"
        )
    if rank < wide:
        sizes = K.int_shape(condition)
        dynamic = K.shape(condition) if sum(size is None for size in sizes) > 1 else None
        target = [
            (-1 if dynamic is None else dynamic[i]) if size is None else size
            for i, size in enumerate(sizes)
        ]
        condition = K.reshape(condition, [*target, *[1] * (wide - rank)])
    return K.where(condition, x, y)


# --- loops ---------------------------------------------------------------------------------------


@graph_function
def map_fn(K: Any, fn: Any, elems: Any, name: Any = None, dtype: Any = None) -> Any:
    """``fn`` of each element along the first axis of ``elems``, the results stacked.

    ``elems`` is a tensor, or several of one length in a list, a tuple or a dictionary, which ``fn``
    gets in the same structure; it may return such a structure too. The results are of the shape
    (length, ...), cast to ``dtype`` (or a structure of dtypes) where it is given. ``fn`` is traced
    once; ``name`` has no effect.

    >>> x = K.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> K.eval(K.map_fn(lambda row: K.sum(row) * row, x)).tolist()
    [[3.0, 6.0], [21.0, 28.0]]
    """
    sequences = [loops.operand(K, x) for x in structure.flatten(elems)]
    found: list[Any] = []

    def step(states: list[Any], elements: list[Any]) -> Any:
        found[:] = [fn(structure.pack(elems, elements))]
        return [], structure.flatten(found[0])

    _, outputs = loops.loop(K, step, [], sequences)
    if dtype is not None:
        wanted = structure.flatten(dtype)
        if len(wanted) == 1:
            wanted *= len(outputs)
        outputs = [K.cast(output, d) for output, d in zip(outputs, wanted, strict=True)]
    return structure.pack(found[0] if found else None, outputs)


@graph_function
def foldl(K: Any, fn: Any, elems: Any, initializer: Any = None, name: Any = None) -> Any:
    """Reduce ``elems`` along the first axis, from the first element to the last.

    ``fn(accumulator, element)`` returns the new accumulator, of the same shape and dtype. The first
    one is ``initializer``, else the first element. Elements and accumulator may each be nested in
    lists, tuples or dictionaries. ``name`` has no effect.

    >>> K.eval(K.foldl(lambda total, x: total - x, K.constant([10.0, 2.0, 3.0]))).tolist()
    5.0
    """
    return _fold(K, fn, elems, initializer, False)


@graph_function
def foldr(K: Any, fn: Any, elems: Any, initializer: Any = None, name: Any = None) -> Any:
    """The same as ``K.foldl`` from the last element to the first.

    ``fn`` takes the accumulator first here too.

    >>> K.eval(K.foldr(lambda total, x: total - x, K.constant([10.0, 2.0, 3.0]))).tolist()
    -9.0
    """
    return _fold(K, fn, elems, initializer, True)


def _fold(K: Any, fn: Any, elems: Any, initializer: Any, backwards: bool) -> Any:
    sequences = [loops.operand(K, x) for x in structure.flatten(elems)]
    like = elems if initializer is None else initializer
    if initializer is not None:
        states = [loops.operand(K, x) for x in structure.flatten(initializer)]
    elif loops.length(K, sequences) == 0:
        raise ShapeError("there are no elements; give an initializer")
    else:
        states = [x[-1 if backwards else 0] for x in sequences]
        sequences = [x[:-1] if backwards else x[1:] for x in sequences]

    def step(states: list[Any], elements: list[Any]) -> Any:
        return structure.flatten(
            fn(structure.pack(like, states), structure.pack(elems, elements))
        ), []

    states, _ = loops.loop(K, step, states, sequences, backwards)
    return structure.pack(like, states)


# --- the learning phase --------------------------------------------------------------------------


@graph_function
def learning_phase(K: Any) -> Any:
    """The learning phase: 0 or 1 once it is set, else a scalar tensor.

    As an input of ``K.function`` it is fed with 0 (test) or 1 (training); not fed it is 0.

    >>> phase, x = K.learning_phase(), K.placeholder((1,))
    >>> f = K.function([x, phase], [K.in_train_phase(x * 10.0, x)])
    >>> [f([[1.0], training])[0].tolist() for training in (0, 1)]
    [[1.0], [10.0]]
    """
    fixed = K.session.learning_phase
    return K.phase_placeholder if fixed is None else fixed


@graph_function
def set_learning_phase(K: Any, value: int) -> None:
    """Fix the learning phase for what is built from now on: 0 for test, 1 for training.

    Any other value raises ArgumentError. ``K.clear_session`` frees it again.

    >>> K.set_learning_phase(1)
    >>> K.learning_phase()
    1
    """
    if value not in (0, 1):
        raise ArgumentError(f"K.set_learning_phase: expected 0 (test) or 1 (training), got {value}")
    K.session.learning_phase = int(value)


@graph_function
def in_train_phase(K: Any, x: Any, alt: Any, training: Any = None) -> Any:
    """``x`` in training, else ``alt``; both are tensors, or functions without arguments.

    ``training`` overrides the learning phase: a bool, an int or a scalar tensor. Where the phase is
    known now, only that branch is called, and its result is returned as it is.

    >>> x = K.constant([1.0])
    >>> K.eval(K.in_train_phase(lambda: x * 10.0, x)).tolist()
    [1.0]
    >>> K.eval(K.in_train_phase(lambda: x * 10.0, x, training=True)).tolist()
    [10.0]
    """
    uses_phase = training is None
    if training is None:
        training = K.learning_phase()
    if not isinstance(training, Tensor) and not K.is_tensor(training):
        chosen = x if int(training) else alt
        return chosen() if callable(chosen) else chosen
    result = K.switch(training, x, alt)
    if uses_phase and (isinstance(result, Tensor) or not K.engine.has_graph):
        result._uses_learning_phase = True
    return result


@composite
def in_test_phase(K: Any, x: Any, alt: Any, training: Any = None) -> Any:
    """``x`` in test mode, else ``alt``: the mirror image of ``K.in_train_phase``.

    >>> x = K.constant([1.0])
    >>> K.eval(K.in_test_phase(x, lambda: x * 10.0)).tolist()
    [1.0]
    """
    return K.in_train_phase(alt, x, training)
