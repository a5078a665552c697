"""Loops and branches: how often a step is called, what is computed, what the engine sees."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import kbridge


def backend(name: str) -> tuple[Any, Any]:
    """The engine's module and its backend."""
    pytest.importorskip(name)
    return importlib.import_module(name), kbridge.load_backend(name)


def recurrence(K: Any, w: Any, u: Any) -> Any:
    def step(x: Any, states: Any) -> Any:
        new = K.tanh(K.dot(x, w) + K.dot(states[0], u))
        return new * new, [new]

    return step


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


# --- on all engines ------------------------------------------------------------------------------


def test_a_step_is_called_twice(K: Any) -> None:
    calls = []

    def step(x: Any, states: Any) -> Any:
        calls.append(x)
        return x + states[0], [x + states[0]]

    x = K.placeholder((None, None, 2))
    outputs = K.rnn(step, x, [K.zeros((1, 2))])[1]
    f = K.function([x], [outputs])
    for steps in (1, 50):
        assert f([np.ones((1, steps, 2))])[0][0, -1, 0] == steps
    assert len(calls) == 2


@pytest.mark.parametrize("masked", [False, True])
def test_second_derivatives(K: Any, masked: bool) -> None:
    """Of the squared first derivative, against central differences of the first."""
    x, first = K.placeholder((2, 3, 2), dtype="float64"), K.placeholder((2, 3), dtype="float64")
    w = K.variable(numbers(2, 3, seed=1) / 2, dtype="float64")
    u = K.variable(numbers(3, 3, seed=2) / 2, dtype="float64")
    mask = np.array([[1, 0, 1], [1, 1, 0]]) if masked else None
    last, outputs, states = K.rnn(recurrence(K, w, u), x, [first], mask=mask)
    loss = K.sum(outputs * outputs) + K.sum(last * states[0])
    slopes = K.gradients(loss, [u, x])
    inner = sum(K.sum(K.square(slope)) for slope in slopes)
    second = K.gradients(inner, [u, x, first])
    f, at = K.function([x, first], [inner]), [numbers(2, 3, 2), numbers(2, 3, seed=3)]
    found = K.function([x, first], second)(at)
    step = 1e-5
    for position, array in ((1, at[0]), (2, at[1])):
        for index in list(np.ndindex(array.shape))[:4]:
            values = []
            for sign in (1, -1):
                array[index] += sign * step
                values.append(f(at)[0])
                array[index] -= sign * step
            numeric = (values[0] - values[1]) / (2 * step)
            np.testing.assert_allclose(found[position][index], numeric, rtol=1e-5, atol=1e-6)
    before = K.get_value(u)
    for index in ((0, 0), (2, 1)):
        values = []
        for sign in (1, -1):
            moved = before.copy()
            moved[index] += sign * step
            K.set_value(u, moved)
            values.append(f(at)[0])
        K.set_value(u, before)
        numeric = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(found[0][index], numeric, rtol=1e-5, atol=1e-6)


def test_a_branch_is_run_where_it_is_taken(K: Any) -> None:
    """Also inside a loop, and with a gradient through both."""
    x = K.placeholder((None,))
    roots = K.map_fn(lambda e: K.switch(e > 0.0, lambda: K.log(e), lambda: e * 3.0), x)
    f = K.function([x], [roots, *K.gradients(K.sum(roots), [x])])
    value, slope = f([[-1.0, 0.0, 2.0]])
    np.testing.assert_allclose(value, [-3.0, 0.0, np.log(2.0)], rtol=1e-6)
    np.testing.assert_allclose(slope, [3.0, 3.0, 0.5], rtol=1e-6)


# --- what is computed ----------------------------------------------------------------------------


def test_results_that_nobody_reads_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    K = kbridge.load_backend("numpy")
    stacked = []
    stack = type(K.engine).stack

    def counted(engine: Any, natives: Any) -> Any:
        stacked.append(len(natives))
        return stack(engine, natives)

    monkeypatch.setattr(type(K.engine), "stack", counted)
    x, w, u = K.placeholder((None, 7, 2)), K.ones((2, 3)), K.ones((3, 3))
    last, outputs, states = K.rnn(recurrence(K, w, u), x, [K.zeros((1, 3))])
    K.function([x], [states[0]])([numbers(1, 7, 2)])
    assert not stacked
    K.function([x], [outputs, states[0]])([numbers(1, 7, 2)])
    assert stacked == [7]
    del last


