"""Loops, choices, labels of sequences, and convolutions with kernels for each place."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import drawn, program  # noqa: TID252  # Python 3.7 has the folder on its path

# --- loops ---------------------------------------------------------------------------------------


def cell(K: Any, seed: int = 0) -> Any:
    """A step with two states of which the output is neither."""
    w, u = K.constant(drawn(3, 2)), K.constant(drawn(2, 2))

    def step(inputs: Any, states: Any) -> Any:
        hidden = K.tanh(K.dot(inputs, w) + K.dot(states[0], u))
        total = states[1] + hidden
        return hidden * 2.0 + total, [hidden, total]

    return step


def looped(K: Any, **options: Any) -> Any:
    """The results of ``K.rnn`` with :func:`cell`, and the gradient of its output."""
    x = K.placeholder((2, 4, 3))
    start = [K.constant(drawn(2, 2)), K.constant(drawn(2, 2) * 0.5)]
    mask = options.pop("mask", None)
    if mask is not None:
        options["mask"] = K.constant(mask)
    last, outputs, states = K.rnn(cell(K), x, start, **options)
    slope = K.gradients(K.sum(outputs) + K.sum(states[0] * states[1]), [x])
    return tuple(K.function([x], [last, outputs, *states, *slope])([drawn(2, 4, 3)]))


MASK = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], "float32")


@program("rnn")
def rnn(K: Any) -> Any:
    return looped(K), looped(K, go_backwards=True)


@program("rnn")
def rnn_unrolled(K: Any) -> Any:
    options = {"unroll": True, "input_length": 4}
    return looped(K, **options), looped(K, go_backwards=True, mask=MASK, **options)


@program("rnn")
def rnn_masked(K: Any) -> Any:
    return (
        looped(K, mask=MASK),
        looped(K, mask=MASK[:, :, None]),
        looped(K, mask=MASK, go_backwards=True),
        looped(K, mask=MASK, unroll=True, input_length=4),
    )


def adding(inputs: Any, states: Any) -> Any:
    """A step that sums up."""
    return inputs + states[0], [inputs + states[0]]


def with_constant(inputs: Any, states: Any) -> Any:
    """A step with a constant behind its one state."""
    return inputs * states[1] + states[0], [inputs + states[0]]


@program("rnn")
def rnn_constants(K: Any) -> Any:
    x, c = K.constant(drawn(2, 3, 2)), K.constant(drawn(2, 2))
    last, outputs, states = K.rnn(with_constant, x, [K.zeros((2, 2))], constants=[c])
    return K.eval(last), K.eval(outputs), K.eval(states[0]), len(states)


@program("rnn")
def rnn_without_states(K: Any) -> Any:
    last, outputs, states = K.rnn(lambda i, s: (i * 2.0, []), K.constant(drawn(2, 3, 2)), [])
    return K.eval(last), K.eval(outputs), len(states)


@program("rnn")
def rnn_unknown_length(K: Any) -> Any:
    x = K.placeholder((None, None, 2))
    last, outputs, states = K.rnn(adding, x, [K.zeros_like(x[:, 0])])
    f = K.function([x], [last, outputs, states[0]])
    return tuple(f([drawn(2, 3, 2)]) + f([drawn(1, 5, 2)])), K.int_shape(outputs)[-1]


@program("rnn")
def rnn_of_images(K: Any) -> Any:
    x = K.constant(drawn(2, 3, 2, 2))
    mask = K.constant(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    last, outputs, states = K.rnn(adding, x, [K.ones((2, 2, 2))], mask=mask)
    return K.eval(last), K.eval(outputs), K.eval(states[0])


@program("map_fn")
def mapped(K: Any) -> Any:
    x = K.constant(drawn(3, 2))
    whole = K.constant([1, 2, 3], dtype="int32")
    return (
        K.eval(K.map_fn(lambda row: K.sum(K.square(row)), x)),
        K.eval(K.map_fn(lambda pair: pair[0] * pair[1], (x, x + 1.0), dtype="float32")),
        K.eval(K.map_fn(lambda n: K.cast(n, "float32") / 2.0, whole, dtype="float32")),
    )


@program("foldl foldr")
def folded(K: Any) -> Any:
    x, d, v = K.constant([10.0, 2.0, 3.0]), K.constant([1.0, 2.0, 3.0]), K.variable([2.0, 3.0, 4.0])
    minus, digits = (lambda total, one: total - one), (lambda total, one: total * 10.0 + one)
    slope = K.gradients(K.foldl(lambda total, one: total * one, v), [v])[0]
    return (
        *(K.eval(fold(minus, x)) for fold in (K.foldl, K.foldr)),
        *(K.eval(fold(digits, d, initializer=K.constant(0.0))) for fold in (K.foldl, K.foldr)),
        K.eval(K.foldl(minus, K.constant(drawn(3, 2)))),
        K.eval(slope),
    )


@program("switch")
def switched(K: Any) -> Any:
    x, p = K.constant([[1.0, 2.0], [3.0, 4.0]]), K.placeholder(())
    f = K.function([p], [K.switch(p, lambda: x * 2.0, lambda: x - 1.0)])
    rows = K.constant([1.0, 0.0])
    return (*f([1.0]), *f([0.0]), K.eval(K.switch(K.equal(rows, 1.0), x, -x)))


# --- sequences and places with weights of their own ----------------------------------------------


def ctc_inputs(K: Any) -> Any:
    """Labels, probabilities and lengths for two samples of which one is shorter."""
    odd = np.exp(drawn(2, 5, 4))
    return (
        K.constant([[0.0, 1.0, 1.0], [2.0, 0.0, 0.0]]),
        K.constant(odd / odd.sum(-1, keepdims=True)),
        K.constant([[5], [4]], dtype="int32"),
        K.constant([[3], [1]], dtype="int32"),
    )


@program("ctc_batch_cost")
def ctc_cost(K: Any) -> Any:
    labels, odds, length, label_length = ctc_inputs(K)
    cost = K.ctc_batch_cost(labels, odds, length, label_length)
    return K.eval(cost), K.eval(K.gradients(K.sum(cost), [odds])[0])


@program("ctc_label_dense_to_sparse is_sparse to_dense")
def ctc_labels(K: Any) -> Any:
    labels, _, _, label_length = ctc_inputs(K)
    found = K.ctc_label_dense_to_sparse(K.cast(labels, "int32") + 1, K.flatten(label_length))
    return K.eval(K.to_dense(found)), K.is_sparse(found)


@program("ctc_decode")
def ctc_greedy(K: Any) -> Any:
    _, odds, length, _ = ctc_inputs(K)
    (decoded,), scores = K.ctc_decode(odds, K.flatten(length))
    return K.eval(decoded), K.eval(scores)


@program("ctc_decode")
def ctc_beam(K: Any) -> Any:
    _, odds, length, _ = ctc_inputs(K)
    decoded, scores = K.ctc_decode(odds, K.flatten(length), False, beam_width=20, top_paths=2)
    return tuple(K.eval(path) for path in decoded), K.eval(scores)


@program("local_conv1d")
def local_1d(K: Any) -> Any:
    x, w = K.placeholder((2, 5, 3)), K.constant(drawn(2, 6, 4))
    y = K.local_conv1d(x, w, (2,), (3,))
    return tuple(K.function([x], [y, *K.gradients(K.sum(K.square(y)), [x])])([drawn(2, 5, 3)]))


@program("local_conv2d")
def local_2d(K: Any) -> Any:
    w, found = K.constant(drawn(6, 8, 3)), []
    shapes = {"channels_last": (2, 4, 3, 2), "channels_first": (2, 2, 4, 3)}
    for layout in sorted(shapes):
        x = K.placeholder(shapes[layout])
        y = K.local_conv2d(x, w, (2, 2), (1, 1), (3, 2), data_format=layout)
        slopes = K.gradients(K.sum(K.square(y)), [x])
        found += K.function([x], [y, *slopes])([drawn(*shapes[layout])])
    return tuple(found)


@program("symbolic")
def marked_symbolic(K: Any) -> Any:
    function = K.symbolic(lambda x: K.square(x))
    return K.eval(function(K.constant([2.0, 3.0])))
