"""Sessions, and the scopes of the learning phase and of control dependencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge import errors
from kbridge.conformance.records import fault, program

E = errors


# --- sessions ------------------------------------------------------------------------------------


@program(
    (11.0, [3.0, 4.0], {"sum": 7.0, "both": ([3.0, 4.0], [4.0, 5.0])}, [22.0, 7.0], []),
    covers="get_session",
)
def session_run(K: Any) -> Any:
    """Values in the structure of the fetches."""
    session = K.get_session()
    x, v = K.placeholder((2,)), K.variable([3.0, 4.0])
    y, total = K.sum(x * v), K.sum(v)
    return (
        session.run(y, feed_dict={x: [1.0, 2.0]}),
        session.run(v),
        session.run({"sum": total, "both": (v, v + 1.0)}),
        session.run([y, total], {x: np.array([2.0, 4.0])}),
        session.run([]),
    )


@program(
    (np.array([2, 2], "int32"), np.array([2, 4, 5], "int32"), [6.0], [3.0], [2, 4, 5], [2.0, 2.0])
)
def session_eval(K: Any) -> Any:
    """``tensor.eval`` as the documentation writes it, and with values fed."""
    v, p, x = K.variable(np.ones((2, 2))), K.placeholder((2, 4, 5)), K.placeholder((1,))
    session = K.get_session()
    return (
        K.shape(v).eval(session=session),
        K.shape(p).eval(session=session),
        (x * 2.0).eval(feed_dict={x: [3.0]}, session=session),
        (x * 2.0).eval({x: [1.5]}),
        session.run(K.shape(p)),
        K.variable([1.0, 1.0]).eval(session=session) * 2.0,
    )


@program(([10.0], [1.0], [1.0], 0, [10.0]), covers="get_session learning_phase")
def session_learning_phase(K: Any) -> Any:
    """It is fed like a placeholder, and counts as 0 otherwise; also once it is fixed."""
    session, x = K.get_session(), K.placeholder((1,))
    y = K.in_train_phase(x * 10.0, x)
    given = {x: [1.0]}
    trained = session.run(y, {K.learning_phase(): 1, **given})
    tested = session.run(y, {K.learning_phase(): 0, **given})
    plain = session.run(y, given)
    K.set_learning_phase(0)
    return trained, tested, plain, K.learning_phase(), session.run(y, {0: 1, **given})


@program((3.0, [5.0, 3.0], 5.0, 7.0), covers="get_session update_add")
def session_updates(K: Any) -> Any:
    """A fetched update is performed, and gives the new value; the rest sees the values before."""
    session, v = K.get_session(), K.variable(1.0)
    update = K.update_add(v, 2.0)
    return session.run(update), session.run([update, v * 1.0]), K.eval(v), session.run(update)


@program(([7.0], [6.0]), covers="get_session")
def session_feeds_any_tensor(K: Any) -> Any:
    """Also a variable, or a result in the middle."""
    session, v = K.get_session(), K.variable([1.0])
    middle = v * 2.0
    end = middle + 1.0
    return session.run(end, {middle: [6.0]}), session.run(end, {v: [2.5]})


@program((True, True, 2.0, 2.0), covers="get_session set_session")
def session_is_a_context(K: Any) -> Any:
    """Closing changes nothing, and the session that was set is the one that is got."""
    session, v = K.get_session(), K.variable(2.0)
    with session as entered, session.as_default():
        inside = entered.run(v)
    session.close()
    K.set_session(session)
    return entered is session, K.get_session() is session, inside, session.run(v * 1.0)


@program((1.0, 1.0), covers="manual_variable_initialization")
def variables_have_their_value_at_once(K: Any) -> Any:
    K.manual_variable_initialization(True)
    before = K.get_value(K.variable(1.0))
    K.manual_variable_initialization(False)
    return before, K.get_value(K.variable(1.0))


# --- scopes --------------------------------------------------------------------------------------


@program(
    ((1, [10.0]), (0, [1.0]), 1, True, 0, True, [10.0]),
    covers="learning_phase_scope",
)
def learning_phase_scopes(K: Any) -> Any:
    """They nest, and give back what was there, a phase that is fed too; also after an error."""
    x = K.placeholder((1,))

    def run() -> Any:
        y = K.in_train_phase(lambda: x * 10.0, lambda: x * 1.0)
        return K.learning_phase(), K.function([x], [y])([np.ones(1)])[0]

    with K.learning_phase_scope(1):
        trained = run()
        with K.learning_phase_scope(False):
            tested = run()
        back = K.learning_phase()
    free = K.is_tensor(K.learning_phase())
    K.set_learning_phase(0)
    try:
        with K.learning_phase_scope(1):
            raise KeyError
    except KeyError:
        fixed = K.learning_phase()
    K.clear_session()
    y = K.in_train_phase(x * 10.0, x)
    fed = K.function([x, K.learning_phase()], [y])([np.ones(1), 1])[0]
    return trained, tested, back, free, fixed, K.is_tensor(K.learning_phase()), fed


class _Mean:
    """A metric as Keras 2 writes it."""

    def __init__(self, K: Any) -> None:
        self.K = K
        self.total, self.count = K.variable(0.0), K.variable(0.0)

    def __call__(self, value: Any) -> Any:
        K = self.K
        updates = [K.update_add(self.total, K.sum(value)), K.update_add(self.count, 1.0)]
        with K.control_dependencies(updates):
            return K.switch(K.greater(self.count, 0), self.total / self.count, 0.0)


@program((100.0, 60.0, 120.0, 2.0, 2.0), covers="control_dependencies")
def evaluating_a_metric_updates_it(K: Any) -> Any:
    mean = _Mean(K)
    first = K.eval(mean(K.constant(100.0)))
    second = K.eval(mean(K.constant(20.0)) * 1.0)
    return first, second, K.eval(mean.total), K.eval(mean.count), K.get_session().run(mean.count)


@program(
    ([4.0, 3.0], [3.0, 0.0], 3.0, [5.0, 3.0], 2.0),
    covers="control_dependencies function",
)
def functions_perform_what_tensors_depend_on(K: Any) -> Any:
    """Once, also where the update is among the function's own, before the tensor is computed."""
    x, mean, total = K.placeholder((None,)), _Mean(K), K.variable(0.0)
    f = K.function([x], [mean(x)])
    update = K.update_add(total, K.sum(x))
    with K.control_dependencies([update]):
        after = total + x[0] * 0.0
    g = K.function([x], [after, total * 1.0], updates=[update])
    alone = f([[4.0]]) + f([[2.0]])
    return alone, g([[3.0]]), K.eval(total), *_marked_as_keras_does(K)


