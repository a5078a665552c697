"""Sessions as TensorFlow 1 has them, and scopes around what is built."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from kbridge.api.declare import graph_function
from kbridge.errors import ArgumentError, ArgumentTypeError
from kbridge.symbolic import dependencies
from kbridge.symbolic.function import Update
from kbridge.symbolic.session import current
from kbridge.symbolic.tensor import Tensor, Variable


@graph_function
def get_session(K: Any) -> Any:
    """The session, whose ``run(fetches, feed_dict=None)`` evaluates tensors on every engine.

    ``fetches`` is a tensor, a variable, a result of ``K.update``, or a list, tuple or dict of them;
    the values are NumPy arrays in that structure. ``feed_dict`` maps placeholders, any other tensor
    and ``K.learning_phase()`` to values. The rules, and the errors, are those of ``K.function``.
    What is compiled is kept for the next run with the same fetches and feeds, no longer than the
    tensors live. The session is a context manager, ``close()`` does nothing, and
    ``tensor.eval(feed_dict, session)`` evaluates one tensor. There are no variables to initialise
    and no graph to choose.

    >>> x, v = K.placeholder((2,)), K.variable([3.0, 4.0])
    >>> K.get_session().run([K.sum(x * v), v], feed_dict={x: [1.0, 2.0]})[0].tolist()
    11.0
    """
    return current(K)


@graph_function
def set_session(K: Any, session: Any) -> None:
    """Let ``session``, one that ``K.get_session`` returned, be the session.

    A session of TensorFlow, or anything else, raises ArgumentTypeError: a session of kbridge works
    on every engine and needs no configuration, so such a call can be left out.

    >>> session = K.get_session()
    >>> K.set_session(session)
    >>> K.get_session() is session
    True
    """
    if session is None:
        raise ArgumentTypeError(
            "K.set_session: expected a session of kbridge, as K.get_session() returns it, got None."
        )
    K.session.runner = current(K, session, "K.set_session")


@graph_function
def manual_variable_initialization(K: Any, value: bool) -> None:
    """Say whether the program initialises variables itself, which in TensorFlow 1 it could.

    The flag is kept, and changes nothing: a variable has its value from the start, on every engine.
    What is no bool raises ArgumentTypeError.

    >>> K.manual_variable_initialization(True)
    >>> K.get_value(K.variable(1.0)).tolist()
    1.0
    """
    if not isinstance(value, (bool, np.bool_)) and value not in (0, 1):
        raise ArgumentTypeError(
            f"K.manual_variable_initialization: expected True or False, got "
            f"{type(value).__name__}: {value!r:.60}"
        )
    K.session.manual_initialization = bool(value)


@graph_function
def learning_phase_scope(K: Any, value: int) -> Any:
    """A context in which the learning phase is fixed: 0 for test, 1 for training.

    Afterwards, also after an error, it is what it was before. Any other value raises ArgumentError.

    >>> with K.learning_phase_scope(1):
    ...     phase = K.learning_phase()
    >>> phase, K.is_tensor(K.learning_phase())
    (1, True)
    """
    if not isinstance(value, (int, float, np.generic)) or value not in (0, 1):
        raise ArgumentError(
            f"K.learning_phase_scope: expected 0 (test) or 1 (training), got {value!r:.60}"
        )
    return _phase_scope(K, int(value))


@contextlib.contextmanager
def _phase_scope(K: Any, value: int) -> Iterator[None]:
    before = K.session.learning_phase
    K.session.learning_phase = value
    try:
        yield
    finally:
        K.session.learning_phase = before


@graph_function
def control_dependencies(K: Any, control_inputs: Any) -> Any:
    """A context whose tensors are computed after the updates ``control_inputs``.

    ``control_inputs`` is a result of ``K.update``, a tensor, or a list of these and of pairs
    (variable, new value); a tensor stands for the updates that it depends on itself. Scopes nest,
    and None frees from those around.

    A tensor made inside depends on the updates, and so does what is computed from it. ``K.eval``, a
    session or ``K.function`` that fetches it performs them first: all of them together, each
    computed from the values before. A function gives a variable one value: where an update among
    its ``updates=`` is for that variable, that one. Beside native tensors such a tensor is read
    without the updates. What is neither an update nor a tensor raises ArgumentTypeError.

    >>> count = K.variable(0.0)
    >>> with K.control_dependencies(K.update_add(count, 1.0)):
    ...     doubled = count * 2.0
    >>> K.eval(doubled).tolist(), K.eval(doubled).tolist(), K.eval(count).tolist()
    (2.0, 4.0, 2.0)
    """
    if control_inputs is None:
        return dependencies.scope(None)
    alone = isinstance(control_inputs, (Update, Tensor)) or K.engine.is_native(control_inputs)
    updates: list[Any] = []
    for given in [control_inputs] if alone else _listed(control_inputs):
        if isinstance(given, Tensor):
            updates += dependencies.of([given])
        elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], Variable):
            updates.append(given)
        elif given is not None and not K.engine.is_native(given):
            raise ArgumentTypeError(
                f"K.control_dependencies: expected results of K.update or tensors, got "
                f"{type(given).__name__}: {given!r:.80}"
            )
    return dependencies.scope(tuple(updates))


def _listed(control_inputs: Any) -> Any:
    if not isinstance(control_inputs, (list, tuple)):
        raise ArgumentTypeError(
            f"K.control_dependencies: expected a result of K.update, a tensor, or a list of these, "
            f"got {type(control_inputs).__name__}: {control_inputs!r:.80}"
        )
    return control_inputs
