"""What each backend has of the contract, and what the conformance suite shows of it.

Nothing here names an operation: the rows follow from the contract's declarations, the cells from
the bound backends, and the dtypes and gradients from the checks that the suite makes.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from kbridge import binding, dispatchers, loader
from kbridge.api.declare import Operation
from kbridge.conformance import suite
from kbridge.conformance.checks import derive
from kbridge.conformance.expected_failures import EXPECTED
from kbridge.conformance.lab import lab
from kbridge.conformance.records import PROGRAMS, RECORDS
from kbridge.symbolic.structure import flatten
from kbridge.symbolic.tensor import Tensor

BACKENDS = tuple(loader.BUILTIN)

#: The forms that an operation may have on a backend, and what each means.
FORMS = {
    "native": "a function of the engine, written for this backend",
    "composite": "composed of other K functions",
    "common": "a function of kbridge's own graph or settings, the same on every engine",
    "missing": "not there: hasattr(K, name) is False, and a call says so",
}
#: The dtypes in the order and the short form in which they are shown.
DTYPES = {
    "bool": "bool",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}


class Cell(NamedTuple):
    """One operation on one backend."""

    form: str
    dtypes: tuple[str, ...]
    checks: int
    expected_failures: int


class Row(NamedTuple):
    """One operation."""

    operation: Operation
    cells: dict[str, Cell]
    gradient: str
    """``yes``, ``no``, or nothing where the suite looks for none."""


# --- the topics --------------------------------------------------------------------------------


def topics() -> dict[str, list[Operation]]:
    """The public operations of each topic module of ``kbridge.api``, in order of declaration.

    The topics stand in the order of the conformance suite, those that it does not know at the end.
    """
    binding.load_contract()
    api = importlib.import_module("kbridge.api")
    known = list(suite.cases.TOPICS)
    found: dict[str, list[Operation]] = {}
    names = sorted(module.name for module in pkgutil.iter_modules(api.__path__))
    for name in sorted(names, key=lambda n: known.index(n) if n in known else len(known)):
        module = vars(importlib.import_module(f"kbridge.api.{name}"))
        held = [op for op in module.values() if isinstance(op, Operation) and op.public]
        if held:
            found[name] = held
    return found


# --- the cells ---------------------------------------------------------------------------------


def form(op: Operation, K: Any) -> str:
    """The form that an operation has on a backend, one of FORMS."""
    if op.plain is not None:
        return "common"
    if op.name in K.native:
        return "native"
    if op.name not in K.operations:
        return "missing"
    return "composite" if _reaches_engine(op) else "common"


def _reaches_engine(op: Operation, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a composition calls, itself or through compositions, what an engine computes."""
    if op.composition is None:
        return op.plain is None
    seen |= {op.name}
    parts = dispatchers.parts(op.composition) - seen
    return not op.graph and any(_reaches_engine(binding.OPERATIONS[p], seen) for p in parts)


def cell(op: Operation, backend: str) -> Cell:
    """What a backend has of an operation, and what the suite checks of it there."""
    dtypes: set[str] = set()
    count = failing = 0
    record = RECORDS.get(op.name)
    for case, check, _ in derive(record) if record else ():
        count += 1
        if (backend, op.name, case, check) in EXPECTED:
            failing += 1
        elif check in DTYPES:
            dtypes.add(check)
        elif check != "gradient":
            dtypes |= {sample.default_dtype for sample in record.cases[case].samples()}
    for name, program in PROGRAMS.items():
        if op.name in program.covers:
            count += 1
            failing += (backend, name) in EXPECTED
    ordered = tuple(sorted(dtypes, key=list(DTYPES).index))
    return Cell(form(op, loader.load_backend(backend)), ordered, count, failing)


def rows() -> dict[str, list[Row]]:
    """The rows of the support table by topic."""
    with _settings_of_keras():
        return {
            topic: [
                Row(op, {name: cell(op, name) for name in BACKENDS}, gradient(op))
                for op in operations
            ]
            for topic, operations in topics().items()
        }


# --- gradients ---------------------------------------------------------------------------------


def gradient(op: Operation) -> str:
    """Whether a gradient passes through an operation, as the graph of a case or program shows."""
    if not op.differentiable:
        return "no"
    if op.name in RECORDS:
        return "yes" if _passes_in_cases(op.name) else "no"
    return "yes" if _passes_in_programs(op.name) else ""


def _passes_in_cases(name: str) -> bool:
    """Whether a result of one of the cases has a gradient by one of the operands.

    Whether there is a path is decided on kbridge's graph, so NumPy speaks for all backends.
    """
    record, numpy = RECORDS[name], lab("numpy")
    K = numpy.K
    for each in record.cases.values():
        made = numpy.record(record, each, numpy.operands(record, each))
        outputs = [out for out in made.outputs if "float" in K.dtype(out)]
        sources = [p for p in made.placeholders if "float" in K.dtype(p)]
        if outputs and any(g is not None for g in K.gradients(outputs, sources)):
            return True
    return False


def _passes_in_programs(name: str) -> bool:
    """Whether a program of the suite takes a gradient through a result of ``K.name``."""
    for program in PROGRAMS.values():
        if name in program.covers:
            watch = _Watch(lab("numpy").K, name)
            suite.reset()
            with suite.fresh_session(watch.K), contextlib.suppress(Exception):
                program.function(watch)
            if watch.passes:
                return True
    return False


class _Watch:
    """A backend that notes whether gradients pass through the results of one of its functions."""

    def __init__(self, K: Any, name: str) -> None:
        self.K = K
        self.name = name
        self.results: list[Any] = []
        self.passes = False

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.K, name)
        if name == self.name:
            return lambda *args, **kwargs: self._noted(function(*args, **kwargs))
        return self._gradients if name == "gradients" else function

    def _noted(self, result: Any) -> Any:
        parts = flatten(result) if isinstance(result, (Tensor, list, tuple)) else []
        self.results += [part for part in parts if isinstance(part, Tensor)]
        return result

    def _gradients(self, loss: Any, variables: Any) -> Any:
        for result in self.results:
            above = self.K.gradients(loss, [result])
            below = self.K.gradients(result, variables)
            self.passes |= above != [None] and any(g is not None for g in below)
        return self.K.gradients(loss, variables)


@contextlib.contextmanager
def _settings_of_keras() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # old spellings that cases call
        suite.reset()
        yield
        suite.reset()
