"""The command ``kbridge demo``: one program, the same results on every engine.

It trains digit classifiers that are written with K functions only (``models.py``), each backend
in a process of its own, one after the other, and compares the results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kbridge
from kbridge import config, loader
from kbridge.demo import report
from kbridge.errors import BrokenBackendError, KBridgeError, MissingDependencyError

__all__ = ["main"]

MODELS = ("mlp", "cnn")

#: What a worker's environment holds where the user's says nothing.
_ENVIRONMENT = {
    # One thread each: with models so small, several wait for each other more than they compute.
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    # The last lines of a failure are shown, so they are to hold what matters.
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "PYTHONNODEBUGRANGES": "1",
}


def main(argv: list[str]) -> int:
    """Run ``kbridge demo`` with the arguments ``argv``; return the exit status."""
    given = _parser().parse_args(argv)
    if given.plot and not config.is_installed("matplotlib"):
        raise MissingDependencyError(
            '--plot needs matplotlib. Install it with: pip install "kbridge[examples]"',
            name="matplotlib",
        )
    for file in filter(None, (given.json, given.plot)):
        _check_writable(file)
    names = _installed() if given.all else [given.backend or loader.choice().name]
    models = list(MODELS) if given.model == "both" else [given.model]
    training = {
        "epochs": given.epochs,
        "dropout": not given.no_dropout,
        "seed": given.seed,
        "limit": given.images,
    }
    runs: list[report.Run] = []
    failures: dict[str, str] = {}
    with report.progress(len(names) * len(models) * given.epochs) as advance:
        for name in names:
            try:
                runs += _train({"backend": name, "models": models, "training": training}, advance)
            except KBridgeError as error:
                if given.backend:
                    raise
                if not given.all:
                    why = f"({name!r} comes from {loader.choice().source}.)"
                    raise type(error)(f"{error} {why}") from error
                failures[name] = str(error)
    if runs:
        print(report.text(runs, models, not given.no_dropout))
    for message in failures.values():
        print(f"kbridge: error: {message}", file=sys.stderr)
    if given.json:
        results = {
            "kbridge": kbridge.__version__,
            "training": training,
            "runs": [run._asdict() for run in runs],
            "failures": failures,
        }
        given.json.write_text(json.dumps(results, indent=2) + "\n")
        print(f"\nAll numbers are in {given.json}.")
    if given.plot and runs:
        report.plot(runs, models, not given.no_dropout, given.plot)
        print(f"\nThe curves are in {given.plot}.")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kbridge demo",
        description="Train digit classifiers written once, with K functions only, and compare "
        "what the backends make of them.",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--backend", metavar="NAME", help="the backend; by default the one that kbridge chooses"
    )
    where.add_argument(
        "--all", action="store_true", help="each built-in backend whose engine is installed"
    )
    parser.add_argument("--model", choices=[*MODELS, "both"], default="both")
    parser.add_argument("--epochs", type=_positive, default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--images", type=_positive, metavar="N", help="train with the first N digits only"
    )
    parser.add_argument(
        "--no-dropout", action="store_true", help="then the backends' losses agree to 1e-3"
    )
    parser.add_argument(
        "--seed", type=_natural, default=0, metavar="N", help="of weights and order; default: 0"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curves there (PNG)")
    return parser


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return int(text)


def _check_writable(file: Path) -> None:
    """Raise before the work is done, not after it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KBridgeError(f"cannot write {file}: {error.strerror}") from error
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise KBridgeError(f"cannot write {file}: it is a folder, or may not be changed")


def _installed() -> list[str]:
    return [name for name in loader.BUILTIN if config.is_installed(name)]


def _train(options: dict[str, Any], advance: Callable[[str, int], None]) -> list[report.Run]:
    """Train on one backend in a process of its own."""
    name = options["backend"]
    command = [sys.executable, "-m", "kbridge.demo.worker", json.dumps(options)]
    env = {**_ENVIRONMENT, **os.environ}
    epochs: dict[str, list[Any]] = {model: [] for model in options["models"]}
    load = 0.0
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as noise,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=noise, text=True, encoding="utf-8", env=env
        ) as worker,
    ):
        assert worker.stdout is not None
        try:
            advance(f"{name}: loading", 0)
            for line in worker.stdout:
                event = json.loads(line)
                if "error" in event:
                    raise KBridgeError(event["error"])
                if "load" in event:
                    load = event["load"]
                    continue
                epochs[event["model"]].append(event)
                advance(f"{name}: {event['model']}", 1)
        except BaseException:
            worker.kill()
            raise
        if worker.wait():
            noise.seek(0)
            tail = "".join(f"\n    {line}" for line in noise.read().splitlines()[-25:])
            raise BrokenBackendError(
                f"the demo failed on the backend {name!r} (exit status {worker.returncode}). Its "
                f"last messages:{tail}"
            )
    return [
        report.Run(name, model, load, *([e[field] for e in of] for field in report.MEASURED))
        for model, of in epochs.items()
    ]
