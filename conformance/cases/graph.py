"""Functions, updates, gradients, values, names, scopes: what a portable program relies on."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np

from kbridge.conformance.records import program
from kbridge.errors import IndexRangeError

# --- functions -----------------------------------------------------------------------------------


@program(
    ([[2.0, 4.0]], [[[2.0, 4.0]]], ([[2.0, 4.0]], [3.0]), {"y": [[2.0, 4.0]], "s": [3.0]}, []),
    covers="function",
)
def outputs_keep_their_structure(K: Any) -> Any:
    x = K.placeholder((None, 2))
    y, s = x * 2.0, K.sum(x, axis=1)
    fed = [np.array([[1.0, 2.0]])]
    bare, listed, paired, named = (K.function([x], o) for o in (y, [y], (y, s), {"y": y, "s": s}))
    return bare(fed), listed(fed), paired(fed), named(fed), K.function([x], [])(fed)


@program((3.0, 3.0, 3.0, 3.0, 3.0), covers="function")
def inputs_may_be_nested_or_bare(K: Any) -> Any:
    a, b = K.placeholder(()), K.placeholder(())
    total = a + b
    return (
        K.function([a, b], total)([1.0, 2.0]),
        K.function((a, b), total)((1.0, 2.0)),
        K.function({"a": a, "b": b}, total)({"b": 2.0, "a": 1.0}),
        K.function([[a], (b,)], total)([[1.0], (2.0,)]),
        K.function(a, a * 3.0)(1.0),
    )


@program(([4.0, 6.0], [2.0, 3.0], [40.0, 60.0], [1.0, 1.0], 7.0), covers="function")
def any_tensor_may_be_fed_or_fetched(K: Any) -> Any:
    """An intermediate result or a variable is fed in place of its value; inputs are fetched."""
    x, v = K.placeholder((2,)), K.variable([1.0, 1.0])
    hidden = x + v
    out = hidden * 2.0
    ones = np.ones(2)
    f = K.function([x], [out, x, v, K.constant(7.0)])
    first, _, var, constant = f([np.array([1.0, 2.0])])
    return (
        first,
        K.function([x, v], [hidden])([ones, np.array([1.0, 2.0])])[0],
        K.function([hidden], [out])([np.array([20.0, 30.0])])[0],
        var,
        constant,
    )


@program(([1.0, 2.0], [1.0, 2.0], [5.0, 6.0], True), covers="function")
def outputs_are_copies(K: Any) -> Any:
    """What is fed, handed out and kept inside are three arrays, all of which may be changed."""
    x, v = K.placeholder((2,)), K.variable([5.0, 6.0])
    f = K.function([x], [x, x, K.reshape(v, (2,))])
    given = np.array([1.0, 2.0], "float32")
    first, second, kept = f([given])
    first[0], kept[0] = 9.0, 9.0
    given_after = given.copy()
    given[1] = 9.0
    return second, given_after, K.get_value(v), second.flags.writeable


@program(([0.0, 2.0, 4.0], [0.0, 2.0], [0.0]), covers="function")
def batches_of_any_size(K: Any) -> Any:
    x = K.placeholder((None,))
    f = K.function([x], [x * 2.0])
    return tuple(f([np.arange(float(n))])[0] for n in (3, 2, 1))


@program(
    (
        np.array([1.0], "float32"),
        np.array([2], "int32"),
        np.array([True]),
        np.array(3.0, "float32"),
    ),
    covers="function",
)
def feeds_are_cast(K: Any) -> Any:
    """From any dtype, from lists and numbers, to the dtype of the placeholder."""
    a, b = K.placeholder((1,)), K.placeholder((1,), dtype="int32")
    c, d = K.placeholder((1,), dtype="bool"), K.placeholder(())
    f = K.function([a, b, c, d], (a, b, c, d))
    return f([np.array([1], "int64"), [2.9], np.array([1.0]), 3])


@program(([3.0, 3.0], [4.0, 4.0]), covers="function", natives=True)
def native_tensors_may_be_fed(K: Any) -> Any:
    x = K.placeholder((2,))
    f = K.function([x], [x + 1.0])
    fed = (K.engine.from_numpy(np.full(2, 2, d), d) for d in ("float32", "int32"))
    same, cast = (f([value])[0] for value in fed)
    return same, cast + 1.0


@program((6.0, 6.0, 3.0), covers="function")
def what_is_unused_does_not_matter(K: Any) -> Any:
    """Inputs that nothing reads, outputs named twice, and other placeholders of the graph."""
    x, y, unused = (K.placeholder(()) for _ in range(3))
    total = x + y
    twice = x * 3.0
    f = K.function([x, unused], [twice, twice, x + 1.0])
    del total
    return tuple(f([2.0, None if False else 0.0]))


# --- updates -------------------------------------------------------------------------------------


@program(([1.0], 2.0, 1.0, 1.0, 2.0), covers="update function set_value")
def swap(K: Any) -> Any:
    a, b, x = K.variable(1.0), K.variable(2.0), K.placeholder((1,))
    f = K.function([x], [x + 1.0], updates=[(a, b), (b, a)])
    out = f([np.zeros(1)])[0]
    once = (K.get_value(a), K.get_value(b))
    K.function([], [], updates=[K.update(a, b), K.update(b, a)])([])
    return (out, *once, K.get_value(a), K.get_value(b))


@program((3.0, 6.0, 12.0, 12.0), covers="update function")
def outputs_see_the_values_before_the_call(K: Any) -> Any:
    c, d = K.variable(3.0), K.variable(0.0)
    f = K.function([], [c * 1.0], updates=[(c, c * 2.0), (d, c * 2.0)])
    out = f([])[0]
    between = K.get_value(d)
    f([])
    return out, between, K.get_value(c), K.get_value(d)


@program((6.0, 1.0, 7.0, [8.5], [8.05]), covers="update_add update_sub moving_average_update")
def kinds_of_updates(K: Any) -> Any:
    a, b, c = K.variable(5.0), K.variable(3.0), K.variable(1.0)
    v, x = K.variable([9.0]), K.placeholder((1,))
    updates = [K.update_add(a, 1.0), K.update_sub(b, K.constant(2.0)), (c, 7)]
    f = K.function([x], [], updates=[*updates, K.moving_average_update(v, x, 0.9)])
    f([np.array([4.0])])
    found = [K.get_value(t) for t in (a, b, c, v)]
    f([np.array([4.0])])
    return (*found, K.get_value(v))


@program((2.0, 3.0, 3, "int64"), covers="update update_add")
def updates_of_one_variable(K: Any) -> Any:
    """Of two the last counts; an update takes the dtype of its variable; one needs no list."""
    a, n = K.variable(0.0), K.variable(0, dtype="int64")
    K.function([], [], updates=[(a, a + 1.0), K.update(a, a + 2.0)])([])
    first = K.get_value(a)
    f = K.function([], [], updates=[K.update_add(n, 1), K.update_add(a, 1)])
    f([])
    second = K.get_value(a)
    g = K.function([], [], updates=K.update_add(n, K.constant(2.0)))
    g([])
    return first, second, int(K.get_value(n)), str(K.get_value(n).dtype)


@program((1.0, [0.0, 1.0], True), covers="update gather")
def a_failed_call_changes_nothing(K: Any) -> Any:
    v, rows, i = K.variable(1.0), K.variable([0.0, 1.0]), K.placeholder((1,), dtype="int32")
    f = K.function([i], [K.gather(rows, i)], updates=[(v, v + 1.0), (rows, rows * 2.0)])
    try:
        f([[2]])
    except IndexRangeError:
        refused = True
    return K.get_value(v), K.get_value(rows), refused


@program(([1.0, 2.0], [1.0, 2.0]), covers="update")
def an_update_keeps_its_own_copy(K: Any) -> Any:
    """A variable that took a fed value does not change with the array that was fed."""
    v, x = K.variable(np.zeros(2)), K.placeholder((2,))
    w = K.variable(np.zeros(2))
    f = K.function([x], [], updates=[(v, x), (w, K.reshape(x, (2,)))])
    given = np.array([1.0, 2.0], "float32")
    f([given])
    given[:] = 9.0
    return K.get_value(v), K.get_value(w)


@program((3.0, 2.0, 3.0), covers="update")
def metrics_see_the_values_after_the_updates(K: Any) -> Any:
    """An output marked ``_is_metric`` is evaluated last; others before the updates."""
    total = K.variable(2.0)
    plain, metric = total * 1.0, total * 1.0
    metric._is_metric = True
    f = K.function([], [metric, plain], updates=[K.update_add(total, 1.0)])
    late, early = f([])
    return late, early, K.get_value(total)


@program((400.0, 2.0), covers="update_add")
def calls_with_updates_take_turns(K: Any) -> Any:
    """Eight threads, fifty calls each."""
    v, x = K.variable(0.0), K.placeholder(())
    f = K.function([x], [x * 2.0], updates=[K.update_add(v, x)])
    failed: list[Any] = []

    def work() -> None:
        try:
            for _ in range(50):
                f([1.0])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return K.get_value(v), f([1.0])[0]


# --- gradients -----------------------------------------------------------------------------------


def _values(K: Any, tensors: Any) -> Any:
    return tuple(None if t is None else K.eval(t) for t in tensors)


@program(((None, 6.0), (None,), ([0.6, 1.4],), (), (None, None)), covers="gradients")
def gradients_where_there_is_no_path(K: Any) -> Any:
    a, c, v = K.variable(1.0), K.variable(3.0), K.variable([0.3, 0.7])
    return (
        _values(K, K.gradients(c * c, [a, c])),
        _values(K, K.gradients(K.sum(K.round(v)), [v])),
        _values(K, K.gradients(K.sum(K.square(v) + K.stop_gradient(v)), v)),
        _values(K, K.gradients(c * c, [])),
        _values(K, K.gradients(K.cast(K.cast(c, "int32"), "float32"), [c, a])),
    )


@program((None,) * 8, covers="gradients stop_gradient")
def what_cuts_a_gradient(K: Any) -> Any:
    v = K.variable([[0.3, 0.7]])
    cut = [
        K.cast(K.argmax(v), "float32"),
        K.cast(K.greater(v, 0.5), "float32"),
        K.round(v),
        K.stop_gradient(v),
        K.ones_like(v),
        K.cast(K.any(v), "float32"),
        v // 0.2,
        K.cast(K.shape(v), "float32"),
    ]
    return tuple(K.gradients(K.sum(t), [v])[0] for t in cut)


@program(
    ([2.0, 4.0], [1.0, 2.0], [2.0, 2.0], [6.0, 6.0], 8.0, [1.0, 2.0]),
    covers="gradients",
)
def gradients_of_anything(K: Any) -> Any:
    """By placeholders, intermediate results and variables; of sums, of several losses."""
    x, w = K.placeholder((2,)), K.variable(2.0)
    hidden = x * w
    loss = K.sum(K.square(hidden)) / 2.0
    by_hidden, by_x, by_w = K.gradients(loss, [hidden, x, w])
    several = K.gradients([K.sum(x * w), K.sum(hidden * 2.0)], x)[0]
    plain = K.gradients(hidden, x)[0]
    f = K.function([x], [by_hidden, by_x, by_w, several, plain])
    at_hidden, at_x, at_w, at_several, at_plain = f([np.array([1.0, 2.0])])
    return at_hidden, at_x / 4.0, at_plain, at_several, at_w - 2.0, at_x / 4.0


@program(([12.0, 48.0], [12.0, 24.0], [6.0, 6.0], 30.0), covers="gradients")
def gradients_of_gradients(K: Any) -> Any:
    x = K.placeholder((2,))
    first = K.gradients(K.sum(x * x * x), [x])[0]
    second = K.gradients(K.sum(first), [x])[0]
    third = K.gradients(K.sum(second), [x])[0]
    penalty = K.gradients(K.sum(K.square(K.gradients(K.sum(K.square(x)), [x])[0])), [x])[0]
    f = K.function([x], [first, second, third, penalty])
    at_first, at_second, at_third, at_penalty = f([np.array([2.0, 4.0])])
    return at_first, at_second, at_third, at_penalty.sum() - 18.0


@program(([1.0, 1.0, 0.0], 2.0, [2.0, 0.0, 0.0]), covers="gradients gather")
def gradients_of_rows(K: Any) -> Any:
    """A row that is taken twice collects both gradients."""
    table = K.variable(np.ones(3))
    once = K.gradients(K.sum(K.gather(table, K.constant([0, 1], dtype="int32"))), [table])[0]
    twice = K.gradients(K.sum(K.gather(table, K.constant([0, 0], dtype="int32"))), [table])[0]
    return K.eval(once), K.eval(K.sum(twice)), K.eval(twice)


@program(([0.8, 1.6], 0.1, True), covers="gradients update_sub function")
def a_training_step(K: Any) -> Any:
    """Loss, gradients and updates in one function; the loss falls."""
    rng = np.random.default_rng(0)
    x, y = K.placeholder((None, 2)), K.placeholder((None, 1))
    w, b = K.variable(np.zeros((2, 1))), K.variable(np.zeros(1))
    loss = K.mean(K.square(K.dot(x, w) + b - y))
    slopes = K.gradients(loss, [w, b])
    updates = [K.update_sub(p, 0.1 * g) for p, g in zip((w, b), slopes, strict=True)]
    f = K.function([x, y], [loss], updates=updates)
    inputs = rng.standard_normal((200, 2))
    targets = inputs @ np.array([[0.8], [1.6]]) + 0.1
    losses = [float(f([inputs, targets])[0]) for _ in range(150)]
    return K.get_value(w)[:, 0], K.get_value(b)[0], losses[0] > 1.0 > 1e-6 > losses[-1]


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
    ("a/w", "a/b/w", "a/w", "w", 1, 2, 1, 1),
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
