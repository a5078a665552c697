"""What is special to the TensorFlow backend; the conformance suite checks the K functions."""

from __future__ import annotations

import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge import errors

tf = pytest.importorskip("tensorflow")


@pytest.fixture(name="K", scope="module")
def tensorflow_backend() -> Any:
    return kbridge.load_backend("tensorflow")


def close(value: Any, wanted: Any, rtol: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(value), wanted, rtol=rtol, atol=1e-6)


# --- inside TensorFlow's programs --------------------------------------------------------------


def test_k_functions_in_a_tf_function_see_later_values_of_variables(K, recwarn):
    w = K.variable([[1.0], [2.0]])
    traces = []

    @tf.function(input_signature=[tf.TensorSpec((None, 2))])
    def f(x):
        traces.append(1)
        y = K.relu(K.dot(x, w) + 1.0)
        y = K.reshape(y, (K.shape(y)[0], 1)) * w[0]
        return K.categorical_crossentropy(y, K.softmax(y)) + K.sum(w)

    first = f(tf.ones((3, 2))).numpy()
    K.set_value(w, [[0.0], [0.0]])
    assert f(tf.ones((5, 2))).numpy().tolist() == [0.0] * 5
    assert first.shape == (3,)
    assert first.all()
    assert len(traces) == 1
    assert not recwarn.list


def test_autograph_leaves_k_functions_alone(script):
    done = script(
        """
        import numpy as np, tensorflow as tf, kbridge
        K = kbridge.load_backend("tensorflow")
        f = tf.function(lambda x: K.hard_sigmoid(K.dot(x, K.softmax(x))))
        print(f(tf.ones((2, 2))).shape)
        """.replace("\n        ", "\n"),
    )
    assert done.stdout == "(2, 2)\n", done.stderr
    assert "AutoGraph" not in done.stderr


@pytest.mark.parametrize("in_graph", [False, True])
def test_gradient_tape_over_native_tensors_and_the_storage_of_variables(K, in_graph):
    w, v = K.variable([[1.0], [2.0]]), K.variable(3.0)

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = K.mean(K.square(K.dot(x, w * v)))
        return tape.gradient(loss, [x, w.value, v.value])

    run = tf.function(gradients) if in_graph else gradients
    dx, dw, dv = run(tf.constant([[1.0, 1.0]]))
    close(dx, [[54.0, 108.0]])
    close(dw, [[54.0], [54.0]])
    close(dv, 54.0)


def test_native_value_of_a_recorded_gradient_is_right_inside_a_tape(K):
    w = K.variable([1.0, 2.0])
    (cubes,) = K.gradients(K.sum(w * w * w), [w])
    with tf.GradientTape() as tape:
        loss = K.sum(cubes * tf.constant([1.0, 10.0]))  # 3 w^2, run now
    close(loss, 123.0)
    close(tape.gradient(loss, w.value), [6.0, 120.0])
    close(K.eval(cubes), [3.0, 12.0])


def test_eval_inside_a_tape_leaves_no_trace_in_it(K):
    w = K.variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        K.eval(K.sum(w * w))
    assert not tape.watched_variables()


def test_operands_may_be_variables_of_tensorflow(K):
    v = tf.Variable([[1.0, 2.0]])
    assert K.is_tensor(v)
    assert K.int_shape(v) == (1, 2)
    close(K.dot(v, K.ones((2, 2))), [[3.0, 3.0]])
    x = K.placeholder((None, 2))
    f = K.function([x], [x + v])
    v.assign([[10.0, 20.0]])
    close(f([np.zeros((2, 2))])[0], [[10.0, 20.0]] * 2)
    with tf.GradientTape() as tape:
        loss = K.sum(K.square(v))
    close(tape.gradient(loss, v), [[20.0, 40.0]])


