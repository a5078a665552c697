"""Microseconds per node for building, compiling and evaluating graphs of 10,000 and 100,000.

While a graph is built, Python's collector of cycles walks all objects of the engine now and then.
How the time grows with the graph is therefore measured with the collector off as well.
"""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

from benchmarks.engines import child, installed
from benchmarks.report import Row

#: XLA and TensorFlow's graph take seconds for what is evaluated node by node elsewhere.
SIZES = {"numpy": (10_000, 100_000), "torch": (10_000, 100_000)}


#: The part of building a graph while the collector is off.
UNCOLLECTED = "build (collector off)"


def build(K: Any, nodes: int) -> tuple[Any, Any, float]:
    """A placeholder, the last of ``nodes`` nodes, and the seconds that they took."""
    x = y = K.placeholder((4,))
    start = time.perf_counter()
    for _ in range(nodes):
        y = y + 1.0
    return x, y, time.perf_counter() - start


def measure(engine: str, nodes: int, repeats: int) -> list[dict[str, float]]:
    """Seconds per node of each part, for each repetition."""
    import kbridge

    K = kbridge.load_backend(engine)
    found = []
    for _ in range(repeats):
        gc.disable()
        try:
            times = {UNCOLLECTED: build(K, nodes)[-1]}
        finally:
            gc.enable()
        x, y, times["build"] = build(K, nodes)
        built = time.perf_counter()
        if nodes <= 10_000 or engine in SIZES:
            f = K.function([x], [y])
            f([np.zeros(4)])
            compiled = time.perf_counter()
            result = f([np.zeros(4)])[0]
            times |= {"compile": compiled - built, "evaluate": time.perf_counter() - compiled}
            np.testing.assert_array_equal(result, np.full(4, nodes))
            del f
        del y
        found.append({part: seconds / nodes for part, seconds in times.items()})
    return found


def rows(quick: bool) -> list[Row]:
    found = []
    for engine in installed():
        few = child("graph", "measure", engine, engine, 10_000, 1 if quick else 5)
        many = child("graph", "measure", engine, engine, 100_000, 1 if quick else 3)
        for part in few[0]:
            small = _series(few, part)
            large = _series(many, part) if part in many[0] else []
            for nodes, series in ((10_000, small), (100_000, large)):
                if series:
                    row = Row("graph", engine, f"{part} {nodes:,} nodes", "", what="us per node")
                    row.ratio, row.low, row.high = _spread(series)
                    row.goal = 3.0 if part.startswith("build") else None
                    found.append(row)
            if large and part != "build":
                title = f"{part}: time of a node among 100,000"
                row = Row("growth of a graph", engine, title, "among 10,000")
                row.ratio = _spread(large)[0] / _spread(small)[0]
                row.low, row.high = large[0] / small[-1], large[-1] / small[0]
                row.base, row.unit, row.goal = _spread(small)[0] * 1e-6, "s", 1.5
                found.append(row)
    return found


def _series(found: list[dict[str, float]], part: str) -> list[float]:
    return sorted(1e6 * times[part] for times in found)


def _spread(series: list[Any]) -> tuple[float, float, float]:
    """Of sorted times the median, the least and the greatest."""
    return series[len(series) // 2], series[0], series[-1]
