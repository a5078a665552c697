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


@program(
    (
        [0.0, 0.0, 1.0, 1.0, 1.0],
        [0.5, 0.5, 1.0, 1.0, 1.0],
        [0.0, 0.0, 1.0, 1.0, 0.0],
        [0.5, 0.5, 1.0, 1.0, 0.0],
        [0.5, 0.5, 1.0, 1.0, 0.0],
        [0.0, 0.0, 1.0, 1.0, 0.0],
        [0.0, 1.0, 1.0, 1.0, 0.0],
        [0.5, 0.5, 1.0, 1.0, 1.0],
    ),
    covers="gradients relu",
)
def slopes_of_relu_at_its_kinks(K: Any) -> Any:
    """At 0 that of the lower part, at another threshold and at ``max_value`` 1."""
    x = K.variable([-1.0, 0.0, 0.5, 1.0, 2.0])
    results = [
        K.relu(x),
        K.relu(x, alpha=0.5),
        K.relu(x, max_value=1.0),
        K.relu(x, alpha=0.5, max_value=1.0),
        K.relu(x, alpha=K.constant(0.5), max_value=1.0),
        K.relu(x, max_value=1.0, threshold=0.5),
        K.relu(x, max_value=1.0, threshold=-1.0),
        K.relu(x, alpha=0.5, threshold=0.5),
    ]
    return tuple(K.eval(K.gradients(K.sum(y), [x])[0]) for y in results)


@program(
    (
        [0.0, 1.0, 1.0, 1.0, 0.0],
        [0.0, 1.0, 1.0, 1.0, 0.0],
        [0.0, 1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        1.0,
        1.0,
    ),
    covers="gradients clip",
)
def slopes_of_clip_at_its_bounds(K: Any) -> Any:
    """A bound itself passes, whether number or tensor; nothing passes where the bounds cross."""
    x = K.variable([-1.0, 0.0, 0.5, 1.0, 2.0])
    low, high = K.variable(0.0), K.variable(1.0)
    results = [
        K.clip(x, 0.0, 1.0),
        K.clip(x, low, high),
        K.clip(x, low, None),
        K.clip(x, high, high),
        K.clip(x, high, low),
    ]
    slopes = [K.eval(K.gradients(K.sum(y), [x])[0]) for y in results]
    by_bounds = K.gradients(K.sum(results[1]), [low, high])
    return (*slopes, *_values(K, by_bounds))


@program(
    ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],),
    covers="one_hot",
)
def one_hot_of_floats_takes_whole_ones(K: Any) -> Any:
    return (K.eval(K.one_hot(K.constant([0.0, 1.5, 2.0, np.nan, -0.5]), 3)),)


@program((True, 3.0), covers="sum eval")
def a_result_of_rank_0_is_an_array(K: Any) -> Any:
    result = K.eval(K.sum(K.constant([1.0, 2.0])))
    return isinstance(result, np.ndarray) and result.flags.writeable, result


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
