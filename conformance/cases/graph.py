"""Values, tensors, names and scopes: what a portable program relies on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kbridge.conformance.records import program

# --- values --------------------------------------------------------------------------------------


@program(
    (2.0, 6.0, [6.0], 6.0, 6, 6.0, np.array(6.0, "float64"), [1.0, 2.0]),
    covers="eval get_value set_value",
)
def values_now(K: Any) -> Any:
    """A Tensor follows its variables; there are many ways to ask for its value."""
    v = K.variable(1.0)
    t = v * 2.0
    before = K.eval(t)
    K.set_value(v, 3)
    return (
        before,
        t.eval(),
        K.eval(K.reshape(t, (1,))),
        float(t),
        int(t),
        np.asarray(t),
        np.asarray(t, dtype="float64"),
        K.eval(np.array([1.0, 2.0])),
    )


@program(
    ([1.0, 2.0], 4.0, [[1.0, 2.0], 4.0], [], [9.0, 8.0], 7.0),
    covers="get_value batch_get_value set_value batch_set_value",
)
def values_of_variables(K: Any) -> Any:
    a, b = K.variable([1.0, 2.0]), K.variable(4.0)
    found = K.get_value(a), K.get_value(b), K.batch_get_value([a, b]), K.batch_get_value([])
    K.batch_set_value([])
    K.batch_set_value([(a, np.array([9, 8])), (b, K.constant(7.0))])
    return (*found, K.get_value(a), K.get_value(b))


@program(([[4.0, 4.0]], [[6.0, 6.0]], [3.0, 3.0]), covers="set_value function")
def functions_see_set_value(K: Any) -> Any:
    """Also that the value given is copied."""
    x, w = K.placeholder((None, 2)), K.variable([2.0, 2.0])
    f = K.function([x], [x * w])
    first = f([np.full((1, 2), 2.0)])[0]
    given = np.array([3.0, 3.0], "float32")
    K.set_value(w, given)
    given[:] = 0.0
    return first, f([np.full((1, 2), 2.0)])[0], K.get_value(w)


# --- tensors -------------------------------------------------------------------------------------


@program(
    (True, False, True, True, False, False, False, True, True, False, False, True),
    covers="is_tensor is_variable is_placeholder is_symbolic is_keras_tensor is_sparse",
)
def what_things_are(K: Any) -> Any:
    v, p = K.variable(1.0), K.placeholder((2,))
    marked = p * 1.0
    marked._keras_history = ("layer", 0, 0)
    return (
        K.is_variable(v),
        any(map(K.is_variable, (v[...], v * 1.0, p, None, "v", [v], np.ones(1), object, 1.0, {}))),
        all(map(K.is_tensor, (v, p, p * 1.0, K.constant(1.0)))),
        K.is_placeholder(p),
        any(map(K.is_placeholder, (v, p * 1.0, None, 1.0))),
        any(map(K.is_tensor, (np.ones(2), 1.0, 1, True, [1.0], None, "x", {1}))),
        any(map(K.is_keras_tensor, (v, p, p * 1.0))),
        K.is_keras_tensor(marked),
        all(map(K.is_symbolic, (v, p, p + v))),
        any(map(K.is_symbolic, (1.0, np.ones(2), None))),
        any(map(K.is_sparse, (v, p, p * 1.0))),
        K.is_sparse(K.placeholder((2, 2), sparse=True)),
    )


@program(
    ((2, 3), 2, "int32", 6, (None, 3), (2, 3), (), 0, "float32", (2,), "float64", (2, 3)),
    covers="int_shape ndim dtype count_params get_variable_shape",
)
def static_facts(K: Any) -> Any:
    v, p = K.variable(np.ones((2, 3)), dtype="int32"), K.placeholder((None, 3))
    return (
        K.int_shape(v),
        K.ndim(v),
        K.dtype(v),
        K.count_params(v),
        K.int_shape(p * 1.0),
        K.get_variable_shape(v),
        K.int_shape(1.0),
        K.ndim(1.0),
        K.dtype(p),
        K.int_shape(np.ones(2)),
        K.dtype(np.ones(2)),
        tuple(v.shape),
    )


@program((True, False, True, 2, True, False, True), covers="identity")
def identity_decides(K: Any) -> Any:
    """Equality and hash are identity; an operation gives a new object without old attributes."""
    x, y = K.placeholder((2,)), K.placeholder((2,))
    x.mark = 1
    same = K.identity(x)
    return (
        x == x,
        x == y,
        x != y,
        len({x: 1, y: 2}),
        x in [y, x],
        hasattr(same, "mark") or same is x,
        x.mark == 1,
    )


@program(([1.0, 2.0], [2.0, 4.0], [3.0, 6.0], True), covers="identity")
def augmented_assignment_makes_a_new_tensor(K: Any) -> Any:
    v = K.variable([1.0, 2.0])
    t = kept = v * 2.0
    t += v
    other = v
    other *= 2.0
    return K.get_value(v), K.eval(kept), K.eval(t), other is not v


@program(
    (
        *([3.0, 3.0], [1.0, 1.0], [4.0, 4.0], [0.5, 0.5], [4.0, 4.0], [True, True], [3.0, 3.0]),
        ("float32",) * 5,
    ),
    covers="add subtract multiply divide pow",
)
def numpy_on_the_left(K: Any) -> Any:
    """Arrays and scalars leave the operator to the Tensor, and take its dtype."""
    v = K.variable([2.0, 2.0])
    two, zero_d = np.ones(2), np.array(3.0)
    made = (
        two + v,
        zero_d - v,
        np.float64(2.0) * v,
        np.float32(1.0) / v,
        np.int64(2) ** v,
        np.array([3.0, 3.0]) > v,
        K.maximum(zero_d, v),
    )
    return (*map(K.eval, made), tuple(K.dtype(t) for t in made[:5]))


@program((True, True, False, True, True, True, False), covers="identity", natives=True)
def now_or_later(K: Any) -> Any:
    """Later with a placeholder, now with a native tensor, later with variables alone."""
    x, v = K.placeholder((2,)), K.variable([1.0, 2.0])
    native = K.engine.from_numpy(np.ones(2), "float32")
    arrays = K.engine.arrays_are_native
    return (
        K.is_symbolic(K.maximum(x, native)),
        K.is_symbolic(K.square(v)),
        K.is_symbolic(K.square(native)),
        K.is_symbolic(K.maximum(v, native)) is arrays,
        bool(K.engine.is_native(K.sum(native, axis=0, keepdims=True))),
        K.is_symbolic(K.constant(1.0)) and K.is_symbolic(K.arange(3)),
        K.is_symbolic(K.zeros_like(native)),
    )


@program(([2.0, 4.0], [3.0, 3.0], True), covers="identity", natives=True)
def native_tensors_beside_others(K: Any) -> Any:
    """Variables are read at their present value; in the graph a native tensor is a constant."""
    native = K.engine.from_numpy(np.array([1.0, 2.0]), "float32")
    x, v = K.placeholder((2,)), K.variable([1.0, 1.0])
    K.set_value(v, [2.0, 2.0])
    product = K.eval(K.prod(K.stack([native, v]), axis=0))
    fed = K.function([x], [K.maximum(x, native) + 1.0])([np.full(2, 2.0)])[0]
    return product, fed, K.dtype(native) == "float32"


# --- scopes and names ----------------------------------------------------------------------------


@program(
    (True, [4.0, 6.0], 3.0, True, True, False), covers="eager eager_scope update_add", natives=True
)
def eager_scope(K: Any) -> Any:
    """Everything runs now, updates included."""
    v, n = K.variable([3.0, 5.0]), K.variable(1.0)
    with K.eager_scope():
        now = v + 1.0
        K.update_add(n, 2.0)
        total = float(K.eval(K.sum(now)))
        with K.symbolic_scope():
            inner = K.is_symbolic(v + 1.0)
    decorated = K.eager(lambda t: K.is_symbolic(K.square(t)))(v)
    return not K.is_symbolic(now), K.eval(now), K.get_value(n), total == 10.0, inner, decorated


@program((True, [2.0, 3.0], True, False), covers="symbolic symbolic_scope", natives=True)
def symbolic_scope(K: Any) -> Any:
    """Everything is recorded, native tensors as constants."""
    native = K.engine.from_numpy(np.array([1.0, 2.0]), "float32")
    with K.symbolic_scope():
        later = K.maximum(native, 0.0) + 1.0
    decorated = K.symbolic(lambda t: K.is_symbolic(K.square(t)))(native)
    return K.is_symbolic(later), K.eval(later), decorated, K.is_symbolic(K.square(native))


@program(
    ("a/w", "a/b/w", "a/w_1", "w", 1, 2, 1, 1),
    covers="name_scope get_uid reset_uids clear_session",
)
def names(K: Any) -> Any:
    with K.name_scope("a"):
        first = K.variable(0.0, name="w").name
        with K.name_scope("b"):
            second = K.variable(0.0, name="w").name
        try:
            with K.name_scope("c"):
                raise KeyError
        except KeyError:
            third = K.variable(0.0, name="w").name
        with K.name_scope(None):
            pass
    found = [K.get_uid("dense"), K.get_uid("dense"), K.get_uid("other")]
    K.reset_uids()
    return first, second, third, K.variable(0.0, name="w").name, *found, K.get_uid("dense")


@program(([5.0], 2.0, [4.0]), covers="clear_session")
def clear_session_keeps_what_exists(K: Any) -> Any:
    x, v = K.placeholder((1,)), K.variable(2.0)
    f = K.function([x], [x * v + 1.0])
    K.set_learning_phase(1)
    K.clear_session()
    y = K.in_train_phase(x * 2.0, x * 4.0)
    return f([np.full(1, 2.0)])[0], K.get_value(v), K.function([x], [y])([np.ones(1)])[0]


@program(((3, 3, 12.0), [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], (None, 6)), covers="shape size stack")
def shape_arithmetic(K: Any) -> Any:
    """Sizes that only the run knows, through operators, indices, and back into shapes."""
    x = K.placeholder((None, None, None))
    sizes = K.shape(x)
    flat = K.reshape(x, K.stack([sizes[0], sizes[1] * sizes[2]]))
    area = K.cast(K.prod(sizes[1:]) * 2, "float32")
    fixed = K.reshape(x, (sizes[0], 6))
    f = K.function([x], [sizes, K.size(x), area, flat])
    shape, size, twice, values = f([np.arange(1.0, 7.0).reshape(1, 2, 3)])
    return (int(shape[-1]), int(size) // 2, float(twice)), values, K.int_shape(fixed)


@program(
    (np.array(6, "int32"), [4.0, 6.0], 6.0, [0.0, 3.0], (2, 2)), covers="prod sum mean maximum"
)
def lists_of_tensors(K: Any) -> Any:
    """Where one tensor is expected, a list of them is stacked."""
    x = K.placeholder((None, 3))
    count = K.prod([K.shape(x)[axis] for axis in (0, 1)])
    v, w = K.variable([1.0, 2.0]), K.variable([3.0, 4.0])
    mean = K.mean([K.constant(4.0), K.constant(8.0)])
    largest = K.maximum([K.constant(-1.0), K.constant(3.0)], 0.0)
    return (
        K.function([x], count)([np.ones((2, 3))]),
        K.eval(K.sum([v, w], axis=0)),
        K.eval(mean),
        K.eval(largest),
        K.int_shape(K.square([v, w])),
    )


@program((np.array(6, "int32"), np.array([2, 3], "int32")), covers="update shape prod")
def sizes_become_values(K: Any) -> Any:
    """Shape arithmetic, which stays on the host, as the new value of a variable."""
    x = K.placeholder((None, None))
    count, sizes = K.variable(0, dtype="int32"), K.variable([0, 0], dtype="int32")
    f = K.function([x], [], updates=[(count, K.prod(K.shape(x))), (sizes, K.shape(x))])
    f([np.ones((2, 3))])
    return K.eval(count + 0), K.eval(sizes * 1)


@program((1501.0, [1.0], 1.0), covers="function gradients")
def deep_graphs(K: Any) -> Any:
    """Nothing recurses over the graph, however long a chain is."""
    x = K.placeholder((1,))
    t = x
    for _ in range(1500):
        t = t + 1.0
    slope = K.gradients(t, [x])[0]
    f = K.function([x], [t, slope])
    value, derivative = f([np.ones(1)])
    return value[0], derivative, derivative[0]


@program(([8.0, 27.0], [1.0, 8.0], (None, 2), "float32", [[3.0, 4.0]]), covers="lift")
def lifted_functions(K: Any) -> Any:
    """Any function of native tensors as a recorded operation."""
    cube = K.lift(lambda x: x * x * x)
    x = K.placeholder((None, 2))
    recorded = cube(x)
    stretched = K.lift(lambda x, y: x + y, shape=lambda a, b: a, dtype="float32")
    f = K.function([x], [recorded])
    return (
        f([np.array([[2.0, 3.0]])])[0][0],
        K.eval(cube(K.constant([1.0, 2.0]))),
        K.int_shape(recorded),
        K.dtype(recorded),
        K.function([x], stretched(x, K.constant([1.0, 1.0])))([np.array([[2.0, 3.0]])]),
    )


@program((True, True, True), covers="backend to_dense")
def the_backend_itself(K: Any) -> Any:
    x = K.placeholder((2, 2))
    sparse = K.placeholder((2, 2), sparse=True)
    return isinstance(K.backend(), str), K.to_dense(x) is x, not K.is_sparse(K.to_dense(sparse))


@program(
    ("float16", 1e-05, "channels_first", "float32", (2,), "channels_last", "th"),
    covers="floatx set_floatx epsilon set_epsilon image_data_format set_image_data_format "
    "cast_to_floatx normalize_data_format image_dim_ordering set_image_dim_ordering",
)
def settings(K: Any) -> Any:
    K.set_floatx("float16")
    K.set_epsilon(1e-05)
    K.set_image_data_format("channels_first")
    found = K.floatx(), K.epsilon(), K.image_data_format()
    K.set_floatx("float32")
    array = K.cast_to_floatx(np.array([1.0, 2.0], "float64"))
    normal = K.normalize_data_format("channels_last")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old = K.image_dim_ordering()
        K.set_image_dim_ordering("tf")
    return (*found, str(array.dtype), array.shape, normal, old)
