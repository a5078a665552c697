"""The programs of examples/keras2, unchanged, by ``kbridge run``."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from keras import backend as K

FOLDER = ROOT / "examples" / "keras2"
#: What each prints at the end, and how far it must have come in so many epochs.
PROGRAMS = {
    "digits_mlp": (6, r"Test accuracy: (\S+)", 0.88, 1),
    "digits_cnn": (3, r"Test accuracy: (\S+)", 0.5, 1),
    "addition_rnn": (2, r"Accuracy of characters: (\S+)", 0.3, 1),
    "variational_autoencoder": (5, r"Loss: (\S+)", 20, 37),
    "saliency": (3, r"Score of 3: from \S+ to (\S+)", 0.5, 100),
}


def test_every_program_is_here():
    assert sorted(file.stem for file in FOLDER.glob("*.py")) == sorted([*PROGRAMS, "digits"])
    readme = (FOLDER / "README.md").read_text()
    assert set(re.findall(r"(?m)^\| `(\w+)\.py`", readme)) == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    epochs, pattern, least, most = PROGRAMS[name]
    engine = K.backend().removeprefix("kbridge.backends.")
    command = ["-m", "kbridge", "run", "--backend", engine, str(FOLDER / f"{name}.py")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command, "--epochs", str(epochs)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = re.search(pattern, done.stdout)
    assert found, done.stdout[-1000:]
    assert least <= float(found[1]) <= most
