"""Checks of data in compiled code: they travel beside the results, and are read before use.

XLA raises nothing. While a plan is traced, each operation that must look at its data notes a
small vector: whether an index is outside, which one, and numbers for the message.
:func:`collected` hands these vectors to the caller, who returns them from the traced function,
so that no tracer outlives its trace. In a trace of the user's nothing can be checked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from kbridge.backends.jax.staging import Tracer, trace_state
from kbridge.errors import IndexRangeError

Words = Callable[..., str]


class Notes(NamedTuple):
    """What one traced region noted: how to word each fault, and the vectors.

    JAX takes the vectors for its content, and returns each trace's words with them: another size
    may note something else.
    """

    words: list[Words]
    vectors: list[Any]


jax.tree_util.register_pytree_node(
    Notes,
    lambda notes: ((notes.vectors,), tuple(notes.words)),
    lambda words, children: Notes(list(words), *children),
)


class _Current(threading.local):
    notes: Notes | None = None
    trace: Any = None


_current = _Current()


def collected(function: Callable[..., Any], *args: Any) -> tuple[Any, Notes]:
    """``function(*args)`` with what it noted."""
    before = _current.notes, _current.trace
    notes = _current.notes = Notes([], [])
    _current.trace = trace_state()
    try:
        return function(*args), notes
    finally:
        _current.notes, _current.trace = before


def note(words: Sequence[Words], vectors: Sequence[Any]) -> None:
    """Pass on what an inner region noted; its vectors are values of this one now."""
    if _current.notes is not None:
        _current.notes.words.extend(words)
        _current.notes.vectors.extend(vectors)


def inside(indices: Any, least: int, end: int, words: Words, *numbers: int) -> bool:
    """Whether ``indices`` lie in ``[least, end)``, as far as that can be told.

    Concrete ones are read, and a wrong one raises ``words(index, *numbers)``. Traced ones are
    noted in a plan. False in a trace of the user's, where wrong ones pass.
    """
    if not isinstance(indices, Tracer):
        found = np.asarray(indices)
        if found.size and (found.min() < least or found.max() >= end):
            outside = (found < least) | (found >= end)
            raise IndexRangeError(words(int(found[outside].flat[0]), *numbers))
        return True
    notes = _current.notes
    if notes is None or _current.trace != trace_state():
        return False
    if indices.size:
        outside = jnp.reshape((indices < least) | (indices >= end), -1)
        first = jnp.reshape(indices, -1)[jax.lax.argmax(outside.astype(np.int8), 0, np.int32)]
        parts = [jnp.any(outside), first, *numbers]
        notes.words.append(words)
        notes.vectors.append(jnp.stack([jnp.asarray(p).astype(np.int32) for p in parts]))
    return True


def first(vectors: Any) -> Any:
    """Of the vectors that the steps of a loop noted the first that tells of a fault."""
    if not vectors.shape[0]:
        return jnp.zeros(vectors.shape[1:], vectors.dtype)
    return vectors[jax.lax.argmax(vectors[:, 0], 0, np.int32)]


def read(notes: Notes) -> None:
    """Raise for the first fault in what a run noted."""
    for word, vector in zip(*notes, strict=True):
        wrong, index, *numbers = np.asarray(vector).tolist()
        if wrong:
            raise IndexRangeError(word(index, *numbers))
