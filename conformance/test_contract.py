"""Names and signatures, before any number; and that the suite itself is complete."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from kbridge.binding import OPERATIONS
from kbridge.conformance import suite
from kbridge.conformance.checks import derive
from kbridge.conformance.contract import ADDED, NAMES, OLD_NAMES
from kbridge.conformance.expected_failures import EXPECTED
from kbridge.conformance.lab import Lab
from kbridge.conformance.records import PROGRAMS, RECORDS

DECLARED = {**NAMES, **ADDED}
#: Constant, or whole numbers, whatever their operands are; compositions cannot say so themselves.
FLAT = {
    *("zeros_like", "ones_like", "full", "arange", "in_top_k"),
    *("ctc_decode", "ctc_label_dense_to_sparse"),
}
#: What the graph writes for itself: the gradients of the other operations test it.
INTERNAL = {"item"} | {name for name, op in OPERATIONS.items() if op.topic == "adjoint"}


@pytest.mark.parametrize("name", DECLARED)
def test_signature(name: str, backend: Lab, record_property: Callable[[str, object], None]) -> None:
    """The function is there, with the contract's parameters first, and has a docstring."""
    record_property("operation", name)
    record_property("kind", "signature")
    if not backend.has(name) and not suite.built_in(backend.name):
        pytest.skip(f"missing: {name}")
    function = getattr(backend.K, name)
    wanted = inspect.signature(eval(f"lambda {DECLARED[name][1:-1]}: None"))
    found = inspect.signature(function)
    expected = [(p.name, p.default, p.kind) for p in wanted.parameters.values()]
    got = [(p.name, p.default, p.kind) for p in found.parameters.values()]
    assert got[: len(expected)] == expected, f"K.{name}{found}, should be {name}{wanted}"
    for more in list(found.parameters.values())[len(expected) :]:
        optional = more.default is not more.empty or more.kind is more.VAR_KEYWORD
        assert optional, f"K.{name}: the further parameter {more} must have a default"
    assert inspect.getdoc(function), f"K.{name} has no docstring"
    _equals_declaration(name, found)


def _equals_declaration(name: str, found: inspect.Signature) -> None:
    op = OPERATIONS[name]
    defaults = [p.default for p in found.parameters.values() if p.default is not p.empty]
    if op.plain is None:
        assert [str(p).partition("=")[0] for p in found.parameters.values()] == list(op.parameters)
        assert tuple(defaults) == tuple(op.defaults)


def test_no_name_beside_the_contract() -> None:
    public = {name for name, op in OPERATIONS.items() if op.public}
    assert public <= {*NAMES, *ADDED, *OLD_NAMES}


def test_an_unknown_name_is_an_attribute_error(backend: Lab) -> None:
    assert not hasattr(backend.K, "no_such_function")
    with pytest.raises(AttributeError, match="no_such_function"):
        backend.K.no_such_function  # noqa: B018  # the look-up is the test


# --- the suite itself ------------------------------------------------------------------------


def _covered_by_programs() -> Iterator[str]:
    for program in PROGRAMS.values():
        yield from program.covers


def test_every_operation_has_cases() -> None:
    """Five cases for each operation with tensor operands; a program for every other function."""
    covered = set(_covered_by_programs())
    few = {n: len(r.cases) for n, r in RECORDS.items() if len(r.cases) < 5}
    assert not few, f"too few cases: {few}"
    without = set(OPERATIONS) - set(RECORDS) - covered - INTERNAL
    assert not without, f"operations without a case: {sorted(without)}"


def test_every_draw_has_programs() -> None:
    """Draws have no record, as their values are not fixed: three programs each instead."""
    covered = Counter(_covered_by_programs())
    draws = {name for name, op in OPERATIONS.items() if op.topic == "random"}
    few = {name: covered[name] for name in draws if covered[name] < 3}
    assert not few, f"too few programs: {few}"


def test_every_differentiable_operation_has_gradient_cases() -> None:
    """Three cases with a gradient; a record without any is of an operation that has none."""
    few, none = {}, set()
    for name, record in RECORDS.items():
        if not OPERATIONS[name].differentiable:
            continue
        count = sum(check == "gradient" for _, check, _ in derive(record))
        if not record.gradient:
            none.add(name)
        elif count < 3:
            few[name] = count
    assert not few, f"too few cases with a gradient: {few}"
    assert none <= FLAT, f"why have these no gradient? {sorted(none - FLAT)}"


def test_cases_are_of_declared_operations() -> None:
    assert set(RECORDS) <= set(OPERATIONS)
    assert set(_covered_by_programs()) <= set(OPERATIONS)


def test_every_record_has_an_oracle() -> None:
    without = [n for n, r in RECORDS.items() if not callable(r.oracle)]
    assert not without, f"records without an oracle: {without}"


def test_no_expected_failure_is_stale() -> None:
    """Entries of checks that exist fail by themselves once they pass; these name none at all."""
    known = suite.keys()
    stale = [key for key in EXPECTED if key[1:] not in known]
    assert not stale, f"no such check: {stale}"
