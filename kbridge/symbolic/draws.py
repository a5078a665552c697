"""Random numbers on the host: the same on every backend.

A draw has a seed and a stream; its numbers at one position of the stream depend on nothing
else. The generator is NumPy's Philox, made for such counters (Salmon et al., 2011).
"""

from __future__ import annotations

import numpy as np


def host_key(seed: int, position: int) -> np.random.Generator:
    """The generator at one position of the stream of ``seed``."""
    return np.random.Generator(np.random.Philox(key=[seed & 0xFFFFFFFFFFFFFFFF, int(position)]))