def test_phases_leave_out_what_they_do_not_need() -> None:
    """In test mode no mask is drawn for the loop, so that the stream of training goes on."""
    K = kbridge.load_backend("numpy")
    x = K.placeholder((None, 3, 2))
    kept = K.dropout(K.ones_like(x[:, 0]), 0.5, seed=1)

    def step(x: Any, states: Any) -> Any:
        return K.in_train_phase(x * kept, x), states

    outputs = K.rnn(step, x, [K.zeros((1, 1))])[1]
    f = K.function([x, K.learning_phase()], [outputs])
    ones = np.ones((40, 3, 2))
    train = f([ones, 1])[0]
    assert set(np.unique(train)) == {0.0, 2.0}
    assert (f([ones, 0])[0] == 1.0).all()
    fresh = K.function([x, K.learning_phase()], [outputs])
    assert not (f([ones, 1])[0] == train).all()
    assert fresh


# --- inside the engines' programs ----------------------------------------------------------------


def reference(x: Any, w: Any, u: Any, h: Any) -> Any:
    outputs = []
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ w + h @ u)
        outputs.append(h * h)
    return np.stack(outputs, 1)


def test_a_loop_is_one_scan_under_jit() -> None:
    jax, K = backend("jax")
    w, u = jax.numpy.asarray(numbers(2, 3, seed=1)), jax.numpy.asarray(numbers(3, 3, seed=2))

    def loss(x: Any, w: Any) -> Any:
        outputs = K.rnn(recurrence(K, w, u), x, [jax.numpy.zeros((2, 3))])[1]
        return K.sum(outputs)

    x = jax.numpy.asarray(numbers(2, 9, 2))
    text = str(jax.make_jaxpr(loss)(x, w))
    assert text.count("scan[") == 1
    assert "length=9" in text
    wanted = reference(np.asarray(x), np.asarray(w), np.asarray(u), np.zeros((2, 3)))
    np.testing.assert_allclose(jax.jit(loss)(x, w), wanted.sum(), rtol=1e-5)
    slope = jax.jit(jax.grad(loss, argnums=1))(x, w)
    numeric = (loss(x, w.at[0, 0].add(1e-2)) - loss(x, w.at[0, 0].add(-1e-2))) / 2e-2
    np.testing.assert_allclose(slope[0, 0], numeric, rtol=1e-2)


def test_a_module_of_pytorch_may_hold_a_loop() -> None:
    torch, K = backend("torch")
    w = torch.nn.Parameter(torch.tensor(numbers(2, 3, seed=1)))
    u = torch.tensor(numbers(3, 3, seed=2))
    x = torch.tensor(numbers(2, 4, 2))
    outputs = K.rnn(recurrence(K, w, u), x, [torch.zeros(2, 3, dtype=torch.float64)])[1]
    wanted = reference(x.numpy(), w.detach().numpy(), u.numpy(), np.zeros((2, 3)))
    np.testing.assert_allclose(outputs.detach().numpy(), wanted, rtol=1e-6)
    outputs.sum().backward()
    assert bool((w.grad != 0).all())


def test_a_loop_is_one_in_a_graph_of_tensorflow() -> None:
    tf, K = backend("tensorflow")
    w, u = tf.Variable(numbers(2, 3, seed=1)), tf.constant(numbers(3, 3, seed=2))

    @tf.function(input_signature=[tf.TensorSpec((None, None, 2), tf.float64)])
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            first = tf.zeros((tf.shape(x)[0], 3), tf.float64)
            outputs = K.rnn(recurrence(K, w, u), x, [first])[1]
            loss = tf.reduce_sum(outputs)
        return outputs, tape.gradient(loss, w)

    for steps in (1, 5):
        x = numbers(2, steps, 2)
        outputs, slope = run(x)
        np.testing.assert_allclose(
            outputs, reference(x, w.numpy(), u.numpy(), np.zeros((2, 3))), rtol=1e-6
        )
        assert bool(tf.reduce_all(slope != 0))
