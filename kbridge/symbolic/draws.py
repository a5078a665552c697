"""Random numbers on the host: the same on every backend.

A draw has a seed and a stream; its numbers at one position of the stream depend on nothing
else. The generator is NumPy's Philox, made for such counters (Salmon et al., 2011).
"""

from __future__ import annotations

import numpy as np


def host_key(seed: int, position: int | tuple[int, ...]) -> np.random.Generator:
    """The generator at one position of the stream of ``seed``.

    Inside loops a position comes with the numbers of their steps.
    """
    steps: tuple[int, ...] = ()
    if isinstance(position, tuple):
        position, *rest = position
        steps = tuple(rest)
    # Of a list with a number above 2**63 NumPy makes floats.
    key = np.array([seed & 0xFFFFFFFFFFFFFFFF, int(position)], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=_counter(steps)))


def _counter(steps: tuple[int, ...]) -> int | list[int]:
    """Where the generator starts: far from where any other step, or no step, does."""
    if not steps:
        return 0
    # The lowest word counts what one draw takes; of nested loops' steps the outer share one.
    *outer, inner = (int(step) + 1 for step in steps)
    mixed = 0
    for step in outer:
        mixed = (mixed * 0x9E3779B97F4A7C15 + step) & 0xFFFFFFFFFFFFFFFF
    return [0, inner, mixed, len(steps)]
