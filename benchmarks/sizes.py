"""Batches of 60 sizes twice: what the second pass compiles anew, and what a call then takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import networks
from benchmarks.engines import child, installed
from benchmarks.report import Row

SIZES = range(1, 61)


def measure(engine: str) -> list[int]:
    """The number of compilations in the first and in the second pass."""
    import kbridge
    from kbridge.conformance.compilations import counted

    K = kbridge.load_backend(engine)
    step = networks.step(K, "mlp")
    x, y = networks.batch("mlp", max(SIZES))

    def once() -> Any:
        return [float(np.ravel(step([x[:n], y[:n]])[0])[0]) for n in SIZES]

    return [counted(K, once)[0] for _ in range(2)]


def rows(quick: bool) -> list[Row]:
    found = []
    for engine in installed():
        passes = child("sizes", "measure", engine, engine)
        for case, count, goal in zip(("first pass", "second pass"), passes, (None, 0), strict=True):
            row = Row("60 batch sizes", engine, f"MLP training step, {case}", "", goal=goal)
            row.ratio = row.low = row.high = count
            row.what = "compilations"
            found.append(row)
    return found
