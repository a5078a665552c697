"""How the suite is written down: records of cases, programs, and wrong calls.

A :class:`Record` belongs to one operation: an oracle (a closed form that shares nothing with a
backend) and cases. A :class:`Program` is a function of ``K`` with the values it must return. A
:class:`Fault` is a call that must be refused, with the error's classes and text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from kbridge.conformance.samples import Sample

#: What a record's ``result=`` may say of the result's dtype besides the name of a dtype.
#: "first": that of the first operand; "common": the one in which all operands meet;
#: "floating": the common one where that is a float, else floatx; "counted": bools become int32.
RESULTS = ("first", "common", "floating", "counted")

_topic = ""
RECORDS: dict[str, Record] = {}
PROGRAMS: dict[str, Program] = {}
FAULTS: dict[str, Fault] = {}


def begin_topic(topic: str) -> None:
    """Let what is declared from now on belong to ``topic``."""
    global _topic
    _topic = topic


# --- cases of one operation ------------------------------------------------------------------


class Case:
    """Arguments of one call; samples among them are its tensor operands."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.id = ""
        self.left_out: frozenset[str] = frozenset()
        self.call: Callable[..., Any] | None = None
        self.oracle: Callable[..., Any] | None = None
        self.slopes: list[Any] | None = None
        self.loose = False
        self.typed = False
        self.numbers: Callable[..., Any] | None = None

    # Each of these returns the case, so that a declaration stays one line.

    def named(self, name: str) -> Case:
        """Give the case a name of its own instead of one made of its arguments."""
        self.id = name
        return self

    def without(self, *checks: str) -> Case:
        """Leave out checks that cannot apply, by name; "batch" is a part of "inferred"."""
        self.left_out |= set(checks)
        return self

    def by(self, call: Callable[..., Any]) -> Case:
        """Call ``call(K, *operands)`` instead of the operation itself."""
        self.call = call
        return self

    def gives(self, value: Any) -> Case:
        """The expected value, or a function of the operands for it, instead of the oracle."""
        self.oracle = value if callable(value) else lambda *operands: value
        return self

    def slope(self, *expected: Any) -> Case:
        """The gradient of the result's sum with respect to each float operand, at a kink."""
        self.slopes = list(expected)
        return self

    def loosely(self) -> Case:
        """Compare with the wider tolerance, for long sums of products."""
        self.loose = True
        return self

    def in_all_dtypes(self) -> Case:
        """Try this case in the record's dtypes, instead of the first one."""
        self.typed = True
        return self

    # --- operands ----------------------------------------------------------------------------

    def samples(self) -> list[Sample]:
        """The tensor operands, in order; those in lists too."""
        found: list[Sample] = []
        _walk((self.args, tuple(self.kwargs.values())), found)
        return found

    def filled(self, operands: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with ``operands`` in the places of the samples."""
        source = iter(operands)
        args = tuple(_replace(arg, source) for arg in self.args)
        return args, {name: _replace(value, source) for name, value in self.kwargs.items()}


def case(*args: Any, **kwargs: Any) -> Case:
    """One call of the operation with these arguments."""
    return Case(args, kwargs)


def _walk(value: Any, found: list[Sample]) -> None:
    if isinstance(value, Sample):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _walk(item, found)


def _replace(value: Any, source: Iterator[Any]) -> Any:
    if isinstance(value, Sample):
        return next(source)
    if isinstance(value, (list, tuple)):
        return type(value)([_replace(item, source) for item in value])
    return value


class Record:
    """All that the suite knows of one operation."""

    def __init__(
        self,
        name: str,
        oracle: Callable[..., Any] | None,
        cases: tuple[Case, ...],
        *,
        result: Any = "first",
        dtypes: str = "",
        call: Callable[..., Any] | None = None,
        gradient: bool = True,
        eager: bool = True,
        native: bool = True,
        exact: bool = False,
    ) -> None:
        self.name = name
        self.topic = _topic
        self.oracle = oracle
        self.result = result
        self.dtypes = tuple(dtypes.split())
        self.call = call
        self.gradient = gradient
        self.eager = eager
        self.native = native
        self.exact = exact
        self.cases: dict[str, Case] = {}
        for each in cases:
            self._add(each)

    def _add(self, each: Case) -> None:
        plain = each.id or describe(each)
        name, count = plain, 1
        while name in self.cases:
            count += 1
            name = f"{plain}_{count}"
        each.id = name
        self.cases[name] = each

    def function(self, K: Any, each: Case) -> Callable[..., Any]:
        """What a case calls, given its arguments with operands filled in."""
        special = each.call or self.call
        if special is None:
            function: Callable[..., Any] = getattr(K, self.name)
            return function
        return partial(special, K)

    def expected(self, each: Case, operands: list[Any]) -> list[Any]:
        """The oracle's results for these operands, as float64, int64 or bool arrays."""
        oracle = each.oracle or self.oracle
        if oracle is None:
            raise LookupError(f"the record of {self.name} has no oracle; give it one")
        wide = [np.asarray(_widened(operand)) for operand in operands]
        if each.oracle is not None:
            result = oracle(*wide)
        else:
            args, kwargs = each.filled(wide)
            result = oracle(*args, **kwargs)
        parts = result if isinstance(result, tuple) else (result,)
        return [np.asarray(part) for part in parts]


def _widened(operand: Any) -> Any:
    if operand.dtype.kind in "fV":
        return operand.astype(np.float64)
    return operand.astype(np.int64) if operand.dtype.kind in "iu" else operand


def record(name: str, oracle: Any, *cases: Case, **options: Any) -> Record:
    """Declare the cases of the operation ``name``; see :class:`Record` for the options.

    ``result`` is the result's dtype (a list of them where there are several results): its name
    or one of RESULTS. ``dtypes`` lists those in which the first case is tried besides float32.
    ``gradient=False``: there is none. ``eager=False``: there is no call on native tensors alone.
    ``native=False``: such a call gives something else than a native tensor. ``exact``: no
    rounding is allowed for.
    """
    made = Record(name, oracle, cases, **options)
    if name in RECORDS:
        raise ValueError(f"there are two records for {name}")
    RECORDS[name] = made
    return made


def describe(each: Case) -> str:
    """A short name for a case, made of its arguments."""
    parts = [_text(arg) for arg in each.args]
    parts += [f"{name}={_text(value)}" for name, value in each.kwargs.items()]
    return re.sub(r"[^\w.=,+-]+", "", ",".join(parts)) or "plain"


def _text(value: Any) -> str:
    if isinstance(value, Sample):
        mark = "" if value.family == "f" else value.family
        return mark + ("x".join(map(str, value.shape)) or "scalar")
    if isinstance(value, (list, tuple)):
        return "_".join(_text(item) for item in value) or "empty"
    return {"channels_first": "first", "channels_last": "last"}.get(value, str(value))


# --- programs and wrong calls ----------------------------------------------------------------


class Program:
    """A function of ``K``, what it must return, and what it shows."""

    def __init__(
        self,
        function: Callable[..., Any],
        expect: Any,
        covers: str,
        tolerance: float,
        natives: bool,
    ) -> None:
        self.function = function
        self.expect = expect
        self.covers = covers.split()
        self.topic = _topic
        self.tolerance = tolerance
        self.natives = natives


def program(
    expect: Any, covers: str = "", tolerance: float = 1e-5, natives: bool = False
) -> Callable[..., Any]:
    """Declare a program: ``expect`` holds the values that it must return, in the same structure.

    ``covers`` names the operations of the contract that it tests. ``natives``: it is about native
    tensors, which a backend with a graph of its own does not show.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.strip("_").replace("_", "-")
        if name in PROGRAMS:
            raise ValueError(f"there are two programs {name}")
        PROGRAMS[name] = Program(function, expect, covers, tolerance, natives)
        return function

    return declare


class Fault:
    """A call that must be refused."""

    def __init__(self, call: Any, kinds: tuple[type[Exception], ...], text: str, ways: str) -> None:
        self.call = call
        self.kinds = kinds
        self.text = text
        self.ways = ways.split()
        self.topic = _topic


def fault(
    name: str,
    call: Callable[..., Any],
    *kinds: type[Exception],
    text: str,
    ways: str = "native recorded",
) -> None:
    """Declare a wrong call ``call(K, t)``: the error must be of all ``kinds`` and match ``text``.

    ``t(*shape, dtype=..., value=...)`` makes an operand: a native tensor in the way "native",
    a placeholder in the way "recorded". The way "once" is for calls that use neither.
    """
    if name in FAULTS:
        raise ValueError(f"there are two wrong calls {name}")
    FAULTS[name] = Fault(call, kinds, text, ways)
