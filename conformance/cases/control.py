"""Choosing: by a condition, by the learning phase."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kbridge.conformance.oracles import pairs
from kbridge.conformance.records import case, program, record
from kbridge.conformance.samples import bools, ints, normal, values

NAN, INF = math.nan, math.inf


def _where(condition: Any, x: Any, y: Any) -> Any:
    return pairs(lambda c, a, b: a if c else b)(condition, x, y)


def _switch(condition: Any, x: Any, y: Any) -> Any:
    """A scalar chooses a whole; else the condition is spread over the axes that it lacks."""
    if np.ndim(condition) == 0:
        return x if condition else y
    rank = max(np.ndim(x), np.ndim(y))
    lacking = (1,) * (rank - condition.ndim)
    return _where(condition.reshape(condition.shape + lacking), x, y)


record(
    "switch",
    _switch,
    case(bools(2, 3), normal(2, 3), normal(2, 3)),
    case(values(True), normal(2, 3), normal(2, 3)).named("true"),
    case(values(False), normal(2, 3), normal(2, 3)).named("false"),
    case(bools(2), normal(2, 3), normal(2, 3)),
    case(bools(2, 1), normal(2, 3), normal(2, 3)),
    case(bools(2), normal(2, 3, 2), normal(2, 3, 2)),
    case(values([2.0, 0.0, -3.0]), normal(3), normal(3)).named("numbers").without("gradient"),
    case(ints(4, low=0, high=2), normal(4), normal(4)),
    case(bools(2, 3), ints(2, 3), ints(2, 3)),
    case(bools(0, 3), normal(0, 3), normal(0, 3)),
    case(values([True, False]), values([1.0, NAN]), values([INF, 2.0]))
    .named("the_other_does_not_matter")
    .slope([1.0, 0.0], [0.0, 1.0]),
    case(values(2.0), values([1.0, 2.0]), values([3.0, 4.0]))
    .named("scalar_number")
    .without("gradient"),
    result=lambda given, each: given[1],
)
record(
    "where",
    _where,
    case(bools(2, 3), normal(2, 3), normal(2, 3)),
    case(bools(2, 3), normal(3), normal(2, 1)),
    case(bools(3), normal(2, 3), normal()),
    case(bools(2, 3), normal(2, 3), 0.0).in_all_dtypes(),
    case(bools(2, 1), normal(3), 0.0),
    case(values([True, False, False]), values([1.0, NAN, INF]), 0.0)
    .named("nothing_of_the_other")
    .slope([1.0, 0.0, 0.0]),
    case(bools(2, 3), 1.0, normal(2, 3)),
    case(bools(2, 3), ints(2, 3), ints(3)),
    case(bools(0, 3), normal(0, 3), normal(3)),
    result=lambda given, each: next(d for d in given if d != "bool"),
)


@program(
    (
        [[2.0, 3.0, 5.0]],
        [[-1.0], [-3.0]],
        [1.0],
        [2.0],
        (None, None),
    ),
    covers="switch choose",
)
def switch_of_branches_that_differ(K: Any) -> Any:
    """With a scalar condition that is known when the value is asked for."""
    wide, tall = K.constant([[2.0, 3.0, 5.0]]), K.constant([[-1.0], [-3.0]])
    return (
        K.eval(K.switch(K.constant(2.0), wide, tall)),
        K.eval(K.switch(K.constant(0.0), lambda: wide, lambda: tall)),
        K.eval(K.switch(True, K.constant([1.0]), K.constant([2.0]))),
        K.eval(K.switch(np.bool_(False), K.constant([1.0]), lambda: K.constant([2.0]))),
        K.int_shape(K.switch(K.placeholder(()), wide, tall)),
    )


@program(([[2.0, 3.0, 5.0]], [[-1.0], [-3.0]]), covers="switch choose")
def switch_fed_of_branches_that_differ(K: Any) -> Any:
    """The same with a condition that is fed: the size of the result depends on data."""
    p = K.placeholder(())
    chosen = K.switch(p, K.constant([[2.0, 3.0, 5.0]]), K.constant([[-1.0], [-3.0]]))
    f = K.function([p], [chosen])
    return f([-0.5])[0], f([0.0])[0]


@program(([2.0, 3.0], [-1.0, -2.0]), covers="switch choose")
def switch_fed(K: Any) -> Any:
    p = K.placeholder(())
    f = K.function([p], [K.switch(p, K.constant([2.0, 3.0]), lambda: K.constant([-1.0, -2.0]))])
    return f([-0.5])[0], f([0.0])[0]


@program(([4.0, 4.0], [0.0, 0.0], [0.0, 0.0], [3.0, 3.0]), covers="switch choose gradients")
def gradient_through_both_branches(K: Any) -> Any:
    """Of a scalar condition: the branch that is taken has its slope, the other none."""
    c, x, y = K.placeholder(()), K.placeholder((2,)), K.placeholder((2,))
    out = K.switch(c, lambda: K.square(x), lambda: 3.0 * y)
    f = K.function([c, x, y], K.gradients(K.sum(out), [x, y]))
    at = [np.full(2, 2.0), np.full(2, 5.0)]
    return (*f([1, *at]), *f([0, *at]))


@program(
    ((1, [10.0], 0, [1.0]), (1, [1.0], 0, [10.0]), ([10.0], [1.0], [10.0], [1.0])),
    covers="in_train_phase in_test_phase learning_phase set_learning_phase",
)
def fixed_phase(K: Any) -> Any:
    x = K.placeholder((1,))

    def run(phase: Any, choose: Any) -> tuple[Any, Any]:
        K.set_learning_phase(phase)
        y = choose(lambda: x * 10.0, lambda: x * 1.0)
        return K.learning_phase(), K.function([x], [y])([np.ones(1)])[0]

    train = (*run(1, K.in_train_phase), *run(0, K.in_train_phase))
    test = (*run(1, K.in_test_phase), *run(0, K.in_test_phase))
    ways = (1, 0, True, False)
    chosen = [K.in_train_phase(x * 10.0, x * 1.0, training=way) for way in ways]
    return train, test, tuple(K.function([x], chosen)([np.ones(1)]))


@program(
    ([1.0], [10.0], [1.0], [10.0], True, True, True, False),
    covers="in_train_phase in_test_phase learning_phase",
)
def fed_phase(K: Any) -> Any:
    """One placeholder for ever; what it is fed in one call does not stick."""
    x = K.placeholder((1,))
    y, z = K.in_train_phase(x * 10.0, x * 1.0), K.in_test_phase(x * 10.0, x * 1.0)
    g = K.function([x, K.learning_phase()], [y])
    f = K.function([x], [y, z])
    trained = g([np.ones(1), 1])[0]
    test, mirrored = f([np.ones(1)])
    plain = K.in_train_phase(x, x * 2.0, training=1)
    return (
        test,
        trained,
        g([np.ones(1), 0.0])[0],
        mirrored,
        y._uses_learning_phase,
        z._uses_learning_phase,
        K.learning_phase() is K.learning_phase(),
        hasattr(plain * 1.0, "_uses_learning_phase"),
    )


@program(([10.0], [1.0], [1.0]), covers="in_train_phase")
def phase_given_as_a_tensor(K: Any) -> Any:
    x, training = K.placeholder((1,)), K.placeholder((), dtype="bool")
    f = K.function([x, training], [K.in_train_phase(x * 10.0, x * 1.0, training=training)])
    evaluated = K.eval(K.in_train_phase(K.constant([10.0]), K.constant([1.0])))
    return f([np.ones(1), True])[0], f([np.ones(1), False])[0], evaluated


@program(
    (([0.0, 0.0], [1.0, 1.0]), ([0.5, 0.25], [0.0, 0.0]), (0.0, 1.0), (0.5, 0.0)),
    covers="switch choose gradients",
)
def branch_not_taken_keeps_its_nan(K: Any) -> Any:
    """Of a scalar condition: neither its value nor its slope comes through, at any depth."""
    c, x, y = K.placeholder(()), K.placeholder((2,)), K.placeholder((2,))
    out = K.switch(c, lambda: K.log(x), lambda: 1.0 * y)
    f = K.function([c, x, y], K.gradients(K.sum(out), [x, y]))
    z = K.placeholder(())
    inner = K.switch(z, lambda: K.log(z * 2.0), lambda: z)
    both = K.switch(c, lambda: K.square(inner) * 0.0 + inner, lambda: z / (z - z) * 0.0)
    g = K.function([c, z], [both, *K.gradients(both, [z])])
    at = [np.array([2.0, 4.0]), np.ones(2)]
    return (
        tuple(f([0, np.zeros(2), at[1]])),
        tuple(f([1, *at])),
        tuple(g([1, 0.0])),
        (g([1, 2.0])[1], g([1, 2.0])[0] - np.log(4.0)),
    )


@program(
    ([[3.0], [2.0]], [[-3.0], [1.0]], "IndexRangeError", [[6.0], [2.0]]),
    covers="switch choose gather",
)
def branch_is_computed_where_it_is_taken(K: Any) -> Any:
    """What fails in a branch fails where that is taken alone."""
    c, i = K.placeholder(()), K.placeholder((1,), dtype="int32")
    table = K.variable([1.0, 2.0, 3.0])
    found = K.switch(c, lambda: K.gather(table, i), lambda: K.cast(-i, "float32"))
    shared = K.square(K.cast(i, "float32"))
    # A node that something else needs too is computed in any case.
    doubled = K.switch(c, lambda: shared + 0.0, lambda: shared * 1.0)
    f = K.function([c, i], [found, doubled - shared + K.shape(found)[0] * 1.0])
    del doubled
    try:
        wrong = f([1, [7]])
    except Exception as error:
        wrong = type(error).__name__
    twice = K.function([c, i], [K.switch(c, lambda: found * 2.0, found), found * 0.0 + 2.0])
    return (
        np.stack([f([1, [2]])[0], [2.0]]),
        np.stack([f([0, [3]])[0], f([0, [3]])[1]]),
        wrong,
        np.stack(twice([1, [2]])),
    )


@program((True, True, [1.0, 1.0]), covers="switch choose random_uniform dropout")
def branches_that_draw(K: Any) -> Any:
    c = K.placeholder(())
    drawn = K.switch(
        c, lambda: K.random_uniform((4,), seed=3), lambda: K.random_normal((4,), seed=4)
    )
    f = K.function([c], [drawn])
    one, other, third = f([1])[0], f([1])[0], f([0])[0]
    uniform = bool((one >= 0).all() and (one < 1).all())
    fresh = len(np.unique(np.concatenate([one, other, third]))) == 12
    kept = K.switch(K.constant(1.0), lambda: K.ones((2,)) * 1.0, lambda: K.random_uniform((2,)))
    return uniform, fresh, K.eval(kept)
