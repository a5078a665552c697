"""Settings, variables, functions, gradients, the learning phase, draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import drawn, program, refused  # noqa: TID252  # Python 3.7 has the folder on its path

# --- settings ------------------------------------------------------------------------------------


@program("epsilon set_epsilon floatx set_floatx image_data_format set_image_data_format")
def settings(K: Any) -> Any:
    before = (K.epsilon(), K.floatx(), K.image_data_format())
    K.set_epsilon(1e-3)
    K.set_floatx("float64")
    K.set_image_data_format("channels_first")
    after = (K.epsilon(), K.floatx(), K.image_data_format())
    K.set_epsilon(1e-7)
    K.set_floatx("float32")
    K.set_image_data_format("channels_last")
    return before, after


@program("cast_to_floatx normalize_data_format")
def settings_used(K: Any) -> Any:
    return (
        K.cast_to_floatx(np.array([1.0, 2.0])),
        K.cast_to_floatx(np.array([1, 2])),
        K.normalize_data_format(None),
        K.normalize_data_format("channels_first"),
        K.normalize_data_format("CHANNELS_LAST"),
    )


@program("get_uid reset_uids clear_session")
def uids(K: Any) -> Any:
    K.reset_uids()
    found = [K.get_uid("dense"), K.get_uid("dense"), K.get_uid("conv")]
    K.reset_uids()
    return (*found, K.get_uid("dense"))


# --- variables, constants, placeholders ----------------------------------------------------------


@program("variable eval get_value int_shape ndim count_params")
def variable(K: Any) -> Any:
    v = K.variable(np.array([[1, 2], [3, 4]]), dtype="float64", name="example_var")
    w = K.variable([[1, 2], [3, 4], [5, 6]])
    n = K.variable(3, dtype="int32")
    values = tuple(K.eval(t) for t in (v, w, n)) + tuple(K.get_value(t) for t in (v, w, n))
    facts = tuple((K.int_shape(t), K.ndim(t), K.count_params(t)) for t in (v, w, n))
    return (*values, *([*shape, rank, int(count)] for shape, rank, count in facts))


@program("dtype variable")
def dtype_of_a_variable(K: Any) -> Any:
    return K.dtype(K.variable([1.0]))


@program("dtype constant placeholder")
def dtypes(K: Any) -> Any:
    made = [K.placeholder((2,), dtype=d) for d in ("float16", "float64", "int32", "bool")]
    return (
        K.dtype(K.constant([1, 2])),
        K.dtype(K.constant(1.0, dtype="float64")),
        K.dtype(K.placeholder((2, 3))),
        [K.dtype(p) for p in made],
        K.dtype(K.cast(made[0], "float64")),
        K.dtype(K.equal(made[0], made[0])),
    )


@program("constant")
def constants(K: Any) -> Any:
    return (
        K.eval(K.constant([1, 2])),
        K.eval(K.constant(3, dtype="int32")),
        K.eval(K.constant(7.5, shape=(2, 3))),
        K.eval(K.constant([1, 2, 3, 4], dtype="float64", shape=(2, 2))),
        K.eval(K.constant(np.array([[True], [False]]), dtype="bool")),
    )


@program("placeholder int_shape ndim")
def placeholders(K: Any) -> Any:
    made = [
        K.placeholder(shape=(2, 4, 5)),
        K.placeholder(shape=(None, 4, 5)),
        K.placeholder(ndim=3),
        K.placeholder(shape=(3,), ndim=5),
        K.placeholder(shape=()),
    ]
    return [list(K.int_shape(p)) for p in made], [K.ndim(p) for p in made]


@program("placeholder")
def a_placeholder_of_nothing(K: Any) -> Any:
    return refused(K.placeholder)


@program("is_variable is_tensor is_placeholder is_keras_tensor is_sparse")
def kinds(K: Any) -> Any:
    v, p = K.variable([1.0, 2.0]), K.placeholder((2,))
    tensors = (v, p, K.constant([1.0]), v + p)
    return (
        [K.is_variable(t) for t in tensors],
        [K.is_tensor(t) for t in (*tensors, np.ones(2), 1.0)],
        [K.is_placeholder(t) for t in tensors],
        [K.is_keras_tensor(t) for t in tensors],
        [K.is_sparse(t) for t in tensors],
    )


@program("is_keras_tensor")
def no_keras_tensor(K: Any) -> Any:
    return refused(K.is_keras_tensor, np.ones(2))


@program("zeros ones eye is_variable")
def fixed_contents(K: Any) -> Any:
    made = (
        K.zeros((2, 3)),
        K.zeros((2,), dtype="int32"),
        K.ones((3, 1)),
        K.ones((), dtype="float64"),
        K.ones((0, 2)),
        K.eye(3),
        K.eye((2, 3)),
        K.eye(2, dtype="float64"),
    )
    return tuple(K.eval(t) for t in made), [K.is_variable(t) for t in made]


@program("zeros ones")
def zeros_of_a_fed_size(K: Any) -> Any:
    x = K.placeholder((None, 3))
    f = K.function([x], [K.zeros(K.shape(x)), K.ones((K.shape(x)[0], 2))])
    return tuple(f([np.ones((4, 3))]))


@program("get_value set_value batch_get_value batch_set_value")
def values_of_variables(K: Any) -> Any:
    v, w = K.variable([1.0, 2.0]), K.variable([[3, 4]], dtype="int32")
    K.set_value(v, np.array([5.0, 6.0]))
    first = (K.get_value(v), *K.batch_get_value([v, w]))
    K.batch_set_value([(v, [7.0, 8.0]), (w, np.array([[9, 10]]))])
    return (*first, *K.batch_get_value([v, w]), K.batch_get_value([]))


@program("eval set_value")
def evaluated_again(K: Any) -> Any:
    v = K.variable([1.0, 2.0])
    doubled = v * 2.0
    before = K.eval(doubled)
    K.set_value(v, np.array([3.0, 4.0]))
    return before, K.eval(doubled)


@program("name_scope")
def scopes(K: Any) -> Any:
    with K.name_scope("outer"):
        outer = K.variable(0.0, name="first")
        with K.name_scope("inner"):
            inner = K.variable(0.0, name="second")
    return outer.name.split(":")[0], inner.name.split(":")[0]


@program("to_dense is_sparse placeholder variable dot concatenate")
def sparse(K: Any) -> Any:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]], "float32"))
    v, dense = K.variable(matrix), K.variable(drawn(3, 2))
    joined = K.concatenate([v, v], axis=1)
    return (
        [K.is_sparse(t) for t in (v, K.placeholder((None, 3), sparse=True), K.to_dense(v), dense)],
        K.eval(v),
        K.eval(K.to_dense(v)),
        K.eval(K.to_dense(dense)),
        K.eval(K.dot(v, dense)),
        [K.is_sparse(joined), K.ndim(v), *K.int_shape(v)],
        K.eval(joined),
    )


@program("placeholder dot to_dense")
def sparse_fed(K: Any) -> Any:
    from scipy.sparse import csr_matrix

    matrix = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], "float32")
    x, w = K.placeholder((None, 3), sparse=True), K.variable(drawn(3, 2))
    f = K.function([x], [K.dot(x, w), K.to_dense(x)])
    return tuple(f([csr_matrix(matrix)]))


# --- functions, updates, gradients ---------------------------------------------------------------


@program("function update update_add update_sub")
def updates(K: Any) -> Any:
    x = K.placeholder((2,))
    u, v, w = (K.variable([1.0, 2.0]) for _ in range(3))
    changes = [K.update(u, x * 2.0), K.update_add(v, x), K.update_sub(w, x)]
    # No output reads a variable: TensorFlow may do that before or after the updates.
    f = K.function([x], [x * 3.0], updates=changes)
    first = f([np.array([3.0, 4.0])])
    return (*first, *K.batch_get_value([u, v, w]), *f([drawn(2)]), *K.batch_get_value([u, v, w]))


@program("function update")
def pairs_as_updates(K: Any) -> Any:
    x, v = K.placeholder((2,)), K.variable([1.0, 2.0])
    K.function([x], [x * 1.0], updates=[(v, v + x)])([np.array([3.0, 4.0])])
    return K.get_value(v)


@program("moving_average_update")
def moving_average(K: Any) -> Any:
    x, v = K.placeholder((1,)), K.variable([9.0])
    f = K.function([x], [x * 1.0], updates=[K.moving_average_update(v, x, 0.9)])
    found = []
    for _ in range(2):
        f([np.array([4.0])])
        found.append(K.get_value(v))
    return found


@program("function")
def several_outputs(K: Any) -> Any:
    x, y = K.placeholder((None, 2)), K.placeholder((None, 2))
    f = K.function([x, y], [x + y, K.sum(x)])
    return tuple(f([drawn(3, 2), drawn(3, 2)]) + f([drawn(1, 2), drawn(1, 2)]))


@program("function")
def one_bare_output(K: Any) -> Any:
    x = K.placeholder((None, 3))
    return K.function([x], x * 2.0)([np.ones((2, 3))])


@program("gradients")
def gradients(K: Any) -> Any:
    a, b, c = K.variable([1.0, 2.0]), K.variable([0.5, -1.0]), K.variable([3.0])
    loss = K.sum(K.square(a) * b + K.exp(b))
    found = K.gradients(loss, [a, b, c])
    second = K.gradients(K.sum(found[0]), [a, b])
    nothing = K.gradients(K.sum(K.round(a)), [a])
    alone = K.gradients(K.sum(K.square(a) + K.stop_gradient(a)), a)
    return (
        [t is None for t in (*found, *second, *nothing)],
        *(K.eval(t) for t in (*found[:2], *second, *alone)),
        len(alone),
    )


@program("gradients stop_gradient")
def gradients_of_a_tensor_between(K: Any) -> Any:
    x = K.placeholder((None, 2))
    hidden = K.tanh(x)
    loss = K.mean(K.square(hidden), axis=-1)
    return tuple(K.function([x], K.gradients(loss, [hidden, x]))([drawn(3, 2)]))


@program("gradients")
def gradients_of_several(K: Any) -> Any:
    x = K.variable([1.0, 2.0])
    return tuple(K.eval(t) for t in K.gradients([K.square(x), x * 3.0], [x]))


@program("print_tensor")
def printed(K: Any) -> Any:
    return K.eval(K.print_tensor(K.constant([1.0, 2.0]), message="values: "))


@program("control_dependencies")
def after_another(K: Any) -> Any:
    x = K.constant([1.0, 2.0])
    with K.control_dependencies([x]):
        y = x * 2.0
    return K.eval(y)


@program("get_session set_session manual_variable_initialization")
def sessions(K: Any) -> Any:
    K.manual_variable_initialization(False)
    v = K.variable([1.0, 2.0])
    session = K.get_session()
    K.set_session(session)
    return (v * 2.0).eval(session=session), session.run(v * 3.0), K.shape(v).eval(session=session)


# --- the learning phase --------------------------------------------------------------------------


@program("in_train_phase in_test_phase learning_phase")
def fed_phase(K: Any) -> Any:
    x = K.placeholder((2,))
    y, z = K.in_train_phase(lambda: x * 10.0, x), K.in_test_phase(x * 10.0, lambda: x)
    f = K.function([x, K.learning_phase()], [y, z])
    return tuple(f([np.ones(2), 1]) + f([np.ones(2), 0])), y._uses_learning_phase


@program("in_train_phase")
def given_phase(K: Any) -> Any:
    x = K.constant([1.0, 2.0])
    ways = (1, 0, True, False)
    return tuple(K.eval(K.in_train_phase(x * 10.0, lambda: x * 1.0, training=w)) for w in ways)


@program("set_learning_phase learning_phase in_train_phase in_test_phase")
def fixed_phase(K: Any) -> Any:
    x, found = K.constant([1.0, 2.0]), []
    for phase in (1, 0):
        K.set_learning_phase(phase)
        chosen = [K.in_train_phase(x * 10.0, x), K.in_test_phase(x * 10.0, x)]
        found += [K.learning_phase(), *(K.eval(t * 1.0) for t in chosen)]
    return tuple(found)


@program("set_learning_phase")
def no_such_phase(K: Any) -> Any:
    return refused(K.set_learning_phase, 2)


# --- draws: what does not depend on the stream ---------------------------------------------------


def facts(value: Any) -> Any:
    """Shape, dtype, and the moments to one digit."""
    value = np.asarray(value)
    rounded = [round(float(number) + 1e-9, 1) for number in (value.mean(), value.std())]
    return [list(value.shape), str(value.dtype), *rounded]


@program("random_normal random_uniform truncated_normal random_binomial")
def draws(K: Any) -> Any:
    many = (200, 1000)
    cut = K.eval(K.truncated_normal(many, 1.0, 4.0, seed=5))
    coins = K.eval(K.random_binomial(many, 0.3, seed=6))
    below = K.eval(K.random_uniform(many, -2.0, 3.0, seed=4))
    return (
        facts(K.eval(K.random_normal(many, 2.0, 3.0, seed=1))),
        facts(K.eval(K.random_normal((3, 4000), dtype="float64", seed=2)))[:2],
        facts(below),
        bool(below.min() >= -2.0 and below.max() < 3.0),
        facts(cut),
        bool(np.abs(cut - 1.0).max() <= 8.0),
        facts(coins)[:3],
        sorted(set(coins.ravel().tolist())),
    )


@program("random_normal_variable random_uniform_variable is_variable")
def drawn_variables(K: Any) -> Any:
    normal = K.random_normal_variable((200, 1000), 2.0, 3.0, seed=1)
    uniform = K.random_uniform_variable((20, 1000), -1.0, 3.0, dtype="float64", seed=2)
    value = K.get_value(uniform)
    return (
        facts(K.get_value(normal)),
        facts(value)[:3],
        bool(value.min() >= -1.0 and value.max() < 3.0),
        [K.is_variable(normal), K.is_variable(uniform)],
    )


@program("dropout")
def dropped(K: Any) -> Any:
    ones = K.ones((100, 100))
    half, rows = K.eval(K.dropout(ones, 0.5)), K.eval(K.dropout(ones, 0.75, (100, 1)))
    return (
        sorted(set(half.ravel().tolist())),
        abs(float(half.mean()) - 1.0) < 0.1,
        sorted(set(rows.ravel().tolist())),
        float(np.ptp(rows, axis=1).max()),
    )
