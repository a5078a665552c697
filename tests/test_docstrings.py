"""The documentation of the contract: present, found by tools, and true on every backend."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import os
import pydoc
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kbridge import binding, config
from kbridge.loader import BUILTIN

ROOT = Path(__file__).parents[1]
Script = Callable[..., "subprocess.CompletedProcess[str]"]

binding.load_contract()
OPERATIONS = binding.OPERATIONS

PUBLIC = sorted(name for name, op in OPERATIONS.items() if op.public)
PRIVATE = sorted(name for name, op in OPERATIONS.items() if not op.public)

#: Public operations whose docstring has no example, and why.
WITHOUT_EXAMPLE: dict[str, str] = {}

#: Operations that warn, so that their example does too.
DEPRECATED = {
    *("image_dim_ordering", "set_image_dim_ordering", "lesser", "lesser_equal"),
    *("asymmetric_temporal_padding", "deconv2d", "deconv3d"),
}


def examples(name: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(OPERATIONS[name].doc or "")


@contextlib.contextmanager
def fresh(K: Any, home: Path) -> Iterator[None]:
    """Settings and session as in a new process; what is changed inside is undone."""
    session, numbers = K.session, np.random.get_state()
    uids, phase = dict(session.uids), session.learning_phase
    session.uids.clear()
    session.learning_phase = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_HOME", str(home))
        patch.setattr(config, "_state", None)
        yield
    session.uids.clear()
    session.uids.update(uids)
    session.learning_phase = phase
    np.random.set_state(numbers)


# --- the examples ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PUBLIC if examples(name)])
def test_example(name: str, K: Any, tmp_path: Path) -> None:
    test = doctest.DocTest(
        examples(name), {"K": K, "np": np}, f"K.{name}", None, None, OPERATIONS[name].doc
    )
    report: list[str] = []
    with warnings.catch_warnings(record=True) as caught, fresh(K, tmp_path):
        warnings.simplefilter("always" if name in DEPRECATED else "error")
        result = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert result.attempted == len(test.examples)
    assert not result.failed, f"on {K.name}:\n{''.join(report)}"
    kinds = {warning.category for warning in caught}
    assert kinds == ({DeprecationWarning} if name in DEPRECATED else set())


@pytest.mark.skipif("CI" not in os.environ, reason="only CI must have every engine")
def test_every_backend_runs_the_examples() -> None:
    assert [name for name in BUILTIN if not config.is_installed(name)] == []


def test_examples_leave_no_trace(K: Any, tmp_path: Path) -> None:
    def state() -> Any:
        phase = K.session.learning_phase
        return config.load(), phase, dict(K.session.uids), np.random.get_state()[1].tolist()

    before = state()
    with fresh(K, tmp_path):
        assert [K.floatx(), K.image_data_format()] == ["float32", "channels_last"]
        assert K.get_uid("trace") == 1
        K.set_floatx("float16")
        K.set_learning_phase(1)
        K.eval(K.random_normal((2,)))
    assert state() == before


# --- every operation is documented -----------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC)
def test_public_operation_is_documented(name: str) -> None:
    lines = (OPERATIONS[name].doc or "").splitlines()
    assert lines, f"K.{name} has no docstring"
    assert lines[0].strip(), f"K.{name}: the summary must be on the first line"
    assert len(lines) == 1 or not lines[1].strip(), f"K.{name}: a blank line follows the summary"
    if name in WITHOUT_EXAMPLE:
        assert not examples(name), f"K.{name} has an example: take it off WITHOUT_EXAMPLE"
    else:
        assert examples(name), f"K.{name} has no example"


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_show_a_result(name: str) -> None:
    assert name in WITHOUT_EXAMPLE or any(example.want for example in examples(name))
    assert any(f"K.{name}" in e.source for e in examples(name)) or name in WITHOUT_EXAMPLE


@pytest.mark.parametrize("name", PRIVATE)
def test_private_operation_has_one_line(name: str) -> None:
    doc = OPERATIONS[name].doc
    assert doc is not None
    assert len(doc.splitlines()) == 1


def test_lists_are_not_stale() -> None:
    assert set(WITHOUT_EXAMPLE) <= set(PUBLIC)
    assert set(PUBLIC) >= DEPRECATED


# --- tools find it ---------------------------------------------------------------------------


def test_functions_carry_docstring_and_signature(K: Any) -> None:
    for name in PUBLIC:
        function, op = getattr(K, name), OPERATIONS[name]
        assert function.__doc__ == op.doc, name
        assert function.__name__ == name
        shown = inspect.signature(function).parameters.values()
        names = [("**" if p.kind is p.VAR_KEYWORD else "") + p.name for p in shown]
        assert tuple(names) == tuple(op.parameters), name
        defaults = tuple(p.default for p in shown if p.default is not p.empty)
        assert defaults == op.defaults, name


def test_help(K: Any) -> None:
    text = pydoc.render_doc(K.dot, renderer=pydoc.plaintext)
    assert "dot(x, y)" in text
    assert "Product of the last axis" in text
    assert ">>> K.eval(K.dot(" in text
    assert str(inspect.signature(K.sum)) == "(x, axis=None, keepdims=False)"
    assert str(inspect.signature(K.arange)) == "(start, stop=None, step=1, dtype='int32')"


def test_completion_of_a_loaded_backend(K: Any) -> None:
    assert set(PUBLIC) <= set(dir(K))


@pytest.mark.parametrize("before", ["", "import kbridge; kbridge.load_backend('numpy')"])
def test_completion_of_the_module(before: str, script: Script) -> None:
    """Also where the binding has to wait: no topic module stands in for an operation."""
    code = f"""
{before}
from kbridge import api as K
wrong = [n for n in {PUBLIC} if not callable(getattr(K, n, None))]
assert not wrong, wrong
missing = set({PUBLIC}) - set(dir(K))
assert not missing, missing
assert "the Keras backend API" in K.__doc__
"""
    result = script(code, KERAS_BACKEND="numpy")
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_type_checkers_see_the_names(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    expected = set()
    for module in ("api", "backend"):
        start = f"from kbridge import {module} as K\n\n"
        text = f"{start}K.dot(1, 2)\nK.sum([1.0], axis=0)\nK.nothing\n"
        (tmp_path / f"use_{module}.py").write_text(text)
        names = start + "".join(f"K.{name}\n" for name in PUBLIC)
        (tmp_path / f"names_{module}.py").write_text(names)
        (tmp_path / f"wrong_{module}.py").write_text(f"{start}K.dot(1)\nK.abs(1, axis=0)\n")
        expected |= {
            (f"use_{module}.py", 5, "[attr-defined]"),
            (f"wrong_{module}.py", 3, "[call-arg]"),
            (f"wrong_{module}.py", 4, "[call-arg]"),
        }
    result = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent"),
            *("--no-error-summary", *sorted(path.name for path in tmp_path.glob("*.py"))),
        ],
        env={**os.environ, "MYPYPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    errors = [line for line in result.stdout.splitlines() if ": error: " in line]
    found = {
        (line.split(":")[0], int(line.split(":")[1]), line.rpartition(" ")[2]) for line in errors
    }
    assert found == expected, result.stdout + result.stderr
    assert len(errors) == len(expected)
