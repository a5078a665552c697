"""What a third party's backend falls short of, in Markdown for its README.

``python -m kbridge.conformance.shortfall BACKEND`` prints it. It follows from the contract, from
what the backend has, and from its ``expected_failures.toml``, which is strict: where ``kbridge
check`` is right, so is this. A test of the backend's package can hold its README to it.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import Any, NamedTuple

from kbridge.binding import OPERATIONS
from kbridge.conformance import suite
from kbridge.conformance.lab import lab
from kbridge.symbolic import dtypes

#: Of more operations than this only the number is told.
_MOST = 12


class Failing(NamedTuple):
    """The checks that fail for one reason."""

    reason: str
    checks: list[str]
    operations: list[str]

    @property
    def is_of_dtype(self) -> bool:
        """Whether they fail for a dtype that is not there, in whatever operation."""
        return any(check.rpartition("-")[2] in dtypes.DTYPES for check in self.checks)


def table(backend: str) -> str:
    """How much of the contract passes, and a row for each reason why something does not."""
    K = lab(backend).K
    missing = [name for name in _public() if not hasattr(K, name)]
    failing = _failing(backend)
    partly = {name for each in failing if not each.is_of_dtype for name in each.operations}
    count, there = len(_public()), len(_public()) - len(missing)
    passing = there - len(partly.difference(missing))
    lines = [
        f"Of the contract's {count} operations {there} are there, and {passing} "
        f"({100 * passing // count}%) pass all checks"
        f"{' in the dtypes that are there' if any(e.is_of_dtype for e in failing) else ''}."
    ]
    if missing:
        lines[0] += f" Not there: {_names(missing)}."
    if failing:
        lines += ["", "| checks that fail | of | why |", "|---:|---|---|"]
    for each in failing:
        lines.append(f"| {len(each.checks)} | {_names(each.operations)} | {each.reason} |")
    return "\n".join(lines)


def _public() -> list[str]:
    return [name for name, op in OPERATIONS.items() if op.public]


def _failing(backend: str) -> list[Failing]:
    """What is expected to fail, by its reason."""
    found: dict[str, Failing] = {}
    items = (suite.check_items, suite.run_items, suite.refusal_items)
    for param in chain.from_iterable(make(backend, False) for make in items):
        for mark in param.marks:
            if mark.name == "xfail":
                each = found.setdefault(
                    mark.kwargs["reason"], Failing(mark.kwargs["reason"], [], [])
                )
                each.checks.append(param.id)
                new = set(_operations(param.values[0])).difference(each.operations)
                each.operations.extend(name for name in _public() if name in new)
    return list(found.values())


def _operations(item: Any) -> list[str]:
    if isinstance(item, suite.Check):
        return [item.record.name]
    return list(item.program.covers) if isinstance(item, suite.Run) else []


def _names(names: list[str]) -> str:
    if len(names) > _MOST:
        return f"{len(names)} operations"
    return ", ".join(f"`{name}`" for name in names) or "calls that must be refused"


if __name__ == "__main__":
    print(table(sys.argv[1]))
