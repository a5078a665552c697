"""Draws: moments, bounds, independence, repeatability, and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge import loader
from kbridge.conformance.records import program

MANY = 20000


def _near(mean: float, std: float, low: float = -math.inf, high: float = math.inf) -> Any:
    """A test for MANY numbers: their moments, within 5 standard errors, and their bounds."""

    def test(got: Any) -> bool:
        got = np.asarray(got, np.float64)
        close = abs(got.mean() - mean) < 5 * std / math.sqrt(got.size)
        wide = abs(got.std() - std) < 5 * std / math.sqrt(got.size)
        return bool(close and wide and got.min() >= low and got.max() <= high)

    test.__doc__ = f"numbers of mean {mean} and standard deviation {std} in [{low}, {high}]"
    return test


#: The standard deviation of a normal distribution cut at two of them.
CUT = 0.8796256610342398
_MOMENTS = (
    _near(0.0, 1.0),
    _near(5.0, 0.1),
    _near(0.5, 1 / math.sqrt(12), 0.0, 1.0),
    _near(1.0, 4 / math.sqrt(12), -1.0, 3.0),
    _near(0.0, CUT, -2.0, 2.0),
    _near(3.0, 2 * CUT, -1.0, 7.0),
    _near(0.3, math.sqrt(0.21), 0.0, 1.0),
    _near(0.7, math.sqrt(0.21), 0.0, 1.0),
)


def _draws(K: Any, seed: int = 7, many: int = MANY) -> list[Any]:
    return [
        K.random_normal((many,), seed=seed),
        K.random_normal((many,), mean=5.0, stddev=0.1, seed=seed),
        K.random_uniform((many,), seed=seed),
        K.random_uniform((many,), minval=-1.0, maxval=3.0, seed=seed),
        K.truncated_normal((many,), seed=seed),
        K.truncated_normal((many,), mean=3.0, stddev=2.0, seed=seed),
        K.random_binomial((many,), p=0.3, seed=seed),
        K.random_bernoulli((many,), p=0.7, seed=seed),
    ]


_DRAWN = "random_normal random_uniform truncated_normal random_binomial random_bernoulli"


@program(_MOMENTS, covers=_DRAWN)
def moments_evaluated(K: Any) -> Any:
    return tuple(K.eval(t) for t in _draws(K))


@program(_MOMENTS, covers=_DRAWN)
def moments_compiled(K: Any) -> Any:
    return tuple(K.function([], _draws(K))([]))


def _uncorrelated(got: Any) -> bool:
    """Rows without correlation."""
    apart = np.corrcoef(np.asarray(got, np.float64)) - np.eye(len(got))
    return bool(np.abs(apart).max() < 5 / math.sqrt(np.shape(got)[1]))


@program((_uncorrelated, _uncorrelated), covers="random_normal")
def draws_are_independent(K: Any) -> Any:
    """Of two operations, of two calls, and of two seeds."""
    f = K.function([], [K.random_normal((MANY,), seed=s) for s in (1, 2)])
    t = K.random_normal((MANY,), seed=3)
    return np.array([*f([]), *f([])]), np.array([K.eval(t), K.eval(t)])


@program(
    (0.0,) * 11,
    covers=f"{_DRAWN} dropout random_normal_variable random_uniform_variable",
    natives=True,
)
def same_numbers_on_every_backend(K: Any) -> Any:
    """Outside compiled functions: evaluated twice, as variables, and on native tensors."""
    reference = loader.load_backend("numpy")
    x = np.ones((3, 4), "float32")

    def found(K: Any) -> list[Any]:
        native = K.engine.from_numpy(x, "float32")
        return [
            *(K.eval(t) for t in _draws(K, many=5)),
            K.get_value(K.random_normal_variable((5,), 1.0, 2.0, seed=4)),
            K.get_value(K.random_uniform_variable((5,), 1.0, 2.0, seed=4)),
            K.eval(K.dropout(native, 0.5, seed=5)),
        ]

    return tuple(
        float(np.abs(got - want).max())
        for got, want in zip(found(K), found(reference), strict=True)
    )


@program((True, True, True, True), covers="random_normal")
def a_seed_repeats_the_stream(K: Any) -> Any:
    """Evaluated and compiled: the next call draws anew, the same program draws the same."""

    def run(seed: int) -> tuple[Any, Any]:
        t = K.random_normal((4,), seed=seed)
        f = K.function([], [K.random_normal((4,), seed=seed)])
        return np.array([K.eval(t), K.eval(t)]), np.array([f([])[0], f([])[0]])

    (evaluated, compiled), again, other = run(5), run(5), run(6)
    return (
        bool((evaluated == again[0]).all() and (compiled == again[1]).all()),
        bool((evaluated[0] != evaluated[1]).any() and (compiled[0] != compiled[1]).any()),
        bool((evaluated != other[0]).any()),
        bool((compiled != other[1]).any()),
    )


@program((True, False, True), covers="random_uniform")
def without_a_seed_numpy_gives_it(K: Any) -> Any:
    """An unseeded operation takes its seed from ``np.random`` when it is recorded."""

    def run() -> list[Any]:
        np.random.seed(11)
        tensors = [K.random_uniform((3,)), K.random_uniform((3,))]
        f = K.function([], [K.random_uniform((3,))])
        return [*(K.eval(t) for t in tensors), f([])[0]]

    first, second = run(), run()
    return (
        all(bool((a == b).all()) for a, b in zip(first, second, strict=True)),
        bool((first[0] == first[1]).any()),
        all(bool((part >= 0).all() and (part < 1).all()) for part in first),
    )


@program((True, 0.0, True), covers="random_normal")
def one_draw_is_one_value(K: Any) -> Any:
    """Used twice in a function, also in its updates, a draw has one value per call."""
    x, v = K.placeholder((3,)), K.variable(np.zeros(3))
    noise = K.random_normal((3,), seed=1)
    f = K.function([x], [x + noise, noise], updates=[(v, noise)])
    noisy, alone = f([np.zeros(3)])
    first = K.get_value(v)
    f([np.zeros(3)])
    return (
        bool((first == alone).all()),
        float(np.abs(noisy - alone).max()),
        bool((K.get_value(v) != first).all()),
    )


@program(((2, 3), (5, 3), (None, 3), True), covers="random_uniform")
def a_shape_that_the_run_knows(K: Any) -> Any:
    x = K.placeholder((None, 3))
    noise = K.random_uniform(K.shape(x), seed=2)
    f = K.function([x], [noise + 0.0 * x])
    small, large = f([np.zeros((2, 3))])[0], f([np.zeros((5, 3))])[0]
    return small.shape, large.shape, K.int_shape(noise), bool((large[:2] != small).any())


@program(
    ("float16", "float64", "int32", "float16", "float32", "int32", "float64", (0, 3), ()),
    covers=_DRAWN,
)
def dtypes_of_draws(K: Any) -> Any:
    half = K.random_normal((3,), dtype="float16", seed=1)
    whole = K.random_uniform((100,), 2, 5, dtype="int32", seed=1)
    made = [
        half,
        K.truncated_normal((3,), dtype="float64", seed=1),
        whole,
        K.random_binomial((3,), 0.5, dtype="float16", seed=1),
        K.random_uniform((3,), seed=1),
    ]
    compiled = K.function([], [whole, K.random_normal((2,), dtype="float64", seed=1)])([])
    assert set(K.eval(whole).tolist()) == {2, 3, 4}
    assert set(compiled[0].tolist()) == {2, 3, 4}
    return (
        *(str(K.eval(t).dtype) for t in made),
        *(str(value.dtype) for value in compiled),
        K.eval(K.random_normal((0, 3), seed=1)).shape,
        K.eval(K.random_uniform((), seed=1)).shape,
    )


@program((True, True, True, True), covers="random_uniform")
def uniform_stays_below_its_end(K: Any) -> Any:
    """Also in a dtype so short that rounding would reach the end."""
    found = []
    for dtype in ("float16", "float32"):
        t = K.random_uniform((MANY,), 0.0, 1.0, dtype=dtype, seed=3)
        for value in (K.eval(t), K.function([], [t])([])[0]):
            found.append(bool((value < 1).all() and (value >= 0).all()))
    return tuple(found)


@program(
    ((4, 2), "float32", True, True, True, "named"),
    covers="random_normal_variable random_uniform_variable",
)
def random_variables(K: Any) -> Any:
    normal = K.random_normal_variable((4, 2), 3.0, 0.5, seed=1)
    uniform = K.random_uniform_variable((MANY,), -2.0, -1.0, dtype="float64", seed=1, name="named")
    value = K.get_value(uniform)
    return (
        K.int_shape(normal),
        K.dtype(normal),
        K.is_variable(normal) and K.is_variable(uniform),
        bool((K.get_value(normal) == K.get_value(normal)).all()),
        bool((value >= -2).all() and (value < -1).all() and abs(value.mean() + 1.5) < 0.02),
        uniform.name,
    )


# --- dropout -----------------------------------------------------------------------------------


def _dropped(level: float) -> Callable[[Any], bool]:
    def test(got: Any) -> bool:
        kept = got != 0
        scaled = np.allclose(got[kept], 1 / (1 - level), rtol=1e-6)
        spread = 5 * math.sqrt(level * (1 - level) / got.size)
        return bool(scaled and abs(1 - kept.mean() - level) < spread)

    test.__doc__ = f"ones of which a fraction {level} is dropped and the rest scaled"
    return test


@program((_dropped(0.25), _dropped(0.25), _dropped(0.8), [[1.0, 2.0]], True), covers="dropout")
def dropout_fractions(K: Any) -> Any:
    x = K.placeholder((None, 100))
    f = K.function([x], [K.dropout(x, 0.25, seed=1), K.dropout(x, 0.8)])
    ones = np.ones((200, 100))
    first, strong = f([ones])
    second, _ = f([ones])
    kept = K.eval(K.dropout(K.constant([[1.0, 2.0]]), 0.0))
    return first, second, strong, kept, bool((first != second).any())


@program((0.0, 0.0, True), covers="dropout")
def dropout_noise_shape(K: Any) -> Any:
    """A size of 1 drops along an axis as a whole; None stands for the size of the input."""
    x = K.placeholder((None, 4, 3))
    f = K.function([x], [K.dropout(x, 0.5, (None, 1, 3), seed=2), K.dropout(x, 0.5, (1, 4, 1), 3)])
    rows, columns = f([np.ones((50, 4, 3))])
    return (
        float(np.ptp(rows, axis=1).max()),
        float(np.ptp(columns, axis=(0, 2)).max()),
        0.0 < (rows == 0).mean() < 1.0,
    )


@program((True, True), covers="dropout gradients")
def dropout_gradient(K: Any) -> Any:
    """The gradient goes through the elements that the same call keeps."""
    x = K.placeholder((10, 10))
    y = K.dropout(x, 0.5)
    f = K.function([x], [y, *K.gradients(K.sum(y), [x])])
    (value, slope), (again, _) = f([np.ones((10, 10))]), f([np.ones((10, 10))])
    return bool((value == slope).all()), bool((value != again).any())


@program(([[1.0, 1.0]], True, True), covers="dropout in_train_phase")
def dropout_in_the_training_phase(K: Any) -> Any:
    x = K.placeholder((1, None))
    y = K.in_train_phase(lambda: K.dropout(x, 0.5), x)
    f = K.function([x, K.learning_phase()], [y])
    test = f([np.ones((1, 2)), 0])[0]
    one, two = f([np.ones((1, 100)), 1])[0], f([np.ones((1, 100)), 1])[0]
    return test, set(np.unique(one).tolist()) == {0.0, 2.0}, bool((one != two).any())
