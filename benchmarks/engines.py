"""The engines' own names, by which native programs are written."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

ENGINES = ("numpy", "torch", "jax", "tensorflow")


def installed() -> list[str]:
    """The engines that can be measured here."""
    return [name for name in ENGINES if importlib.util.find_spec(name) is not None]


def modules(engine: str) -> dict[str, Any]:
    """The names ``np``, and ``torch``, ``jax`` and ``jnp``, or ``tf``."""
    import numpy as np

    if engine == "torch":
        import torch

        return {"np": np, "torch": torch}
    if engine == "jax":
        import jax

        return {"np": np, "jax": jax, "jnp": jax.numpy}
    if engine == "tensorflow":
        import tensorflow as tf

        return {"np": np, "tf": tf}
    return {"np": np}


def environment(home: str) -> dict[str, str]:
    """That of a process of its own, with a folder for the settings of Keras."""
    return {**os.environ, "KERAS_HOME": home, "TF_CPP_MIN_LOG_LEVEL": "3"}


def child(module: str, function: str, engine: str, *args: Any) -> Any:
    """``benchmarks.module.function(*args)`` in a process of its own, Keras 3 on that engine too."""
    code = (
        f"import json; from benchmarks import {module}; "
        f"print(json.dumps({module}.{function}(*{args!r})))"
    )
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**environment(home), "KERAS_BACKEND": engine},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{module}.{function}{args} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
