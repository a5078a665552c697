"""Cases as data: the calls of K functions and operators that a case makes, written down in order.

A case mostly is one call, but some are functions of ``K``. Such a function is called once with a
``K`` and operands that only take notes. What looks at a value, as an ``if`` does, cannot be
written down and raises :class:`Untraceable`.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

from kbridge.conformance.golden.packed import Ref, Steps


class Untraceable(Exception):
    """A case that is more than calls."""


def traced(function: Any, operands: int) -> Steps:
    """What ``function(K, *operands)`` calls."""
    return _traced(Notes(), function, operands, with_K=True)


class Notes:
    """Stands for ``K``: a call of any of its functions is written down."""

    def __init__(self) -> None:
        self._count = 0
        self._calls: list[list[Any]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = self._note(name, args, kwargs)
            parts = RESULTS.get(name)
            return parts(result, *args, **kwargs) if parts else result

        return call

    def _new(self) -> Traced:
        self._count += 1
        return Traced(self, self._count - 1)

    def _note(self, name: str, args: Any, kwargs: dict[str, Any]) -> Traced:
        plain = [_plain(self, list(args)), {k: _plain(self, v) for k, v in kwargs.items()}]
        result = self._new()
        self._calls.append([name, *plain, result._number])
        return result


class Traced:
    """Stands for a tensor; operators on it are written down."""

    __array_ufunc__ = None  # an array on the left of an operator leaves it to us
    __hash__ = object.__hash__

    def __init__(self, notes: Notes, number: int) -> None:
        self._notes = notes
        self._number = number

    def __bool__(self) -> bool:
        raise Untraceable("it asks whether a tensor is true")

    def __iter__(self) -> Any:
        raise Untraceable("it takes a tensor apart")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python and NumPy ask of any object
            raise AttributeError(name)
        raise Untraceable(f"it uses the attribute {name} of a tensor")


def _operator(name: str, reflected: bool) -> Any:
    def method(self: Traced, *others: Any) -> Traced:
        operands = (*others, self) if reflected else (self, *others)
        return self._notes._note(f"operator.{name}", operands, {})

    return method


# --- results that are taken apart ----------------------------------------------------------------


def _of_rnn(result: Traced, step: Any, inputs: Any, initial_states: Any, *_: Any, **__: Any) -> Any:
    return result[0], result[1], [result[2][i] for i in range(len(initial_states))]


def _of_ctc_decode(result: Traced, *_: Any, greedy: bool = True, **how: Any) -> Any:
    paths = 1 if greedy else how.get("top_paths", 1)
    return [result[0][i] for i in range(paths)], result[1]


#: What gives tuples and lists, as they are.
RESULTS = {"rnn": _of_rnn, "ctc_decode": _of_ctc_decode}

# --- operators -----------------------------------------------------------------------------------

_UNARY = "neg invert abs getitem lt le gt ge eq ne"
_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor"
for _name in f"{_UNARY} {_BINARY}".split():
    _function = f"{_name}_" if _name in ("and", "or") else _name
    assert hasattr(operator, _function)
    setattr(Traced, f"__{_name}__", _operator(_function, False))
    if _name in _BINARY.split():
        setattr(Traced, f"__r{_name}__", _operator(_function, True))


def _plain(notes: Notes, value: Any) -> Any:
    """An argument with Refs for tensors and Steps for functions."""
    if isinstance(value, Traced):
        return Ref(value._number)
    if isinstance(value, dict):
        return {name: _plain(notes, item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_plain(notes, item) for item in value])
    if isinstance(value, slice):
        return slice(*(_plain(notes, item) for item in (value.start, value.stop, value.step)))
    if callable(value) and not isinstance(value, type):
        return _traced(notes, value, len(inspect.signature(value).parameters))
    return value.__name__ if isinstance(value, type) else value


def _traced(notes: Notes, function: Any, count: int, with_K: bool = False) -> Steps:
    """The calls of a function of ``count`` tensors; those around it can be referred to."""
    given = [notes._new() for _ in range(count)]
    outside, notes._calls = notes._calls, []
    try:
        result = _plain(notes, function(*([notes] if with_K else []), *given))
        return Steps([Ref(one._number) for one in given], notes._calls, result)
    finally:
        notes._calls = outside
