"""The graph's own autodiff: conventions, which gradients there are, and long graphs.

That each rule is right is tested in ``test_derivatives.py``.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge.binding import Backend
from kbridge.errors import UnsupportedError
from kbridge.symbolic.gradients import topological

K: Any = kbridge.load_backend("numpy")


# --- conventions ---------------------------------------------------------------------------------


def slope(function: Callable[[Any], Any], values: Any, dtype: str = "float64") -> Any:
    """The derivative of the sum of ``function`` at ``values``."""
    x = K.variable(np.array(values), dtype=dtype)
    (gradient,) = K.gradients(K.sum(function(x)), [x])
    return K.eval(gradient)


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (lambda x: K.max(x, 1), [[2.0, 2.0, 1.0], [3.0, 3.0, 3.0]], [[0.5, 0.5, 0], [1 / 3] * 3]),
        (lambda x: K.min(x), [[2.0, 1.0], [1.0, 5.0]], [[0.0, 0.5], [0.5, 0.0]]),
        (lambda x: K.maximum(x, 1.0), [0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
        (lambda x: K.minimum(x, 1.0), [0.0, 1.0, 2.0], [1.0, 0.5, 0.0]),
        (lambda x: K.maximum(x, x), [1.0], [1.0]),
        (K.abs, [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
        (K.sign, [-2.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        (K.sqrt, [-1.0, 0.0, 4.0], [0.0, np.inf, 0.25]),
        (lambda x: K.clip(x, -1.0, 1.0), [-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
        (lambda x: K.clip(x, 1.0, -1.0), [-2.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]),
        (K.relu, [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
        (lambda x: K.relu(x, 0.1), [-1.0, 0.0, 1.0], [0.1, 0.1, 1.0]),
        (lambda x: K.relu(x, threshold=1.0), [0.5, 1.0, 2.0], [0.0, 1.0, 1.0]),
        (lambda x: K.relu(x, max_value=1.0), [0.5, 1.0, 2.0], [1.0, 1.0, 0.0]),
        (lambda x: K.relu(x, 0.1, 1.0, -1.0), [-2.0, -1.0, -0.5, 0.0, 1.0], [0.1, 0, 0, 1, 1]),
        (lambda x: K.pow(x, 0.0), [0.0, 1.0], [0.0, 0.0]),
        (lambda x: K.pow(x, K.constant([0.0, 2.0], dtype="float64")), [0.0, 3.0], [0.0, 6.0]),
        (lambda x: K.pow(K.constant([0.0, -2.0, 2.0], dtype="float64"), x), [2.0] * 3,
         [0.0, 0.0, 4 * np.log(2)]),
        (K.logsumexp, [-np.inf, -np.inf], [0.0, 0.0]),
        (K.logsumexp, [-np.inf, 1.0], [0.0, 1.0]),
        (lambda x: K.prod(x, 0), [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
        (lambda x: K.prod(x, 0), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
        (lambda x: K.softmax(K.reshape(x, (1, 2))), [1000.0, -1000.0], [0.0, 0.0]),
        (lambda x: K.softplus(x), [-1000.0, 0.0, 1000.0], [0.0, 0.5, 1.0]),
        (lambda x: K.sigmoid(x), [-1000.0, 0.0, 1000.0], [0.0, 0.25, 0.0]),
    ],
)  # fmt: skip
def test_convention(function: Any, values: Any, expected: Any) -> None:
    np.testing.assert_allclose(slope(function, values), expected, atol=1e-15)


def test_max_pooling_takes_the_first_maximum_of_a_window() -> None:
    x = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 3.0], [3.0, 3.0, 3.0]]).reshape(1, 3, 3, 1)
    found = slope(lambda v: K.pool2d(v, (2, 2), (1, 1), "valid", "channels_last"), x)
    assert found[0, ..., 0].tolist() == [[0, 2, 0], [1, 0, 1], [0, 0, 0]]
    # What padding adds is no maximum, even where all that is there is -inf.
    found = slope(
        lambda v: K.pool2d(v, (2, 2), (2, 2), "same", "channels_last"), np.full_like(x, -np.inf)
    )
    assert found[0, ..., 0].tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1]]


def test_a_choice_gives_exactly_nothing_to_what_it_does_not_take() -> None:
    a, b = K.variable([1.0, 2.0]), K.variable([3.0, 4.0])
    huge = K.constant([np.inf, np.nan])
    for condition in (K.constant([1.0, 1.0]), K.constant(1.0)):
        loss = K.sum(K.switch(condition, a, b) * huge)
        to_a, to_b = K.function([], K.gradients(loss, [a, b]))([])
        np.testing.assert_array_equal(to_a, [np.inf, np.nan])
        np.testing.assert_array_equal(to_b, [0.0, 0.0])


def test_nan_in_a_branch_that_is_not_taken_stays_there() -> None:
    x = K.placeholder((2,))
    high = K.placeholder(())
    inner = K.switch(K.greater(high, 0.0), lambda: K.log(x) * x, x)

    def slope(y: Any) -> Any:
        return K.function([x, high], [y, *K.gradients(K.sum(y), [x])])

    zero = [0.0, 2.0]
    # log is used in this branch only, x in both.
    f = slope(K.switch(K.greater(high, 0.0), lambda: K.log(x), lambda: x * 3.0))
    assert f([zero, -1.0])[1].tolist() == [3.0, 3.0]
    assert f([zero, 1.0])[1].tolist() == [np.inf, 0.5]
    f = slope(K.switch(K.greater(high, 0.0), lambda: x * 3.0, lambda: 1.0 / x))
    assert f([zero, 1.0])[1].tolist() == [3.0, 3.0]
    # The inner choice is taken where the outer one is not.
    for y in (
        K.switch(K.greater(high, 5.0), inner, x * 3.0),
        K.switch(K.greater(high, 5.0), inner * K.sqrt(x), x * 3.0),
        K.switch(K.less(high, 5.0), lambda: x * 3.0, lambda: K.exp(inner)),
    ):
        assert slope(y)([zero, 1.0])[1].tolist() == [3.0, 3.0]


def test_branches_of_different_sizes() -> None:
    a, b, c = K.variable([0.0, 1.0]), K.variable([1.0, 2.0, 3.0]), K.placeholder(())
    y = K.switch(c, K.log(a) * 2.0, K.square(b))
    f = K.function([c], K.gradients(K.sum(y), [a, b]))
    to_a, to_b = f([0.0])
    assert (to_a.tolist(), to_b.tolist()) == ([0.0, 0.0], [2.0, 4.0, 6.0])
    to_a, to_b = f([1.0])
    assert (to_a.tolist(), to_b.tolist()) == ([np.inf, 2.0], [0.0, 0.0, 0.0])


def test_a_long_chain_of_choices() -> None:
    """Thousands of nested branches, in a number of steps that grows with them, not faster."""
    w, c = K.variable(1.001, dtype="float64"), K.placeholder(())
    y = w * 1.0
    for _ in range(3000):
        y = K.switch(c, lambda y=y: y * w, lambda y=y: y)
    (g,) = K.gradients(y, [w])
    assert len(topological([g])) < 60_000
    f = K.function([c], [y, g])
    value, gradient = f([1.0])
    np.testing.assert_allclose(value, 1.001**3001, rtol=1e-9)
    np.testing.assert_allclose(gradient, 3001 * 1.001**3000, rtol=1e-9)
    assert f([0.0])[1] == 1.0


def test_a_condition_is_no_way_to_the_loss() -> None:
    c, x = K.variable(1.0), K.variable(2.0)
    assert K.gradients(K.switch(c, x, x * 2.0), [c])[0] is None
    wide = K.variable([1.0, 0.0])
    assert K.gradients(K.sum(K.switch(wide, x * wide[0:1], x)), [x])[0] is not None
    assert K.gradients(K.sum(K.where(wide, x, 0.0)), [wide])[0] is None


def test_phase_decides_the_gradient_too() -> None:
    x = K.placeholder((2,))
    y = K.in_train_phase(lambda: x * 10.0, lambda: K.square(x))
    f = K.function([x, K.learning_phase()], K.gradients(K.sum(y), [x]))
    assert f([[1.0, 3.0], 1])[0].tolist() == [10.0, 10.0]
    assert f([[1.0, 3.0], 0])[0].tolist() == [2.0, 6.0]


# --- which gradients there are -------------------------------------------------------------------


def test_unconnected_sources_are_none() -> None:
    a, c = K.variable(1.0), K.variable(3.0)
    none, six = K.gradients(c * c, [a, c])
    assert none is None
    assert K.eval(six) == 6.0
    v = K.variable(np.array([0.3, 0.7]))
    assert K.gradients(K.sum(K.round(v)), [v]) == [None]
    (g,) = K.gradients(K.sum(K.square(v) + K.stop_gradient(v)), v)
    np.testing.assert_allclose(K.eval(g), [0.6, 1.4], rtol=1e-6)
    assert K.gradients(K.sum(K.cast(K.cast(v, "int32"), "float32")), v) == [None]
    assert K.gradients(K.cast(K.sum(v), "int32"), v) == [None]


@pytest.mark.parametrize(
    "function",
    [K.round, lambda x: K.cast(K.argmax(x), "float32"), lambda x: K.cast(x > 0.0, "float32"),
     lambda x: x // 2.0, lambda x: K.ones_like(x), lambda x: K.cast(K.shape(x), "float32")],
)  # fmt: skip
def test_what_is_not_differentiable_cuts_the_way(function: Any) -> None:
    x = K.variable([1.5, 2.5])
    assert K.gradients(K.sum(function(x)), x) == [None]


def test_a_source_on_the_way_of_another_keeps_and_passes_its_whole_derivative() -> None:
    x = K.variable(2.0)
    hidden = x * x
    loss = hidden * 3.0 + K.square(hidden) + x
    to_x, to_hidden, to_loss = K.gradients(loss, [x, hidden, loss])
    assert (K.eval(to_hidden), K.eval(to_x), K.eval(to_loss)) == (11.0, 45.0, 1.0)


def test_placeholders_and_repeated_sources() -> None:
    x, w = K.placeholder((None, 2)), K.variable([[1.0], [2.0]])
    loss = K.sum(K.square(K.dot(x, w)))
    f = K.function([x], K.gradients(loss, [x, w, x]))
    first, second, third = f([[[1.0, 1.0], [0.0, 1.0]]])
    np.testing.assert_allclose(first, [[6.0, 12.0], [4.0, 8.0]])
    np.testing.assert_allclose(second, [[6.0], [10.0]])
    np.testing.assert_array_equal(first, third)


def test_losses_of_any_shape_are_summed() -> None:
    v = K.variable([1.0, 2.0])
    (g,) = K.gradients([v * v, K.sum(v)], v)
    assert K.eval(g).tolist() == [3.0, 5.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients_have_the_dtype_of_their_source(dtype: str) -> None:
    x = K.variable([[1.0, 2.0], [3.0, 4.0]], dtype=dtype)
    wide = K.variable(np.ones((2, 2)), dtype="float64")
    y = K.mean(K.softmax(K.relu(x) * wide) + K.tanh(x) ** 2 - K.prod(x, 0))
    for source, g in zip((x, wide), K.gradients(y, [x, wide]), strict=True):
        assert g.dtype == source.dtype == str(K.eval(g).dtype)


def test_gradients_inside_the_eager_scope_are_recorded() -> None:
    v = K.variable(3.0)
    loss = v * v
    with K.eager_scope():
        (g,) = K.gradients(loss, [v])
    assert K.eval(g) == 6.0


def test_third_derivative() -> None:
    x = K.variable(0.7, dtype="float64")
    y = K.exp(x) * K.sin(x)
    for _ in range(3):
        (y,) = K.gradients(y, [x])
    expected = 2 * np.exp(0.7) * (np.cos(0.7) - np.sin(0.7))
    np.testing.assert_allclose(K.eval(y), expected, rtol=1e-12)


# --- operations without a rule -------------------------------------------------------------------


def test_a_missing_rule_is_named() -> None:
    cube = K.lift(lambda x: x**3, shape=lambda shape: shape, dtype="float32")
    v = K.variable([1.0, 2.0])
    with pytest.raises(UnsupportedError, match="no rule for the operation"):
        K.gradients(K.sum(cube(v)), v)
    # A function that is called like an operation does not borrow its rule.

    def square(x: Any) -> Any:
        return x**3

    with pytest.raises(UnsupportedError, match="'square'"):
        K.gradients(K.sum(K.lift(square)(v)), v)


def test_a_native_replacement_is_differentiated_through_its_composition() -> None:
    calls = []

    def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=0.001):  # type: ignore[no-untyped-def]
        calls.append(axis)
        return (x - mean) / np.sqrt(var + epsilon) * gamma + beta

    native = {**K.native, "batch_normalization": batch_normalization}
    other: Any = Backend("numpy-with-native", type(K.engine)(), native)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=s) for s in ((4, 3), (3,), (3,), (3,))]

    def gradients(backend: Any) -> list[Any]:
        x, mean, beta, gamma = (backend.variable(v, dtype="float64") for v in values)
        spread = backend.mean(backend.square(x), axis=0)
        # The mean leads to x as well, so that x is reached in two ways.
        y = backend.batch_normalization(x, mean + backend.mean(x, 0), spread, beta, gamma)
        sources = [x, mean, beta, gamma]
        first = backend.gradients(backend.sum(backend.square(y) * y), sources)
        second = backend.gradients(backend.sum(backend.square(first[0])), sources)
        return backend.function([], [*first, *second])([])  # type: ignore[no-any-return]

    for found, expected in zip(gradients(other), gradients(K), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert calls == [-1]


# --- size ----------------------------------------------------------------------------------------


def test_a_long_plan_is_compiled_in_sections_with_the_same_result() -> None:
    v = K.variable(np.full(3, 0.5), dtype="float64")
    y = v
    for _ in range(700):
        y = K.sin(y) * 1.01 + y * 0.01
    f = K.function([], [y, *K.gradients(K.sum(y), [v]), y, v])
    plan = f._program.plans[0]
    assert plan.source.count("def run") > 2
    (by_hand,) = (np.full(3, 0.5),)
    slope_by_hand = np.ones(3)
    for _ in range(700):
        slope_by_hand = slope_by_hand * (1.01 * np.cos(by_hand) + 0.01)
        by_hand = np.sin(by_hand) * 1.01 + by_hand * 0.01
    for _ in range(2):
        y_value, g, again, own = f([])
        np.testing.assert_allclose(y_value, by_hand, rtol=1e-10)
        np.testing.assert_allclose(g, slope_by_hand, rtol=1e-9)
        np.testing.assert_array_equal(y_value, again)
        np.testing.assert_array_equal(own, [0.5] * 3)


def test_a_long_plan_frees_what_nothing_reads() -> None:
    """A chain holds a few arrays at a time, whatever its length and its sections."""
    x = K.placeholder((125_000,), dtype="float64")  # a megabyte
    y = x
    for _ in range(4500):
        y = y + 1.0
    f = K.function([x], [y])
    value = np.zeros(125_000)
    f([value])
    tracemalloc.start()
    f([value])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_dropout_is_drawn_once_for_value_and_gradient() -> None:
    x = K.placeholder((200,))
    y = K.dropout(x, 0.5)
    f = K.function([x], [y, *K.gradients(K.sum(y), [x])])
    first, second = f([np.ones(200)]), f([np.ones(200)])
    for value, gradient in (first, second):
        np.testing.assert_array_equal(value, gradient)
        assert set(value) == {0.0, 2.0}
    assert (first[0] != second[0]).any()


def test_sizes_are_no_way_to_the_loss_and_may_scale_it() -> None:
    x = K.placeholder((None, 2))
    loss = K.mean(K.square(x)) * K.cast(K.shape(x)[0], "float32")
    f = K.function([x], K.gradients(loss, [x]))
    assert f([[[1.0, 2.0], [3.0, 4.0]]])[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]
