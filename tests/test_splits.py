"""Slices that divide a tensor become one split in a plan; values and gradients stay."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge.symbolic.plan import generate

ENGINES = [n for n in ("torch", "jax", "tensorflow") if importlib.util.find_spec(n) is not None]
X = np.random.default_rng(5).normal(size=(2, 6)).astype("float32")
HOST = kbridge.load_backend("numpy")

#: What is read of a tensor with 6 columns, and in how many splits.
CUTS: dict[str, tuple[Any, int]] = {
    "three": (lambda z: [z[:, :2], z[:, 2:4], z[:, 4:]], 1),
    "in another order": (lambda z: [z[:, 4:], z[:, :2], z[:, 2:4]], 1),
    "with an ellipsis": (lambda z: [z[..., :3], z[..., -3:]], 1),
    "one of them twice": (lambda z: [z[:, :1], z[:, 1:], z[:, 1:6]], 1),
    "both axes": (lambda z: [z[:1, :], z[1:], z[:, :2], z[:, 2:]], 2),
    "a gap": (lambda z: [z[:, :2], z[:, 3:]], 0),
    "an overlap": (lambda z: [z[:, :3], z[:, 2:]], 0),
    "the whole": (lambda z: [z[:, :], z[:, :6]], 0),
    "steps": (lambda z: [z[:, ::2], z[:, 1::2]], 0),
    "one column": (lambda z: [z[:, 0], z[:, 1:]], 0),
    "nothing": (lambda z: [z[:, :0], z[:, 0:6]], 0),
}


@pytest.fixture(params=ENGINES)
def K(request: pytest.FixtureRequest) -> Any:
    return kbridge.load_backend(request.param)


@pytest.mark.parametrize("name", CUTS)
def test_values_and_gradients(K: Any, name: str) -> None:
    cut, splits = CUTS[name]
    results = []
    for backend in (K, HOST):
        x = backend.placeholder((2, 6))
        pieces = cut(backend.tanh(x))
        terms = [(i + 1.0) * backend.sum(backend.square(p)) for i, p in enumerate(pieces)]
        loss = terms[0]
        for term in terms[1:]:
            loss = loss + term
        (first,) = backend.gradients(loss, [x])
        (second,) = backend.gradients(backend.sum(backend.square(first)), [x])
        results.append(backend.function([x], [*pieces, loss, first, second])([X]))
        if backend is K:
            assert generate(K, [x], pieces).source.count("split(") == splits
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=1e-6)


def test_pieces_on_and_off_the_tape(K: Any) -> None:
    """A piece that no gradient reaches is read before one that has a gradient."""
    w, x = K.variable(X), K.placeholder((2, 3))
    left, right = w[:, :3], w[:, 3:]
    outside = K.exp(left)
    loss = K.sum(K.square(right) * x)
    f = K.function([x], [outside, K.gradients(loss, [w])[0], left, right])
    out, gradient, *parts = f([np.ones((2, 3))])
    np.testing.assert_allclose(out, np.exp(X[:, :3]), rtol=1e-6)
    np.testing.assert_allclose(gradient, np.hstack([np.zeros((2, 3)), 2 * X[:, 3:]]), rtol=1e-6)
    np.testing.assert_array_equal(np.hstack(parts), X)


def test_a_piece_that_is_fed_keeps_the_value_fed(K: Any) -> None:
    x = K.placeholder((2, 6))
    left, right = x[:, :3], x[:, 3:]
    f = K.function([x, left], [left + right])
    assert f([np.ones((2, 6)), np.zeros((2, 3))])[0].tolist() == np.ones((2, 3)).tolist()


def test_gates_of_a_recurrent_step(K: Any) -> None:
    def program(backend: Any) -> Any:
        x, w = backend.placeholder((2, 4, 3)), backend.variable(X.reshape(3, 4))

        def step(x: Any, states: Any) -> Any:
            z = backend.dot(x, w) + backend.concatenate([states[0], states[0]])
            h = backend.sigmoid(z[:, :2]) * backend.tanh(z[:, 2:])
            return h, [h]

        last = backend.rnn(step, x, [backend.zeros_like(x[:, 0, :2])])[0]
        loss = backend.sum(backend.square(last))
        return backend.function([x], [last, *backend.gradients(loss, [w, x])])

    fed = np.random.default_rng(1).normal(size=(2, 4, 3)).astype("float32")
    for ours, expected in zip(program(K)([fed]), program(HOST)([fed]), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=1e-6)
