"""The README tells what fails, and its programs run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kbridge.conformance.shortfall import table

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_what_fails() -> None:
    found = table("onnx")
    assert found in README, f"README.md must hold:\n{found}"
    assert int(re.findall(r"\((\d+)%\)", found)[0]) >= 90


def test_a_function_is_saved_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)[:2]:
        exec(block, names)
    assert (tmp_path / "model.onnx").is_file()
    assert names["y"].shape == (8, 1)