def test_layer_of_keras_3(script):
    done = script(
        """
        import numpy as np, keras, kbridge
        K = kbridge.load_backend("tensorflow")

        class Dense(keras.layers.Layer):
            def __init__(self, units):
                super().__init__()
                self.units = units

            def build(self, shape):
                self.w = self.add_weight(shape=(shape[-1], self.units))

            def call(self, x, training=False):
                y = K.dot(x, self.w)
                y = K.reshape(y, (K.shape(y)[0], self.units))
                return K.tanh(K.in_train_phase(K.dropout(y, 0.3), y, training=bool(training)))

        x = np.random.default_rng(0).normal(size=(20, 4)).astype("float32")
        for jit in (False, True):
            model = keras.Sequential([Dense(16), Dense(1)])
            model.compile("adam", "mse", jit_compile=jit)
            before = model.predict(x, verbose=0)
            losses = model.fit(x, x[:, :1], 10, epochs=2, verbose=0).history["loss"]
            assert np.isfinite(losses).all(), losses
            after = model.predict(x, 7, verbose=0)
            assert not np.allclose(before, after)
            first, second = model.get_weights()
            assert np.allclose(after, np.tanh(np.tanh(x @ first) @ second), atol=1e-5)

        v = keras.Variable(np.ones((2, 2), "float32"))
        p = K.placeholder((None, 2))
        f = K.function([p], [K.dot(p, v)])
        v.assign(3 * v)
        print(K.dtype(v), K.dot(v, v).numpy().tolist(), f([np.ones((1, 2))])[0].tolist())
        """.replace("\n        ", "\n"),
        KERAS_BACKEND="tensorflow",
    )
    assert done.stdout == "float32 [[18.0, 18.0], [18.0, 18.0]] [[6.0, 6.0]]\n", done.stderr
    assert "AutoGraph" not in done.stderr


def test_the_module_may_be_what_is_imported_first(script):
    done = script(
        "import kbridge.backends.tensorflow as K\nfrom kbridge import api\n"
        "print(K.eval(K.constant(2.0)), api.backend())",
        KERAS_BACKEND="tensorflow",
    )
    assert done.stdout == "2.0 tensorflow\n", done.stderr


def test_draws_in_a_tf_function_are_new_at_each_run(K):
    x = tf.zeros((1000,))

    @tf.function
    def f(x):
        noise = K.random_normal(K.shape(x), mean=5.0, stddev=0.1, seed=3)
        with K.eager_scope():
            return x + noise, K.dropout(x + 1.0, 0.5), K.random_uniform((1000,), seed=4)

    (a, b, c), (d, e, g) = ([t.numpy() for t in f(x)] for _ in range(2))
    assert abs(a.mean() - 5) < 0.02
    assert set(b) == {0.0, 2.0}
    assert not np.array_equal(a, d)
    assert not np.array_equal(b, e)
    assert not np.array_equal(c, g)


def test_what_a_tf_function_cannot_have_is_a_clear_error(K):
    w = K.variable([1.0])
    x = K.placeholder((1,))
    f = K.function([x], [x * w], updates=[K.update_add(w, [1.0])])

    def variable(t):
        return K.eval(w)

    def recorded(t):
        return K.eval(K.square(w))

    def compiled(t):
        return f([t])

    for program in (variable, recorded, compiled):
        with pytest.raises(errors.SymbolicError, match=r"inside a tf\.function"):
            tf.function(program, autograph=False)(tf.ones((1,)))
    with pytest.raises(errors.ShapeError, match="set_shape"):
        tf.function(K.square, input_signature=[tf.TensorSpec(None)])(tf.ones((1,)))
    assert K.get_value(w).tolist() == [1.0]


def test_made_inside_a_tf_function_outlives_it(K):
    kept = {}

    @tf.function
    def f(x):
        kept["variable"] = K.variable([1.0, 2.0])
        kept["constant"] = K.constant([3.0]) * kept["variable"]
        p = K.placeholder((2,))
        kept["function"] = K.function([p], [p + kept["constant"]])
        return K.sum(x * kept["constant"])

    assert f(tf.ones((2,))).numpy() == 9.0
    assert K.get_value(kept["variable"]).tolist() == [1.0, 2.0]
    assert kept["function"]([np.zeros(2)])[0].tolist() == [3.0, 6.0]


