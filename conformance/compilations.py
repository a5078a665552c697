"""How often an engine compiles or traces a function anew."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")


def counted(K: Any, run: Callable[[], R]) -> tuple[int, R]:
    """The number of compilations during ``run()``, and its result; 0 where none are made."""
    counter = {"jax": _jax_compilations, "tensorflow": _tensorflow_graphs}.get(K.engine.name)
    if counter is None:
        return 0, run()
    before = counter()
    result = run()
    return counter() - before, result


def _jax_compilations() -> int:
    return len(_jax_events())


@functools.cache
def _jax_events() -> list[str]:
    """A list that grows by one with each compilation from now on."""
    from jax import monitoring

    events: list[str] = []

    def heard(event: str, duration: float, **more: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            events.append(event)

    monitoring.register_event_duration_secs_listener(heard)
    return events


def _tensorflow_graphs() -> int:
    """The graphs alive: each trace of a function leaves one, which the function keeps."""
    import tensorflow as tf

    kind = tf.__internal__.FuncGraph
    return sum(isinstance(item, kind) for item in gc.get_objects())
