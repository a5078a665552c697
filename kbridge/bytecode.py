"""Generated source, compiled once and then kept where Python keeps its own bytecode."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import marshal
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType


def compiled(source: str, file: str, name: str) -> CodeType:
    """The code of what the module ``file`` has written for ``name``.

    For the dispatchers compiling takes some 20 ms, a third of what kbridge adds to the import of an
    engine.
    """
    head = importlib.util.MAGIC_NUMBER + importlib.util.source_hash(source.encode())
    place = Path(importlib.util.cache_from_source(file)).with_suffix(f".{name}")
    with contextlib.suppress(OSError, EOFError, TypeError, ValueError):  # none, or a broken one
        kept = place.read_bytes()
        if kept.startswith(head):
            code: CodeType = marshal.loads(kept[len(head) :])
            return code
    with _uncollected():
        code = compile(source, f"<kbridge {Path(file).stem} of {name}>", "exec")
    if not sys.dont_write_bytecode:
        _keep(place, head + marshal.dumps(code))
    return code


def _keep(place: Path, content: bytes) -> None:
    """Write a file at once, or not at all where that is not allowed."""
    part = place.with_name(f"{place.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(place)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from going over all of an engine's objects meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
