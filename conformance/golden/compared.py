"""The cases as they are given to Keras, its answers, and how kbridge's results differ from them."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kbridge.conformance import checks, suite
from kbridge.conformance.compare import Mismatch, compare, same
from kbridge.conformance.contract import NAMES, OLD_NAMES
from kbridge.conformance.golden import packed, programs
from kbridge.conformance.golden.differences import TENSORFLOW_ALONE
from kbridge.conformance.golden.tracing import Untraceable, traced
from kbridge.conformance.lab import lab
from kbridge.conformance.records import RECORDS, Case, Record
from kbridge.conformance.tolerance import gradient_tolerance, tolerance

FILE = Path(__file__).with_name("values.npz")
#: The dtypes of a record that Keras 2.3.1 has too and a file of NumPy's can hold.
KERAS_DTYPES = ("float16", "float64", "int32", "int64", "int8", "uint8", "bool")

Answer = dict[str, Any]
"""``{"values": [...]}`` or ``{"error": "..."}``."""


# --- what is asked -----------------------------------------------------------------------------


class Run(NamedTuple):
    """One run of a case: its operands in one dtype, and weights where it is for the gradient."""

    record: Record
    case: Case
    name: str
    operands: list[Any]
    weights: list[Any] | None

    @property
    def label(self) -> str:
        return f"{self.record.name}/{self.case.id}/{self.name}"

    @property
    def content(self) -> dict[str, Any]:
        """As it is given to Keras."""
        return {
            "label": self.label,
            "operands": self.operands,
            "weights": self.weights,
            "sources": checks.float_positions(self.case) if self.weights else [],
        }

    @property
    def digest(self) -> str:
        """Changes with everything that Keras's answer depends on."""
        return packed.digest([steps(self.record, self.case), self.content])


def runs(record: Record) -> Iterator[Run]:
    """The runs of a record's cases: as recorded, in other dtypes, and for the gradient."""
    for case_id, check, _ in checks.derive(record):
        each = record.cases[case_id]
        if check in ("recorded", "gradient", *KERAS_DTYPES):
            dtype = {"recorded": "", "gradient": "float64"}.get(check, check)
            operands = lab("numpy").operands(record, each, dtype)
            weights = checks.weights(record, each, operands) if check == "gradient" else None
            yield Run(record, each, check, operands, weights)


def steps(record: Record, each: Case) -> packed.Steps | None:
    """The calls of a case; None where it is more than calls."""

    def call(K: Any, *operands: Any) -> Any:
        args, kwargs = each.filled(list(operands))
        return record.function(K, each)(*args, **kwargs)

    try:
        return traced(call, len(each.samples()))
    except Untraceable:
        return None


def exported() -> dict[str, Any]:
    """All that Keras is given: cases, each with its steps and runs, and the contract's names."""
    names = [*NAMES, *OLD_NAMES]
    digests = {name: program_digest(name) for name in programs.PROGRAMS}
    digests["names"] = packed.digest(names)
    found = []
    for record in RECORDS.values():
        grouped: dict[str, list[Run]] = {}
        for run in runs(record):
            grouped.setdefault(run.case.id, []).append(run)
        for several in grouped.values():
            calls = steps(record, several[0].case)
            if calls is not None:
                given = [run.content for run in several]
                found.append({"operation": record.name, "steps": calls, "runs": given})
                digests.update((run.label, run.digest) for run in several)
    return {"cases": found, "names": names, "digests": digests}


def program_digest(name: str) -> str:
    """Changes with the text of a program, and of the functions and arrays that it names."""
    return packed.digest(list(_content(programs.PROGRAMS[name])))


def _content(function: Any) -> Iterator[Any]:
    text = inspect.getsource(function)
    yield re.sub(r"\s+", " ", text)
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    for part in (function.__globals__.get(name) for name in sorted(names - {"program"})):
        if inspect.isfunction(part):
            yield from _content(part)
        elif isinstance(part, np.ndarray):
            yield part


# --- the file of answers -----------------------------------------------------------------------


@functools.cache
def golden() -> dict[str, Any]:
    """The file: the names that Keras has, and its answers for each run and each program."""
    loaded: dict[str, Any] = packed.load(str(FILE))
    return loaded


def answers(run: Run | str) -> dict[str, Answer] | None:
    """Keras's answers for a run or a program, None where the file has none for what it is now."""
    label, digest = (run, program_digest(run)) if isinstance(run, str) else (run.label, run.digest)
    found = golden()["answers"].get(label)
    return found if found and found["digest"] == digest else None


