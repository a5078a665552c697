"""What ``K.function`` becomes on JAX: compiled programs, gradients, checks of data, draws."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import kbridge  # noqa: E402
from kbridge import errors  # noqa: E402

K = kbridge.load_backend("jax")
X = np.arange(6.0, dtype="float32").reshape(2, 3)


def same(got, want, tolerance=1e-6):
    """Equal values, shapes and dtypes."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.fixture
def compilations():
    """A list that grows by one entry with each program that XLA compiles."""
    found = []

    def listener(event, *_, **__):
        if event.endswith("backend_compile_duration"):
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(listener)
    yield found
    jax.monitoring.unregister_event_duration_listener(listener)


# --- compiled functions --------------------------------------------------------------------------


def test_gradients_by_variables_and_intermediate_tensors_together():
    x = K.placeholder((None, 3))
    w = K.variable(np.full((3, 2), 0.5))
    hidden = K.dot(x, w)
    loss = K.sum(K.square(hidden))
    f = K.function([x], [loss, hidden, *K.gradients(loss, [w, hidden, x])])
    value, weights = np.asarray(X), K.get_value(w)
    product = value @ weights
    for got, want in zip(f([value]), [
        np.sum(product**2), product, 2 * value.T @ product, 2 * product, 2 * product @ weights.T,
    ], strict=True):  # fmt: skip
        same(got, np.asarray(want, "float32"))


def test_higher_orders_and_gradients_of_gradients():
    x = K.placeholder(())
    order, derivatives = K.pow(x, 4), []
    for _ in range(4):
        (order,) = K.gradients(order, [x])
        derivatives.append(order)
    values = K.function([x], derivatives)([1.5])
    np.testing.assert_allclose(values, [4 * 1.5**3, 12 * 1.5**2, 24 * 1.5, 24], rtol=1e-5)
    w, z = K.variable([1.0, 2.0]), K.placeholder((2,))
    (inner,) = K.gradients(K.sum(K.exp(w * z)), [z])
    f = K.function([z], [inner, *K.gradients(K.sum(inner * inner), [w, z])])
    a, b = np.array([1.0, 2.0]), np.array([0.3, -0.2])
    e = np.exp(a * b)
    for got, want in zip(f([b]), [a * e, 2 * a * e * e * (1 + a * b), 2 * a**3 * e**2],
                         strict=True):  # fmt: skip
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_gradient_descent_unrolled_is_differentiable():
    start, target = K.variable(5.0), K.placeholder(())
    rate, position = K.variable(0.1), start
    for _ in range(5):
        (slope,) = K.gradients(K.square(position - target), [position])
        position = position - rate * slope
    f = K.function([target], [position, *K.gradients(position, [start, rate, target])])
    got = f([1.0])
    np.testing.assert_allclose(
        got, [1 + 4 * 0.8**5, 0.8**5, -4 * 5 * 2 * 0.8**4, 1 - 0.8**5], rtol=1e-5
    )


def test_training_equals_the_program_written_in_jax():
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(16, 4)).astype("float32"), rng.integers(0, 3, 16)
    start = rng.normal(size=(4, 3)).astype("float32")
    onehot = np.eye(3, dtype="float32")[labels]

    x, y, w, m = (
        K.placeholder((None, 4)),
        K.placeholder((None, 3)),
        K.variable(start),
        K.zeros((4, 3)),
    )
    loss = K.mean(K.categorical_crossentropy(y, K.dot(x, w), from_logits=True))
    (slope,) = K.gradients(loss, [w])
    moved = 0.9 * m - 0.1 * slope
    train = K.function([x, y], [loss], updates=[(m, moved), (w, w + moved)])

    @jax.jit
    def step(w, m):
        def cost(w):
            return -jnp.mean(jnp.sum(onehot * jax.nn.log_softmax(data @ w), axis=-1))

        value, slope = jax.value_and_grad(cost)(w)
        moved = 0.9 * m - 0.1 * slope
        return value, w + moved, moved

    weights, momentum = start, np.zeros_like(start)
    for _ in range(20):
        value, weights, momentum = step(weights, momentum)
        same(train([data, onehot])[0], value, 1e-5)
    same(K.get_value(w), weights, 1e-5)
    same(K.get_value(m), momentum, 1e-5)


def test_nothing_shares_the_callers_memory():
    array = np.zeros(1 << 16, "float32")
    v, c = K.variable(array), K.constant(array)
    x = K.placeholder((None,))
    u = K.variable(array)
    f = K.function([x], [x, K.identity(x), v], updates=[(u, x)])
    outputs = f([array])
    array += 1.0
    for output in outputs:
        assert not output.any()
        output += 2.0  # what is handed out may be written to
    for held in (K.get_value(v), K.eval(c), K.get_value(u)):
        assert not held.any()


