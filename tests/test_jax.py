"""K functions inside JAX programs, and what JAX makes of K functions."""

from __future__ import annotations

import operator

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
    with pytest.raises(errors.FeedError, match="is a JAX tracer"):
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
        (lambda: K.dot(weak, weak), "float32"),
        (lambda: K.switch(jnp.array(True), half, row), "float32"),
        (lambda: K.switch(jnp.array(False), row, row), "float32"),
        (lambda: K.switch(jnp.array([True]), half, 2.0), "float16"),
        (lambda: K.max(jnp.asarray(3)), "int32"),
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
    "argmax": (K.argmax, lambda x: np.argmax(x)),
    "less": (lambda x: K.less(x, 0.0), lambda x: x < 0),
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


# --- random --------------------------------------------------------------------------------------


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
    assert set(np.unique(np.asarray(draws["dropout"](make(0)))).tolist()) == {
        0.0,
        np.float32(1 / 0.6),
    }


def test_a_key_cannot_seed_what_is_recorded():
    x = K.placeholder((None, 3))
    with pytest.raises(
        errors.ArgumentTypeError, match="seed of a recorded draw must be an integer"
    ):
        K.dropout(x, 0.5, seed=jax.random.key(0))


def test_draws_outside_functions_are_the_same_on_every_backend():
    numpy = kbridge.load_backend("numpy")
    for name in ("random_normal", "random_uniform", "truncated_normal"):
        mine, theirs = (getattr(k, name)((5,), seed=4) for k in (K, numpy))
        same(K.eval(mine), numpy.eval(theirs))


# --- JAX's own ways of looking closely ---------------------------------------------------------


def test_no_tracer_outlives_its_trace():
    with jax.checking_leaks():
        e, i = K.variable(np.arange(6.0).reshape(3, 2)), K.placeholder((None,), dtype="int32")
        loss = K.sum(K.square(K.gather(e, i)))
        f = K.function([i], [loss, *K.gradients(loss, [e])])
        assert f([[0, 1]])[0] == 14.0
        layer = Dense(2)
        jax.jit(layer)(X)
        jax.grad(lambda x: K.sum(layer(x)))(X)


def test_with_jit_disabled():
    x = K.placeholder((None, 3))
    f = K.function([x], [K.softmax(x), K.argmax(x), *K.gradients(K.sum(K.exp(x)), [x])])
    want = [*f([X]), K.mean(X, [0]), K.exp(jnp.arange(3)), K.maximum(X, 1.0)]
    with jax.disable_jit():
        got = [*f([X]), K.mean(X, [0]), K.exp(jnp.arange(3)), K.maximum(X, 1.0)]
    for mine, theirs in zip(got, want, strict=True):
        same(mine, theirs)


def test_any_function_of_jax_becomes_an_operation():
    inner = K.lift(lambda x, y: jnp.einsum("ij,ij->i", x, y))
    p = K.placeholder((None, 3))
    recorded = inner(p, p)
    assert K.int_shape(recorded) == (None,)
    values = K.function([p], [recorded, *K.gradients(K.sum(recorded), [p])])([X])
    same(values[0], np.sum(np.square(X), 1))
    same(values[1], 2.0 * X)
    same(jax.jit(lambda x: inner(x, K.variable(X)))(X), np.sum(np.square(X), 1))
    wide = K.placeholder((None,), dtype="float64")
    same(K.function([wide], [K.lift(jnp.cumsum)(wide)])([EXACT])[0], np.cumsum(EXACT), 1e-15)
    # Loops and batches inside are traces of their own, in which an index cannot be checked.
    rows = K.lift(lambda x, i: jax.vmap(lambda row: K.gather(row, i))(x))
    i = K.placeholder((None,), dtype="int32")
    same(K.function([p, i], [rows(p, i)])([X, [2, 0]])[0], np.asarray(X)[:, [2, 0]])
