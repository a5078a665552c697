"""Recurrence over time, against plain loops in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.conformance.records import case, fault, program, record
from kbridge.conformance.samples import bools, normal, values
from kbridge.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    ShapeError,
    UnsupportedError,
)

# --- one recurrence in all ways ------------------------------------------------------------------


def _rnn(x: Any, w: Any, u: Any, h: Any, **options: Any) -> Any:
    """``h = tanh(x.w + h.u)`` with the output ``h * h - h`` of each step."""
    x = np.swapaxes(x, 0, 1) if options.get("time_major") else x
    mask = options.get("mask")
    if mask is not None:
        mask = mask.reshape(mask.shape[:2]).astype(bool)
        mask = mask.T if options.get("time_major") else mask
    elif "input_length" in options and np.ndim(options["input_length"]):
        mask = np.arange(x.shape[1]) < options["input_length"][:, None]
    else:
        mask = np.ones(x.shape[:2], bool)
    before, outputs = np.zeros_like(h), []
    steps = range(x.shape[1])
    for t in reversed(steps) if options.get("go_backwards") else steps:
        new, kept = np.tanh(x[:, t] @ w + h @ u), mask[:, t, None]
        masked = np.zeros_like(h) if options.get("zero_output_for_mask") else before
        before, h = np.where(kept, new * new - new, masked), np.where(kept, new, h)
        outputs.append(before)
    if not options.get("return_all_outputs", True):
        outputs = outputs[-1:]
    return before, np.stack(outputs, 0 if options.get("time_major") else 1), h


def _call(K: Any, x: Any, w: Any, u: Any, h: Any, **options: Any) -> Any:
    def step(x: Any, states: Any) -> Any:
        new = K.tanh(K.dot(x, w) + K.dot(states[0], u))
        return new * new - new, [new]

    last, outputs, (state,) = K.rnn(step, x, [h], **options)
    return last, outputs, state


def _operands(samples: int, steps: int, time_major: bool = False) -> tuple[Any, ...]:
    shape = (steps, samples) if time_major else (samples, steps)
    return normal(*shape, 2), normal(2, 3), normal(3, 3), normal(samples, 3)


record(
    "rnn",
    _rnn,
    case(*_operands(2, 4)).named("plain"),
    case(*_operands(2, 3), go_backwards=True).named("backwards"),
    case(*_operands(3, 4), mask=bools(3, 4)).named("mask"),
    case(*_operands(3, 4), mask=bools(3, 4, 1)).named("mask_of_rank_3"),
    case(*_operands(3, 4), mask=values([[1.0, 0.0, 2.0, 0.0]] * 3))
    .named("mask_of_numbers")
    .without("gradient"),
    case(*_operands(3, 4), mask=bools(3, 4), zero_output_for_mask=True).named("mask_zeros"),
    case(*_operands(3, 4), mask=bools(3, 4), go_backwards=True).named("mask_backwards"),
    case(*_operands(3, 4), mask=bools(3, 4), return_all_outputs=False).named("mask_last"),
    case(*_operands(3, 4), input_length=values([1, 4, 0])).named("lengths"),
    case(*_operands(3, 4), input_length=values([1, 4, 2]), go_backwards=True).named(
        "lengths_backwards"
    ),
    case(*_operands(2, 3), input_length=3).named("length"),
    case(*_operands(2, 3), unroll=True).named("unrolled").without("unknown"),
    case(*_operands(2, 3), unroll=True, input_length=3).named("unrolled_of_a_given_length"),
    case(*_operands(2, 3), unroll=True, mask=bools(2, 3), go_backwards=True)
    .named("unrolled_mask_backwards")
    .without("unknown"),
    case(*_operands(2, 3, time_major=True), time_major=True).named("time_major").without("batch"),
    case(*_operands(2, 3, time_major=True), time_major=True, mask=bools(3, 2), go_backwards=True)
    .named("time_major_mask_backwards")
    .without("batch"),
    case(*_operands(2, 3), return_all_outputs=False).named("last"),
    case(*_operands(2, 3), return_all_outputs=False, go_backwards=True).named("last_backwards"),
    case(*_operands(1, 1)).named("one_step"),
    case(*_operands(0, 3)).named("no_samples").without("gradient"),
    call=_call,
    dtypes="float64 float16",
)


# --- what steps do besides -----------------------------------------------------------------------


@program(([[6.0]], [[[1.0], [3.0], [6.0]]], [[6.0]], (None, None, 1), (None, 5, 1)), covers="rnn")
def rnn_of_a_running_sum(K: Any) -> Any:
    """The output is the state itself; shapes follow from those of the inputs."""
    x = K.placeholder((None, None, 1))
    first = K.zeros_like(x[:, 0])

    def step(x: Any, states: Any) -> Any:
        total = x + states[0]
        return total, [total]

    last, outputs, states = K.rnn(step, x, [first])
    found = K.function([x], [last, outputs, states[0]])([[[[1.0], [2.0], [3.0]]]])
    known = K.rnn(step, K.placeholder((None, 5, 1)), [first])[1]
    return (*found, K.int_shape(outputs), K.int_shape(known))


@program(([[[2.0], [4.0]]], 0, [[4.0]]), covers="rnn")
def rnn_without_states(K: Any) -> Any:
    x = K.placeholder((None, 2, 1))
    last, outputs, states = K.rnn(lambda x, states: (x * 2.0, []), x, [])
    return (
        K.function([x], [outputs])([[[[1.0], [2.0]]]])[0],
        len(states),
        K.function([x], [last])([[[[1.0], [2.0]]]])[0],
    )


@program(([[[111.0], [122.0]]], 3), covers="rnn")
def rnn_with_constants(K: Any) -> Any:
    """Behind the states, as many as there are."""
    x = K.constant([[[1.0], [2.0]]])
    counts = []

    def step(x: Any, states: Any) -> Any:
        counts.append(len(states))
        return x * states[1] + states[2], [states[0]]

    constants = [K.constant([[11.0]]), K.constant([[100.0]])]
    outputs = K.rnn(step, x, [K.zeros((1, 1))], constants=constants)[1]
    return K.eval(outputs), counts[0]


@program(
    ([[[1.0], [3.0], [6.0]]], [[[10.0], [10.0], [20.0]]], [[6.0]], [[2.0]]),
    covers="rnn",
)
def rnn_of_nested_inputs_and_states(K: Any) -> Any:
    given = {"a": K.constant([[[1.0], [2.0], [3.0]]]), "b": (K.constant([[[10.0], [5.0], [4.0]]]),)}

    def step(inputs: Any, states: Any) -> Any:
        total, (count,) = states
        total = total + inputs["a"]
        outputs = {"sum": total, "product": inputs["b"][0] * (count + 1.0)}
        return outputs, [total, (count + 1.0,)]

    states = [K.zeros((1, 1)), (K.zeros((1, 1)),)]
    _, outputs, (total, (count,)) = K.rnn(step, given, states, mask=K.constant([[1, 1, 1]]))
    del count
    counted = K.rnn(step, given, states, mask=K.constant([[1, 0, 1]]))[2][1][0]
    return (
        K.eval(outputs["sum"]),
        K.eval(outputs["product"]) - [[[0.0], [0.0], [-8.0]]],
        K.eval(total),
        K.eval(counted),
    )


@program((2, True, True, False, True), covers="rnn")
def rnn_step_keeps_a_mask(K: Any) -> Any:
    """What the first call makes is one tensor for all steps, drawn anew at each run."""
    x = K.placeholder((None, 3, 4))
    calls: list[Any] = []

    def step(x: Any, states: Any) -> Any:
        if not calls:
            kept = K.dropout(K.ones_like(x), 0.5, seed=7)
            calls.append(kept)
        else:
            calls.append(None)
        return x * calls[0], states

    f = K.function([x], [K.rnn(step, x, [K.zeros((1, 1))])[1]])
    ones = np.ones((50, 3, 4))
    one, other = f([ones])[0], f([ones])[0]
    same = bool((one == one[:, :1]).all())
    return len(calls), same, set(np.unique(one)) == {0.0, 2.0}, bool((one == other).all()), same


@program((True, True, True, True), covers="rnn map_fn")
def loop_draws_at_each_step(K: Any) -> Any:
    """A random tensor made in the step is drawn at each step, and at each run."""
    x = K.placeholder((None, None, 1))

    def step(x: Any, states: Any) -> Any:
        return x + K.random_uniform((5,), seed=3), states

    outputs = K.rnn(step, x, [K.zeros((1, 1))])[1]
    f = K.function([x], [outputs])
    one, other = f([np.zeros((1, 6, 1))])[0], f([np.zeros((1, 6, 1))])[0]
    again = K.function([x], [K.rnn(step, x, [K.zeros((1, 1))])[1]])([np.zeros((1, 6, 1))])[0]
    drawn = np.concatenate([one, other])
    mapped = K.eval(K.map_fn(lambda e: e + K.random_normal((2,), seed=5), K.constant(np.zeros(3))))
    return (
        len(np.unique(drawn)) == drawn.size,
        bool((drawn >= 0).all() and (drawn < 1).all()),
        bool((one == again).all()),
        len(np.unique(mapped)) == mapped.size,
    )


@program([0.5834348, 0.6830853, 0.1735055], covers="map_fn")
def loop_draws_on_the_host(K: Any) -> Any:
    """Outside compiled functions the numbers are the same on every backend."""
    drawn = K.map_fn(lambda e: e * K.random_uniform((), seed=11), K.constant([1.0, 1.0, 1.0]))
    return K.eval(drawn)


@program(([[[1.0], [3.0]]], [[3.0]], [[[4.0], [6.0]]], [[6.0]]), covers="rnn update")
def rnn_that_is_stateful(K: Any) -> Any:
    x, state = K.placeholder((1, 2, 1)), K.zeros((1, 1))

    def step(x: Any, states: Any) -> Any:
        return x + states[0], [x + states[0]]

    _, outputs, states = K.rnn(step, x, [state])
    f = K.function([x], [outputs], updates=[(state, states[0])])
    results = []
    for _ in range(2):
        results += [f([[[[1.0], [2.0]]]])[0], K.get_value(state)]
    return tuple(results)


@program((8.0, 12.0, 12.0, True, True), covers="rnn gradients foldl")
def gradients_of_loops(K: Any) -> Any:
    """``w ** 3`` by a loop; a path is looked for result by result."""
    w, unused = K.variable(2.0), K.variable(1.0)

    def step(x: Any, states: Any) -> Any:
        return unused * x, [states[0] * w]

    x = K.constant(np.zeros((1, 3, 1)))
    last, _, states = K.rnn(step, x, [K.ones((1, 1))])
    power = K.sum(states[0])
    (first,) = K.gradients(power, [w])
    (second,) = K.gradients(first, [w])
    return (
        K.eval(power),
        K.eval(first),
        K.eval(second),
        K.gradients(power, [unused])[0] is None,
        K.gradients(K.sum(last), [w])[0] is None,
    )


@program(([27.0, 12.0], [18.0, 12.0]), covers="map_fn gradients")
def gradients_inside_of_a_loop(K: Any) -> Any:
    """The gradient at each element, and the gradient of its sum."""
    x = K.variable([3.0, 2.0])
    slopes = K.map_fn(lambda e: K.gradients(e * e * e, [e])[0], x)
    return K.eval(slopes), K.eval(K.gradients(K.sum(slopes), [x])[0])


@program(([[6.0, 15.0], [15.0, 6.0]], [[1.0, 1.0, 1.0]] * 2), covers="map_fn foldl gradients")
def loops_inside_of_loops(K: Any) -> Any:
    x = K.placeholder((None, None))
    sums = K.map_fn(lambda row: K.foldl(lambda a, b: a + b, row), x)
    slopes = K.gradients(K.sum(sums), [x])
    f = K.function([x], [sums, *slopes])
    numbers = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    first, slope = f([numbers])
    second, _ = f([numbers[::-1]])
    return np.stack([first, second]), slope


@program(([[[3, 3]]], [[2]], "int32"), covers="rnn")
def rnn_with_whole_numbers(K: Any) -> Any:
    """A state may be of another dtype than the inputs."""
    x = K.placeholder((None, 2, 1))
    count = K.zeros_like(K.cast(x[:, 0], "int32"))

    def step(x: Any, states: Any) -> Any:
        return x * 3.0, [states[0] + 1]

    _, outputs, states = K.rnn(step, x, [count])
    f = K.function([x], [K.permute_dimensions(outputs, (0, 2, 1)), states[0]])
    found = f([np.ones((1, 2, 1))])
    return (*found, K.dtype(states[0]))


@program((True, [[[1.0]]], [[[5.0]]]), covers="rnn in_train_phase learning_phase")
def rnn_in_both_phases(K: Any) -> Any:
    """A step that asks for the learning phase flags the result."""
    x = K.placeholder((None, 1, 1))

    def step(x: Any, states: Any) -> Any:
        return K.in_train_phase(x * 5.0, x), states

    last, outputs, _ = K.rnn(step, x, [K.zeros((1, 1))])
    f = K.function([x, K.learning_phase()], [outputs])
    return last._uses_learning_phase, f([np.ones((1, 1, 1)), 0])[0], f([np.ones((1, 1, 1)), 1])[0]


@program(("IndexRangeError", [[1.0, 0.0]]), covers="map_fn gather")
def loop_checks_its_data(K: Any) -> Any:
    indices = K.placeholder((None, 1), dtype="int32")
    table = K.constant([0.0, 1.0])
    f = K.function(
        [indices], [K.transpose(K.map_fn(lambda i: K.gather(table, i), indices, dtype="float32"))]
    )
    try:
        f([[[0], [7], [1]]])
    except Exception as error:
        return type(error).__name__, f([[[1], [0]]])[0]
    return None, None


# --- maps and folds ------------------------------------------------------------------------------


def _rows(function: Any) -> Any:
    return lambda x: np.stack([function(row) for row in x])


record(
    "map_fn",
    _rows(lambda row: row.sum() * row),
    case(normal(3, 2)),
    case(normal(1, 2)),
    case(normal(2, 0, 3)).named("of_nothing").without("gradient"),
    case(normal(3)).named("scalars"),
    case(normal(0, 2)).named("no_elements").gives(np.zeros((0, 2))).without("gradient"),
    call=lambda K, x: K.map_fn(lambda row: K.sum(row) * row, x),
    dtypes="float64 float16",
)
record(
    "foldl",
    lambda x: np.prod(x, 0),
    case(normal(4)).named("scalars"),
    case(normal(3, 2)),
    case(normal(1, 2)).named("one_element"),
    case(normal(3, 2), normal(2))
    .by(lambda K, x, a: K.foldl(lambda acc, e: acc * 0.5 + e, x, initializer=a))
    .gives(lambda x, a: ((a * 0.5 + x[0]) * 0.5 + x[1]) * 0.5 + x[2])
    .named("initializer"),
    case(normal(0, 2), normal(2))
    .by(lambda K, x, a: K.foldl(lambda acc, e: acc * 0.5 + e, x, initializer=a))
    .gives(lambda x, a: a)
    .named("no_elements"),
    case(normal(3, 2), normal(2, 2))
    .by(lambda K, x, a: K.foldl(lambda acc, e: acc + K.expand_dims(e, 0), x, initializer=a))
    .gives(lambda x, a: a + x.sum(0))
    .named("another_shape"),
    call=lambda K, x: K.foldl(lambda acc, e: acc * e, x),
    dtypes="float64 float16",
)
record(
    "foldr",
    lambda x: x[0] - x[1] - x[2],
    case(normal(3)).named("scalars").gives(lambda x: x[2] - x[1] - x[0]),
    case(normal(3, 2)).gives(lambda x: x[2] - x[1] - x[0]),
    case(normal(1, 2)).named("one_element").gives(lambda x: x[0]),
    case(normal(3, 2), normal(2))
    .by(lambda K, x, a: K.foldr(lambda acc, e: acc * 0.5 + e, x, initializer=a))
    .gives(lambda x, a: ((a * 0.5 + x[2]) * 0.5 + x[1]) * 0.5 + x[0])
    .named("initializer"),
    case(normal(0, 2), normal(2))
    .by(lambda K, x, a: K.foldr(lambda acc, e: acc * e, x, initializer=a))
    .gives(lambda x, a: a)
    .named("no_elements"),
    call=lambda K, x: K.foldr(lambda acc, e: acc - e, x),
    dtypes="float64 float16",
)


@program(([5.0, 7.0], [1, 4], [[4.0, 10.0], [18.0]], 321.0), covers="map_fn foldl foldr")
def maps_and_folds_of_structures(K: Any) -> Any:
    a, b = K.constant([1.0, 2.0]), K.constant([4.0, 5.0])
    sums, squares = K.map_fn(
        lambda pair: (pair[0] + pair[1], K.square(pair[0])), (a, b), dtype=("float32", "int32")
    )
    dots = K.foldl(
        lambda acc, pair: (acc[0] + pair[0] * pair[1], acc[1] + 1.0),
        (a, b),
        initializer=(K.constant(0.0), K.constant(0.0)),
    )
    del dots
    running = K.foldl(
        lambda acc, e: {"sum": acc["sum"] + e["x"] * e["y"], "count": acc["count"] + 1.0},
        {"x": a, "y": b},
        initializer={"sum": K.constant(4.0), "count": K.constant(8.0)},
    )
    shown = [[4.0, K.eval(running["count"])], [K.eval(running["sum"])]]
    digits = K.foldr(lambda acc, e: acc * 10.0 + e, K.constant([1.0, 2.0, 3.0]), K.constant(0.0))
    return K.eval(sums), K.eval(squares), shown, K.eval(digits)


# --- wrong calls ---------------------------------------------------------------------------------


def _sum(x: Any, states: Any) -> Any:
    return x + states[0], [x + states[0]]


fault(
    "rnn-rank",
    lambda K, t: K.rnn(_sum, t(2, 3), [t(2, 3)]),
    ShapeError,
    ValueError,
    text=r"^K\.rnn: inputs must have at least rank 3.*\(2, 3\)",
)
fault(
    "rnn-unroll-unknown",
    lambda K, t: K.rnn(_sum, K.placeholder((2, None, 3)), [K.zeros((2, 3))], unroll=True),
    ArgumentError,
    ValueError,
    text=r"^K\.rnn: unroll=True needs a known number.*\(2, None, 3\).*input_length",
    ways="once",
)
fault(
    "rnn-mask-without-states",
    lambda K, t: K.rnn(lambda x, s: (x, []), t(2, 3, 1), [], mask=t(2, 3)),
    ArgumentError,
    ValueError,
    text=r"^K\.rnn: a mask needs states",
)
fault(
    "rnn-mask-shape",
    lambda K, t: K.rnn(_sum, t(2, 3, 1), [t(2, 1)], mask=t(2, 3, 2)),
    ShapeError,
    text=r"^K\.rnn: mask must have the shape \(samples, time\).*\(2, 3, 2\)",
)
fault(
    "rnn-state-shape",
    lambda K, t: K.rnn(lambda x, s: (x, [K.concatenate([s[0], x])]), t(2, 3, 1), [t(2, 1)]),
    ShapeError,
    ValueError,
    text=r"^K\.rnn: the step changes the shape of state 0 from \(2, 1\) to \(2, 2\)",
)
fault(
    "rnn-state-dtype",
    lambda K, t: K.rnn(lambda x, s: (x, [K.cast(s[0], "int32")]), t(2, 3, 1), [t(2, 1)]),
    DTypeError,
    TypeError,
    text=r"^K\.rnn: the step changes the dtype of state 0 from float32 to int32.*K\.cast",
)
fault(
    "rnn-state-count",
    lambda K, t: K.rnn(lambda x, s: (x, []), t(2, 3, 1), [t(2, 1)]),
    ArgumentError,
    text=r"^K\.rnn: the step must return as many states as it is given: 1, got 0",
)
fault(
    "rnn-step-result",
    lambda K, t: K.rnn(lambda x, s: x, t(2, 3, 1), [t(2, 1)]),
    ArgumentTypeError,
    TypeError,
    text=r"^K\.rnn: step_function must return a pair",
)
fault(
    "foldl-of-nothing",
    lambda K, t: K.foldl(lambda a, e: a + e, t(0, 3)),
    ShapeError,
    text=r"^K\.foldl: there are no elements; give an initializer",
)
fault(
    "map-of-different-lengths",
    lambda K, t: K.map_fn(lambda pair: pair[0] + pair[1], (t(2, 1), t(3, 1))),
    ShapeError,
    text=r"^K\.map_fn: the sequences have different lengths: \[2, 3\]",
)
fault(
    "map-of-a-sparse-tensor",
    lambda K, t: K.map_fn(lambda row: row, K.placeholder((2, 3), sparse=True)),
    UnsupportedError,
    text=r"^K\.map_fn: .*sparse.*K\.to_dense",
    ways="once",
)
fault(
    "map-of-a-scalar",
    lambda K, t: K.map_fn(lambda e: e, t()),
    ShapeError,
    text=r"^K\.map_fn: a sequence must have at least one axis",
)


def _of_sizes_at_run_time(K: Any) -> Any:
    x, w = K.placeholder((None, None, None)), K.placeholder((None, None))
    first = K.zeros_like(K.dot(x[:, 0], w))
    outputs = K.rnn(lambda x, s: (K.dot(x, w) + s[0], s), x, [first])[1]
    return K.function([x, w], [outputs])([np.ones((2, 3, 4)), np.ones((5, 6))])


fault(
    "rnn-sizes-at-run-time",
    lambda K, t: _of_sizes_at_run_time(K),
    ShapeError,
    text=r"^K\.dot: .*4 != 5",
    ways="once",
)


def _inside(K: Any) -> Any:
    x, w = K.placeholder((None, None, 4)), K.placeholder((None, None))
    outputs = K.map_fn(lambda row: K.add(row, K.reshape(w, (-1,))), x[0])
    return K.function([x, w], [outputs])([np.ones((2, 3, 4)), np.ones((2, 3))])


fault(
    "map-of-sizes-at-run-time",
    lambda K, t: _inside(K),
    ShapeError,
    text=r"^K\.add: .*\(4,\).*\(6,\)",
    ways="once",
)
