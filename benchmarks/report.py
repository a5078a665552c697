"""The rows that benchmarks give, and the table and the file made of them."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.reasons import reason

DOCS = Path(__file__).parents[1] / "docs"


@dataclasses.dataclass
class Row:
    """One measure: a ratio, or a number in the unit of ``what``, with its spread and its goal.

    ``low`` and ``high`` are the quartiles, or the extremes where it was measured a few times.
    """

    topic: str
    engine: str
    case: str
    against: str
    ratio: float = 0.0
    low: float = 0.0
    high: float = 0.0
    #: What the value is compared with, in ``unit``.
    base: float = 0.0
    unit: str = "s"
    goal: float | None = None
    #: What the value is: a ratio, or a difference or count in this unit.
    what: str = "ratio"
    #: Why it could not be measured here, and what to do; "" where it was.
    absent: str = ""

    @property
    def missed(self) -> bool:
        return not self.absent and self.goal is not None and self.ratio > self.goal

    def cells(self) -> list[str]:
        goal = "" if self.goal is None else f"{self.goal:g}"
        if self.absent:
            return [self.engine, self.case, self.against, "", "not measured", "", goal, self.absent]
        form = "{:.0f}" if self.what == "compilations" else "{:.2f}"
        spread = f"{form.format(self.low)} to {form.format(self.high)}"
        value = form.format(self.ratio)
        if self.missed:
            value = f"**{value}**"
        shown = quantity(self.base, self.unit)
        return [self.engine, self.case, self.against, shown, value, spread, goal, self.reason()]

    def reason(self) -> str:
        """Why it misses its goal; "" where it does not."""
        return reason(self.topic, self.engine, self.case, self.against) if self.missed else ""


def quantity(value: float, unit: str) -> str:
    """``value`` as a reader takes it in."""
    if not value:
        return ""
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB"
    for factor, name in ((1e-6, "us"), (1e-3, "ms"), (1.0, "s")):
        if value < 1000 * factor:
            return f"{value / factor:.3g} {name}"
    return f"{value:.0f} s"


def machine() -> dict[str, Any]:
    """What the numbers were measured on, and with."""
    model = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        pages = 0
    versions = {}
    names = ("numpy", "torch", "jax", "tensorflow", "tensorflow-cpu", "keras")
    for name in (*names, "autoray", "tensorly"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def table(rows: Sequence[Row]) -> str:
    """The rows of one topic as a Markdown table."""
    what = rows[0].what
    head = ["engine", "case", "against", "which takes", what, "spread", "goal", "why it misses"]
    lines = [head, ["---"] * len(head), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


INTRODUCTION = """# Benchmarks

Each number compares kbridge with the engine itself, in turns in one process or in paired processes,
and is the median of many repetitions; the spread is from the lower to the upper quartile, of
processes from the least to the greatest. `kbridge bench` measures all anew and writes this page
and `benchmarks.json`; [Performance](performance.md) says where the time goes.
"""


def write(rows: Sequence[Row], folder: Path = DOCS) -> None:
    """Write ``benchmarks.md`` and ``benchmarks.json``."""
    about = machine()
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    parts = [
        INTRODUCTION,
        f"Machine: {about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB, "
        f"{about['system']}; Python {about['python']}, {versions}.\n",
    ]
    for topic in dict.fromkeys(row.topic for row in rows):
        of_topic = [row for row in rows if row.topic == topic]
        parts.append(f"## {topic[0].upper()}{topic[1:]}\n\n{table(of_topic)}\n")
    (folder / "benchmarks.md").write_text("\n".join(parts))
    found = {
        "machine": about,
        "rows": [{**dataclasses.asdict(row), "reason": row.reason()} for row in rows],
    }
    (folder / "benchmarks.json").write_text(json.dumps(found, indent=1) + "\n")
