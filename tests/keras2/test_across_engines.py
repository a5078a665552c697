"""One program, one result: each engine in a process of its own, against the NumPy one."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import INSTALLED, ROOT
from keras2.every_layer import LAYERS
from keras2.worker import CURVES, EPOCHS, INITIALIZERS, SAVED

OTHERS = [engine for engine in INSTALLED if engine != "numpy"]


def work(task: str, engine: str, folder: Path) -> Any:
    env = {
        **os.environ,
        "KERAS_BACKEND": f"kbridge.backends.{engine}",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path]),
    }
    command = [sys.executable, "-m", "keras2.worker", task, str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return np.load(folder / f"{engine}-{task}.npz")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engines")


def each(task: str, folder: Path) -> dict[str, Any]:
    """What each engine makes of a task, two of them at a time."""
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda engine: work(task, engine, folder), INSTALLED)
        return dict(zip(INSTALLED, found, strict=True))


@pytest.fixture(scope="module")
def trained(folder: Path) -> dict[str, Any]:
    return each("train", folder)


@pytest.fixture(scope="module")
def loaded(folder: Path, trained: dict[str, Any]) -> dict[str, Any]:
    return each("load", folder)


@pytest.fixture(params=OTHERS)
def pair(request: pytest.FixtureRequest, trained: dict[str, Any]) -> tuple[Any, Any]:
    """What an engine computed, and what NumPy did."""
    return trained[request.param], trained["numpy"]


def test_every_engine_is_here():
    assert INSTALLED == ["numpy", "tensorflow", "torch", "jax"]


def test_same_seed_same_initial_weights(pair):
    one, reference = pair
    names = [name for name in reference if name.startswith("initial ")]
    assert len(names) > len(INITIALIZERS) + len(CURVES)
    for name in names:
        np.testing.assert_allclose(one[name], reference[name], rtol=1e-6, atol=1e-7, err_msg=name)
    assert np.unique(reference["initial mlp 0"]).size > 1000


@pytest.mark.parametrize("name", CURVES)
def test_training_curves(pair, name):
    one, reference = (results[f"curve {name}"] for results in pair)
    assert reference.shape == (2, EPOCHS)
    assert reference[0, -1] < 0.5 * reference[0, 0]
    np.testing.assert_allclose(one[0], reference[0], atol=1e-4)
    np.testing.assert_allclose(one[1], reference[1], atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_layers(pair, name):
    one, reference = (results[f"layer {name}"] for results in pair)
    np.testing.assert_allclose(one, reference, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("engine", INSTALLED)
def test_weights_of_another_engine(engine, trained, loaded):
    here = loaded[engine]
    assert len(here.files) == (len(INSTALLED) - 1) * (len(SAVED) + 1)
    for key in here:
        _, other, name = key.split()
        expected = trained[other][f"predicted {name}"]
        np.testing.assert_allclose(here[key], expected, atol=1e-5, err_msg=key)