# --- operators and protocols -------------------------------------------------------------------

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.matmul, operator.lt, operator.le, operator.gt),
    *(operator.ge, operator.and_, operator.or_, operator.xor),
]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_tensorflow_on_the_left_of_an_operator(K, function):
    left = np.array([5.0, 7.0], "float32")
    right = np.array([2.0, 9.0], "float32")
    logical = function in (operator.and_, operator.or_, operator.xor)
    wanted = function(left > 0, right > 0) if logical else function(left, right)
    v, p = K.variable(right), K.placeholder((2,))
    for native in (tf.constant(left), tf.Variable(left)):
        result = function(native, v)
        assert isinstance(result, tf.Tensor)
        close(result, wanted)
        recorded = function(native, p)
        assert K.is_symbolic(recorded)
        close(K.function([p], [recorded])([right])[0], wanted)
    close(tf.function(lambda t: function(t, v))(tf.constant(left)), wanted)
    if not logical:
        with pytest.raises(errors.ShapeError, match=r"^K\."):
            function(tf.ones((3,)), v)


def test_tensors_are_equal_to_themselves_alone(K):
    v = K.variable([1.0])
    assert (tf.constant([1.0]) == v) is False
    assert (tf.constant([1.0]) != v) is True
    assert v in [tf.constant([1.0]), v]


def test_functions_of_tensorflow_ask_for_the_eager_scope(K):
    v, p = K.variable([0.0, 1.0]), K.placeholder((2,))
    for program in (tf.sin, tf.reduce_sum, tf.convert_to_tensor, lambda t: tf.stack([t, t])):
        for tensor in (v, p, v * 2.0):
            with pytest.raises(errors.SymbolicError, match=r"K\.lift"):
                program(tensor)
    with K.eager_scope():
        close(tf.sin(v), np.sin([0.0, 1.0]))
        close(tf.stack([v, v * 2.0]), [[0.0, 1.0], [0.0, 2.0]])
        close(tf.less(v, 0.5), [True, False])
        assert (tf.constant([0.5, 0.5]) < v).numpy().tolist() == [False, True]


def test_lift_takes_any_function_of_tensorflow(K):
    x = K.placeholder((None, 4))
    parts = K.lift(lambda t: tf.signal.frame(t, 2, 1))(x)
    assert parts.shape == (None, 3, 2)
    (gradient,) = K.gradients(K.sum(parts * parts), [x])
    close(K.function([x], [gradient])([np.ones((1, 4))])[0], [[2.0, 4.0, 4.0, 2.0]])


# --- compiled functions ------------------------------------------------------------------------


def traces(function: Any) -> int:
    """How often the graphs of a K.function have been built."""
    return sum(
        c.first[3].experimental_get_tracing_count() for c in function._program.compiled.values()
    )


def test_one_trace_serves_all_batch_sizes(K, recwarn, capfd):
    x = K.placeholder((None, 8))
    w = K.variable(np.ones((8, 8)))
    noise = K.random_normal(K.shape(x))
    y = K.tanh(K.dot(x, w)) + noise
    f = K.function([x], [y, *K.gradients(K.sum(y), [w])], updates=[K.update_add(w, w * 0.1)])
    for n in (1, 2, 5, 100, 1, 3):
        assert f([np.ones((n, 8))])[0].shape == (n, 8)
    assert traces(f) == 1
    assert not recwarn.list
    assert "retrac" not in capfd.readouterr().err


def test_phases_are_compiled_apart(K):
    x = K.placeholder((None, 4))
    y = K.in_train_phase(K.dropout(x, 0.5), x)
    f = K.function([x, K.learning_phase()], [y])
    assert f([np.ones((2, 4)), 0])[0].tolist() == [[1.0] * 4] * 2
    assert set(f([np.ones((50, 4)), 1])[0].ravel()) == {0.0, 2.0}
    assert traces(f) == 2


def test_gradients_of_variables_placeholders_and_tensors_between(K):
    x, w = K.placeholder((None, 3)), K.variable([[1.0], [2.0], [3.0]])
    hidden = K.dot(x, w)
    loss = K.sum(K.square(hidden))
    found = K.gradients(loss, [w, hidden, x])
    f = K.function([x], [loss, *found])
    value = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    product = value @ [[1.0], [2.0], [3.0]]
    for result, wanted in zip(
        f([value]),
        [
            np.sum(product**2),
            2 * value.T @ product,
            2 * product,
            2 * product @ [[1.0, 2.0, 3.0]],
        ],
        strict=True,
    ):
        close(result, wanted)


