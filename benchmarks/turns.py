"""Two programs against each other that cannot share a process: side by side, working in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engines import environment


class Process:
    """``benchmarks.module.function(*args)`` in a process of its own, which rests until it is asked.

    The function returns anything that JSON can hold, here ``first``, and what is to be timed.
    """

    def __init__(self, module: str, function: str, args: tuple[Any, ...], **env: str) -> None:
        self.home = tempfile.TemporaryDirectory()
        self.errors = Path(self.home.name, "stderr")
        self.title = f"{module}.{function}{args}"
        code = f"from benchmarks import {module}, turns; turns.serve(*{self.title})"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                env={**environment(self.home.name), **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            self.first = self._answer()
        except BaseException:
            self.close()
            raise

    def __call__(self, count: int) -> float:
        """The seconds of a call, the lower quartile of so many: others use the machine as well."""
        print(count, file=self.process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.title} failed:\n{self.errors.read_text()[-2000:]}")
        return json.loads(line)

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()
        self.home.cleanup()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def serve(first: Any, timed: Callable[[], Any]) -> None:
    """The other end of a :class:`Process`: answers numbers on standard input, until that ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer
    print(json.dumps(first), file=answers, flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            timed()
            times.append(time.perf_counter() - start)
        print(sorted(times)[len(times) // 4], file=answers, flush=True)


def ratios(
    base: Callable[[int], float], other: Callable[[int], float], seconds: float, rounds: int
) -> dict[str, float]:
    """How many times as long as a call of ``base`` one of ``other`` takes: median and quartiles.

    In each round one works for so many seconds, then the other; the next round has the other order.
    """
    once = max(base(5), other(5))
    count = max(5, int(seconds / once))
    times = []
    for number in range(rounds):
        if number % 2:
            late = other(count)
            times.append((base(count), late))
        else:
            times.append((base(count), other(count)))
    parts = sorted(b / a for a, b in times)
    quarter = len(parts) // 4
    return {
        "base": statistics.median(a for a, _ in times),
        "ratio": statistics.median(parts),
        "low": parts[quarter],
        "high": parts[-1 - quarter],
    }
