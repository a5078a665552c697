"""``kbridge check BACKEND``: run the suite, and say by topic what works and what does not.

The exit status is 0 if all that the backend has is right, 1 if a check failed, 2 if the run was
interrupted, 4 if it cannot begin, 5 if no check has the name asked for. What is missing is no
failure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from kbridge.conformance import page
from kbridge.conformance.report import Report, text

HERE = Path(__file__).parent


def main(argv: list[str]) -> int:
    """Run the suite on the backend named in `argv`; 0 if all that it has is right."""
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="kbridge check", description=about, epilog=more)
    parser.add_argument("backend", metavar="BACKEND", help="a name, or the dotted path of a module")
    parser.add_argument(
        "-k", metavar="TEXT", help="only checks whose name holds this, as in pytest"
    )
    parser.add_argument("-n", metavar="N", help="run in N processes; needs pytest-xdist")
    parser.add_argument("-v", action="store_true", help="show every failure in full")
    parser.add_argument("--json", metavar="FILE", help="write all outcomes there, as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page with them there")
    parser.add_argument(
        "--expected",
        metavar="FILE",
        help="what is expected to fail, in TOML, with reasons; by default expected_failures.toml "
        "in the package of the backend's module",
    )
    given, rest = parser.parse_known_args(argv)
    if given.n and util.find_spec("xdist") is None:
        parser.error("-n needs pytest-xdist: pip install pytest-xdist")
    for file in filter(None, (given.json, given.html)):
        if not Path(file).parent.is_dir():
            parser.error(f"there is no folder {str(Path(file).parent)!r} for {file!r}")
    from kbridge import loader

    loader.load_backend(given.backend)  # an error of the loader's own, before anything runs
    options = ["-n", given.n] if given.n else []
    options += ["-k", given.k] if given.k else []
    options += ["--expected", str(Path(given.expected).absolute())] if given.expected else []
    options += ["--tb=long" if given.v else "--tb=short"]
    options += ["-W", "error"] if given.backend in loader.BUILTIN else []
    with progress() as bar:
        report = Report(given.backend, bar.step)
        bar.report = report
        status = pytest.main(
            [*_FIXED, str(HERE), "--backend", given.backend, *options, *rest], [report, bar]
        )
    if status == pytest.ExitCode.USAGE_ERROR:
        return int(status)  # pytest has said what is wrong
    found = report.document(int(status))
    if given.v:
        for name, failure in report.texts.items():
            print(f"\n--- {name}\n{failure}")
    print(f"\n{text(found)}")
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if given.html:
        Path(given.html).write_text(page.render(found), "utf-8")
    return int(status)


#: A run of its own: no configuration, cache or plug-in option of the folder it is started in.
_FIXED = (
    "-c",
    os.devnull,
    f"--rootdir={HERE}",
    "--import-mode=importlib",
    "-p",
    "no:cacheprovider",
)


# --- progress ------------------------------------------------------------------------------------


def progress() -> Dots:
    """A bar on a terminal, if rich is installed; else dots, one for each hundredth."""
    return Bar() if sys.stdout.isatty() and util.find_spec("rich") else Dots()


class Dots:
    """One dot for each hundredth of the checks, and an F where one failed; a plug-in of pytest."""

    report: Report

    def __init__(self) -> None:
        self.done = self.shown = 0
        self.failed = False

    def __enter__(self) -> Dots:
        return self

    def __exit__(self, *exception: object) -> None:
        print(flush=True)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: Any) -> None:
        """Take the place of pytest's own reporter."""
        config.pluginmanager.unregister(name="terminalreporter")

    def step(self, outcome: str) -> None:
        """One more check is done."""
        self.done += 1
        self.failed |= outcome == "failed"
        due = 100 * self.done // max(self.report.total, self.done)
        if due > self.shown:
            print("F" if self.failed else ".", end="", flush=True)
            self.shown, self.failed = due, False


class Bar(Dots):
    """A progress bar with counts, by rich."""

    def __enter__(self) -> Bar:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        self.failures = 0
        self.progress = Progress(
            TextColumn("checks"),
            BarColumn(),
            MofNCompleteColumn(),
            Remaining(),
            TextColumn("{task.description}"),
            transient=True,
        )
        self.task = self.progress.add_task("collecting", total=None)
        self.progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.progress.stop()

    def step(self, outcome: str) -> None:
        """One more check is done."""
        self.failures += outcome == "failed"
        shown = f"[red]{self.failures} failed[/]" if self.failures else ""
        total = self.report.total or None
        self.progress.update(self.task, advance=1, total=total, description=shown)