def _marked_as_keras_does(K: Any) -> Any:
    x, total, count = K.placeholder((None,)), K.variable(0.0), K.variable(0.0)
    updates = [K.update_add(total, K.sum(x)), K.update_add(count, 1.0)]
    with K.control_dependencies(updates):
        result = total / count
    result._is_metric = True
    f = K.function([x], [result], updates=updates)
    return f([[5.0]]) + f([[1.0]]), K.eval(count)


@program((2.0, 1.0, 3.0, 3.0, 1.0), covers="control_dependencies")
def control_dependencies_nest(K: Any) -> Any:
    """A list, one update, a tensor that depends on updates; None frees from all."""
    a, b = K.variable(0.0), K.variable(0.0)
    with K.control_dependencies([K.update_add(a, 1.0)]):
        one = a * 1.0
        with K.control_dependencies(K.update_add(b, 1.0)):
            two = a + b
        with K.control_dependencies(None):
            free = a + b
    with K.control_dependencies(one):
        three = a + b
    return K.eval(two), K.eval(one) - 1.0, K.eval(free), K.eval(three) - 1.0, K.eval(b)


@program((0.0, 1.0, 1.0), covers="control_dependencies eager_scope")
def control_dependencies_keep_to_their_scope(K: Any) -> Any:
    """What is made outside brings nothing; inside the eager scope the update is done already."""
    v = K.variable(0.0)
    with K.control_dependencies([K.update_add(v, 5.0), None]):
        pass
    outside = K.eval(v * 1.0)
    with K.eager_scope(), K.control_dependencies(K.update_add(v, 1.0)):
        inside = K.eval(v * 1.0)
    return outside, inside, K.eval(v)


