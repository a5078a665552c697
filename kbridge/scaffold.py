"""The command ``kbridge new-backend``: a small package with a backend that works, to be changed."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import sys
from pathlib import Path

from kbridge import __version__, loader
from kbridge.errors import ArgumentError

__all__ = ["main", "write"]

_SAFE = r"[a-z][a-z0-9]*([-_][a-z0-9]+)*"
#: Names that Windows keeps for devices.
_DEVICES = frozenset(
    {"aux", "con", "nul", "prn", *(f"{d}{i}" for d in ("com", "lpt") for i in range(10))}
)


def main(argv: list[str]) -> int:
    """Write the package that `argv` names; 0 if it was written."""
    parser = argparse.ArgumentParser(prog="kbridge new-backend", description=__doc__)
    parser.add_argument("name", metavar="NAME", help="of the package, as in my-backend")
    parser.add_argument(
        "--path", metavar="DIR", default=".", help="the folder to write it into (the current one)"
    )
    given = parser.parse_args(argv)
    folder = write(given.name, Path(given.path))
    module = folder.name.replace("-", "_")
    print(f"Wrote a backend on NumPy to {folder}. Try it:\n")
    print(f"  cd {folder}\n  kbridge check {module}\n")
    print("README.md there says how to go on.")
    return 0


def write(name: str, parent: Path) -> Path:
    """Write the package `name` into a new folder below `parent`; return that folder."""
    module = _checked(name)
    if not parent.is_dir():
        raise ArgumentError(f"kbridge new-backend: there is no folder {str(parent)!r} (--path).")
    folder = parent / name
    if folder.exists() or folder.is_symlink():
        raise ArgumentError(
            f"kbridge new-backend: {str(folder)!r} exists already. Choose another name, or another "
            f"folder with --path."
        )
    words = {
        "NAME": name,
        "MODULE": module,
        "CLASS": "".join(part.capitalize() for part in module.split("_")),
        "KBRIDGE": ".".join(__version__.split(".")[:2]),
    }
    for path, text in _FILES.items():
        file = folder / _filled(path, words)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_filled(text.lstrip("\n"), words), "utf-8")
    return folder


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _checked(name: str) -> str:
    """The name of the module in the package `name`, which must be a safe one for both."""
    module = name.replace("-", "_")
    if not re.fullmatch(_SAFE, name):
        fault = (
            "a name consists of small letters and digits, with single '-' or '_' between, and "
            "begins with a letter, as in my-backend"
        )
    elif keyword.iskeyword(module) or keyword.issoftkeyword(module):
        fault = "it is a word of Python's own"
    elif module in _DEVICES:
        fault = "on Windows no folder can have it"
    elif name in loader.BUILTIN:
        fault = "it is a backend of kbridge's own"
    elif name in loader.PLUGINS or name in loader.ALIASES:
        fault = f"it stands for the backend of {loader.PLUGINS[loader.ALIASES.get(name, name)]}"
    elif any(entry.name == name for entry in loader.entry_points()):
        fault = "an installed package announces a backend of that name"
    elif module in sys.stdlib_module_names or importlib.util.find_spec(module):
        fault = f"there is a module {module!r} already, which it would hide"
    else:
        return module
    raise ArgumentError(f"kbridge new-backend: {name!r} cannot be the name: {fault}.")


# --- the package ---------------------------------------------------------------------------------

_FILES = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "@NAME@"
version = "0.1.0"
description = "A backend of kbridge."
readme = "README.md"
requires-python = ">=3.10"
dependencies = ["kbridge>=@KBRIDGE@", "numpy>=2.0"]

[project.optional-dependencies]
test = ["kbridge[conformance]"]

# With this, KERAS_BACKEND=@NAME@ finds the backend where the package is installed.
[project.entry-points."kbridge.backends"]
@NAME@ = "@MODULE@"

[tool.setuptools]
packages = ["@MODULE@"]

[tool.setuptools.package-data]
@MODULE@ = ["expected_failures.toml"]
""",
    "README.md": """
# @NAME@

A backend of kbridge: the Keras 2 backend API on another engine. It computes with NumPy until you
put yours in its place.

    pip install -e '.[test]'
    kbridge check @NAME@             # what works, what is wrong, what is missing
    kbridge check @NAME@ -k softmax  # a part of it
    kbridge check @NAME@ --html report.html
    python -m pytest

1. `@MODULE@/engine.py` tells kbridge what a tensor of the engine is. Put your engine's in.
2. `@MODULE@/elementwise.py` and `nn.py` hold five primitives, each with the parameters that
   `help(K.name)` shows. Whatever is not there comes from kbridge's NumPy backend, by `base=` in
   `@MODULE@/__init__.py`. That works only while tensors are NumPy's own arrays. For a library `xp`
   with NumPy's functions, put `base=kbridge.backends.namespace.primitives(xp, engine)` there.
   For another, take `base=` out and write what `kbridge check` then reports missing: primitives,
   in a good order. Everything else of the API is made of them.
3. `@MODULE@/expected_failures.toml` lists what the engine cannot do, with the reason.
""",
    "@MODULE@/__init__.py": '''
"""The backend @NAME@ of kbridge: KERAS_BACKEND=@MODULE@ uses it."""

from kbridge.backends.kit import install
from kbridge.backends.numpy import PRIMITIVES

from @MODULE@ import elementwise, nn
from @MODULE@.engine import @CLASS@Engine

install(globals(), @CLASS@Engine(), [elementwise, nn], base=PRIMITIVES)
''',
    "@MODULE@/engine.py": '''
"""What kbridge asks of the engine; kbridge.backends.engine documents these hooks and the others."""

import numpy as np
from kbridge.backends.kit import Engine
from kbridge.symbolic.dtypes import to_numpy


class @CLASS@Engine(Engine):
    """NumPy's arrays as tensors; kbridge's own graph differentiates."""

    name = "@NAME@"
    title = "@CLASS@"
    tensor_class = np.ndarray
    arrays_are_native = True  # only because the tensors are NumPy's

    def from_numpy(self, array, dtype):
        return np.array(array, to_numpy(dtype))

    def to_numpy(self, native):
        return np.array(native)

    def cast(self, native, dtype):
        return native.astype(to_numpy(dtype), copy=False)

    def stack(self, natives):
        return np.stack(natives)
''',
    "@MODULE@/elementwise.py": '''
"""Primitives of kbridge.api.elementwise, on native tensors of one dtype."""

import numpy as np


def square(x):
    return x * x


def maximum(x, y):
    return np.maximum(x, y)


def clip(x, min_value, max_value):
    # The upper bound first: where the bounds cross, the lower one wins.
    below = x if max_value is None else np.minimum(x, max_value)
    return below if min_value is None else np.maximum(below, min_value)
''',
    "@MODULE@/nn.py": '''
"""Primitives of kbridge.api.nn, on native tensors."""

import numpy as np


def softplus(x):
    return np.logaddexp(x, 0) if x.dtype.itemsize > 2 else _in_single(softplus, x)


def sigmoid(x):
    if x.dtype.itemsize == 2:
        return _in_single(sigmoid, x)
    small = np.exp(-np.abs(x))  # in (0, 1], so that nothing overflows
    return np.where(x >= 0, 1, small) / (small + 1)


def _in_single(function, x):
    """Half precision has too few digits for what lies between."""
    return function(x.astype(np.float32)).astype(x.dtype)
''',
    "@MODULE@/expected_failures.toml": """
# What the engine cannot do. A check is named as kbridge check prints it; * stands for any text. The
# list is strict: what passes after all, or is no check, fails.
#
# [[failure]]
# checks = ["conv3d-*-gradient"]
# raises = "NotImplementedError"
# reason = "the engine has no gradient of 3-D convolutions"
""",
    "tests/test_conformance.py": '''
"""The conformance suite of kbridge on this backend."""

import subprocess
import sys

import kbridge
import numpy as np
import pytest

OWN = ["square", "maximum", "clip", "softplus", "sigmoid"]


def check(*options):
    """The exit status and the output of kbridge check."""
    command = [sys.executable, "-m", "kbridge", "check", "@MODULE@", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", OWN)
def test_primitive_is_used(name):
    import @MODULE@

    assert @MODULE@.PRIMITIVES[name].__module__.startswith("@MODULE@.")


def test_a_gradient():
    K = kbridge.load_backend("@MODULE@")
    x = K.placeholder(shape=(None, 3))
    slope = K.function([x], K.gradients(K.sum(K.square(x)), [x]))
    given = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(slope([given])[0], 2 * given)


def test_own_primitives():
    status, output = check("-k", " or ".join(f"{name}-" for name in OWN))
    assert status == 0, output


@pytest.mark.slow
def test_everything():
    status, output = check()
    assert status == 0, output
''',
    "tests/conftest.py": '''
"""The mark of the one test that takes a minute: leave it out by -m 'not slow'."""


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: the whole suite, which takes about a minute")
''',
}
