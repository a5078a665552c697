"""The NumPy backend beside Keras 2.3.1 itself; ``golden/__init__.py`` tells how that is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kbridge.conformance.contract import NAMES
from kbridge.conformance.golden import compared, differences
from kbridge.conformance.golden.programs import COVERS, PROGRAMS
from kbridge.conformance.lab import Lab
from kbridge.conformance.records import RECORDS

Property = Callable[[str, object], None]


def test_as_keras(golden: str, record_property: Property) -> None:
    """Each result and gradient is Keras's, but for what ``differences.py`` lists and explains."""
    record_property("topic", "golden")
    answered = {label: (run, known) for label, run, known in all_runs(golden) if known}
    found = [one for run, known in answered.values() for one in compared.differences(run, known)]
    allowed = [known for known in differences.KNOWN if known.place.partition("/")[0] == golden]
    needed = [next((k for k in allowed if k.explains(*one)), None) for one in found]
    wrong = [
        f"{one.label} [{one.kind}] {one.text}"
        for one, known in zip(found, needed, strict=True)
        if known is None
    ]
    assert not wrong, "\n".join(["unlike Keras 2.3.1, for no reason listed:", *wrong])
    # An entry for runs that have no golden value yet may wait for it.
    waiting = [label for label, _, known in all_runs(golden) if not known]
    idle = [
        k
        for k in allowed
        if k not in needed and k.kind != "memory" and not any(map(k.covers, waiting))
    ]
    assert not idle, "no difference any more; take it off differences.py:\n" + "\n".join(
        f"{k.place} [{k.kind}]" for k in idle
    )


def test_golden_values_are_there(backend: Lab, record_property: Property) -> None:
    """Each function that Keras has was called by it, or there is a reason why not.

    A case added since the file was made has no value yet: that is counted. ``make golden`` makes
    the file anew; without Python 3.7 at hand a case may wait for somebody who has it.
    """
    record_property("topic", "golden")
    if backend.name != "numpy":
        pytest.skip("golden values are for the NumPy backend, which checks all others")
    valued, waiting = set(), []
    for name in [*RECORDS, *PROGRAMS]:
        for label, _, known in all_runs(name):
            if known is None:
                waiting.append(label)
            elif any("values" in answer for answer in known.values() if isinstance(answer, dict)):
                valued |= {name, *COVERS.get(name, "").split()}
    if waiting:
        record_property("note", f"{len(waiting)} cases and programs wait for a golden value.")
    expected = set(NAMES) & set(compared.golden()["names"])
    without = expected - valued - set(differences.WITHOUT)
    assert not without, f"no golden value at all, run make golden: {sorted(without)}"
    covered = {name for names in COVERS.values() for name in names.split()}
    assert covered <= set(NAMES), f"not in the contract: {sorted(covered - set(NAMES))}"
    idle = set(differences.WITHOUT) & valued
    assert not idle, f"take it off differences.WITHOUT: {sorted(idle)}"


def test_differences_are_of_operations_that_exist() -> None:
    unknown = {k.place for k in differences.KNOWN} - {
        k.place for k in differences.KNOWN if k.place.partition("/")[0] in {*RECORDS, *PROGRAMS}
    }
    assert not unknown, f"no such operation or program: {sorted(unknown)}"


def all_runs(name: str) -> Iterator[tuple[str, compared.Run | str, dict[str, object] | None]]:
    """The label, the run and Keras's answers of all that is compared under a name."""
    for run in compared.runs(RECORDS[name]) if name in RECORDS else ():
        yield run.label, run, compared.answers(run)
    if name in PROGRAMS:
        yield name, name, compared.answers(name)
