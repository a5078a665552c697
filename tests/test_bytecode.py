"""Generated code is kept as Python keeps its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kbridge import bytecode


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where bytecode is kept in this test."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def run(source: str) -> Any:
    names: dict[str, Any] = {}
    exec(bytecode.compiled(source, __file__, "mine"), names)
    return names["x"]


def files(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_kept_code_is_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("x = 1") == 1
    (kept,) = files(cache)
    assert kept.suffix == ".mine"
    monkeypatch.setattr(bytecode, "compile", None, raising=False)
    assert run("x = 1") == 1
    with pytest.raises(TypeError):
        run("x = 2")


def test_another_source_is_compiled(cache: Path) -> None:
    assert run("x = 1") == 1
    assert run("x = 2") == 2
    assert run("x = 2") == 2
    assert len(files(cache)) == 1


@pytest.mark.parametrize("content", [b"", b"rubbish", None])
def test_a_broken_file_is_replaced(cache: Path, content: bytes | None) -> None:
    assert run("x = 1") == 1
    (kept,) = files(cache)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-5] if content is None else content)
    assert run("x = 1") == 1
    assert kept.read_bytes() == whole


def test_where_nothing_may_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        assert run("x = 1") == 1
    assert not files(cache)
    (cache / "file").touch()
    monkeypatch.setattr(sys, "pycache_prefix", str(cache / "file"))  # no folder can be made there
    assert run("x = 1") == 1
    assert files(cache) == [cache / "file"]
