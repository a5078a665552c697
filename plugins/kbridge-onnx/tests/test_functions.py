"""Compiled functions: training, updates, draws, loops, errors."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge.demo.training import load_digits
from kbridge.errors import ArgumentError, IndexRangeError, ShapeError, UnsupportedError


def test_training_lowers_the_loss(K: Any) -> None:
    """A perceptron on scanned digits, by gradients that are part of the model."""
    digits, tested = load_digits()
    rng = np.random.default_rng(0)
    images, labels = K.placeholder((None, 64)), K.placeholder((None,), dtype="int32")
    sizes = ((64, 32), (32,), (32, 10), (10,))
    w1, b1, w2, b2 = weights = [K.variable(rng.normal(size=s) * 0.2) for s in sizes]
    scores = K.dot(K.relu(K.dot(images, w1) + b1), w2) + b2
    losses = K.sparse_categorical_crossentropy(labels, scores, from_logits=True)
    loss = K.mean(losses)
    updates = [(w, w - 0.5 * g) for w, g in zip(weights, K.gradients(loss, weights), strict=True)]
    step = K.function([images, labels], [loss], updates=updates)
    pixels = digits.images.reshape(-1, 64)
    seen = [float(step([pixels[i::20], digits.labels[i::20]])[0]) for i in (*range(20),) * 8]
    assert np.mean(seen[-20:]) < 0.15 < 1.5 < seen[0]
    guess = K.function([images], [K.argmax(scores)])([tested.images.reshape(-1, 64)])[0]
    assert np.mean(guess == tested.labels) > 0.93


def test_the_runtime_computes(K: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled function is one run of one session, for all sizes of a batch."""
    from kbridge_onnx import engine

    runs = []
    run = engine.Model.run
    monkeypatch.setattr(engine.Model, "run", lambda self, fed: runs.append(self) or run(self, fed))
    x = K.placeholder((None, 3))
    f = K.function([x], [K.exp(x), K.sum(x)])
    for rows in (1, 2, 5):
        assert f([np.zeros((rows, 3))])[0].shape == (rows, 3)
    assert len(runs) == 3
    assert len(set(runs)) == 1
    kinds = {node.op_type for node in runs[0].proto.graph.node}
    assert {"Exp", "ReduceSum"} <= kinds


def test_open_sizes_that_a_model_needs(K: Any) -> None:
    """Then there is a model for each set of sizes, kept for the next call with it."""
    x = K.placeholder((None, None, None, 1))
    f = K.function([x], [K.pool2d(x, (2, 2), padding="same", pool_mode="avg")])
    for size in (3, 4, 3):
        np.testing.assert_allclose(f([np.ones((1, size, size, 1))])[0], np.ones((1, size, size, 1)))
    assert len(f._program.compiled[0].models) == 2


def test_updates(K: Any) -> None:
    """All see the values from before; the last of one variable counts; who fails changes none."""
    a, b = K.variable([1.0, 2.0]), K.variable([10.0, 20.0])
    x = K.placeholder((None,))
    f = K.function([x], [a + b], updates=[(a, b), (b, a), (a, a + K.sum(x))])
    assert f([[1.0]])[0].tolist() == [11.0, 22.0]
    assert K.get_value(a).tolist() == [2.0, 3.0]
    assert K.get_value(b).tolist() == [1.0, 2.0]
    with pytest.raises(ShapeError):
        K.function([x], [], updates=[(b, a * 0), (a, x)])([[1.0, 2.0, 3.0]])
    assert K.get_value(b).tolist() == [1.0, 2.0]


