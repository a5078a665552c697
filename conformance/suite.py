"""Every test of the suite as pytest parameters: checks of operations, programs, wrong calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pytest

from kbridge import config, loader
from kbridge.binding import OPERATIONS
from kbridge.conformance import cases, checks  # noqa: F401  # importing cases declares them
from kbridge.conformance.expectations import expected
from kbridge.conformance.golden.programs import PROGRAMS as GOLDEN
from kbridge.conformance.lab import Lab, lab
from kbridge.conformance.records import FAULTS, PROGRAMS, RECORDS, Case, Fault, Program, Record
from kbridge.errors import MissingOperationError


class Check(NamedTuple):
    """One check of one case of an operation."""

    backend: str
    record: Record
    case: Case
    function: Callable[[Lab, Record, Case], float]
    name: str


class Run(NamedTuple):
    """One program."""

    backend: str
    name: str
    program: Program


class Refusal(NamedTuple):
    """One wrong call, on native tensors, on placeholders, or as it stands."""

    backend: str
    name: str
    fault: Fault
    way: str


def _param(item: Any, key: tuple[str, ...], several: bool) -> Any:
    """A pytest parameter: its id, and whether it is expected to fail."""
    backend = item.backend
    marks = []
    failure = expected(backend, key)
    if failure is not None:
        raises, reason = failure
        marks.append(pytest.mark.xfail(raises=raises, reason=reason, strict=True))
    name = "-".join(key)
    return pytest.param(item, id=f"{backend}:{name}" if several else name, marks=marks)


def check_items(backend: str, several: bool) -> Iterator[Any]:
    """The checks of all operations.

    A module with a graph of its own shows no native tensors, and nothing of what only kbridge's
    graph calls.
    """
    own_graph = not lab(backend).has_natives
    for key, record, each, function in all_checks():
        hidden = not OPERATIONS[record.name].public and record.call is None
        if own_graph and (hidden or key[-1] == "eager"):
            continue
        item = Check(backend, record, each, function, key[-1])
        yield _param(item, key, several)


def all_checks() -> Iterator[tuple[tuple[str, str, str], Record, Case, Any]]:
    """(operation, case, check) with the record, the case and the check's function."""
    for record in RECORDS.values():
        for case_id, check, function in checks.derive(record):
            yield (record.name, case_id, check), record, record.cases[case_id], function


def run_items(backend: str, several: bool) -> Iterator[Any]:
    """The programs."""
    for name, program in PROGRAMS.items():
        if program.natives and not lab(backend).has_natives:
            continue
        yield _param(Run(backend, name, program), (name,), several)


def refusal_items(backend: str, several: bool) -> Iterator[Any]:
    """The wrong calls."""
    for name, fault in FAULTS.items():
        ways = [w for w in fault.ways if w != "native" or lab(backend).has_natives]
        for way in ways:
            yield _param(Refusal(backend, name, fault, way), (name, way), several)


def golden_items(backend: str, several: bool) -> Iterator[Any]:
    """The operations and programs with golden values: for NumPy, which checks all others."""
    for name in dict.fromkeys([*RECORDS, *GOLDEN]) if backend == "numpy" else ():
        yield pytest.param(name, id=f"{backend}:{name}" if several else name)


def lab_items(backend: str, several: bool) -> Iterator[Any]:
    """The backends themselves."""
    yield pytest.param(lab(backend), id=backend)


#: The fixture that a test asks for, and what gives its parameters.
ITEMS: dict[str, Callable[[str, bool], Iterator[Any]]] = {
    "check": check_items,
    "run": run_items,
    "refusal": refusal_items,
    "golden": golden_items,
    "backend": lab_items,
}


def group(nodeid: str) -> str:
    """What must run in one process, by a test's id: the checks of an operation share functions.

    It is the id's first word, so programs and wrong calls are in groups as well.
    """
    key = nodeid.partition("[")[2] or nodeid
    return key.partition("-")[0].rstrip("]")


def keys() -> set[tuple[str, ...]]:
    """Every key that an expected failure may have, after the backend's name."""
    refusals = {(name, way) for name, fault in FAULTS.items() for way in fault.ways}
    return {key for key, *_ in all_checks()} | {(name,) for name in PROGRAMS} | refusals


def built_in(backend: str) -> bool:
    """Whether the backend is one of kbridge's own, which may lack nothing."""
    return backend in loader.BUILTIN


def skip_missing(backend: str, key: tuple[str, ...], missing: MissingOperationError) -> NoReturn:
    """What a third party's backend lacks is told apart from what it has and does wrong."""
    if built_in(backend):
        raise missing
    if expected(backend, key):
        pytest.fail(f"{missing} It cannot be an expected failure as well.", pytrace=False)
    pytest.skip(f"missing: {missing}")


def reset() -> None:
    """Keras's own settings, and a known state of NumPy's random numbers."""
    config.set_floatx("float32")
    config.set_epsilon(1e-7)
    config.set_image_data_format("channels_last")
    np.random.seed(20)


@contextlib.contextmanager
def fresh_session(K: Any) -> Iterator[None]:
    """Counters of names, and the learning phase, as at the start; before and after."""
    clear = getattr(K, "clear_session", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()
