"""A backend of someone else's with the three functions that a backend must have, and no more."""

from __future__ import annotations

from pathlib import Path

from conftest import Script

OKB = """
def placeholder(*args, **kwargs):
    return "ph"


def variable(*args, **kwargs):
    return "var"


def function(*args, **kwargs):
    return "fn"
"""

PROGRAM = """
from kbridge import backend as K

assert (K.backend(), K.placeholder((2,)), K.variable(1.0), K.function([], [])) == (
    "okb", "ph", "var", "fn"
)
K.eager, K.symbolic, K.epsilon, K.floatx, K.get_uid
assert not hasattr(K, "conv2d")
try:
    K.conv2d
except AttributeError as error:
    print(error)
"""


def test_a_backend_of_three_functions(script: Script, tmp_path: Path) -> None:
    """What kbridge brings itself works; what is missing is an error where it is used."""
    (tmp_path / "okb.py").write_text(OKB)
    done = script(PROGRAM, installed=(), KERAS_BACKEND="okb")
    assert done.returncode == 0, done.stderr
    assert "Using okb backend." in done.stderr
    for part in ("K.conv2d", "'okb'", "conv2d(", "kbridge check okb"):
        assert part in done.stdout
