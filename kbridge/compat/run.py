"""The command ``kbridge run``: a program for Keras 2, unchanged, on any engine."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType

from kbridge import loader
from kbridge.compat import as_backend, keras2
from kbridge.errors import ArgumentError, KBridgeError, MissingDependencyError, UnsupportedError

#: The only Keras that both takes a backend from outside and has the API of Keras 2.
KERAS = "2.3.1"
_COMMAND = f"pip install keras=={KERAS}"


def main(argv: list[str]) -> int:
    """Run ``kbridge run`` with the arguments `argv`; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="kbridge run",
        description=f"Run a program that is written for Keras {KERAS} on any engine.",
    )
    parser.add_argument(
        "--backend",
        default=None,
        help="numpy, tensorflow, torch, jax, a plug-in's name, or a module's dotted path",
    )
    parser.add_argument("script", help="the Python file to run")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")
    given = parser.parse_args(argv)
    script = Path(given.script)
    if not script.is_file():
        raise ArgumentError(f"there is no file {given.script!r}. Give the path of a Python file.")
    check_keras()
    sys.path.insert(0, str(script.resolve().parent))
    if given.backend:
        backend = loader.load_module(given.backend)
    else:
        with loader.telling_why(chosen := loader.choice()):
            backend = loader.load_module(chosen.name)
    check_backend(backend)
    os.environ["KERAS_BACKEND"] = backend.__name__
    keras2.install()
    sys.argv = [given.script, *given.args]
    try:
        runpy.run_path(given.script, run_name="__main__")
    except KBridgeError:  # the program's error: its traceback tells where
        traceback.print_exc()
        return 1
    return 0


def check_backend(backend: ModuleType) -> None:
    """Raise where Keras would not find on the module what kbridge composes for it."""
    if not hasattr(backend, "reset_uids"):
        raise UnsupportedError(
            f"Keras reads all functions off the backend's module, and {backend.__name__} is a flat "
            f"one: what kbridge adds to it is on kbridge.load_backend() only. Take a backend that "
            f"is made with kbridge's kit, such as numpy, torch or jax."
        )


def check_keras() -> None:
    """Raise an error that says what to do where the Keras that is installed is not the one."""
    version = as_backend.version_of_keras()
    if version is None:
        raise MissingDependencyError(
            f"Keras is not installed. Install the version that the program is for: {_COMMAND}",
            name="keras",
        )
    if not version.startswith("2.3.") and version != "unknown":
        raise UnsupportedError(
            f"Keras {version} is installed, which takes no backend from outside. Programs for "
            f"Keras 2 run with Keras {KERAS}; in an environment of its own, since one environment "
            f"has one Keras, install it with: {_COMMAND}"
        )
