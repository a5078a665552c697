"""``kbridge check BACKEND``: run the suite, and say by topic what works and what does not."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter, defaultdict
from importlib import util
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def main(argv: list[str]) -> int:
    """Run the suite on the backend named in `argv`; 0 if all that it has is right."""
    parser = argparse.ArgumentParser(prog="kbridge check", description=__doc__)
    parser.add_argument("backend", metavar="BACKEND", help="a name, or the dotted path of a module")
    parser.add_argument(
        "-k", metavar="TEXT", help="only checks whose name holds this, as in pytest"
    )
    parser.add_argument("-n", metavar="N", help="run in N processes; needs pytest-xdist")
    parser.add_argument("-v", action="store_true", help="show every failure in full")
    given, rest = parser.parse_known_args(argv)
    if given.n and util.find_spec("xdist") is None:
        parser.error("-n needs pytest-xdist: pip install pytest-xdist")
    from kbridge import loader

    loader.load_backend(given.backend)  # an error of the loader's own, before anything runs
    report = Report(given.backend)
    options = ["-n", given.n, "--dist", "loadgroup"] if given.n else []
    options += ["-k", given.k] if given.k else []
    options += ["--tb=long" if given.v else "--tb=no"]
    options += ["-W", "error"] if given.backend in loader.BUILTIN else []
    status = pytest.main(
        [*_FIXED, str(HERE), "--backend", given.backend, *options, *rest], [report]
    )
    report.show()
    return int(status)


#: A run of its own: no configuration, cache or plug-in option of the folder it is started in.
_FIXED = (
    "-c",
    os.devnull,
    f"--rootdir={HERE}",
    "--import-mode=importlib",
    "-p",
    "no:cacheprovider",
    "-q",
    "--no-header",
    "--no-summary",
)


class Report:
    """Collects the outcome of each check; a plug-in of pytest."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.errors: dict[str, tuple[float, str]] = {}
        self.failures: list[tuple[str, str]] = []
        self.missing: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        facts = dict(report.user_properties)
        topic = facts.get("topic", "contract")
        outcome = "expected" if hasattr(report, "wasxfail") else report.outcome
        self.counts[topic][outcome] += 1
        name = re.sub(r"^.*::|@[^@\]]*$", "", report.nodeid)
        if outcome == "failed":
            self.failures.append((name, _first_line(report)))
        elif outcome == "skipped":
            found = re.search(r"missing: (?:K\.)?(\w+)", str(report.longrepr))
            self.missing |= {found[1]} if found else set()
        error = facts.get("error")
        if isinstance(error, float) and error > self.errors.get(topic, (0.0, ""))[0]:
            self.errors[topic] = (error, name)

    def pytest_internalerror(self, excrepr: Any) -> None:
        print(excrepr)

    def show(self) -> None:
        """Print the summary."""
        head = f"{'topic':12} {'checks':>7} {'passed':>7} {'failed':>7}"
        print(f"\n\n{head}  greatest part of the error allowed")
        for topic, counts in self.counts.items():
            error, name = self.errors.get(topic, (0.0, ""))
            shown = f"{error:.2f} in {name}" if name else "-"
            total, failed = sum(counts.values()), counts["failed"]
            print(f"{topic:12} {total:7} {counts['passed']:7} {failed:7}  {shown}")
        expected = sum(counts["expected"] for counts in self.counts.values())
        if expected:
            print(f"\n{expected} checks fail as expected_failures.py says.")
        if self.missing:
            print(
                f"\n{len(self.missing)} operations are missing: {', '.join(sorted(self.missing))}"
            )
        for name, line in self.failures:
            print(f"FAILED {name}\n       {line}")
        total = sum(sum(counts.values()) for counts in self.counts.values())
        state = (
            f"{len(self.failures)} of {total} checks failed" if self.failures else "all is right"
        )
        print(f"\nkbridge check {self.backend}: {state}.")


def _first_line(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return text.partition("\n")[0][:300]
