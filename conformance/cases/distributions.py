"""Draws under statistical tests, with fixed seeds: distributions, independence, streams.

What these tests allow lies far beyond chance (five standard deviations and the like), so that they
hold for any good generator, and with fixed seeds their outcome never changes.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import scipy  # scipy.stats is imported where it is used first, since that takes a second

from kbridge import loader
from kbridge.conformance.records import fault, program
from kbridge.errors import ArgumentError, DTypeError

MANY = 20000


def _table(K: Any, dtype: str, seed: int = 7) -> list[tuple[str, Any, Any]]:
    """Name, draw and distribution function of every kind of draw."""
    options = {"dtype": dtype, "seed": seed}
    stats = scipy.stats
    cut, scaled = stats.truncnorm(-2.0, 2.0), stats.truncnorm(-2.0, 2.0, loc=1.0, scale=0.5)
    return [
        ("normal", K.random_normal((MANY,), **options), stats.norm.cdf),
        ("normal(3, 2)", K.random_normal((MANY,), 3.0, 2.0, **options), stats.norm(3.0, 2.0).cdf),
        ("uniform", K.random_uniform((MANY,), **options), stats.uniform.cdf),
        ("uniform(-1, 3)", K.random_uniform((MANY,), -1, 3, **options), stats.uniform(-1, 4).cdf),
        ("truncated", K.truncated_normal((MANY,), **options), cut.cdf),
        ("truncated(1, 0.5)", K.truncated_normal((MANY,), 1.0, 0.5, **options), scaled.cdf),
    ]


def _distance(values: Any, cdf: Any) -> float:
    """The statistic of Kolmogorov and Smirnov, in units in which 2.5 has a chance of 1e-5."""
    return float(scipy.stats.kstest(values.astype("float64"), cdf).statistic) * math.sqrt(
        values.size
    )


def _far(K: Any, dtype: str) -> list[str]:
    """Names of the draws that do not follow their distribution."""
    table = _table(K, dtype)
    compiled = K.function([], [t for _, t, _ in table])
    compiled([])
    wrong = []
    for (name, t, cdf), again in zip(table, compiled([]), strict=True):
        for way, values in (("evaluated", K.eval(t)), ("compiled", again)):
            distance = _distance(values, cdf)
            if values.dtype != dtype or distance > 2.5:
                wrong.append(f"{name} {way} in {values.dtype}: {distance:.2f}")
    return wrong


@program([], covers="random_normal random_uniform truncated_normal")
def draws_follow_their_distributions(K: Any) -> Any:
    return _far(K, "float32")


@program([], covers="random_normal random_uniform truncated_normal")
def draws_of_float64_follow_their_distributions(K: Any) -> Any:
    return _far(K, "float64")


@program([], covers="random_normal random_uniform truncated_normal")
def draws_of_float16_follow_their_distributions(K: Any) -> Any:
    return _far(K, "float16")


def _tails(got: Any) -> bool:
    """Normal numbers with as many beyond 2, 3 and 3.5 deviations as there should be."""
    size = np.abs(np.asarray(got, np.float64))
    for limit in (2.0, 3.0, 3.5):
        share = 2 * scipy.stats.norm.sf(limit)
        if abs((size > limit).mean() - share) > 5 * math.sqrt(share / size.size):
            return False
    return bool(size.max() > 3.5)


@program((_tails,) * 6, covers="random_normal")
def normal_numbers_have_tails(K: Any) -> Any:
    made = [K.random_normal((MANY,), dtype=d, seed=3) for d in ("float16", "float32", "float64")]
    return *map(K.eval, made), *K.function([], made)([])


# --- independence --------------------------------------------------------------------------------


def _independent(got: Any) -> bool:
    """Rows that have no correlation with each other, nor with themselves shifted."""
    rows = np.asarray(got, np.float64)
    limit = 5 / math.sqrt(rows.shape[1])
    apart = np.corrcoef(rows) - np.eye(len(rows))
    shifted = [
        np.corrcoef(row[lag:], row[:-lag])[0, 1] for row in rows for lag in (1, 2, 3, 16, 1000)
    ]
    return bool(np.abs(apart).max() < limit and np.abs(shifted).max() < limit)


@program((_independent,) * 4, covers="random_normal random_uniform truncated_normal dropout")
def draws_are_independent_of_each_other(K: Any) -> Any:
    """Of two nodes, of calls in a row, of elements of one draw; dropout's choices too."""
    made = [
        K.random_normal((MANY,), seed=11),
        K.random_normal((MANY,)),
        K.random_uniform((MANY,), seed=12),
        K.truncated_normal((MANY,), seed=13),
    ]
    x = K.placeholder((MANY,))
    drop = K.function([x], [K.dropout(x, 0.5, seed=14), K.dropout(x, 0.5)])
    f, ones = K.function([], made), np.ones(MANY)
    evaluated = np.array([K.eval(t) for t in made for _ in range(2)])
    plain = K.constant(np.ones(MANY))
    dropped = K.dropout(plain, 0.5, seed=15)
    return (
        np.array([*f([]), *f([]), *f([])]),
        evaluated,
        np.array([*drop([ones]), *drop([ones])]),
        np.array([K.eval(dropped), K.eval(dropped)]),
    )


