"""Timing programs against each other on a noisy machine."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any


def interleaved(
    statements: Sequence[str], names: dict[str, Any]
) -> Callable[[int], list[list[int]]]:
    """A function that runs the statements in turns n times, each call timed by itself.

    It returns the nanoseconds of every call, one list per statement.
    """
    # Underscores keep these names apart from those that the statements use.
    series = [f"_series{index}" for index in range(len(statements))]
    lines = ["def timed(_n):", *(f"    {name} = [0] * _n" for name in series)]
    lines.append("    for _i in range(_n):")
    for name, statement in zip(series, statements, strict=True):
        lines += [
            "        _start = clock()",
            f"        {statement}",
            f"        {name}[_i] = clock() - _start",
        ]
    lines.append(f"    return [{', '.join(series)}]")
    namespace = {"clock": time.perf_counter_ns, **names}
    exec(compile("\n".join(lines), "<benchmark>", "exec"), namespace)
    timed: Callable[[int], list[list[int]]] = namespace["timed"]
    return timed


def compare(
    statements: list[str], names: dict[str, Any], seconds: float = 0.6
) -> list[tuple[float, float]]:
    """For each statement: its median time per call, and its excess over the first, in seconds.

    The statements take turns call by call, in one order and in the other, so that whatever slows
    the machine down meets all of them, and the cost of the clock is in all of them.
    """
    orders = (interleaved(statements, names), interleaved(statements[::-1], names))
    once = sum(statistics.median(series) for series in orders[0](200)) * 1e-9
    count = max(200, int(seconds / 2 / max(once, 1e-7)))
    enabled = gc.isenabled()
    gc.disable()
    try:
        forward, backward = orders[0](count), orders[1](count)[::-1]
    finally:
        if enabled:
            gc.enable()
    medians = [
        (statistics.median(a) + statistics.median(b)) / 2e9
        for a, b in zip(forward, backward, strict=True)
    ]
    return [(median, median - medians[0]) for median in medians]


def ratios(
    statements: list[str], names: dict[str, Any], seconds: float = 0.6
) -> list[dict[str, float]]:
    """How many times as long as the first statement each takes: the median, and the quartiles.

    The statements take turns call by call, in one order and in the other; each call is divided by
    the call of the first that stands beside it. ``base`` are the seconds of the first.
    """
    orders = (interleaved(statements, names), interleaved(statements[::-1], names))
    once = sum(statistics.median(series) for series in orders[0](3)) * 1e-9
    count = max(3, int(seconds / 2 / max(once, 1e-7)))
    for timed in orders:
        timed(min(count, 50))
    enabled = gc.isenabled()
    gc.disable()
    try:
        forward, backward = orders[0](count), orders[1](count)[::-1]
    finally:
        if enabled:
            gc.enable()
    series = [a + b for a, b in zip(forward, backward, strict=True)]
    base = statistics.median(series[0])
    found = []
    for times in series:
        parts = sorted(b / a for a, b in zip(series[0], times, strict=True))
        quarter = len(parts) // 4
        found.append(
            {
                "base": base * 1e-9,
                "ratio": statistics.median(times) / base,
                "low": parts[quarter],
                "high": parts[-1 - quarter],
            }
        )
    return found