def test_gradients_of_higher_order(K):
    x, w = K.placeholder(()), K.variable(2.0)
    value = x * K.exp(w * x)
    orders = [value]
    for _ in range(3):
        orders.extend(K.gradients(orders[-1], [x]))
    (mixed,) = K.gradients(orders[1], [w])
    e = np.exp(2 * 0.5)
    results = K.function([x], [*orders, mixed])([0.5])
    # d^n/dx^n of x e^(wx) is (n w^(n-1) + w^n x) e^(wx)
    wanted = [(n * 2.0 ** (n - 1) + 2.0**n * 0.5) * e for n in range(4)]
    close(results[:4], wanted, 1e-5)
    close(results[4], (2 * 0.5 + 2 * 0.25) * e, 1e-5)  # x (2 + w x) e^(wx)


def test_unconnected_and_undifferentiable_sources(K):
    a, b, x = K.variable(1.0), K.variable(2.0), K.placeholder((2,))
    assert K.gradients(K.sum(K.round(x) * a), [b, x]) == [None, None]
    # A path that kbridge sees, and along which TensorFlow finds no gradient, gives zeros.
    (g,) = K.gradients(K.sum(K.lift(lambda t: tf.round(t) * 1.0)(x) * a), [x])
    close(K.function([x], [g])([np.ones(2)])[0], [0.0, 0.0])


def test_gradients_of_gather_are_dense(K, recwarn):
    table, indices = K.variable(np.ones((4, 2))), K.placeholder((None,), dtype="int32")
    loss = K.sum(K.square(K.gather(table, indices)))
    deep = K.sum(K.square(K.gather(K.relu(K.dot(K.placeholder((None, 4)), table)), indices)))
    assert K.gradients(deep, [table])[0].shape == (4, 2)
    x = K.placeholder((None, 3))
    rows = K.gather(K.relu(x), indices)
    f = K.function(
        [x, indices], [*K.gradients(loss, [table]), *K.gradients(K.sum(rows * rows), [x])]
    )
    first, second = f([np.ones((5, 3)), [1, 3, 3]])
    close(first[:, 0], [0.0, 2.0, 0.0, 4.0])
    close(second[:, 0], [0.0, 2.0, 0.0, 4.0, 0.0])
    assert not recwarn.list


def test_updates_equal_a_program_written_by_hand(K):
    rng = np.random.default_rng(0)
    start, data = rng.normal(size=(5, 3)).astype("float32"), rng.normal(size=(4, 20, 5))
    x, w = K.placeholder((None, 5)), K.variable(start)
    m, step = K.variable(np.zeros((5, 3))), K.variable(0, dtype="int64")
    loss = K.mean(K.square(K.sigmoid(K.dot(x, w)) - 0.2))
    (g,) = K.gradients(loss, [w])
    train = K.function(
        [x],
        [loss, K.sum(m)],
        updates=[(m, 0.9 * m + g), K.update_sub(w, 0.5 * m), K.update_add(step, 1)],
    )
    hand_w, hand_m = tf.Variable(start), tf.Variable(np.zeros((5, 3), "float32"))
    for batch in data:
        with tf.GradientTape() as tape:
            wanted = tf.reduce_mean((tf.sigmoid(tf.cast(batch, "float32") @ hand_w) - 0.2) ** 2)
        gradient, total = tape.gradient(wanted, hand_w), tf.reduce_sum(hand_m)
        hand_w.assign_sub(0.5 * hand_m)
        hand_m.assign(0.9 * hand_m + gradient)
        close(train([batch]), [wanted, total], 1e-5)
    close(K.get_value(w), hand_w.numpy(), 1e-5)
    assert K.get_value(step) == 4
    assert w.value.numpy().tolist() == K.get_value(w).tolist()


