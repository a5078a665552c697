"""K functions inside JAX programs, and what JAX makes of K functions."""

from __future__ import annotations

import gc
import operator
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import kbridge  # noqa: E402
from kbridge import errors  # noqa: E402
from kbridge.backends.jax.staging import enable_x64  # noqa: E402

K = kbridge.load_backend("jax")
X = jnp.arange(6.0, dtype="float32").reshape(2, 3)


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


@pytest.fixture(autouse=True)
def the_users_own_mode():
    """No test may leave JAX in 64-bit mode."""
    yield
    assert not jax.config.jax_enable_x64


# --- under jit, grad and vmap --------------------------------------------------------------------


def test_functions_and_variables_under_jit_grad_and_vmap():
    w = K.variable(np.arange(6.0).reshape(3, 2))

    def loss(x):
        return K.sum(K.square(K.dot(x, w) + 1.0))

    product = np.asarray(X) @ K.get_value(w) + 1.0
    same(jax.jit(lambda x: K.dot(x, w) + 1.0)(X), product)
    same(jax.grad(loss)(X), 2.0 * product @ K.get_value(w).T)
    same(jax.jit(jax.grad(loss))(X), 2.0 * product @ K.get_value(w).T)
    same(jax.vmap(loss)(X), np.sum(product**2, axis=1))
    same(jax.hessian(lambda x: K.sum(K.pow(x, 3)))(X[0]), np.diag(6 * np.asarray(X[0])))


def test_a_variable_is_read_when_the_users_function_is_traced():
    v = K.variable(2.0)
    f = jax.jit(lambda x: x * v)
    assert f(3.0) == 6.0
    K.set_value(v, 5.0)
    assert f(3.0) == 6.0  # a constant of the compiled function
    assert jax.jit(lambda x: x * v)(3.0) == 15.0


