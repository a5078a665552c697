"""``python -m benchmarks``: every measurement, or those that are named; see ``--help``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from benchmarks import (
    calls,
    convolution,
    dispatch,
    graph,
    imports,
    keras2,
    report,
    sizes,
    training,
)

BENCHMARKS: dict[str, Callable[[bool], list[report.Row]]] = {
    "dispatch": dispatch.rows,
    "imports": imports.rows,
    "calls": calls.rows,
    "training": training.rows,
    "keras2": keras2.rows,
    "graph": graph.rows,
    "convolution": convolution.rows,
    "sizes": sizes.rows,
}


def main(argv: list[str]) -> int:
    """Run the named benchmarks; all of them write docs/benchmarks.md and .json."""
    parser = argparse.ArgumentParser(prog="kbridge bench", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions; nothing is written"
    )
    chosen = parser.parse_args(argv)
    unknown = [name for name in chosen.names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    found = []
    for name in chosen.names or BENCHMARKS:
        start = time.perf_counter()
        rows = BENCHMARKS[name](chosen.quick)
        for topic in dict.fromkeys(row.topic for row in rows):
            print(f"\n{topic}\n{report.table([row for row in rows if row.topic == topic])}")
        print(f"({name}: {time.perf_counter() - start:.0f} s)", flush=True)
        found += rows
    if not chosen.names and not chosen.quick:
        report.write(found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