def test_a_failing_call_leaves_every_variable_as_it_was(K):
    a, b = K.variable([1.0, 2.0]), K.variable(np.ones((3, 2)))
    i, x = K.placeholder((None,), dtype="int32"), K.placeholder((None,))
    f = K.function(
        [i, x],
        [K.sum(a)],
        updates=[K.update_add(a, [1.0, 1.0]), (b, b + K.gather(b, i)), (a, a + x)],
    )
    for index in (3, -1):
        with pytest.raises(errors.IndexRangeError, match=rf"K\.gather: .*{index}.*\[0, 3\)"):
            f([[0, index, 1], [1.0, 1.0]])
    with pytest.raises(errors.ShapeError, match=r"^K\.add: cannot broadcast"):
        f([[0, 1, 2], [1.0, 1.0, 1.0]])  # a + x does not broadcast
    with pytest.raises(errors.KBridgeError):
        f([[0, 1], [1.0, 1.0]])  # b + rows does not
    assert K.get_value(a).tolist() == [1.0, 2.0]
    assert (K.get_value(b) == 1.0).all()
    assert f([[0, 1, 2], [1.0, 1.0]])[0] == 3.0
    assert K.get_value(a).tolist() == [2.0, 3.0]


def test_indices_that_only_the_run_knows(K):
    x, i = K.placeholder((None, 3)), K.placeholder((), dtype="int32")
    rows = K.placeholder((None,), dtype="int32")
    f = K.function([x, i, rows], [x[i], x[rows], x[:, i]])
    one, two, three = f([np.eye(4, 3), -1, [0, -4]])
    assert (one.tolist(), three.tolist()) == ([0, 0, 0], [0, 0, 1, 0])
    assert two.tolist() == [[1, 0, 0]] * 2
    # One index at a time, since TensorFlow may complain of either first. It counts a negative one
    # from the front before it complains.
    f = K.function([x, i, rows], [x[i], x[rows]])
    for index, position, told in ((0, [4], 4), (0, [-5], -5), (4, [0], 4), (-5, [0], -1)):
        with pytest.raises(errors.IndexRangeError, match=f"index {told} "):
            f([np.eye(4, 3), index, position])
    with pytest.raises(errors.IndexRangeError, match="index -2 "):
        K.function([x, i], [x[:, i]])([np.eye(4, 3), -5])


def test_gather_is_checked_where_kernels_do_not(K, monkeypatch):
    # As on a GPU, where TensorFlow takes zeros for an index out of range.
    monkeypatch.setattr("kbridge.backends.tensorflow.shaping._CHECKS", False)
    x, i = K.placeholder((None, 2)), K.placeholder((None,), dtype="int32")
    f = K.function([x, i], [K.gather(x, i)])
    assert f([np.eye(3, 2), [1, 0]])[0].tolist() == [[0, 1], [1, 0]]
    for wrong in (3, -1):
        for program in (
            lambda wrong: f([np.eye(3, 2), [0, wrong]]),
            lambda wrong: K.gather(tf.ones((3, 2)), tf.constant([0, wrong])),
        ):
            with pytest.raises(errors.IndexRangeError, match=rf"index {wrong} .*\[0, 3\)"):
                program(wrong)


def test_without_undocumented_names_calls_go_through_the_concrete_function(K, monkeypatch):
    from tensorflow.python.eager.polymorphic_function import concrete_function

    monkeypatch.delattr(concrete_function.ConcreteFunction, "inference_fn")
    x, v = K.placeholder((None,)), K.variable(1.0)
    f = K.function([x], [x + v], updates=[K.update_add(v, 1.0)])
    assert [f([[0.0] * n])[0].tolist() for n in (1, 2)] == [[1.0], [2.0, 2.0]]
    K.function([], [], updates=[K.update(v, 0.0)])([])
    assert K.get_value(v) == 0.0


def test_variables_of_tensorflow_and_tensors_can_be_fed(K):
    x = K.placeholder((None, 2))
    f = K.function([x], [x * 2.0])
    for value in (tf.Variable([[1.0, 2.0]]), tf.constant([[1, 2]]), tf.constant([[1.0, 2.0]])):
        assert f([value])[0].tolist() == [[2.0, 4.0]]
    with pytest.raises(errors.FeedError):
        f([tf.ones((2,))])


def test_an_update_keeps_the_shape_that_only_the_run_knows(K):
    v, x = K.variable([1.0, 2.0]), K.placeholder((None,))
    f = K.function([x], [], updates=[(v, x)])
    with pytest.raises(errors.ShapeError):
        f([[1.0, 2.0, 3.0]])
    f([[3.0, 4.0]])
    assert K.get_value(v).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("mode", ["max", "avg", None])