SHAPES = {
    "reshape": lambda x: K.reshape(x, K.stack([K.shape(x)[0], -1])),
    "reshape_pair": lambda x: K.reshape(x, (K.shape(x)[1], K.shape(x)[0])),
    "reshape_sum": lambda x: K.reshape(x, (K.prod(K.shape(x)), 1)),
    "zeros": lambda x: x + K.zeros(K.shape(x)),
    "ones": lambda x: x + K.ones((K.shape(x)[0], 1)),
    "zeros_like": lambda x: x + K.zeros_like(x),
    "tile": lambda x: K.tile(x, K.stack([K.shape(x)[0], 1])),
    "repeat": lambda x: K.repeat_elements(x, K.shape(x)[0], 1),
    "arange": lambda x: x + K.cast(K.arange(K.shape(x)[1]), "float32"),
    "slice": lambda x: K.slice(x, [0, K.shape(x)[0] - 1], [-1, 2]),
    "one_hot": lambda x: K.one_hot(K.cast(x, "int32"), K.shape(x)[1]),
    "size": lambda x: x / K.cast(K.size(x), "float32"),
    "eye": lambda x: K.dot(x, K.eye(3)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shape_arithmetic_is_static_under_jit(name):
    function, x = SHAPES[name], K.placeholder((None, 3))
    got = jax.jit(function)(X)
    same(got, K.function([x], [function(x)])([X])[0])
    same(got, function(X))


class Dense:
    """A layer as Keras 3 has them: built at the first call, its state kept in variables."""

    def __init__(self, units):
        self.units, self.kernel = units, None

    def __call__(self, x):
        if self.kernel is None:
            self.kernel = K.variable(np.full((K.int_shape(x)[-1], self.units), 0.5))
            self.bias = K.zeros((self.units,))
        return self.stateless(x, self.kernel, self.bias)

    @staticmethod
    def stateless(x, kernel, bias):
        return K.relu(K.bias_add(K.dot(x, kernel), bias, "channels_last"))


def test_a_layer_built_while_jax_traces_keeps_its_state():
    layer = Dense(2)
    same(jax.jit(layer)(X), np.maximum(np.asarray(X) @ np.full((3, 2), 0.5, "float32"), 0))
    assert type(layer.kernel.value) is K.engine.tensor_class  # no tracer left its trace
    same(layer(X), jax.jit(layer)(X))
    gradient = jax.grad(lambda w, b: K.sum(layer.stateless(X, w, b)))
    same(gradient(layer.kernel.value, layer.bias.value), np.asarray(X).sum(0)[:, None].repeat(2, 1))


def test_values_are_there_while_jax_traces_but_not_those_of_tracers():
    v = K.variable([1.0, 2.0])
    f = K.function([], [v * 3.0])
    assert jax.jit(lambda x: x + K.eval(v * 2.0)[1] + f([])[0][0])(1.0) == 8.0
    with pytest.raises(errors.GraphError, match="has no value yet: JAX is tracing"):
        jax.jit(lambda x: K.eval(x))(X)
    with pytest.raises(errors.GraphError, match="JAX is tracing"):
        jax.jit(lambda x: K.set_value(v, x))(X[0, :2])
    p = K.placeholder((2, 3))
    g = K.function([p], [p + 1.0])
    with pytest.raises(errors.FeedError, match="inside jax.jit, grad or vmap call the K functions"):
        jax.jit(lambda x: g([x]))(X)
    assert K.get_value(v).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("program", [
    lambda x, n: K.arange(n), lambda x, n: K.reshape(x, (n, -1)), lambda x, n: K.tile(x, (n, 1)),
    lambda x, n: K.repeat_elements(x, n, 0), lambda x, n: K.zeros((n, 2)) + n,
    lambda x, n: K.slice(x, [0, 0], [n, 2]), lambda x, n: K.full((n,), 1.0, "float32"),
])  # fmt: skip
def test_a_size_that_depends_on_data_is_a_clear_error(program):
    message = r"K\.\w+: a size that depends on data is not known while JAX compiles"
    with pytest.raises(errors.UnsupportedError, match=message):
        jax.jit(program)(X, 2)
    n, x = K.placeholder((), dtype="int32"), K.placeholder((None, 3))
    with pytest.raises(errors.UnsupportedError, match=message):
        K.function([x, n], [program(x, n)])([X, 2])


def test_switch_needs_one_shape_while_jax_compiles():
    c, x = K.placeholder(()), K.placeholder((None, 3))
    f = K.function([c, x], [K.switch(c, x, x * 2.0)])
    same(f([0.5, X])[0], X)
    same(f([0.0, X])[0], 2.0 * X)
    same(jax.jit(lambda c, x: K.switch(c, x, lambda: x * 2.0))(False, X), 2.0 * X)
    same(K.switch(jnp.array(False), X, X[:1]), X[:1])
    with pytest.raises(errors.UnsupportedError, match=r"\(2, 3\) and \(1, 3\)"):
        jax.jit(lambda c, x: K.switch(c, x, x[:1]))(True, X)
    with pytest.raises(errors.UnsupportedError, match="the branches must have one shape"):
        K.function([c, x], [K.switch(c, x, x[:1])])([1.0, X])


# --- operators between tensors of both kinds -----------------------------------------------------

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.lt, operator.le, operator.gt, operator.ge),
]
OTHERS = {
    "native": jnp.array([[0.5, 2.0], [1.5, 0.25]], "float32"),
    "tracer": jnp.array([[0.5, 2.0], [1.5, 0.25]], "float32"),
    "array": np.array([[0.5, 2.0], [1.5, 0.25]], "float32"),
    "scalar": np.float64(1.5),
    "number": 1.5,
}


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", OTHERS)
def test_operators_with_the_tensor_on_either_side(function, kind):
    value, other = np.array([[1.0, 2.0], [3.0, 0.5]], "float32"), OTHERS[kind]
    v, p = K.variable(value), K.placeholder((2, 2))
    number = np.asarray(other, "float32")
    for swapped in (False, True):
        def apply(a, b, swapped=swapped):
            return function(b, a) if swapped else function(a, b)

        want = apply(value, number)
        if kind == "tracer":
            same(jax.jit(lambda x, apply=apply: apply(v, x))(other), want)
            continue
        now = apply(v, other)
        assert K.engine.is_native(now) == (kind == "native")
        same(K.eval(now), want)
        recorded = apply(p, other)
        assert K.is_symbolic(recorded)
        same(K.function([p], [recorded])([value])[0], want)


