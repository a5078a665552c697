"""The conformance suite on backends that are wrong, incomplete or foreign; and its comparison."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

if importlib.util.find_spec("kbridge.conformance") is None:
    pytest.skip("kbridge is not installed: pip install -e .", allow_module_level=True)

from kbridge.conformance import cases, compare, records, suite
from kbridge.conformance.compare import Mismatch
from kbridge.conformance.expected_failures import EXPECTED

# NumPy's own primitives, some of them spoilt, each in another way.
WRONG = """
import types
import numpy as np
from kbridge.backends import numpy as good
from kbridge.backends.kit import install
from kbridge.backends.numpy.engine import NumPyEngine

class Engine(NumPyEngine):
    name = title = "wrong"
    complete = False

def sigmoid(x):
    result = 1 / (1 + np.exp(-x))
    x += 1
    return result

module = types.ModuleType("module")
vars(module).update(
    {**good.PRIMITIVES, "sigmoid": sigmoid},
    tanh=lambda x: np.tanh(x) * (1 + 1e-5),
    argmax=lambda x, axis=-1: np.argmax(x, axis).astype("int32"),
    sum=lambda x, axis=None, keepdims=False: np.sum(x, axis, keepdims=False),
    cos=lambda x: np.cos(x) if x.dtype != "float16" else np.cos(np.float32(x)),
    sin=lambda x: np.sin(x).tolist(),
)
del module.flatten
install(globals(), Engine(), [module], "wrong")
"""
LOOPBACK = """
from kbridge.backends import numpy as other
globals().update(other.BACKEND.public())
"""
# As NumPy's but for one sign in one gradient, one dtype and one axis.
SPOILT = """
import types
import numpy as np
from kbridge.backends.kit import install
from kbridge.backends.numpy import PRIMITIVES as good
from kbridge.backends.numpy.engine import NumPyEngine

class Engine(NumPyEngine):
    name = title = "spoilt"

