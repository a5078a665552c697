"""Choices and loops while JAX traces; what their parts check of the data comes along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.backends.jax import checks
from kbridge.backends.jax.staging import Tracer, compiled, strong
from kbridge.errors import UnsupportedError


def choose(condition: Any, x: Any, y: Any) -> Any:
    if x.dtype != y.dtype or x.weak_type or y.weak_type:
        return ()  # the slow path brings them to one dtype
    if not isinstance(condition, Tracer):
        return x if condition else y
    _one_shape(x, y)
    return _select(condition, x, y)


@compiled()
def _select(condition: Any, x: Any, y: Any) -> Any:
    return lax.select(condition != 0, x, y)


def _one_shape(x: Any, y: Any) -> None:
    if x.shape != y.shape:
        raise UnsupportedError(
            f"K.switch: while JAX compiles, the branches must have one shape, as the condition is "
            f"not known yet; they have {x.shape} and {y.shape}. Pad or broadcast one of them, "
            f"or choose outside the compiled function"
        )


def branch(condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """One of two computations, of which XLA runs the one that is chosen."""
    words: list[Any] = []
    noted = []
    found = []
    for function in (first, second):
        found.append(jax.eval_shape(lambda f=function: _noting(f, words)))
        noted.append([jnp.zeros(v.shape, v.dtype) for v in found[-1][1]])
    _one_shape(found[0][0], found[1][0])

    # What the branch that is not taken would note is all right.
    def run_first() -> Any:
        result, vectors = _noting(first, [])
        return result, [*vectors, *noted[1]]

    def run_second() -> Any:
        result, vectors = _noting(second, [])
        return result, [*noted[0], *vectors]

    result, vectors = lax.cond(condition != 0, run_first, run_second)
    checks.note(words, vectors)
    return result


def _noting(function: Callable[[], Any], words: list[Any]) -> tuple[Any, list[Any]]:
    result, notes = checks.collected(function)
    words.extend(notes.words)
    return strong(result), notes.vectors


def scan(
    step: Callable[..., Any], states: Sequence[Any], sequences: Sequence[Any], reverse: bool
) -> tuple[Sequence[Any], Sequence[Any]]:
    """See ``Engine.loop``."""
    words: list[Any] = []

    def body(states: Any, given: Any) -> Any:
        t, *elements = given
        (new, outputs), notes = checks.collected(step, t, states, elements)
        words[:] = notes.words
        return [strong(state) for state in new], (list(outputs), notes.vectors)

    first = [strong(state) for state in states]
    steps = jnp.arange(sequences[0].shape[0], dtype=np.int32)
    final, (outputs, vectors) = lax.scan(body, first, (steps, *sequences), reverse=reverse)
    checks.note(words, [checks.first(vector) for vector in vectors])
    return final, outputs
