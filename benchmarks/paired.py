"""Timing two programs against each other on a noisy machine."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any


def loop(statement: str, names: dict[str, Any]) -> Callable[[int], float]:
    """A function that runs ``statement`` n times and returns the seconds it took."""
    source = (
        "def timed(n):\n    r = range(n)\n    start = clock()\n"
        f"    for _ in r:\n        {statement}\n    return clock() - start\n"
    )
    namespace = {"clock": time.perf_counter, **names}
    exec(compile(source, statement, "exec"), namespace)
    timed: Callable[[int], float] = namespace["timed"]
    return timed


def compare(
    statements: list[str], names: dict[str, Any], seconds: float = 0.4, rounds: int = 60
) -> list[tuple[float, float]]:
    """For each statement: its time per call, and its excess over the first, in seconds.

    The statements take turns in short blocks, so that a slow phase of the machine meets all of
    them. Both figures are of the fast tenth of the blocks: what disturbs a block only adds to it.
    """
    loops = [loop(statement, names) for statement in statements]
    for timed in loops:
        timed(50)
    once = min(timed(20) / 20 for timed in loops)
    count = max(20, int(seconds / rounds / len(loops) / max(once, 1e-8)))
    times: list[list[float]] = [[] for _ in loops]
    enabled = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            # Each round in another order: the one that comes after a slow one is not favoured.
            for index in range(len(loops)):
                which = (index + turn) % len(loops)
                times[which].append(loops[which](count) / count)
    finally:
        if enabled:
            gc.enable()
    fast = [statistics.quantiles(series, n=10)[0] for series in times]
    return [(seconds, seconds - fast[0]) for seconds in fast]
