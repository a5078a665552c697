"""``python -m benchmarks``: every measurement, or those that are named."""

from __future__ import annotations

import sys

from benchmarks import dispatch, imports

BENCHMARKS = {"dispatch": dispatch.main, "imports": imports.main}


def main(names: list[str]) -> int:
    """Run the named benchmarks, all of them by default."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