@program((_independent, _independent), covers="random_normal")
def seeds_beside_each_other_are_independent(K: Any) -> Any:
    """Small ones, large ones, negative ones; the first and the second call."""
    seeds = (-2, -1, 0, 1, 2, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1)
    made = [K.random_normal((MANY,), seed=seed) for seed in seeds]
    f = K.function([], made)
    return np.array([*f([]), *f([])]), np.array([K.eval(t) for t in made])


@program((200, True, 200, True), covers="random_normal")
def calls_in_threads_draw_apart(K: Any) -> Any:
    """Eight threads take what one would: each member of the stream once."""
    f, g = (K.function([], [K.random_normal((3,), seed=1)]) for _ in range(2))
    t, u = (K.random_normal((3,), seed=1) for _ in range(2))
    compiled, evaluated, failed = [], [], []

    def work() -> None:
        try:
            for _ in range(25):
                compiled.append(tuple(f([])[0].tolist()))
                evaluated.append(tuple(K.eval(t).tolist()))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return (
        len(set(compiled)),
        set(compiled) == {tuple(g([])[0].tolist()) for _ in range(200)},
        len(set(evaluated)),
        set(evaluated) == {tuple(K.eval(u).tolist()) for _ in range(200)},
    )


# --- the same again ------------------------------------------------------------------------------


@program((True, True), covers="random_uniform truncated_normal random_binomial dropout")
def a_rebuilt_function_repeats_its_draws(K: Any) -> Any:
    def run() -> list[Any]:
        x = K.placeholder((None, 5))
        f = K.function(
            [x],
            [
                K.random_uniform((5,), seed=1),
                K.truncated_normal((5,), seed=2),
                K.random_binomial((50,), 0.5, seed=3),
                K.dropout(x, 0.5, noise_shape=(None, 1), seed=4),
            ],
        )
        return [*f([np.ones((40, 5))]), *f([np.ones((40, 5))])]

    first, second = run(), run()
    return (
        all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)),
        all(not np.array_equal(a, b) for a, b in zip(first[:4], first[4:], strict=True)),
    )


@program((True, False, True), covers="random_normal_variable random_uniform_variable dropout")
def numpy_seeds_what_has_no_seed(K: Any) -> Any:
    def run() -> list[Any]:
        np.random.seed(5)
        x = K.placeholder((30,))
        made = [
            K.random_normal_variable((3,), 0.0, 1.0),
            K.random_uniform_variable((3,), 0.0, 1.0),
            K.truncated_normal((3,)),
            K.truncated_normal((3,)),
            K.random_binomial((30,), 0.5),
        ]
        drop = K.function([x], [K.dropout(x, 0.5)])([np.ones(30)])[0]
        return [*(K.eval(t) for t in made), drop]

    first, second = run(), run()
    np.random.seed(6)
    return (
        all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)),
        np.array_equal(first[2], first[3]),
        not np.array_equal(first[2], K.eval(K.truncated_normal((3,)))),
    )