def test_nothing_is_compiled_again(compilations):
    x, w = K.placeholder((None, 8)), K.variable(np.ones((8, 8)))
    hidden = K.tanh(K.dot(x, w))
    f = K.function([x], [hidden], updates=[K.update_add(w, K.mean(hidden))])
    batches, native = [np.ones((n, 8)) for n in range(1, 60)], jnp.ones((3, 8))
    compilations.clear()
    for batch in batches:
        assert f([batch])[0].shape == batch.shape
    assert len(compilations) <= len(batches)
    compilations.clear()
    for batch in batches:
        f([batch])
    f([native])
    assert not compilations


def test_draws_take_their_place_in_the_stream_as_an_argument(compilations):
    x = K.placeholder((3,))
    f = K.function([x], [K.dropout(x, 0.5), K.dropout(x, 0.5)])
    f([np.ones(3)])
    compilations.clear()
    drawn = {str(f([np.ones(3)])) for _ in range(20)}
    assert len(drawn) > 5
    assert not compilations


def test_wide_plans_are_not_compiled_again_either(compilations):
    x, v = K.placeholder((None,), dtype="float64"), K.variable(1.0, dtype="float64")
    f = K.function([x], [K.sum(x * v)], updates=[(v, v + 2.0**-40)])
    f([[1.0]])
    compilations.clear()
    for _ in range(3):
        f([[1.0]])
    assert not compilations
    assert K.get_value(v) == 1.0 + 4 * 2.0**-40


def test_a_wide_plan_with_everything_in_it():
    x = K.placeholder((None, 2), dtype="float64")
    w = K.variable(np.eye(2) + 2.0**-40, dtype="float64")
    y = K.dot(x, w) + K.cast(K.argmax(x), "float64")[:, None] + K.constant(2.0**-30, "float64")
    noise = K.random_normal((2,), dtype="float64", seed=1)
    count = K.variable(2**40, dtype="int64")
    f = K.function([x], [y, noise, *K.gradients(K.sum(K.square(y)), [w])],
                   updates=[K.update_add(count, 1)])  # fmt: skip
    value = np.array([[1.0, 2.0], [4.0, 3.0]])
    product = value @ K.get_value(w) + np.array([[1.0], [0.0]]) + 2.0**-30
    got = f([value])
    same(got[0], product, 1e-15)
    assert got[1].dtype == np.float64
    same(got[2], 2 * value.T @ product, 1e-14)
    assert K.get_value(count) == 2**40 + 1


def test_donated_buffers_are_given_back_as_new_ones():
    a, b = K.variable(np.arange(4.0)), K.variable(np.ones(4))
    with pytest.raises(errors.ArgumentError, match="donate"):
        K.function([], [a], donated=True)
    f = K.function([], [K.sum(a)], updates=[(a, b), (b, a + b)], donate=True)
    before = a.value
    assert [float(f([])[0]) for _ in range(4)] == [6.0, 4.0, 10.0, 14.0]
    assert before.is_deleted()
    same(K.get_value(a), np.array([3.0, 5.0, 7.0, 9.0], "float32"))


def test_compiled_functions_are_freed():
    x = K.placeholder((None,))
    f = K.function([x], [x + 1.0])
    f([[1.0]])
    plan = weakref.ref(f._program.compiled[0])
    del f, x
    gc.collect()
    assert plan() is None


def test_updates_from_eight_threads_lose_nothing():
    v, x = K.variable(0.0), K.placeholder(())
    f = K.function([x], [], updates=[K.update_add(v, x)])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [f([1.0]) for _ in range(300)], range(8)))
    assert K.get_value(v) == 2400


def test_threads_that_trace_at_once_keep_their_checks_apart():
    e, i = K.variable(np.arange(4.0)), K.placeholder((None,), dtype="int32")
    f = K.function([i], [K.gather(e, i)])

    def call(n):
        try:
            return f([np.arange(n % 8)])[0].shape == (n % 8,) and n % 8 <= 4
        except errors.IndexRangeError:
            return n % 8 > 4

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(64)))


# --- checks of data ------------------------------------------------------------------------------


def test_gather_reads_its_indices_eagerly():
    same(K.gather(X, jnp.array([[1], [0]])), np.asarray(X)[[[1], [0]]])
    for index in ([2], [0, -1]):
        with pytest.raises(
            errors.IndexRangeError, match=rf"index {index[-1]} is outside .*\[0, 2\)"
        ):
            K.gather(X, jnp.array(index))
        with pytest.raises(errors.IndexRangeError, match=r"shape \(2, 3\)"):
            K.eval(K.gather(K.variable(X), K.constant(index, dtype="int32")))


