"""What ``import kbridge.api`` and ``import keras`` cost over importing the engine alone.

Each is a process of its own, in turns.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import tempfile

from benchmarks.engines import environment, installed
from benchmarks.report import Row

_TIMED = (
    "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
)


def _seconds(module: str, engine: str, home: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _TIMED.format(module=module)],
        env={**environment(home), "KERAS_BACKEND": engine},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def measure(engine: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of each round: the engine alone, with kbridge, and Keras 3 on that engine."""
    base = "jax, jax.numpy" if engine == "jax" else engine
    modules = {"alone": base, "kbridge": "kbridge.api"}
    if importlib.util.find_spec("keras") is not None:
        modules["keras"] = "keras"
    with tempfile.TemporaryDirectory() as home:
        for module in modules.values():  # fills the file cache
            _seconds(module, engine, home)
        times: dict[str, list[float]] = {name: [] for name in modules}
        for _ in range(rounds):
            for name, module in modules.items():
                times[name].append(_seconds(module, engine, home))
    return times


def rows(quick: bool) -> list[Row]:
    found = []
    for engine in installed():
        times = measure(engine, 1 if quick else 5)
        alone = times.pop("alone")
        for name, series in times.items():
            added = sorted(1e3 * (b - a) for a, b in zip(alone, series, strict=True))
            title = f"import {'kbridge.api' if name == 'kbridge' else name}"
            row = Row("import", engine, title, "engine", what="ms added")
            row.ratio, row.low, row.high = statistics.median(added), added[0], added[-1]
            row.base, row.goal = statistics.median(alone), 40.0 if name == "kbridge" else None
            found.append(row)
    return found
