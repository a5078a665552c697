"""The command ``kbridge``: info, config, check, new-backend, demo, bench, run.

All but the first two hand their arguments to the module that does the work, which is imported only
then.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

import kbridge
from kbridge import config, loader
from kbridge.errors import BrokenBackendError, KBridgeError

# Engines whose package is not called like their module, by the names to try.
_DISTRIBUTIONS = {"tensorflow": ("tensorflow", "tensorflow-cpu", "tf-nightly", "tensorflow-macos")}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (by default the process's own); return the exit status."""
    listed = "\n".join(f"  {name:11} {run.__doc__}" for name, run in _COMMANDS.items())
    more = "'kbridge COMMAND --help' tells more about check, new-backend, demo, run and bench."
    parser = argparse.ArgumentParser(
        prog="kbridge",
        description=(kbridge.__doc__ or "").partition("\n")[0],
        epilog=f"commands:\n{listed}\n\n{more}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"kbridge {kbridge.__version__}")
    parser.add_argument("command", choices=_COMMANDS, metavar="COMMAND", help="see below")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the command's own arguments")
    given = parser.parse_args(argv)
    try:
        return _COMMANDS[given.command](given.args)
    except BrokenBackendError as error:  # its message speaks of the traceback
        traceback.print_exception(error)
        return 1
    except KBridgeError as error:
        return _fail(str(error))


def _fail(message: str) -> int:
    print(f"kbridge: error: {message}", file=sys.stderr)
    return 1


def info(argv: list[str]) -> int:
    """Show the version, the engines installed, and the backend chosen."""
    argparse.ArgumentParser(prog="kbridge info", description=info.__doc__).parse_args(argv)
    print(f"kbridge {kbridge.__version__} on Python {platform.python_version()}")
    print("\nEngines")
    for name in loader.BUILTIN:
        print(f"  {name:12} {_engine_version(name)}")
    print("\nPlug-ins")
    plugins = loader.entry_points()
    for entry in plugins:
        print(f"  {entry.name:12} {entry.value} (from {loader.distribution_of(entry)})")
    if not plugins:
        print("  none")
    print("\nBackend")
    name, source = loader.choice()
    print(f"  {name:12} by {source}{_lack(name)}")
    return 0


def _lack(name: str) -> str:
    """What is known to be missing of the backend `name`, without importing it."""
    try:
        path = loader.path_of(name)
    except KBridgeError:
        return ", but it is not installed"
    if name in loader.BUILTIN:
        return "" if config.is_installed(name) else ", but it is not installed"
    there = importlib.util.find_spec(path.partition(".")[0])
    return "" if there else ", but there is no such backend or module"


def _engine_version(name: str) -> str:
    if not config.is_installed(name):
        return f'not installed; pip install "kbridge[{name}]"'
    for distribution in _DISTRIBUTIONS.get(name, (name,)):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return "installed, of unknown version"


def show_config(argv: list[str]) -> int:
    """Show the settings in force, and where each comes from."""
    argparse.ArgumentParser(prog="kbridge config", description=show_config.__doc__).parse_args(argv)
    settings = config.load()
    print(f"file: {config.path() or 'none, since there is no home folder'}\n")
    for name in ("floatx", "epsilon", "image_data_format"):
        print(f"  {name:18} {getattr(settings, name)!s:14} {settings.sources[name]}")
    print("  {:18} {:14} {}".format("backend", *loader.choice()))
    return 0


def check(argv: list[str]) -> int:
    """Run the conformance suite on a backend: kbridge check BACKEND."""
    sys.path.append(str(Path.cwd()))  # as `python -m` does: there a backend under work may lie
    return _delegate("kbridge.conformance.runner", "conformance", argv)


def new_backend(argv: list[str]) -> int:
    """Write a small package with a backend to start from: kbridge new-backend NAME."""
    return importlib.import_module("kbridge.scaffold").main(argv)  # type: ignore[no-any-return]


def demo(argv: list[str]) -> int:
    """Show what kbridge does, on the engines installed."""
    return _delegate("kbridge.demo", "cli,examples", argv)


def _delegate(module: str, extra: str, argv: list[str]) -> int:
    try:
        run: Callable[[list[str]], int] = importlib.import_module(module).main
    except ModuleNotFoundError as error:
        missing = error.name or module
        if missing in (module, module.rpartition(".")[0]):
            remedy = "kbridge is not installed; in a checkout, install it with: pip install -e ."
        elif config.is_installed(missing.partition(".")[0]):
            raise
        else:
            remedy = f'Install it with: pip install "kbridge[{extra}]"'
        return _fail(f"there is no module {missing!r}. {remedy}")
    return run(argv)


def bench(argv: list[str]) -> int:
    """Run the benchmarks, from a checkout of kbridge's repository."""
    for root in (Path.cwd(), Path(kbridge.__file__).parents[1]):
        if (root / "benchmarks" / "__main__.py").is_file():
            return subprocess.run([sys.executable, "-m", "benchmarks", *argv], cwd=root).returncode
    return _fail(
        "the benchmarks are not part of the installed package. Run 'kbridge bench' in a checkout "
        "of kbridge's repository, where the folder benchmarks/ lies."
    )


def run(argv: list[str]) -> int:
    """Run a program for Keras 2 on any engine: kbridge run --backend torch train.py."""
    return importlib.import_module("kbridge.compat.run").main(argv)  # type: ignore[no-any-return]


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "info": info,
    "config": show_config,
    "check": check,
    "new-backend": new_backend,
    "demo": demo,
    "bench": bench,
    "run": run,
}
