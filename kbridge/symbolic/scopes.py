"""State that belongs to the caller, not to a tensor: scopes, names, the learning phase.

Scopes are context variables, so each thread (and each asyncio task) has its own. What lasts
longer, counters and the learning phase, is kept once per backend in :class:`Session`.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

#: "eager": everything runs now; "symbolic": everything is recorded; None: the one rule.
_MODE: ContextVar[str | None] = ContextVar("kbridge_mode", default=None)
_NAMES: ContextVar[tuple[str, ...]] = ContextVar("kbridge_names", default=())
#: The names given since the outermost scope was opened; None outside scopes.
_GIVEN: ContextVar[set[str] | None] = ContextVar("kbridge_given", default=None)

mode = _MODE.get

_symbolic_lock = threading.Lock()
_symbolic_count = 0
#: Called with True when the first symbolic scope of any thread opens, with False when the last
#: closes: the dispatchers' fast path is off meanwhile, so that outside it costs nothing.
on_symbolic: list[Callable[[bool], None]] = []


@contextlib.contextmanager
def eager_scope() -> Iterator[None]:
    """Everything inside runs now on the engine, updates included."""
    token = _MODE.set("eager")
    try:
        yield
    finally:
        _MODE.reset(token)


@contextlib.contextmanager
def symbolic_scope() -> Iterator[None]:
    """Everything inside is recorded, native tensors as constants."""
    token = _MODE.set("symbolic")
    _count_symbolic(1)
    try:
        yield
    finally:
        _count_symbolic(-1)
        _MODE.reset(token)


def _count_symbolic(step: int) -> None:
    global _symbolic_count
    with _symbolic_lock:
        before, _symbolic_count = _symbolic_count, _symbolic_count + step
        if before == 0 or _symbolic_count == 0:
            for switch in on_symbolic:
                switch(_symbolic_count > 0)


def inside(scope: Callable[[], Any], func: Callable[..., Any]) -> Callable[..., Any]:
    """``func`` run inside a scope."""

    @functools.wraps(func)
    def scoped_function(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return func(*args, **kwargs)

    return scoped_function


@contextlib.contextmanager
def name_scope(name: str | None) -> Iterator[str]:
    """Prefix the names of variables made inside with ``name/``; scopes nest."""
    outer, given = _NAMES.get(), _GIVEN.get()
    names = _NAMES.set(outer if not name else (*outer, str(name).strip("/")))
    gives = _GIVEN.set(set() if name and given is None else given)
    try:
        yield "".join(part + "/" for part in _NAMES.get())
    finally:
        _NAMES.reset(names)
        _GIVEN.reset(gives)


def scoped(name: str) -> str:
    """``name`` with the prefix of the name scopes that are open.

    Inside, each name is given once: Keras saves a layer's weights by their names.
    """
    full = "/".join((*_NAMES.get(), name))
    given = _GIVEN.get()
    if given is None:
        return full
    free, number = full, 0
    while free in given:
        number += 1
        free = f"{full}_{number}"
    given.add(free)
    return free


class Session:
    """What ``clear_session`` resets: uid counters, the learning phase, what sessions compiled."""

    def __init__(self) -> None:
        self.uids: Counter[str] = Counter()
        self.learning_phase: Any = None
        #: What ``K.get_session`` returns (see symbolic/session.py), once it is asked for.
        self.runner: Any = None
        #: Tensors with functions that a session compiled for them.
        self.compiled: weakref.WeakSet[Any] = weakref.WeakSet()
        #: The flag of ``K.manual_variable_initialization``.
        self.manual_initialization = False
        #: Serialises calls that change variables.
        self.lock = threading.RLock()

    def uid(self, prefix: str) -> int:
        """The next number of ``prefix``, from 1."""
        with self.lock:
            self.uids[prefix] += 1
            return self.uids[prefix]

    def clear(self) -> None:
        """Reset all but the flags."""
        with self.lock:
            self.uids.clear()
            self.learning_phase = None
            for tensor in self.compiled:
                tensor.__dict__.pop("_session_functions", None)
            self.compiled.clear()