def test_updates_from_several_threads(K: Any) -> None:
    count = K.variable(0.0)
    f = K.function([], [], updates=[K.update_add(count, 1.0)])
    threads = [threading.Thread(target=lambda: [f([]) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert K.get_value(count) == 200


def test_seeds(K: Any) -> None:
    """New numbers at each call; a seed repeats their series, here and in another function."""
    x = K.placeholder((None, 3))
    f, g = (K.function([x], [K.random_normal(K.shape(x), seed=4)]) for _ in range(2))
    fed = [np.zeros((2, 3))]
    first, second = f(fed)[0], f(fed)[0]
    assert not np.any(first == second)
    np.testing.assert_array_equal(g(fed)[0], first)
    np.testing.assert_array_equal(g(fed)[0], second)
    assert not np.any(K.function([x], [K.random_normal(K.shape(x), seed=5)])(fed)[0] == first)


def test_distributions(K: Any) -> None:
    """Moments and quantiles of 100,000 draws, within five deviations of an average of them."""
    n = 100_000
    made = [K.random_normal((n,), seed=1), K.random_uniform((n,), -1, 3, seed=2)]
    made += [K.truncated_normal((n,), seed=3), K.random_binomial((n,), 0.3, seed=4)]
    normal, uniform, truncated, binomial = K.function([], made)([])
    near = 5 / np.sqrt(n)
    assert abs(normal.mean()) < near
    assert abs(normal.std() - 1) < near
    assert abs(np.mean(normal < 1) - 0.841345) < near
    assert abs(uniform.mean() - 1) < 4 * near
    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert abs(np.mean(uniform < 0) - 0.25) < near
    assert np.abs(truncated).max() <= 2
    assert abs(truncated.std() - 0.8796) < near
    assert abs(np.mean(truncated < 1) - 0.857467) < near
    assert abs(binomial.mean() - 0.3) < near


def test_draws_in_a_loop_differ(K: Any) -> None:
    x = K.placeholder((None, 2))
    f = K.function([x], [K.map_fn(lambda row: row * 0 + K.random_uniform((2,), seed=1), x)])
    found = f([np.zeros((50, 2))])[0]
    assert len(np.unique(found)) == 100
    assert not np.any(f([np.zeros((50, 2))])[0] == found)


def test_a_branch_that_is_not_taken(K: Any) -> None:
    """It is not computed: its index would be an error."""
    x, rows = K.placeholder((), dtype="int32"), K.constant([1.0, 2.0])
    f = K.function(
        [x], [K.switch(K.greater(x, 1), lambda: K.constant(0.0), lambda: K.gather(rows, x))]
    )
    assert f([1])[0] == 2.0
    assert f([7])[0] == 0.0
    with pytest.raises(IndexRangeError, match=r"K.gather: the index -1 is outside .* \[0, 2\)"):
        f([-1])


def test_arrays_in_any_order(K: Any) -> None:
    x = K.placeholder((2, 3))
    f = K.function([x], [x * 2])
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    for fed in (np.asfortranarray(plain), plain.astype(">f4"), plain[::-1][::-1]):
        np.testing.assert_array_equal(f([fed])[0], plain * 2)


def test_errors_are_kbridges(K: Any) -> None:
    x, y = K.placeholder((None, 2)), K.placeholder((None, 2))
    with pytest.raises(ShapeError, match=r"K.add: .*\(3, 2\)"):
        K.function([x, y], [x + y])([np.ones((3, 2)), np.ones((4, 2))])


def test_lifted_arithmetic(K: Any) -> None:
    """Operators work in a model; a function of NumPy's says what to do."""
    x = K.placeholder((None, 2))
    f = K.function([x], [K.lift(lambda v: (1 - v) * v / 2 - v**2)(x)])
    assert f([[[2.0, 3.0]]])[0].tolist() == [[-5.0, -12.0]]
    sine = K.lift(lambda v: np.sin(v, where=np.ones(v.shape, bool)), lambda s: s, "float32")(x)
    with pytest.raises(TypeError):
        K.function([x], [sine])([[[1.0, 2.0]]])


def test_its_names(K: Any) -> None:
    """The entry point, the module, and the backend of Keras 2 whose place it takes."""
    for name in ("cntk", "kbridge_onnx"):
        assert kbridge.load_backend(name).engine is K.engine
    assert K.backend() == "onnx"


def test_options(K: Any) -> None:
    x = K.placeholder((None,))
    f = K.function([x], [x + 1], providers=["CPUExecutionProvider"])
    assert f([[1.0]])[0].tolist() == [2.0]
    assert K.function([x], [x + 1], providers="CPUExecutionProvider")([[1.0]])[0].tolist() == [2.0]
    for wrong in ("gpu", ["gpu"], None, [3]):
        with pytest.raises(ArgumentError, match=r"providers must be .* CPUExecutionProvider"):
            K.function([x], [x + 1], providers=wrong)([[1.0]])
    with pytest.raises(ArgumentError, match="Options of this backend: providers"):
        K.function([x], [x + 1], compile=True)


def test_what_is_printed(K: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """After the run; not inside of a loop, where ONNX has nothing for it."""
    x = K.placeholder((None,))
    K.function([x], [K.print_tensor(x * 2, "twice:") + 1])([[1.0, 2.0]])
    assert "twice:" in capsys.readouterr().out
    with pytest.raises(UnsupportedError, match="inside a loop"):
        K.function([x], [K.map_fn(lambda v: K.print_tensor(v), x)])([[1.0]])


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_divisions_that_a_processor_refuses(K: Any, dtype: str) -> None:
    """By 0, and of the least number by -1: NumPy's results, where the process would end."""
    limits = np.iinfo(dtype)
    x, y = K.placeholder((None,), dtype=dtype), K.placeholder((None,), dtype=dtype)
    below = np.array([limits.min, limits.min, 7, 7, 7, limits.max], dtype)
    by = np.array([-1 if limits.min else 1, 0, 0, 2, 3, limits.max], dtype)
    found = K.function([x, y], [x // y, x % y, x // 3, x % 3])([below, by])
    with np.errstate(all="ignore"):
        wanted = below // by, below % by, below // 3, below % 3
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_powers_of_integers(K: Any, dtype: str) -> None:
    """To the last digit, and what is too large as in NumPy; the runtime's own go by floats."""
    x, y = K.placeholder((None,), dtype=dtype), K.placeholder((None,), dtype=dtype)
    base, to = np.array([0, 3, 7, 100, 5], dtype), np.array([0, 39, 22, 9, 1], dtype)
    found = K.function([x, y], [x**y, x**39, x**0, x ** np.array([0, 1, 2, 3, 39], dtype)])(
        [base, to]
    )
    wanted = base**to, base**39, base**0, base ** np.array([0, 1, 2, 3, 39], dtype)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == dtype


def test_whole_quotients_by_infinity(K: Any) -> None:
    x, y = K.placeholder((None,)), K.placeholder((None,))
    below, by = [-3.0, 3.0, 3.0, 7.5, -7.5, 0.0], [np.inf, np.inf, -np.inf, 2.0, 2.0, -np.inf]
    found = K.function([x, y], [x // y])([below, by])[0]
    np.testing.assert_array_equal(found, [-1, 0, -1, 3, -4, 0])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_nothing_has_no_largest_element(K: Any, dtype: str) -> None:
    x = K.placeholder((None, None), dtype=dtype)
    for name, function in (("max", K.max), ("min", K.min)):
        f = K.function([x], [function(x, axis=1)])
        with pytest.raises(ShapeError, match=rf"K\.{name}: axis 1 is empty"):
            f([np.zeros((2, 0))])
        assert f([np.zeros((0, 2))])[0].shape == (0,)


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize("width", [1, 2])
def test_convolutions_of_nothing(K: Any, layout: str, width: int) -> None:
    """Also in the model of an open batch, which is what is saved."""
    last = layout == "channels_last"
    x = K.placeholder((None, 0, 3, 2) if last else (None, 2, 0, 3))
    for name, channels in (("conv2d", 4), ("depthwise_conv2d", 8)):
        kernel = K.placeholder((width, width, 2, 4))
        y = getattr(K, name)(x, kernel, (2, 2), "same", layout)
        f = K.function([x, kernel], [y])
        slopes = K.function([x, kernel], K.gradients(K.sum(y), [x, kernel]))
        for rows in (0, 2):
            fed = np.zeros((rows, 0, 3, 2) if last else (rows, 2, 0, 3))
            given = [part.astype("float32") for part in (fed, np.ones((width, width, 2, 4)))]
            found = *f(given), *slopes(given)
            assert found[0].shape == ((rows, 0, 2, channels) if last else (rows, channels, 0, 2))
            assert found[1].shape == fed.shape
            np.testing.assert_array_equal(found[2], np.zeros((width, width, 2, 4)))
            (alone,) = f._program.compiled[0].open.run(given)
            assert alone.shape == found[0].shape