def test_matrix_products_of_both_kinds():
    w = K.variable(np.ones((3, 2)))
    for result in (X @ w, w.value.T @ K.variable(X.T), jax.jit(lambda x: x @ w)(X)):
        assert K.engine.is_native(result)
    assert K.is_symbolic(K.placeholder((None, 2)) @ w.value.T)


# --- dtypes --------------------------------------------------------------------------------------


def test_results_are_never_weakly_typed():
    weak, row, half = jnp.asarray(2.0), jnp.full((3,), 2.0), jnp.ones(3, "float16")
    assert weak.weak_type
    assert row.weak_type
    programs = [
        (lambda: K.square(weak), "float32"), (lambda: K.sum(row), "float32"),
        (lambda: K.maximum(weak, weak), "float32"), (lambda: K.maximum(row, half), "float32"),
        (lambda: K.maximum(weak, half), "float32"), (lambda: K.maximum(half, 2.0), "float16"),
        (lambda: K.pow(half, 2), "float16"), (lambda: K.relu(weak), "float32"),
        (lambda: K.clip(weak, 0.0, 1.0), "float32"), (lambda: K.identity(weak), "float32"),
        (lambda: K.cast(weak, "float32"), "float32"), (lambda: K.stop_gradient(weak), "float32"),
        (lambda: K.concatenate([row, half]), "float32"), (lambda: K.mean(weak), "float32"),
        (lambda: K.exp(jnp.asarray(1)), "float32"), (lambda: K.reshape(row, (3, 1)), "float32"),
        (lambda: K.gather(row, jnp.array([0])), "float32"), (lambda: K.softmax(row), "float32"),
        (lambda: K.switch(jnp.array([True]), row[:1], row[:1]), "float32"),
        (lambda: K.dot(weak, weak), "float32"), (lambda: K.max(jnp.asarray(3)), "int32"),
        (lambda: K.zeros_like(weak), "float32"), (lambda: K.batch_flatten(row), "float32"),
    ]  # fmt: skip
    for position, (program, dtype) in enumerate(programs):
        for result in (program(), jax.jit(program)()):
            assert (result.dtype, result.weak_type) == (dtype, False), position
    assert not jax.jit(K.square)(weak).weak_type
    assert not jax.jit(lambda x: K.maximum(x, 1.0))(weak).weak_type
    f = K.function([p := K.placeholder(())], [p * 2.0])
    assert f([weak])[0].dtype == np.float32


def wide(values, dtype="float64"):
    return K.variable(np.asarray(values), dtype=dtype).value


