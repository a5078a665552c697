"""``python -m kbridge.conformance.golden export | merge | missing | differ``."""

from __future__ import annotations

import sys

from kbridge.conformance import cases  # noqa: F401  # importing it declares them
from kbridge.conformance.golden import compared, packed
from kbridge.conformance.golden.programs import PROGRAMS
from kbridge.conformance.records import RECORDS


def export(path: str) -> None:
    """Write what Keras is given to a file."""
    packed.save(path, compared.exported())


def merge(tensorflow: str, theano: str) -> None:
    """Make the file of golden values of Keras's answers in two files."""
    packed.save(str(compared.FILE), compared.merged(packed.load(tensorflow), packed.load(theano)))
    count, size = len(compared.golden()["answers"]), compared.FILE.stat().st_size
    print(f"{compared.FILE}: {count} answers, {size // 1024} KiB")


def missing() -> None:
    """Print the runs and programs that have no golden value."""
    for record in RECORDS.values():
        for run in compared.runs(record):
            if compared.answers(run) is None:
                print(run.label)
    for name in PROGRAMS:
        if compared.answers(name) is None:
            print(name)


def differ(*names: str) -> None:
    """Print in what the NumPy backend and Keras differ, everywhere or in what is named."""
    runs: list[compared.Run | str] = []
    for name in names or [*RECORDS, *PROGRAMS]:
        runs += compared.runs(RECORDS[name]) if name in RECORDS else []
        runs += [name] if name in PROGRAMS else []
    for run in runs:
        known = compared.answers(run)
        for found in compared.differences(run, known) if known else ():
            print(f"{found.label} [{found.kind}] {found.text}")


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or [""]
    commands = {"export": export, "merge": merge, "missing": missing, "differ": differ}
    if command not in commands:
        sys.exit(__doc__)
    commands[command](*arguments)