def _outside(K: Any) -> list[Any]:
    """Draws of every kind and dtype outside compiled functions, as values."""
    made = []
    for dtype in ("float16", "float32", "float64"):
        for seed in (3, -3):
            made += [
                K.random_normal((5,), 1.0, 2.0, dtype, seed),
                K.random_uniform((5,), -1.0, 2.0, dtype, seed),
                K.truncated_normal((5,), 1.0, 2.0, dtype, seed),
                K.random_binomial((5,), 0.5, dtype, seed),
                K.random_normal_variable((5,), 1.0, 2.0, dtype, seed=seed),
                K.random_uniform_variable((5,), 1.0, 2.0, dtype, seed=seed),
                K.dropout(K.constant(np.ones(9), dtype), 0.5, seed=seed),
            ]
    made += [K.random_uniform((5,), 0, 9, dtype, 4) for dtype in ("int32", "int64", "uint8")]
    return [K.eval(t) for t in made for _ in range(2)]


@program([], covers="random_normal random_uniform truncated_normal random_binomial dropout")
def the_same_bits_on_every_backend(K: Any) -> Any:
    """Outside compiled functions, in every dtype."""
    pairs = zip(_outside(K), _outside(loader.load_backend("numpy")), strict=True)
    return [
        f"{position}: {got} {got.dtype}, should be {want} {want.dtype}"
        for position, (got, want) in enumerate(pairs)
        if got.dtype != want.dtype or got.tobytes() != want.tobytes()
    ]


# --- integers ------------------------------------------------------------------------------------


@program([], covers="random_uniform")
def whole_numbers(K: Any) -> Any:
    """From ``minval`` up to, without, ``maxval``, each as often; in every integer dtype."""
    kinds = ("int8", "uint8", "int16", "int32", "int64", "uint32")
    made = [K.random_uniform((MANY,), 2, 12, dtype=dtype, seed=21) for dtype in kinds]
    made.append(K.random_uniform((MANY,), -3, 3, dtype="int32", seed=22))
    made.append(K.random_uniform((MANY,), -(2**31), 2**31 - 1, dtype="int32", seed=23))
    wrong = []
    for found in ([K.eval(t) for t in made], K.function([], made)([])):
        *several, low, wide = found
        for dtype, values in zip(kinds, several, strict=True):
            counts = np.bincount(values.astype(np.int64), minlength=12)
            even = scipy.stats.chisquare(counts[2:]).pvalue > 1e-5
            if values.dtype != dtype or len(counts) > 12 or counts[:2].any() or not even:
                wrong.append(f"{values.dtype}: {counts.tolist()}")
        if set(low.tolist()) != set(range(-3, 3)):
            wrong.append(f"from -3 to 3: {set(low.tolist())}")
        if not (wide.min() < -(2**31) * 0.99 and wide.max() > 2**31 * 0.99):
            wrong.append(f"the whole range: from {wide.min()} to {wide.max()}")
    return wrong


@program((0.0, 1.0, [1.0, 1.0], True), covers="random_binomial random_bernoulli random_uniform")
def ends_of_ranges(K: Any) -> Any:
    """Never, always, an empty range, and one given the wrong way round."""
    made = [
        K.random_binomial((1000,), 0.0, seed=1),
        K.random_bernoulli((1000,), 1.0, seed=1),
        K.random_uniform((2,), 1.0, 1.0, seed=1),
        K.random_uniform((1000,), 3.0, 1.0, seed=1),
    ]
    never, always, one, turned = K.function([], made)([])
    return never.mean(), always.mean(), one, bool(turned.min() < 1.1 and turned.max() > 2.9)


fault(
    "no-whole-number-in-the-range",
    lambda K, t: K.random_uniform((2,), 5, 5, dtype="int32"),
    ArgumentError,
    ValueError,
    text=r"^K\.random_uniform: .*int32.*minval 5.*maxval 5",
    ways="once",
)
fault(
    "normal-numbers-of-integers",
    lambda K, t: K.random_normal((2,), dtype="int32"),
    DTypeError,
    TypeError,
    text=r"^K\.random_normal: .*int32.*K\.cast",
    ways="once",
)
fault(
    "uniform-numbers-of-bools",
    lambda K, t: K.random_uniform((2,), dtype="bool"),
    DTypeError,
    TypeError,
    text=r"^K\.random_uniform: .*K\.random_binomial",
    ways="once",
)
