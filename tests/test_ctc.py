"""CTC beyond the conformance cases: inside the engines' own transforms, and under JAX's limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge.errors import UnsupportedError

LABELS = np.array([[0, 1, 2], [1, 1, 0]], "int32")
TIMES = np.array([[5], [4]], "int32")
COUNTS = np.array([[3], [2]], "int32")


def odds(dtype: str = "float32") -> Any:
    p = np.random.default_rng(0).uniform(0.1, 1.0, (2, 5, 4))
    return (p / p.sum(-1, keepdims=True)).astype(dtype)


def reference() -> Any:
    """The summed cost and its gradient, by the NumPy backend."""
    K = kbridge.load_backend("numpy")
    x = K.placeholder((2, 5, 4), dtype="float64")
    cost = K.ctc_batch_cost(LABELS, x, TIMES, COUNTS)
    return K.function([x], [K.sum(cost), K.gradients(cost, x)[0]])([odds("float64")])


# --- PyTorch -------------------------------------------------------------------------------------


@pytest.fixture
def torch_cost() -> Any:
    torch = pytest.importorskip("torch")
    K = kbridge.load_backend("torch")
    labels, times, counts = map(torch.from_numpy, (LABELS, TIMES, COUNTS))
    return lambda x: K.ctc_batch_cost(labels, x, times, counts)


def test_torch_derivatives_of_both_orders(torch_cost: Any) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(odds("float64"), requires_grad=True)
    assert torch.autograd.gradcheck(torch_cost, x)
    assert torch.autograd.gradgradcheck(torch_cost, x)
    total = torch_cost(x).sum()
    for times in (1, 2):  # the graph may be used again
        total.backward(retain_graph=True)
        np.testing.assert_allclose(x.grad, times * reference()[1], rtol=1e-10)


def test_torch_transforms(torch_cost: Any) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(odds("float64"))
    slope = torch.func.grad(lambda x: torch_cost(x).sum())(x)
    np.testing.assert_allclose(slope, reference()[1], rtol=1e-10)
    both = torch.func.vmap(torch_cost)(torch.stack([x, x]))
    np.testing.assert_allclose(both.sum(), 2 * reference()[0], rtol=1e-10)
    assert not torch_cost(x).requires_grad


# --- TensorFlow ----------------------------------------------------------------------------------


def test_tensorflow_graph_of_unknown_sizes() -> None:
    tf = pytest.importorskip("tensorflow")
    K = kbridge.load_backend("tensorflow")

    @tf.function(input_signature=[tf.TensorSpec((None, None, 4)), tf.TensorSpec((None,), tf.int32)])
    def both(x: Any, times: Any) -> Any:
        (labels,), scores = K.ctc_decode(x, times, greedy=False, beam_width=20)
        return labels, scores

    numpy = kbridge.load_backend("numpy")
    for count in (5, 3):
        x, times = odds()[:, :count], np.array([count, 2], "int32")
        (labels,), scores = numpy.ctc_decode(x, times, greedy=False, beam_width=20)
        found = both(tf.constant(x), tf.constant(times))
        np.testing.assert_array_equal(found[0], labels)
        np.testing.assert_allclose(found[1], scores, rtol=1e-6)


# --- JAX -----------------------------------------------------------------------------------------


def test_jax_transforms() -> None:
    jax = pytest.importorskip("jax")
    K = kbridge.load_backend("jax")
    given = [jax.numpy.asarray(a) for a in (LABELS, TIMES, COUNTS)]

    def total(x: Any) -> Any:
        return K.sum(K.ctc_batch_cost(given[0], x, *given[1:]))

    cost, slope = jax.jit(jax.value_and_grad(total))(jax.numpy.asarray(odds()))
    np.testing.assert_allclose(cost, reference()[0], rtol=1e-5)
    np.testing.assert_allclose(slope, reference()[1], rtol=2e-5, atol=1e-5)


def test_jax_does_not_decode_while_it_traces() -> None:
    jax = pytest.importorskip("jax")
    K = kbridge.load_backend("jax")
    times = jax.numpy.asarray([5, 4])
    with pytest.raises(UnsupportedError, match=r"^K\.ctc_decode: .*K\.function does so"):
        jax.jit(lambda x: K.ctc_decode(x, times)[1])(jax.numpy.asarray(odds()))


def test_jax_compiles_no_update_from_decoded_labels() -> None:
    pytest.importorskip("jax")
    K = kbridge.load_backend("jax")
    x, total = K.placeholder((2, 5, 4)), K.variable(0.0)
    (labels,), scores = K.ctc_decode(x, K.constant([5, 4]))
    with pytest.raises(UnsupportedError, match="an update or a gradient depends on data"):
        K.function([x], [labels], updates=[(total, K.sum(scores))])


@pytest.mark.parametrize("backend", ["numpy", "tensorflow", "torch", "jax"])
def test_what_follows_in_both_phases(backend: str) -> None:
    """What is computed from the labels may depend on the learning phase, as all else may."""
    if backend != "numpy":
        pytest.importorskip(backend)
    K = kbridge.load_backend(backend)
    x, phase = K.placeholder((None, None, 4)), K.learning_phase()
    (labels,), scores = K.ctc_decode(x * 2.0, K.constant([5, 4]))
    outputs = [K.in_train_phase(labels + 1, labels), scores, K.mean(x)]
    f = K.function([x, phase], outputs)
    test, train = f([odds(), 0]), f([odds(), 1])
    np.testing.assert_array_equal(train[0], test[0] + 1)
    np.testing.assert_array_equal(train[1], test[1])
    assert test[0].dtype == np.int64
    np.testing.assert_allclose(test[2], odds().mean(), rtol=1e-6)
