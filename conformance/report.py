"""What a run of the suite has found: collected check by check, shown as text or as one document."""

from __future__ import annotations

import platform
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge import dispatchers
from kbridge.api.declare import OPERATIONS, Operation

#: How a check can end: "missing" is one of an operation that the backend lacks.
OUTCOMES = ("passed", "failed", "expected", "missing", "skipped")


_SPARSE = "sparse tensors"


class Report:
    """Collects the outcome of each check; a plug-in of pytest."""

    def __init__(self, backend: str, on_check: Callable[[str], None] = lambda outcome: None):
        self.backend = backend
        self.checks: list[dict[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.notes: list[str] = []
        self.total = 0
        self.on_check = on_check
        self.begun = time.monotonic()

    # --- collecting ------------------------------------------------------------------------------

    def pytest_collection_finish(self, session: Any) -> None:
        self.total = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self.total = len(ids)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._add(report, "failed", {})

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        outcome = "expected" if hasattr(report, "wasxfail") else report.outcome
        facts = dict(report.user_properties)
        if outcome == "skipped":
            why = str(report.longrepr[2]).removeprefix("Skipped: ")
            if why.startswith("missing: "):
                outcome, facts["missing"] = "missing", _missing_name(why)
        self._add(report, outcome, facts)

    def pytest_internalerror(self, excrepr: Any) -> None:
        print(excrepr)

    def _add(self, report: Any, outcome: str, facts: dict[str, Any]) -> None:
        test, _, key = re.sub(r"^.*::|@[^@\]]*$", "", report.nodeid).rstrip("]").partition("[")
        plain = test in ("test_op", "test_program", "test_fault")  # these names say it all
        name = key if plain else f"{test}[{key}]" if key else test
        if "note" in facts:
            self.notes.append(facts.pop("note"))
        check = {
            "name": name,
            "topic": facts.pop("topic", "contract"),
            "operation": facts.pop("operation", ""),
            "kind": facts.pop("kind", ""),
            "outcome": outcome,
            "seconds": round(getattr(report, "duration", 0.0), 4),
            **facts,
        }
        if outcome == "failed":
            check["message"] = _message(report)
            self.texts[name] = report.longreprtext
        elif outcome == "expected":
            check["reason"] = report.wasxfail.removeprefix("reason: ")
        self.checks.append(check)
        self.on_check(outcome)

    # --- what follows from it --------------------------------------------------------------------

    def document(self, status: int) -> dict[str, Any]:
        """All that was found, of plain numbers, texts, lists and dictionaries."""
        topics: dict[str, list[dict[str, Any]]] = {}
        for check in self.checks:
            topics.setdefault(check["topic"], []).append(check)
        return {
            "backend": self.backend,
            "kbridge": kbridge.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "seconds": round(time.monotonic() - self.begun, 1),
            "status": status,
            **_summary(self.checks),
            "topics": [{"topic": name, **_summary(found)} for name, found in topics.items()],
            "missing_operations": self.missing(),
            "smallest_failures": self.smallest(),
            "notes": self.notes + self._sparse(),
            "checks": self.checks,
        }

    def missing(self) -> list[dict[str, Any]]:
        """The operations that the backend lacks, in the order of the contract."""
        names = {check["missing"] for check in self.checks if "missing" in check}
        return [
            {
                "operation": name,
                "topic": op.topic,
                "public": op.public,
                "primitive": op.composition is None,
            }
            for name, op in OPERATIONS.items()
            if name in names
        ]

    def _sparse(self) -> list[str]:
        """What is said where the engine has no sparse matrices, which no operation stands for."""
        count = sum(check.get("missing") == _SPARSE for check in self.checks)
        return [f"{count} checks need sparse tensors, which it has not."] if count else []

    def smallest(self) -> list[dict[str, Any]]:
        """For each operation with failures, the failing case with the fewest elements."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for check in self.checks:
            if check["outcome"] == "failed":
                groups.setdefault(check["operation"] or check["name"], []).append(check)
        ran = Counter(check["operation"] for check in self.checks)
        parts = {n: {*_parts(OPERATIONS[n])} & {*groups} for n in groups if n in OPERATIONS}
        chosen = []
        for name, failed in groups.items():
            smallest = min(failed, key=lambda check: check.get("given", {}).get("elements", 1e9))
            chosen.append(
                {
                    "operation": name,
                    "failed": len(failed),
                    "checks": ran[name] if smallest["operation"] else len(failed),
                    "names": [check["name"] for check in failed],
                    "name": smallest["name"],
                    "message": smallest["message"],
                    "made_with": sorted(parts.get(name, ())),
                    **smallest.get("given", {}),
                }
            )
        return chosen


def _parts(op: Operation) -> set[str]:
    """The operations that a composition is written in, none for a primitive."""
    return dispatchers.parts(op.composition) if op.composition else set()


def _summary(checks: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of outcomes, and the greatest error as a part of the one allowed."""
    counts = Counter(check["outcome"] for check in checks)
    worst = max(checks, key=lambda check: check.get("error") or 0.0, default={})
    error = worst.get("error") or 0.0
    return {
        "total": len(checks),
        **{outcome: counts[outcome] for outcome in OUTCOMES},
        "greatest_error": {"part": error, "check": worst["name"]} if error else None,
    }


def _missing_name(why: str) -> str:
    """The operation that is missing."""
    found = re.match(r"missing: (?:K\.)?(\w+)(?:$| is not available)", why)
    return found[1] if found else _SPARSE


def _message(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash else report.longrepr)
    # The class's name alone, and none where the text is of a comparison.
    return re.sub(r"^(?:kbridge[\w.]*\.)?(?:(?:Mismatch|AssertionError): )?", "", text)


# --- as text -------------------------------------------------------------------------------------


def text(found: dict[str, Any]) -> str:
    """The summary that the command prints."""
    lines = [f"{'topic':13} {'checks':>7} {'passed':>7} {'failed':>7} {'missing':>8}"]
    lines[0] += "  greatest part of the error allowed"
    for row in [*found["topics"], {"topic": "all", **found}]:
        worst = row["greatest_error"]
        counts = f"{row['total']:7} {row['passed']:7} {row['failed']:7} {row['missing']:8}"
        end = f"{worst['part']:.2f} in {worst['check']}" if worst else "-"
        lines.append(f"{row['topic']:13} {counts}  {end}")
    if found["expected"]:
        lines += ["", f"{found['expected']} checks fail as they are expected to."]
    for note in found["notes"]:
        lines += ["", note]
    lines += _missing_lines(found["missing_operations"])
    for failure in found["smallest_failures"]:
        lines += ["", *_failure_lines(failure)]
    failed = found["failed"]
    if failed:
        state = f"{failed} of {found['total']} checks failed"
    elif not found["total"]:
        state = "no check was run"
    else:
        state = "all is right" + (", as far as it goes" if found["missing"] else "")
    return "\n".join([*lines, "", f"kbridge check {found['backend']}: {state}."])


def _missing_lines(missing: list[dict[str, Any]]) -> list[str]:
    """What is missing, in the order in which to write it."""
    lines = []
    for public, primitive, what in (
        (True, True, "operations are missing"),
        (False, True, "private operations are missing, which others are made of"),
        (True, False, "compositions of these are missing, and come with them"),
    ):
        topics: dict[str, list[str]] = {}
        for each in missing:
            if each["public"] is public and each["primitive"] is primitive:
                topics.setdefault(each["topic"], []).append(each["operation"])
        if topics:
            lines += ["", f"{sum(map(len, topics.values()))} {what}:"]
            lines += [f"  {topic:12} {', '.join(names)}" for topic, names in topics.items()]
    return lines


def _failure_lines(failure: dict[str, Any]) -> list[str]:
    more = failure["failed"] - 1
    others = f" ({failure['failed']} of {failure['checks']} checks of it fail)" if more else ""
    lines = [f"FAILED {failure['name']}{others}"]
    if "call" in failure:
        lines += [f"       {failure['call']}", *(f"         {x}" for x in failure["operands"])]
    shown = failure["message"].splitlines()[:4]
    lines += [f"       {line[:300]}" for line in shown]
    if more:
        names = [name for name in failure["names"] if name != failure["name"]]
        rest = f", and {len(names) - 6} more" if len(names) > 6 else ""
        lines.append(f"       also {', '.join(names[:6])}{rest}")
    if failure["made_with"]:
        lines.append(f"       made with {', '.join(failure['made_with'])}: see there first")
    return lines
