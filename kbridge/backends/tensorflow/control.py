"""Choices, and loops as TensorFlow's own while it builds a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from kbridge.backends.tensorflow.support import build, dims, like, truth


def choose(condition: Any, x: Any, y: Any) -> Any:
    x = like(x, y)
    return tf.cond(truth(condition), lambda: x, lambda: like(y, x))


def graph_loop(
    step: Callable[..., Any],
    states: list[Any],
    sequences: list[Any],
    reverse: bool,
    specs: Any = None,
) -> tuple[Sequence[Any], Sequence[Any]]:
    """See ``Engine.loop``; the number of steps need not be known."""
    steps = dims(sequences[0])[0]

    def without_elements() -> Any:
        """What a step makes of zeros; only its shapes and dtypes are of use."""
        return step(0, states, [tf.zeros(tf.shape(s)[1:], s.dtype) for s in sequences])

    if specs is None:
        new, outputs = without_elements()
        specs = (
            [_common(s.shape, n.shape) for s, n in zip(states, new, strict=True)],
            [(o.shape, o.dtype) for o in outputs],
        )
    shapes = [tf.TensorShape(shape) for shape in specs[0]]
    given = [_array(sequence).unstack(sequence) for sequence in sequences]
    kept = [tf.TensorArray(dtype, steps, element_shape=shape) for shape, dtype in specs[1]]

    def body(i: Any, states: Any, kept: Any) -> Any:
        t = steps - 1 - i if reverse else i
        new, outputs = step(t, list(states), [array.read(t) for array in given])
        new = [tf.ensure_shape(n, shape) for n, shape in zip(new, shapes, strict=True)]
        kept = [array.write(t, output) for array, output in zip(kept, outputs, strict=True)]
        return i + 1, tuple(new), tuple(kept)

    arrays = tuple(tf.TensorShape(None) for _ in kept)
    _, final, kept = tf.while_loop(
        lambda i, states, kept: i < steps,
        body,
        (tf.constant(0), tuple(states), tuple(kept)),
        shape_invariants=(tf.TensorShape(()), tuple(shapes), arrays),
        maximum_iterations=steps,
    )
    if _may_be_empty(steps, specs[1]):
        return list(final), tf.cond(
            steps > 0,
            lambda: [array.stack() for array in kept],
            lambda: [tf.stack([output])[:0] for output in without_elements()[1]],
        )
    return list(final), [array.stack() for array in kept]


def _may_be_empty(steps: Any, outputs: Any) -> bool:
    """Whether there may be no step, where the shape of an empty result is not known."""
    if isinstance(steps, int) or all(tf.TensorShape(s).is_fully_defined() for s, _ in outputs):
        return False
    graph = build()
    if graph is None:
        return True
    graph.sensitive = True
    return graph.empty


def _common(a: Any, b: Any) -> Any:
    return a.most_specific_compatible_shape(b)


def _array(sequence: Any) -> Any:
    return tf.TensorArray(sequence.dtype, tf.shape(sequence)[0], element_shape=sequence.shape[1:])
