"""One training step with K functions, beside the same by hand and by Keras 3.

On NumPy, where nobody writes gradients by hand, it stands beside PyTorch on one thread.
"""

from __future__ import annotations

import importlib
import importlib.util
import resource
import statistics
from typing import Any

import numpy as np

from benchmarks import networks
from benchmarks.engines import child, installed
from benchmarks.paired import ratios
from benchmarks.report import Row

#: Goal against the step by hand.
GOALS = {"jax": 1.03, "tensorflow": 1.03, "torch": 1.05}


def measure(engine: str, model: str, seconds: float) -> dict[str, Any]:
    """Ratios to the step by hand: K's, and Keras 3's where it is installed."""
    import kbridge

    K = kbridge.load_backend(engine)
    if engine == "numpy":
        importlib.import_module("torch").set_num_threads(1)
    by_hand = importlib.import_module(f"benchmarks.hand.{'torch' if engine == 'numpy' else engine}")
    x, y = networks.batch(model)
    names: dict[str, Any] = {"x": x, "y": y, "own": networks.step(K, model)}
    hands = [by_hand.step(model)]
    if (engine, model) == ("jax", "cnn"):
        hands.append(by_hand.step(model, first=True))
    losses: list[list[float]] = []
    for hand in (*hands, lambda x, y: names["own"]([x, y])[0]):  # the same loss, step by step
        losses.append([float(hand(x, y)) for _ in range(3)])
        np.testing.assert_allclose(losses[-1], losses[0], rtol=1e-3)
    names.update({f"hand{i}": hand for i, hand in enumerate(hands)})
    statements = [f"hand{i}(x, y)" for i in range(len(hands))] + ["own([x, y])"]
    if engine != "numpy" and importlib.util.find_spec("keras") is not None:
        names["keras"] = networks.keras_step(model)
        statements.append("keras(x, y)")
    best, *rest = ratios(statements, names, seconds)
    if len(hands) > 1 and rest[0]["ratio"] < 1:  # the other layout is the better one
        best, *rest = ratios([statements[1], *statements[2:]], names, seconds)
    elif len(hands) > 1:
        rest = rest[1:]
    found = {"base": best["base"], "own": rest[0]}
    if len(rest) > 1:
        found["keras"] = rest[1]
    return found


def memory(engine: str, model: str, by: str) -> float:
    """Bytes that this process needs more, at its peak, once a step is built and run."""
    import kbridge

    K = kbridge.load_backend(engine)
    hand = importlib.import_module(f"benchmarks.hand.{'torch' if engine == 'numpy' else engine}")
    x, y = networks.batch(model)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step = networks.step(K, model) if by == "own" else hand.step(model)
    for _ in range(10):
        step([x, y]) if by == "own" else step(x, y)
    return 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def rows(quick: bool) -> list[Row]:
    found = []
    for engine in installed():
        against = "PyTorch by hand, one thread" if engine == "numpy" else "by hand"
        for model, title in networks.TITLES.items():
            got = child("training", "measure", engine, engine, model, 0.5 if quick else 2.0)
            goal = 3.0 if (engine, model) == ("numpy", "cnn") else GOALS.get(engine)
            own = got["own"]
            found.append(Row("training step", engine, title, against, goal=goal, **own))
            if "keras" in got:
                slower = got["keras"]["ratio"]
                shown = {
                    key: own[other] / slower
                    for key, other in (("ratio", "ratio"), ("low", "low"), ("high", "high"))
                }
                goal = 0.9 if slower > 1 else None
                row = Row("training step", engine, title, "Keras 3", goal=goal, **shown)
                row.base = got["base"] * slower
                found.append(row)
        for model in () if engine == "numpy" else ("cnn",):
            pairs = [
                [child("training", "memory", engine, engine, model, by) for by in ("hand", "own")]
                for _ in range(1 if quick else 5)
            ]
            part = sorted(own / hand for hand, own in pairs)
            row = Row("peak memory of a training step", engine, networks.TITLES[model], "by hand")
            row.ratio, row.low, row.high = statistics.median(part), part[0], part[-1]
            row.base, row.unit, row.goal = statistics.median(h for h, _ in pairs), "bytes", 1.05
            found.append(row)
    return found