EXACT = np.array([1.0 + 2.0**-40, -2.5, 3.0 + 2.0**-45])
WIDE = {
    "add": (lambda x: K.eval(K.variable(x, "float64") + x), lambda x: x + x),
    "square": (K.square, np.square), "exp": (K.exp, np.exp), "abs": (K.abs, np.abs),
    "sum": (K.sum, np.sum), "max": (K.max, np.max), "mean": (K.mean, np.mean),
    "var": (K.var, np.var), "prod": (K.prod, np.prod), "cumsum": (K.cumsum, np.cumsum),
    "clip": (lambda x: K.clip(x, -2.0, 2.0), lambda x: np.clip(x, -2.0, 2.0)),
    "maximum": (lambda x: K.maximum(x, 1.0), lambda x: np.maximum(x, 1.0)),
    "mixed": (lambda x: K.maximum(x, X[0]), lambda x: np.maximum(x, np.asarray(X[0]))),
    "pow": (lambda x: K.pow(x, 3), lambda x: x**3), "dot": (lambda x: K.dot(x, x), lambda x: x @ x),
    "stack": (lambda x: K.stack([x, x]), lambda x: np.stack([x, x])),
    "concatenate": (lambda x: K.concatenate([x, X[0]]), lambda x: np.r_[x, np.asarray(X[0])]),
    "reshape": (lambda x: K.reshape(x, (3, 1)), lambda x: x[:, None]),
    "zeros_like": (K.zeros_like, np.zeros_like),
    "gather": (lambda x: K.gather(x, jnp.array([2, 0])), lambda x: x[[2, 0]]),
    "softmax": (K.softmax, lambda x: np.exp(x) / np.exp(x).sum()),
    "cast": (lambda x: K.cast(x, "float32"), lambda x: x.astype("float32")),
    "argmax": (K.argmax, lambda x: np.argmax(x)), "less": (lambda x: K.less(x, 0.0), lambda x: x < 0),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_float64_keeps_its_digits_without_the_users_mode(name):
    function, expected = WIDE[name]
    want = np.asarray(expected(EXACT))
    same(K.eval(function(wide(EXACT))), want, 1e-15)
    x = K.placeholder((3,), dtype="float64")
    if name not in ("add",):
        same(K.function([x], [function(x)])([EXACT])[0], want, 1e-15)
        same(jax.jit(lambda _: function(wide(EXACT)))(0), want, 1e-15)
    same(K.eval(function(K.variable(EXACT, "float64"))), want, 1e-15)


def test_a_narrow_operand_may_become_wide():
    for program in (lambda x: K.cast(x, "float64"), lambda x: K.zeros_like(x, "int64"),
                    lambda x: K.sum(K.exp(K.cast(x, "float64")))):  # fmt: skip
        for result in (program(X), jax.jit(program)(X)):
            assert result.dtype.itemsize == 8
    gradient = jax.grad(lambda x: K.cast(K.sum(K.exp(K.cast(x, "float64"))), "float32"))
    same(gradient(X), np.exp(np.asarray(X)))
    big = wide([2**40, 3], "int64")
    assert K.eval(K.max(big)) == 2**40
    assert K.eval(K.sum(big)) == 2**40 + 3


def test_argmax_is_int64_everywhere():
    rows = jnp.array([[1.0, 3.0, 3.0], [jnp.nan, 1.0, 5.0]])
    for search, want in ((K.argmax, [1, 0]), (K.argmin, [0, 0])):
        p = K.placeholder((None, 3))
        for got in (search(rows), jax.jit(search)(rows), K.function([p], [search(p)])([rows])[0],
                    jax.vmap(lambda row, search=search: search(row))(rows)):  # fmt: skip
            same(got, np.array(want, "int64"))
    hits = jax.jit(lambda x: K.mean(K.cast(K.equal(K.argmax(x), K.argmax(x * 2.0)), "float32")))
    assert hits(X) == 1.0
    same(jax.jit(lambda x: K.gather(x, K.argmax(x, 0)))(X), np.asarray(X)[[1, 1, 1]])
    same(jax.jit(lambda x: K.argmax(K.cast(x, "float64")))(X), np.array([2, 2]))
    same(jax.jit(lambda x: K.argmin(K.argmax(x)))(X), np.array(0))


def test_settings_of_the_user_are_respected():
    with enable_x64(True):
        same(K.exp(jnp.ones(2, "float32")), np.exp(np.ones(2, "float32")))
        same(K.sum(jnp.ones(2, "int32")), np.array(2, "int32"))
        same(K.mean(jnp.ones(2, "int32")), np.array(1, "float32"))
        p = K.placeholder((None,), dtype="int32")
        same(K.function([p], [K.cumsum(p) * 2])([[1, 2]])[0], np.array([2, 6], "int32"))


def test_bfloat16_goes_in_and_out():
    v = K.variable([1.0, 2.5], dtype="bfloat16")
    assert K.get_value(v).dtype.name == "bfloat16"
    p = K.placeholder((2,), dtype="bfloat16")
    out = K.function([p], [p * v])([np.ones(2)])[0]
    assert out.dtype.name == "bfloat16"
    assert out.astype("float32").tolist() == [1.0, 2.5]
    assert K.exp(v.value).dtype == "bfloat16"


# --- compiled functions ----------------------------------------------------------------------------


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

    x, y, w, m = K.placeholder((None, 4)), K.placeholder((None, 3)), K.variable(start), K.zeros((4, 3))
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


@pytest.mark.slow
def test_a_chain_of_ten_thousand_additions():
    x = K.placeholder((2,))
    y = x
    for _ in range(10_000):
        y = y + 1.0
    start = time.perf_counter()
    f = K.function([x], [y, *K.gradients(K.sum(y), [x])])
    value, slope = f([np.zeros(2)])
    assert value.tolist() == [10_000.0] * 2
    assert slope.tolist() == [1.0] * 2
    print(f"compiled and run in {time.perf_counter() - start:.1f} s")


# --- checks of data --------------------------------------------------------------------------------


def test_gather_reads_its_indices_eagerly():
    same(K.gather(X, jnp.array([[1], [0]])), np.asarray(X)[[[1], [0]]])
    for index in ([2], [0, -1]):
        with pytest.raises(errors.IndexRangeError, match=rf"index {index[-1]} is outside .*\[0, 2\)"):
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
        with pytest.raises(errors.IndexRangeError, match=rf"K.gather: the index {index} is outside"):
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


# --- random ------------------------------------------------------------------------------------------


def test_draws_in_a_users_trace_need_a_key():
    for program in (lambda x: K.dropout(x, 0.5), lambda x: x + K.random_normal((3,), seed=1),
                    lambda x: K.random_uniform(K.shape(x)) * x):  # fmt: skip
        for transformed in (jax.jit(program), jax.vmap(program),
                            jax.grad(lambda x, program=program: K.sum(program(x)))):  # fmt: skip
            with pytest.raises(errors.UnsupportedError, match=r"seed=key"):
                transformed(X)
        assert K.eval(program(X)).shape == (2, 3)  # outside of a trace none is needed


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
def test_a_key_as_seed_draws_at_once(make):
    draws = {
        "normal": lambda key: K.random_normal((1000,), 5.0, 0.1, seed=key),
        "uniform": lambda key: K.random_uniform((1000,), 2.0, 3.0, seed=key),
        "integers": lambda key: K.random_uniform((1000,), 0, 4, "int32", seed=key),
        "truncated": lambda key: K.truncated_normal((1000,), 1.0, 0.5, seed=key),
        "binomial": lambda key: K.random_binomial((1000,), 0.3, seed=key),
        "half": lambda key: K.random_normal((1000,), dtype="bfloat16", seed=key),
        "double": lambda key: K.random_normal((1000,), dtype="float64", seed=key),
        "dropout": lambda key: K.dropout(jnp.ones(1000), 0.4, seed=key),
    }
    for name, draw in draws.items():
        one, again, other = draw(make(0)), jax.jit(draw)(make(0)), draw(make(1))
        assert K.engine.is_native(one), name
        same(one, again, 1e-6)
        assert not np.array_equal(one, other)
    assert abs(float(draws["normal"](make(0)).mean()) - 5.0) < 0.02
    assert set(np.asarray(draws["integers"](make(0))).tolist()) == {0, 1, 2, 3}
    assert draws["double"](make(0)).dtype == np.float64
    assert set(np.unique(np.asarray(draws["dropout"](make(0)))).tolist()) == {0.0, np.float32(1 / 0.6)}


def test_a_key_cannot_seed_what_is_recorded():
    x = K.placeholder((None, 3))
    with pytest.raises(errors.ArgumentTypeError, match="seed of a recorded draw must be an integer"):
        K.dropout(x, 0.5, seed=jax.random.key(0))


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


def test_draws_outside_functions_are_the_same_on_every_backend():
    numpy = kbridge.load_backend("numpy")
    for name in ("random_normal", "random_uniform", "truncated_normal"):
        mine, theirs = (getattr(k, name)((5,), seed=4) for k in (K, numpy))
        same(K.eval(mine), numpy.eval(theirs))
