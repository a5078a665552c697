"""What ``import kbridge.api`` costs over importing the engine alone, in paired processes."""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile

ENGINES = ("numpy", "torch", "jax", "tensorflow")

_TIMED = (
    "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
)


def _seconds(module: str, engine: str, home: str) -> float:
    env = {
        **os.environ,
        "KERAS_BACKEND": engine,
        "KERAS_HOME": home,
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        [sys.executable, "-c", _TIMED.format(module=module)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def added(engine: str, rounds: int = 7) -> tuple[float, float]:
    """Median seconds of importing the engine, and median of what kbridge adds to it."""
    base = "jax, jax.numpy" if engine == "jax" else engine
    with tempfile.TemporaryDirectory() as home:
        _seconds(base, engine, home)  # fills the file cache
        _seconds("kbridge.api", engine, home)
        pairs = [
            (_seconds(base, engine, home), _seconds("kbridge.api", engine, home))
            for _ in range(rounds)
        ]
    return (
        statistics.median(alone for alone, _ in pairs),
        statistics.median(both - alone for alone, both in pairs),
    )


def main() -> None:
    """Measure and print every installed engine."""
    print("\nimport: milliseconds that 'import kbridge.api' adds to importing the engine")
    for engine in ENGINES:
        if importlib.util.find_spec(engine) is not None:
            alone, extra = added(engine)
            print(f"{engine:12}{alone * 1e3:9.0f}{extra * 1e3:+9.1f}")


if __name__ == "__main__":
    main()
