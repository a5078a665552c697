"""A training step of Keras 2.3.1 on kbridge, beside Keras 3's on the same engine.

Both call ``train_on_batch`` of one model, with the same weights. An environment has one Keras, so
each is a process of its own. Keras 3 cannot train on NumPy: there Keras 2.3.1 stands beside PyTorch
by hand, both on one thread.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import networks, turns
from benchmarks.engines import installed
from benchmarks.report import Row

TOPIC = "training step of Keras 2.3.1"
VERSION = "2.3.1"
MODELS = ("mlp", "cnn")
OPTIMIZERS = ("SGD", "Adam")
#: A step costs no more than Keras 3's.
GOAL = 1.0


def folder() -> Path:
    """Where Keras 2.3.1 is to be: in the folder KERAS2_FOLDER, else where `make keras2` puts it."""
    return Path(os.environ.get("KERAS2_FOLDER") or Path(sys.prefix, "keras2"))


def absent(engine: str) -> str:
    """What there is no comparison without, and what to do; "" where nothing is missing."""
    old = {found.version for found in metadata.distributions(name="keras", path=[str(folder())])}
    if VERSION not in old:
        return (
            f"Keras {VERSION} is not in {folder()}: `make keras2` installs it into the environment "
            f"of `make`, KERAS2_FOLDER names another folder"
        )
    if engine == "numpy":
        return "" if "torch" in installed() else "PyTorch is not installed: `pip install torch`"
    new = next((found.version for found in metadata.distributions(name="keras")), "")
    return "" if new.startswith("3.") else "Keras 3 is not installed: `pip install keras`"


# --- in processes of their own -------------------------------------------------------------------


def keras_2(model: str, optimizer: str) -> Callable[[Any, Any], Any]:
    """``train_on_batch`` of Keras 2.3.1 on the backend that KERAS_BACKEND names."""
    from kbridge.compat import keras2

    keras2.install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras's own syntax, as Python sees it today
        import keras
    assert keras.__version__ == VERSION, keras
    return networks.keras_step(model, optimizer, networks.weights(model))


def keras_3(model: str, optimizer: str) -> Callable[[Any, Any], Any]:
    """``train_on_batch`` of Keras 3 on the engine that KERAS_BACKEND names."""
    return networks.keras_step(model, optimizer, networks.weights(model))


def by_hand(model: str, optimizer: str) -> Callable[[Any, Any], Any]:
    """PyTorch by hand on one thread, by plain gradient descent."""
    assert optimizer == "SGD"
    importlib.import_module("torch").set_num_threads(1)
    step: Callable[[Any, Any], Any] = importlib.import_module("benchmarks.hand.torch").step(model)
    return step


def worker(kind: str, model: str, optimizer: str) -> tuple[list[float], Callable[[], Any]]:
    """The losses of the first steps, and a step."""
    step = {"keras_2": keras_2, "keras_3": keras_3, "by_hand": by_hand}[kind](model, optimizer)
    x, y = networks.batch(model)
    return [float(step(x, y)) for _ in range(3)], lambda: step(x, y)


# --- side by side --------------------------------------------------------------------------------


def process(kind: str, engine: str, model: str, optimizer: str) -> turns.Process:
    """The process of one kind of step."""
    env = {"KERAS_BACKEND": engine}
    if engine == "numpy":  # as PyTorch beside it
        env.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    if kind == "keras_2":
        paths = [str(folder()), os.environ.get("PYTHONPATH", "")]
        env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        env["KERAS_BACKEND"] = f"kbridge.backends.{engine}"
    return turns.Process("keras2", "worker", (kind, model, optimizer), **env)


def measure(
    kinds: tuple[str, str], engine: str, model: str, optimizer: str, quick: bool
) -> dict[str, float]:
    """How many times as long as a step of the first kind one of the second takes."""
    with (
        process(kinds[0], engine, model, optimizer) as base,
        process(kinds[1], engine, model, optimizer) as other,
    ):
        np.testing.assert_allclose(other.first, base.first, rtol=1e-3)  # the same losses
        return turns.ratios(base, other, 0.1 if quick else 0.2, 9 if quick else 31)


def rows(quick: bool) -> list[Row]:
    found = []
    for engine in installed():
        trains = engine != "numpy"  # in Keras 3
        kind, against = "keras_3", "Keras 3"
        if not trains:
            kind, against = "by_hand", "PyTorch by hand, one thread"
        missing = absent(engine)
        for model in MODELS:
            for optimizer in OPTIMIZERS if trains else OPTIMIZERS[:1]:
                row = Row(TOPIC, engine, f"{networks.TITLES[model]}, {optimizer}", against)
                row.goal = GOAL if trains else None
                if missing:
                    row.absent = missing
                else:
                    got = measure((kind, "keras_2"), engine, model, optimizer, quick)
                    row = dataclasses.replace(row, **got)
                found.append(row)
    return found
