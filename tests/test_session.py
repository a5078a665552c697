"""Sessions beyond what the conformance suite shows: what is compiled, kept and forgotten."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from kbridge import errors
from kbridge.binding import Backend
from kbridge.symbolic import session as sessions
from kbridge.symbolic.session import Session


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that sessions make, in order."""
    found: list[Any] = []
    plain = sessions.Function

    def counting(*args: Any, **kwargs: Any) -> Any:
        found.append(plain(*args, **kwargs))
        return found[-1]

    monkeypatch.setattr(sessions, "Function", counting)
    return found


def test_a_loop_compiles_once(K: Any, made: list[Any]) -> None:
    session = K.get_session()
    x, w = K.placeholder((None, 2)), K.variable([1.0, 2.0])
    y = K.sum(x * w)
    step = K.update_add(w, K.sum(x, axis=0))
    for size in (1, 2, 3):
        session.run([y, step], {x: np.ones((size, 2))})
    assert len(made) == 1
    assert K.eval(w).tolist() == [7.0, 8.0]
    session.run(y, {x: np.ones((1, 2))})
    session.run(y, feed_dict={x: np.ones((4, 2))})
    y.eval({x: np.ones((4, 2))})
    assert len(made) == 2


def test_the_order_of_feeds_does_not_matter(K: Any, made: list[Any]) -> None:
    a, b = K.placeholder(()), K.placeholder(())
    y = a - b
    assert K.get_session().run(y, {a: 3.0, b: 1.0}) == 2.0
    assert K.get_session().run(y, {b: 3.0, a: 1.0}) == -2.0
    assert len(made) == 1


def test_variables_alone_compile_nothing(K: Any, made: list[Any]) -> None:
    v = K.variable([1.0])
    value = K.get_session().run({"v": v})["v"]
    value[0] = 5.0
    assert K.eval(v).tolist() == [1.0]
    assert made == []


def test_structures_share_a_function(K: Any, made: list[Any]) -> None:
    x = K.placeholder(())
    y, z = x + 1.0, x + 2.0
    run = K.get_session().run
    assert run([y, z], {x: 1.0}) == [2.0, 3.0]
    assert run({"a": y, "b": (z,)}, {x: 1.0}) == {"a": 2.0, "b": (3.0,)}
    assert len(made) == 1


def test_nothing_outlives_its_tensors(K: Any) -> None:
    session, v = K.get_session(), K.variable(1.0)
    dead = []
    for _ in range(3):
        x = K.placeholder(())
        y, update = x * v, K.update_add(v, 1.0)
        session.run([v, y], {x: 2.0})
        session.run(update)
        dead += [weakref.ref(y), weakref.ref(update[1])]
    del x, y, update
    gc.collect()
    assert [ref() for ref in dead] == [None] * 6
    assert "_session_functions" not in v.__dict__


def test_the_newest_are_kept(K: Any, made: list[Any]) -> None:
    session, y = K.get_session(), K.variable(1.0) * 2.0
    inputs = [K.placeholder(()) for _ in range(sessions.KEPT + 4)]
    for x in inputs:
        session.run(y, {x: 1.0})
    assert len(y.__dict__["_session_functions"]) == sessions.KEPT
    session.run(y, {inputs[-1]: 1.0})
    assert len(made) == len(inputs)
    session.run(y, {inputs[0]: 1.0})
    assert len(made) == len(inputs) + 1


def test_clear_session_forgets_what_was_compiled(K: Any, made: list[Any]) -> None:
    session, x = K.get_session(), K.placeholder(())
    y = x * 2.0
    session.run(y, {x: 1.0})
    K.clear_session()
    assert not K.session.compiled
    assert K.get_session() is session
    assert session.run(y, {x: 2.0}) == 4.0
    assert len(made) == 2