def test_a_window_that_does_not_fit_at_run_time(K, mode):
    x = K.placeholder((None, None, None, 1))
    if mode is None:
        y = K.conv2d(x, K.ones((3, 3, 1, 1)), data_format="channels_last")
    else:
        y = K.pool2d(x, (3, 3), data_format="channels_last", pool_mode=mode)
    f = K.function([x], [y])
    assert f([np.ones((1, 3, 4, 1))])[0].shape == (1, 1, 2, 1)
    with pytest.raises(errors.ShapeError, match=r"a window of 3 does not fit .* 2"):
        f([np.ones((1, 2, 4, 1))])


def test_convolution_of_an_empty_batch(K):
    x, kernel = K.placeholder((None, 4, 4, 2)), K.variable(np.ones((2, 2, 2, 3)))
    y = K.conv2d(x, kernel, data_format="channels_last")
    f = K.function([x], [y, *K.gradients(K.sum(y), [x])])
    for n in (2, 0, 1):
        assert [r.shape for r in f([np.ones((n, 4, 4, 2))])] == [(n, 3, 3, 3), (n, 4, 4, 2)]
    assert traces(f) == 1


def test_eight_threads_lose_no_update(K):
    v = K.variable(0.0)
    f = K.function([], [v], updates=[K.update_add(v, 1.0)])
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: float(f([])[0]), range(2400)))
    assert K.get_value(v) == 2400.0
    assert sorted(seen) == list(range(2400))


# --- random ------------------------------------------------------------------------------------


def test_compiled_draws_are_new_and_repeat_with_a_seed(K):
    def program():
        return K.function([], [K.random_normal((100,), seed=7), K.random_normal((100,), seed=8)])

    f, g = program(), program()
    first, second = f([]), f([])
    assert not np.array_equal(first[0], second[0])
    assert not np.array_equal(first[0], first[1])
    for one, other in zip([*first, *second], [*g([]), *g([])], strict=True):
        assert np.array_equal(one, other)
    np.random.seed(3)
    one = K.function([], [K.random_uniform((5,))])([])[0]
    np.random.seed(3)
    assert np.array_equal(one, K.function([], [K.random_uniform((5,))])([])[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_distributions(K, dtype):
    n = 40_000
    x = K.placeholder((None,), dtype="int32")
    size = K.shape(x)[0]
    normal, cut, even, narrow = K.function(
        [x],
        [
            K.random_normal((size,), 3.0, 2.0, dtype),
            K.truncated_normal((size, 1), 3.0, 2.0, dtype),
            K.random_uniform((size,), -1.0, 3.0, dtype),
            K.random_uniform(K.shape(x), 1.0, 1.01, dtype),
        ],
    )([np.zeros(n)])
    assert normal.dtype == cut.dtype == even.dtype == np.asarray(K.eval(K.zeros(1, dtype))).dtype
    normal, cut, even, narrow = (a.astype("float64") for a in (normal, cut, even, narrow))
    assert abs(normal.mean() - 3) < 0.05
    assert abs(normal.std() - 2) < 0.05
    assert cut.shape == (n, 1)
    assert cut.min() >= -1
    assert cut.max() <= 7
    assert abs(cut.std() - 1.759) < 0.03
    assert even.min() >= -1
    assert even.max() < 3
    assert abs(even.mean() - 1) < 0.03
    assert narrow.max() < float(np.asarray(1.01, normal.dtype).astype("float64"))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_uniform_integers(K, dtype):
    drawn = K.function([], [K.random_uniform((5000,), 2, 5, dtype)])([])[0]
    assert drawn.dtype == dtype
    assert set(drawn) == {2, 3, 4}
    key = tf.constant([1, 2])
    eager = K.random_uniform((5000,), 2, 5, dtype, seed=key)
    assert isinstance(eager, tf.Tensor)
    assert set(eager.numpy()) == {2, 3, 4}
    assert np.array_equal(eager, K.random_uniform((5000,), 2, 5, dtype, seed=key))