def test_a_wrong_index_in_a_plan_is_an_error_before_anything_is_changed():
    e, v = K.variable(np.arange(6.0).reshape(3, 2)), K.variable(0.0)
    i = K.placeholder((None,), dtype="int32")
    loss = K.sum(K.square(K.gather(e, i)))
    slope = K.gradients(loss, [e])[0]
    f = K.function([i], [loss], updates=[(e, e - 0.5 * slope), K.update_add(v, 1.0)])
    before = K.get_value(e)
    for index in (3, -1):
        with pytest.raises(
            errors.IndexRangeError, match=rf"K.gather: the index {index} is outside"
        ):
            f([[0, index, 1]])
    same(K.get_value(e), before)
    assert K.get_value(v) == 0.0
    f([[0, 2, 0]])
    same(K.get_value(e), before * np.array([[-1.0], [1.0], [0.0]], "float32"))
    assert K.get_value(v) == 1.0


def test_checks_come_out_of_differentiated_parts():
    e, s = K.variable(np.arange(4.0)), K.placeholder((None,))
    picked = K.gather(e, K.cast(s, "int32")) * s  # the indices come from the source itself
    f = K.function([s], K.gradients(K.sum(picked), [s, e]))
    same(f([[1.0, 3.0]])[0], np.array([1.0, 3.0], "float32"))
    with pytest.raises(errors.IndexRangeError, match="index 4"):
        f([[1.0, 4.0]])
    (first,) = K.gradients(K.sum(K.square(picked)), [e])
    g = K.function([s], K.gradients(K.sum(K.square(first)), [e]))
    same(g([[1.0, 3.0]])[0], np.array([0.0, 8.0, 0.0, 8 * 3.0**5], "float32"))
    with pytest.raises(errors.IndexRangeError, match="index -2"):
        g([[1.0, -2.0]])
    with pytest.raises(errors.IndexRangeError):
        K.eval(K.gradients(K.sum(K.gather(e, K.constant([7], dtype="int32"))), [e])[0])


@pytest.mark.parametrize(("program", "message"), [
    (lambda x, i: x[i], "K.getitem: index 9 is out of range for axis 0"),
    (lambda x, i: x[:, i], "K.getitem: index 9 is out of range for axis 1"),
    (lambda x, i: x[i[0]], "K.getitem: index 9 is out of range for axis 0"),
    (lambda x, i: K.slice(x, i, [1, 1]), "K.slice: the part from 9 of size 1 reaches past axis 0"),
])  # fmt: skip
def test_other_indices_from_data_are_checked_too(program, message):
    x, i = K.placeholder((None, 3)), K.placeholder((2,), dtype="int32")
    f = K.function([x, i], [program(x, i)])
    f([X, [1, 0]])
    with pytest.raises(errors.IndexRangeError, match=message):
        f([X, [9, 0]])


def test_a_number_as_index_is_checked_where_the_size_is_known():
    x = K.placeholder((None, 3))
    f = K.function([x], [x[4]])
    assert f([np.ones((5, 3))])[0].shape == (3,)
    with pytest.raises(errors.IndexRangeError, match="index 4 is out of range"):
        f([X])


def test_in_the_users_trace_wrong_rows_are_nan():
    rows = jax.jit(K.gather)(X, jnp.array([1, -1, 2]))
    same(rows[0], X[1])
    assert np.isnan(rows[1:]).all()


# --- draws -------------------------------------------------------------------------------------


def test_compiled_functions_draw_anew_and_repeat_their_stream():
    x = K.placeholder((4,))

    def build():
        return K.function([x], [x + K.random_normal((4,), 5.0, 0.1, seed=3),
                                K.random_uniform((4,), seed=3)])  # fmt: skip

    f, g = build(), build()
    first, second = f([np.zeros(4)]), f([np.zeros(4)])
    assert not np.array_equal(first[0], second[0])
    for a, b in zip(first + second, g([np.zeros(4)]) + g([np.zeros(4)]), strict=True):
        same(a, b)


def test_large_and_negative_seeds():
    drawn = [K.function([], [K.random_normal((3,), seed=seed)])([])[0].tolist()
             for seed in (5, -5, 5 + 2**31, 5 + 2**40, 2**63 + 5)]  # fmt: skip
    assert len({tuple(values) for values in drawn}) == 5
