"""Fixtures of the unit and integration tests."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ENGINES = ("tensorflow", "torch", "jax")

INSTALLED = ["numpy", *(n for n in ENGINES if importlib.util.find_spec(n) is not None)]

Script = Callable[..., "subprocess.CompletedProcess[str]"]

# What the user has set for Keras in a file does not change what is tested.
_HOME = tempfile.TemporaryDirectory()
os.environ["KERAS_HOME"] = _HOME.name


@pytest.fixture(params=INSTALLED)
def K(request: pytest.FixtureRequest) -> Any:
    """The API bound to each installed backend."""
    import kbridge

    return kbridge.load_backend(request.param)


@pytest.fixture
def clean_env(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home and no setting of Keras."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KERAS", "PYTEST"))}
    home = tmp_path / "home"
    home.mkdir()
    return {**env, "HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def script(tmp_path: Path, clean_env: dict[str, str]) -> Script:
    """Run code in a fresh interpreter, in which only some engines seem to be installed."""

    def run(
        code: str, *, installed: Iterable[str] | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        if installed is not None:
            hidden = [name for name in ENGINES if name not in installed]
            stubs = tmp_path / "stubs"
            for name in installed:
                (stubs / name).mkdir(parents=True, exist_ok=True)
                text = f"raise AssertionError('{name} was imported')\n"
                (stubs / name / "__init__.py").write_text(text)
            code = f"import sys; sys.modules.update(dict.fromkeys({hidden}))\n{code}"
            env["PYTHONPATH"] = os.pathsep.join([str(stubs), str(tmp_path), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**clean_env, **env},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def keras_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], Path]:
    """Write ``keras.json`` into a KERAS_HOME of its own, and forget the settings read before."""
    from kbridge import config

    folder = tmp_path / "keras"
    folder.mkdir()
    monkeypatch.setenv("KERAS_HOME", str(folder))
    monkeypatch.setattr(config, "_state", None)

    def write(content: object) -> Path:
        file = folder / "keras.json"
        raw = content if isinstance(content, (str, bytes)) else json.dumps(content)
        file.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
        monkeypatch.setattr(config, "_state", None)
        return file

    return write
