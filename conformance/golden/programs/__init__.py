"""Programs for functions that are no plain call on tensors; run by Keras and by kbridge alike.

Each takes a backend ``K`` and returns arrays, numbers, text and tuples of them. They are written
for Python 3.7 and later, without anything of kbridge, and take no longer than a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {}
#: The functions of the contract that each program is for.
COVERS: dict[str, str] = {}


def program(covers: str) -> Callable[..., Any]:
    """Declare a program for the functions in ``covers``."""

    def declare(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        name = function.__name__.strip("_")
        assert name not in PROGRAMS, name
        PROGRAMS[name], COVERS[name] = function, covers
        return function

    return declare


def drawn(*shape: int) -> Any:
    """Normal numbers that are the same in every version of NumPy."""
    return np.random.RandomState(sum(shape)).standard_normal(shape).astype("float32")


def refused(function: Callable[..., Any], *args: Any) -> bool:
    """Whether a call raises a ValueError."""
    try:
        function(*args)
    except ValueError:
        return True
    return False


# Each takes what it needs from here.
from . import basics, sequences  # noqa: E402, F401, TID252  # Python 3.7 has the folder on its path