def test_threads_share_a_session(K: Any) -> None:
    session, total, x = K.get_session(), K.variable(0.0), K.placeholder(())
    update, y = K.update_add(total, x), x * 2.0
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                assert session.run([y, update], {x: 1.0})[0] == 2.0
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert K.eval(total) == 80.0


def test_an_update_of_a_value_that_is_no_tensor(K: Any, made: list[Any]) -> None:
    v = K.variable([0.0, 0.0])
    update = K.update(v, np.array([1.0, 2.0]))
    assert K.get_session().run(update).tolist() == [1.0, 2.0]
    assert K.get_session().run([update])[0].tolist() == [1.0, 2.0]
    assert len(made) == 1


def test_a_session_belongs_to_one_backend(K: Any) -> None:
    other = Backend("second", K.engine, K.native)
    with pytest.raises(errors.ArgumentError, match=r"K\.set_session: .*'second'"):
        K.set_session(other.get_session())
    with pytest.raises(errors.ArgumentError, match=r"belongs to the backend 'second'"):
        K.get_session().run(other.variable(1.0) * 1.0)
    mine = Session(K)
    before = K.get_session()
    K.set_session(mine)
    assert K.get_session() is mine
    K.set_session(before)


def test_a_session_of_tensorflow_is_refused(K: Any) -> None:
    tf = pytest.importorskip("tensorflow")
    text = r"got tensorflow\..*\.Session.*leave K\.set_session"
    with tf.Graph().as_default():
        session = tf.compat.v1.Session()
    with session, pytest.raises(TypeError, match=text):
        K.set_session(session)


def test_what_a_session_lacks_is_an_attribute_error(K: Any) -> None:
    session = K.get_session()
    assert not hasattr(session, "graph")
    with pytest.raises(AttributeError, match=r"no 'graph', only run, close and as_default"):
        _ = session.graph
    assert K.name in repr(session)


# --- control dependencies ------------------------------------------------------------------------


def test_dependencies_of_draws_and_gradients(K: Any) -> None:
    """One draw serves the update and what is printed of it; gradients pass through."""
    v, w = K.variable(0.0), K.variable(3.0)
    with K.control_dependencies(K.update_add(v, 1.0)):
        loss = w * w
    slope = K.gradients(loss, w)[0]
    assert K.eval(slope) == 6.0
    assert K.eval(v) == 1.0
    assert float(loss) == 9.0
    assert np.asarray(loss) == 9.0
    assert K.get_value(loss) == 9.0
    assert K.eval(v) == 4.0


def test_two_updates_are_computed_together(K: Any) -> None:
    a, b = K.variable(1.0), K.variable(2.0)
    with K.control_dependencies([K.update(a, b), K.update(b, a)]):
        both = K.stack([a, b])
    assert K.eval(both).tolist() == [2.0, 1.0]
    f = K.function([], [both])
    assert f([])[0].tolist() == [1.0, 2.0]


def test_a_failing_evaluation_changes_nothing(K: Any) -> None:
    v, x = K.variable(0.0), K.placeholder(())
    with K.control_dependencies([K.update_add(v, 1.0), K.update(v, x)]):
        result = v * 1.0
    with pytest.raises(errors.GraphError, match="depends on a placeholder"):
        K.eval(result)
    assert K.eval(v) == 0.0


def test_native_operands_read_without_updates(K: Any) -> None:
    v = K.variable(1.0)
    with K.control_dependencies(K.update_add(v, 1.0)):
        result = v * 2.0
    one = K.engine.from_numpy(np.asarray(1.0), "float32")
    with K.eager_scope():
        assert float(K.eval(K.add(result, one))) == 3.0
    assert K.eval(v) == 1.0


def test_each_thread_has_its_own_scope(K: Any) -> None:
    v = K.variable(0.0)
    made: list[Any] = []
    with K.control_dependencies(K.update_add(v, 1.0)):
        thread = threading.Thread(target=lambda: made.append(v * 1.0))
        thread.start()
        thread.join()
    assert K.eval(made[0]) == 0.0
