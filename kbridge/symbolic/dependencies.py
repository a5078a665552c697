"""``K.control_dependencies``: updates that tensors bring with them wherever they are fetched.

A Tensor made inside such a scope remembers the scope's updates. Who fetches it, or what is computed
from it, performs them first: together, each computed from the values before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

_OPEN: ContextVar[tuple[Any, ...]] = ContextVar("kbridge_updates", default=())

#: Whether there was a scope with updates ever; before that no Tensor can bring any.
used = False


@contextlib.contextmanager
def scope(updates: tuple[Any, ...] | None) -> Iterator[None]:
    """Tensors made inside bring ``updates``, and those of the scopes around; None: no updates."""
    global used
    used = used or bool(updates)
    token = _OPEN.set(() if updates is None else (*_OPEN.get(), *updates))
    try:
        yield
    finally:
        _OPEN.reset(token)


def mark(tensor: Any) -> None:
    """Let a new Tensor remember the updates of the scopes that are open."""
    updates = _OPEN.get()
    if updates:
        tensor.__dict__["_after"] = updates


def of(tensors: Iterable[Any]) -> list[Any]:
    """The updates that ``tensors`` bring, with those that the updates' values bring."""
    if not used:
        return []
    found: dict[int, Any] = {}
    stack = list(tensors)
    seen = set(stack)
    while stack:
        tensor = stack.pop()
        parents = list(tensor.inputs)
        for update in tensor.__dict__.get("_after", ()):
            if id(update) not in found:
                found[id(update)] = update
                parents += [part for part in update if hasattr(part, "inputs")]
        stack.extend(parent for parent in parents if parent not in seen)
        seen.update(parents)
    return list(found.values())