own = types.ModuleType("own")
own.tile_adjoint = lambda g, x, n: -good["tile_adjoint"](g, x, n)
own.softsign = lambda x: good["softsign"](x).astype("float64")
own.argmin = lambda x, axis=-1: np.argmin(x, 0)
install(globals(), Engine(), [own], base=good)
"""
BARE = """
def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None): "made"
def variable(value, dtype=None, name=None, constraint=None): "made"
def function(inputs, outputs, updates=None, name=None, **kwargs): "made"
"""


def check(folder: Path, source: str, text: str) -> tuple[int, str]:
    """Exit status and output of ``kbridge check`` on a module of this source."""
    (folder / "under_test.py").write_text(source)
    command = [sys.executable, "-m", "kbridge", "check", "under_test", "-k", text]
    command += ["--json", "found.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_what_is_wrong_is_found(tmp_path):
    names = "tanh or argmax or sum-2x3 or cos-2x3 or sin-2x3 or sigmoid or flatten or softplus"
    status, output = check(tmp_path, WRONG, f"test_op and ({names})")
    found = json.loads((tmp_path / "found.json").read_text())
    failed = [check["name"] for check in found["checks"] if check["outcome"] == "failed"]
    assert status == 1
    for expected in (
        "tanh-2x3-eager",
        "tanh-2x3-recorded",
        "tanh-2x3-unknown",
        "argmax-2x3-inferred",
        "argmax-i3x4,1-eager",
        "sum-2x3,keepdims=True-recorded",
        "cos-2x3-float16",
        "sin-2x3-eager",
        "sigmoid-2x3-eager",
    ):
        assert expected in failed, output
    assert "tanh-2x3-gradient" in failed
    assert not [name for name in failed if name.startswith(("softplus", "cos-2x3-recorded"))]
    assert "\n1 operations are missing:\n  shaping      flatten\n" in output


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory) -> list[str]:
    """The checks that fail on the spoilt backend."""
    folder = tmp_path_factory.mktemp("spoilt")
    names = "tile-2x3 or repeat_elements-2x3 or softsign-2x3 or argmin- or argmax-"
    status, _ = check(folder, SPOILT, f"test_op and ({names})")
    assert status == 1
    found = json.loads((folder / "found.json").read_text())
    return [check["name"] for check in found["checks"] if check["outcome"] == "failed"]


def test_a_wrong_sign_in_a_gradient_is_found(spoilt):
    failed = [name for name in spoilt if name.startswith("tile-")]
    assert "tile-2x3,2-gradient" in failed
    assert all(name.endswith("-gradient") for name in failed)
    assert not [name for name in spoilt if name.startswith("repeat_elements")]


def test_a_dtype_that_is_off_is_found(spoilt):
    failed = {name for name in spoilt if name.startswith("softsign")}
    assert {f"softsign-2x3-{way}" for way in ("eager", "recorded", "inferred")} <= failed
    assert not failed & {"softsign-2x3-float64", "softsign-2x3-gradient"}  # as those are float64


def test_an_axis_that_is_off_is_found(spoilt):
    assert "argmin-2x3-eager" in spoilt  # by default it is the last
    assert "argmin-2x3-recorded" in spoilt
    assert not [name for name in spoilt if name.startswith("argmax")]


def test_a_foreign_graph_is_right(tmp_path):
    names = "dot-2x3 or softmax or test_signature or swap or dot-sizes or doc-variable"
    status, output = check(tmp_path, LOOPBACK, names)
    assert status == 0, output
    assert "kbridge check under_test: all is right." in output


def test_three_functions_are_a_backend(tmp_path):
    status, output = check(tmp_path, BARE, "test_signature or (test_op and dot)")
    assert status == 0, output  # what it has is right, the rest is only missing
    assert re.search(r"operations are missing:\n(?:  .*\n)*  conv +.*\bconv2d\b", output)


def test_an_unknown_backend_stops_at_once(tmp_path):
    command = [sys.executable, "-m", "kbridge", "check", "nunpy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Did you mean 'numpy'?" in done.stderr


def test_an_expected_failure_of_nothing_is_stale(monkeypatch):
    from kbridge.conformance import test_contract

    monkeypatch.setitem(EXPECTED, ("numpy", "dot", "no such case", "eager"), (ValueError, "why"))
    with pytest.raises(AssertionError, match="no such case"):
        test_contract.test_no_expected_failure_is_stale()


def test_an_expected_failure_that_passes_fails(monkeypatch):
    monkeypatch.setitem(EXPECTED, ("numpy", "swap"), (ValueError, "why"))
    (param,) = [p for p in suite.run_items("numpy", several=False) if p.id == "swap"]
    (mark,) = [m for m in param.marks if m.name == "xfail"]
    assert mark.kwargs == {"raises": ValueError, "reason": "why", "strict": True}


# --- the comparison ------------------------------------------------------------------------------


def test_messages_say_what_was_called():
    with pytest.raises(
        Mismatch,
        match=re.escape("K.sum(axis=-1): dtype is float64, should be float32 [float32 (2, 3)]"),
    ):
        compare.compare(
            "K.sum(axis=-1)", np.ones(2), np.ones(2), dtype="float32", given="float32 (2, 3)"
        )
    with pytest.raises(Mismatch, match=r"shape is \(1, 2\), should be \(2,\)"):
        compare.compare("f", np.ones((1, 2)), np.ones(2))
    with pytest.raises(Mismatch, match=r"value at \(1,\) is 2.0, should be 1.0"):
        compare.compare("f", np.array([1.0, 2.0]), np.ones(2), tolerance=0.1)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (np.nan, 1.0),
        (1.0, np.nan),
        (np.inf, -np.inf),
        (np.inf, 1e30),
        (1e30, np.inf),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([True]), np.array([False])),
    ],
)
def test_differences_are_found(got, want):
    with pytest.raises(Mismatch):
        compare.compare("f", got, want, tolerance=1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, np.zeros((0, 2)), np.array([3])])
def test_equals_are_equal(value):
    assert compare.compare("f", value, value) == 0.0


def test_the_error_is_a_part_of_the_allowed():
    error = compare.compare("f", np.array([1.0, 100.05]), np.array([1.0, 100.0]), tolerance=1e-3)
    assert error == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        ([1.0], (1.0,)),
        ((1.0,), (1.0, 2.0)),
        (1, True),
        (1, 1.0),
        ("a", "b"),
        (None, 0),
        ({"a": 1}, {"b": 1}),
        (np.ones(1, "float64"), np.ones(1, "float32")),
        (1.0, lambda value: value > 1),
    ],
)
def test_results_of_programs_are_compared_strictly(got, want):
    with pytest.raises(Mismatch):
        compare.same("f", got, want)


# --- the records ---------------------------------------------------------------------------------


def test_samples_are_the_same_in_every_run():
    sample = records.RECORDS["dot"].cases["2x3,3x4"].samples()[0]
    assert np.array_equal(sample.make("seed"), sample.make("seed"))
    assert not np.array_equal(sample.make("seed"), sample.make("other"))
    assert cases.TOPICS[0] == "elementwise"


def test_ids_are_unique_and_plain():
    keys = ["-".join(key) for key, *_ in suite.all_checks()]
    assert len(keys) == len(set(keys)) > 4000
    assert [key for key in keys if re.search(r"[^\w.,=+-]", key)] == []
