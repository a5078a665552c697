"""The guide docs/write-a-backend.md, followed; primitives of a namespace; hooks of an engine."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kbridge
from kbridge.api.declare import OPERATIONS
from kbridge.backends import engine, hosted, kit
from kbridge.loader import BUILTIN

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "write-a-backend.md").read_text()
FILES = dict(re.findall(r"(?s)<!-- file: (\S+) -->\n```python\n(.*?)```", GUIDE))
EXAMPLE = ROOT / "examples" / "autograd_backend"

needs_suite = pytest.mark.skipif(
    importlib.util.find_spec("kbridge.conformance") is None,
    reason="kbridge is not installed: pip install -e .",
)


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    """A folder with the files of the guide."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def check(folder: Path, name: str, *options: str) -> tuple[dict, str]:
    """What ``kbridge check`` finds, and prints."""
    command = [sys.executable, "-m", "kbridge", "check", name, "--json", "found.json", *options]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return json.loads((folder / "found.json").read_text()), output


def share(missing: list[dict]) -> float:
    """The share of the contract that is there."""
    public = [name for name, op in OPERATIONS.items() if op.public]
    lacking = [each for each in missing if each["public"]]
    return 1 - len(lacking) / len(public)


# --- the guide's backends ------------------------------------------------------------------------


def test_the_guide_builds_two_backends():
    assert set(FILES) == {"first.py", "my_backend.py"}
    for text in FILES.values():
        assert len(text.splitlines()) <= 300


@needs_suite
def test_the_first_one_is_right_as_far_as_it_goes(guide):
    found, output = check(guide, "first", "-k", "square or sum- or sum_ or shape")
    assert found["failed"] == 0
    assert found["passed"] > 50
    missing = [each["operation"] for each in found["missing_operations"]]
    assert {"dot", "multiply"} <= set(missing)
    assert "private operations are missing, which others are made of:" in output


@needs_suite
@pytest.mark.slow
def test_the_second_one_passes_with_nine_tenths_of_the_contract(guide):
    found, _ = check(guide, "my_backend")
    assert found["failed"] == 0
    assert found["passed"] > 6000
    assert share(found["missing_operations"]) >= 0.9
    lacking = [c["name"] for c in found["checks"] if c["outcome"] == "missing"]
    assert {c.partition("-")[0] for c in lacking if "sparse" not in c} <= {
        "ctc_label_dense_to_sparse",
        *(c.partition("-")[0] for c in lacking if found["notes"]),
    }


def test_a_namespace_has_what_a_library_must_bring():
    """All but sparse matrices: together with what follows from the hooks."""
    import numpy as np

    from kbridge.backends import namespace
    from kbridge.backends.numpy import PRIMITIVES
    from kbridge.backends.numpy.engine import NumPyEngine

    numpy_engine = NumPyEngine()
    made = namespace.primitives(np, numpy_engine)
    there = {**hosted.primitives(numpy_engine), **made}
    missing = {name for name in PRIMITIVES if name not in there}
    assert missing == {n for n in PRIMITIVES if "sparse" in n}
    assert set(made) <= set(OPERATIONS)


def test_built_in_backends_bring_all_primitives_themselves():
    for name in BUILTIN:
        if name != "numpy" and importlib.util.find_spec(name) is None:
            continue
        native = kbridge.load_backend(name).native
        borrowed = [n for n, f in native.items() if getattr(f, "__module__", "") == hosted.__name__]
        assert borrowed == [], name


@needs_suite
@pytest.mark.slow
def test_autograd(tmp_path):
    """The example of a real library: right but for what it lists, in few lines of its own."""
    pytest.importorskip("autograd")
    files = list(EXAMPLE.glob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in files) <= 300
    link = tmp_path / "autograd_backend"
    link.mkdir()
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (link / file.name).write_text(file.read_text())
    found, output = check(tmp_path, "autograd_backend")
    assert share(found["missing_operations"]) >= 0.9
    assert found["expected"] > 0
    assert "checks fail as they are expected to." in output


# --- the kit -------------------------------------------------------------------------------------


def test_own_primitives_go_before_those_of_the_base():
    from types import ModuleType

    import numpy as np

    from kbridge.backends.numpy import PRIMITIVES
    from kbridge.backends.numpy.engine import NumPyEngine

    class Mine(NumPyEngine):
        name = "kit-test"

    module, namespace = ModuleType("own"), {"__name__": "kit_test_backend"}
    module.square = lambda x: x * x * 2
    backend = kit.install(namespace, Mine(), [module], base=PRIMITIVES)
    assert backend.native["square"] is module.square
    assert backend.native["exp"] is PRIMITIVES["exp"]
    assert namespace["square"](np.ones(2, "float32")).tolist() == [2.0, 2.0]


def test_an_operator_without_its_primitive_is_a_clear_error(guide, monkeypatch):
    monkeypatch.syspath_prepend(guide)
    K = kbridge.load_backend("first")
    x = K.placeholder(shape=(2,))
    with pytest.raises(kbridge.errors.MissingOperationError, match=r"K\.multiply is not available"):
        K.function([x], [x * 2])([[1.0, 2.0]])


HOOKS = {
    name: value
    for name, value in vars(engine.Engine).items()
    if inspect.isfunction(value) and not name.startswith("_")
}


def test_every_hook_is_documented():
    assert [name for name, hook in HOOKS.items() if not inspect.getdoc(hook)] == []
    source = inspect.getsource(engine.Engine)
    (tree,) = ast.parse(source).body
    lines = source.splitlines()
    names = []
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            above = [lines[node.lineno - 2].strip(), lines[node.lineno - 3].strip()]
            if not any(line.startswith("#:") for line in above):
                names.append(target.id)
    assert names == []


def test_required_hooks_are_marked():
    """A hook without a default says so, and the guide lists them."""
    required = {n for n, hook in HOOKS.items() if "*Required*" in inspect.getdoc(hook)}
    without = {
        name
        for name, hook in HOOKS.items()
        if inspect.getsource(hook).rstrip().endswith("raise NotImplementedError")
    }
    assert required == {"from_numpy", "to_numpy", "cast", "stack"}
    assert without - required == {"graph_position"}  # of engines with a graph of their own
    assert required <= without
    listed = re.search(r"\*Required\* are (.*?);", GUIDE, re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", listed)) == {"tensor_class", *required}


@pytest.mark.parametrize("name", ["from_numpy", "to_numpy", "cast", "stack"])
def test_a_required_hook_that_is_missing_raises(name):
    arguments = {"from_numpy": 2, "cast": 2}.get(name, 1)
    with pytest.raises(NotImplementedError):
        getattr(engine.Engine(), name)(*[None] * arguments)
