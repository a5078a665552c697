"""Gradients: where there is none, by what, of what, of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.conformance.records import program


def _values(K: Any, tensors: Any) -> Any:
    return tuple(None if t is None else K.eval(t) for t in tensors)


@program(((None, 6.0), (None,), ([0.6, 1.4],), (), (None, None)), covers="gradients")
def gradients_where_there_is_no_path(K: Any) -> Any:
    a, c, v = K.variable(1.0), K.variable(3.0), K.variable([0.3, 0.7])
    return (
        _values(K, K.gradients(c * c, [a, c])),
        _values(K, K.gradients(K.sum(K.round(v)), [v])),
        _values(K, K.gradients(K.sum(K.square(v) + K.stop_gradient(v)), v)),
        _values(K, K.gradients(c * c, [])),
        _values(K, K.gradients(K.cast(K.cast(c, "int32"), "float32"), [c, a])),
    )


@program((None,) * 8, covers="gradients stop_gradient")
def what_cuts_a_gradient(K: Any) -> Any:
    v = K.variable([[0.3, 0.7]])
    cut = [
        K.cast(K.argmax(v), "float32"),
        K.cast(K.greater(v, 0.5), "float32"),
        K.round(v),
        K.stop_gradient(v),
        K.ones_like(v),
        K.cast(K.any(v), "float32"),
        v // 0.2,
        K.cast(K.shape(v), "float32"),
    ]
    return tuple(K.gradients(K.sum(t), [v])[0] for t in cut)


@program(
    ([2.0, 4.0], [1.0, 2.0], [2.0, 2.0], [6.0, 6.0], 8.0, [1.0, 2.0]),
    covers="gradients",
)
def gradients_of_anything(K: Any) -> Any:
    """By placeholders, intermediate results and variables; of sums, of several losses."""
    x, w = K.placeholder((2,)), K.variable(2.0)
    hidden = x * w
    loss = K.sum(K.square(hidden)) / 2.0
    by_hidden, by_x, by_w = K.gradients(loss, [hidden, x, w])
    several = K.gradients([K.sum(x * w), K.sum(hidden * 2.0)], x)[0]
    plain = K.gradients(hidden, x)[0]
    f = K.function([x], [by_hidden, by_x, by_w, several, plain])
    at_hidden, at_x, at_w, at_several, at_plain = f([np.array([1.0, 2.0])])
    return at_hidden, at_x / 4.0, at_plain, at_several, at_w - 2.0, at_x / 4.0


@program(([12.0, 48.0], [12.0, 24.0], [6.0, 6.0], 30.0), covers="gradients")
def gradients_of_gradients(K: Any) -> Any:
    x = K.placeholder((2,))
    first = K.gradients(K.sum(x * x * x), [x])[0]
    second = K.gradients(K.sum(first), [x])[0]
    third = K.gradients(K.sum(second), [x])[0]
    penalty = K.gradients(K.sum(K.square(K.gradients(K.sum(K.square(x)), [x])[0])), [x])[0]
    f = K.function([x], [first, second, third, penalty])
    at_first, at_second, at_third, at_penalty = f([np.array([2.0, 4.0])])
    return at_first, at_second, at_third, at_penalty.sum() - 18.0


@program(([1.0, 1.0, 0.0], 2.0, [2.0, 0.0, 0.0]), covers="gradients gather")
def gradients_of_rows(K: Any) -> Any:
    """A row that is taken twice collects both gradients."""
    table = K.variable(np.ones(3))
    once = K.gradients(K.sum(K.gather(table, K.constant([0, 1], dtype="int32"))), [table])[0]
    twice = K.gradients(K.sum(K.gather(table, K.constant([0, 0], dtype="int32"))), [table])[0]
    return K.eval(once), K.eval(K.sum(twice)), K.eval(twice)


@program(([0.8, 1.6], 0.1, True), covers="gradients update_sub function")
def a_training_step(K: Any) -> Any:
    """Loss, gradients and updates in one function; the loss falls."""
    rng = np.random.default_rng(0)
    x, y = K.placeholder((None, 2)), K.placeholder((None, 1))
    w, b = K.variable(np.zeros((2, 1))), K.variable(np.zeros(1))
    loss = K.mean(K.square(K.dot(x, w) + b - y))
    slopes = K.gradients(loss, [w, b])
    updates = [K.update_sub(p, 0.1 * g) for p, g in zip((w, b), slopes, strict=True)]
    f = K.function([x, y], [loss], updates=updates)
    inputs = rng.standard_normal((200, 2))
    targets = inputs @ np.array([[0.8], [1.6]]) + 0.1
    losses = [float(f([inputs, targets])[0]) for _ in range(150)]
    return K.get_value(w)[:, 0], K.get_value(b)[0], losses[0] > 1.0 > 1e-6 > losses[-1]