# --- what is refused -----------------------------------------------------------------------------


def _run(fetches: Any, feed_dict: Any = None) -> Any:
    def call(K: Any, t: Any) -> Any:
        x = K.placeholder((2,), name="given")
        feeds = feed_dict(x) if callable(feed_dict) else feed_dict
        return K.get_session().run(fetches(x * 2.0) if callable(fetches) else fetches, feeds)

    return call


for _name, _call, _kinds, _text in (
    (
        "not-fed",
        _run(lambda y: y),
        (E.GraphError, ValueError),
        r"^Session\.run: .*'given'.*feed_dict",
    ),
    (
        "fetch-by-name",
        _run("dense/kernel:0"),
        (E.ArgumentTypeError, TypeError),
        r"^Session\.run: a fetch must be .*'dense/kernel:0'.*pass the tensor",
    ),
    (
        "fetch-an-array",
        _run([np.ones(2)]),
        (E.ArgumentTypeError, TypeError),
        r"^Session\.run: a fetch must be .*ndarray.*K\.eval",
    ),
    (
        "fetch-none",
        _run([None]),
        (E.GraphError, ValueError),
        r"^Session\.run: a fetch is None\. K\.gradients",
    ),
    (
        "feed-by-name",
        _run(lambda y: y, {"given": 1.0}),
        (E.ArgumentTypeError, TypeError),
        r"^Session\.run: a key of feed_dict must be a placeholder.*str: 'given'",
    ),
    (
        "feed-a-list",
        _run(lambda y: y, [1.0]),
        (E.ArgumentTypeError, TypeError),
        r"^Session\.run: feed_dict must be a dictionary.*list",
    ),
    (
        "feed-shape",
        _run(lambda y: y, lambda x: {x: np.ones(3)}),
        (E.FeedError, ValueError),
        r"^Session\.run: .*'given'.*\(3,\).*expected \(2,\)",
    ),
):
    fault(f"session-{_name}", _call, *_kinds, text=_text, ways="once")

fault(
    "set-session-of-another-kind",
    lambda K, t: K.set_session(object()),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.set_session: expected a session of kbridge.*builtins\.object.*leave K\.set_session",
    ways="once",
)
fault(
    "set-session-none",
    lambda K, t: K.set_session(None),
    E.ArgumentTypeError,
    text=r"^K\.set_session: expected a session of kbridge.*None",
    ways="once",
)
fault(
    "eval-in-another-session",
    lambda K, t: K.variable(1.0).eval(session=object()),
    E.ArgumentTypeError,
    text=r"^tensor\.eval: expected a session of kbridge",
    ways="once",
)
fault(
    "manual-initialization-text",
    lambda K, t: K.manual_variable_initialization("yes"),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.manual_variable_initialization: expected True or False, got str: 'yes'",
    ways="once",
)
for _value in (2, "train", None):
    fault(
        f"learning-phase-scope-{_value}",
        lambda K, t, value=_value: K.learning_phase_scope(value),
        E.ArgumentError,
        ValueError,
        text=rf"^K\.learning_phase_scope: expected 0 \(test\) or 1 \(training\), got {_value!r}",
        ways="once",
    )
fault(
    "control-dependencies-number",
    lambda K, t: K.control_dependencies(3),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.control_dependencies: expected a result of K\.update.*int: 3",
    ways="once",
)
fault(
    "control-dependencies-list",
    lambda K, t: K.control_dependencies(["update"]),
    E.ArgumentTypeError,
    text=r"^K\.control_dependencies: expected results of K\.update or tensors, got str: 'update'",
    ways="once",
)


def _depends_on_a_placeholder(K: Any, t: Any) -> Any:
    v = K.variable(0.0)
    with K.control_dependencies(K.update(v, K.placeholder((), name="given"))):
        result = v * 1.0
    return K.eval(result)


fault(
    "eval-of-what-depends-on-a-fed-update",
    _depends_on_a_placeholder,
    E.GraphError,
    ValueError,
    text=r"depends on .*placeholder.*K\.function",
    ways="once",
)