def merged(tensorflow: dict[str, Any], theano: dict[str, Any]) -> dict[str, Any]:
    """What the file holds: TensorFlow's answers, and Theano's where those are errors or differ."""
    names = {*tensorflow.pop("names")["values"], *theano.pop("names")["values"]}
    runs_: list[Run | str] = [run for record in RECORDS.values() for run in runs(record)]
    found = {}
    for run in [*runs_, *programs.PROGRAMS]:
        label = run if isinstance(run, str) else run.label
        if label in tensorflow:  # else the case is more than calls
            first, second = tensorflow[label], theano[label]
            found[label] = {"digest": first.pop("digest"), "tensorflow": first}
            del second["digest"]
            if label.partition("/")[0] in TENSORFLOW_ALONE:
                continue
            if "error" in first or ("values" in second and any(_unlike(run, second, first))):
                found[label]["theano"] = second
    return {"names": sorted(names), "answers": found}


# --- differences -------------------------------------------------------------------------------


class Difference(NamedTuple):
    """One way in which kbridge and Keras differ on a run or program.

    ``kind`` is "value", "dtype", "shape" or "count" (of results). It is "theano" where kbridge's
    value is Theano's and TensorFlow's is another, "refused" where both raise, "error" where only
    kbridge does.
    """

    label: str
    kind: str
    text: str


def differences(run: Run | str, known: dict[str, Answer]) -> Iterator[Difference]:
    """How the NumPy backend's result of a run or program differs from Keras's answers."""
    label = run if isinstance(run, str) else run.label
    first, second = known["tensorflow"], known.get("theano", {})
    try:
        ours = _answer(run)
    except Exception as error:
        yield Difference(label, "error", f"{type(error).__name__}: {error}")
        return
    if "error" in first and "values" not in second:
        if "'keras.backend' has no attribute" not in first["error"]:
            errors = [answer["error"] for answer in (first, second) if answer]
            yield Difference(label, "refused", " | ".join(errors))
        return
    reference = second if "error" in first else first
    for kind, text in _unlike(run, ours, reference):
        others = _unlike(run, ours, second) if second and reference is first else [("value", "")]
        agrees = kind != "dtype" and all(other == "dtype" for other, _ in others)
        yield Difference(label, "theano" if agrees else kind, text)


def _answer(run: Run | str) -> Answer:
    """The NumPy backend's results."""
    numbers = lab("numpy")
    if isinstance(run, Run):
        return {"values": checks.outcome(numbers, run.record, run.case, run.name).values}
    suite.reset()
    with suite.fresh_session(numbers.K):
        return {"values": [programs.PROGRAMS[run](numbers.K)]}


def _unlike(run: Run | str, ours: Answer, theirs: Answer) -> Iterator[tuple[str, str]]:
    """The kind and the text of each difference between two answers."""
    if isinstance(run, str):
        try:
            same("", ours["values"], theirs["values"], 2 * tolerance("float32", loose=True))
        except Mismatch as mismatch:
            yield "value", str(mismatch)
        return
    if len(ours["values"]) != len(theirs["values"]):
        yield "count", f"{len(ours['values'])} results, in Keras {len(theirs['values'])}"
        return
    for one, other in zip(ours["values"], theirs["values"], strict=True):
        if one is None or other is None:
            if one is not other:
                yield "value", f"{one!r:.60}, in Keras {other!r:.60}"
            continue
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype != other.dtype and run.name != "gradient":
            yield "dtype", f"{one.dtype}, in Keras {other.dtype}"
        if one.shape != other.shape:
            yield "shape", f"{one.shape}, in Keras {other.shape}"
            continue
        try:
            compare("", one, other, tolerance=_tolerance(run, one, other))
        except Mismatch as mismatch:
            yield "value", str(mismatch).lstrip(": ").replace("should be", "in Keras")


def _tolerance(run: Run, one: Any, other: Any) -> float:
    """Twice what each may be away from the exact value."""
    if run.name == "gradient":  # which Keras computes in float32 where it refuses float64
        short = "float32" in (str(one.dtype), str(other.dtype))
        return 2 * (tolerance("float32", loose=True) if short else gradient_tolerance())
    if run.record.exact:
        return 0.0
    return 2 * max(tolerance(str(array.dtype), run.case.loose) for array in (one, other))
