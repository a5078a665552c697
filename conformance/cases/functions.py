"""Functions and updates: structure, feeds, copies, simultaneity, threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from kbridge.conformance.records import program
from kbridge.errors import IndexRangeError, ShapeError

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


# --- shapes that only the run knows ---------------------------------------------------------------


@program(
    ("K.add", "K.dot", "K.concatenate", "K.reshape", "K.subtract", [1.0, 1.0]), covers="function"
)
def shapes_that_do_not_fit_at_run_time_name_the_operation(K: Any) -> Any:
    x, y = K.placeholder((None, 3)), K.placeholder((None, 3))
    loss = K.sum(K.square(x - y))
    programs = (
        [x + y],
        [K.dot(x, y)],
        [K.concatenate([x, y], axis=1)],
        [K.reshape(x, (-1, 4))],
        [loss, *K.gradients(loss, [x])],
    )
    seen = K.variable([1.0, 1.0])
    names = []
    for outputs in programs:
        f = K.function([x, y], outputs, updates=[K.update_add(seen, 1.0)])
        try:
            f([np.ones((2, 3)), np.ones((4, 3))])
        except ShapeError as error:
            names.append(str(error).partition(":")[0])
    return (*names, K.get_value(seen))


@program((True, [1.0, 2.0], [3.0, 4.0]), covers="update")
def an_update_keeps_the_shape_at_run_time_too(K: Any) -> Any:
    v, x = K.variable([1.0, 2.0], name="kept"), K.placeholder((None,))
    store = K.function([x], [], updates=[(v, x)])
    try:
        store([np.ones(3)])
        refused = False
    except ShapeError:
        refused = True
    before = K.get_value(v)
    store([np.array([3.0, 4.0])])
    return refused, before, K.get_value(v)


# --- feeding what a gradient passes through -------------------------------------------------------


@program((5.0, 20.0, 1.0, 0.0, 85.0), covers="gradients")
def a_fed_result_keeps_its_value_and_passes_the_gradient(K: Any) -> Any:
    """As where the gradient is a graph: the fed value is used everywhere in it."""
    x = K.placeholder(())
    y = x * 2.0
    value, slope = K.function([x, y], [y, K.gradients(y * y, x)[0]])([1.0, 5.0])
    after, own = K.function([x, y], [y + 1.0, K.gradients(y * y, y)[0]])([1.0, 0.0])
    v = K.variable(3.0)
    z = v * 2.0
    (through,) = K.function([z], K.gradients(z * z * v, v))([5.0])
    return value, slope, after, own, through


@program(([0.0, 0.0], True), covers="gradients")
def the_gradient_of_a_constant_gradient_is_zero(K: Any) -> Any:
    """A path leads through the first gradient; a variable off it has none."""
    v, other = K.variable([1.0, 2.0]), K.variable(1.0)
    (first,) = K.gradients(K.sum(v * 3.0), v)
    second, off = K.gradients(K.sum(first), [v, other])
    return K.eval(second), off is None
