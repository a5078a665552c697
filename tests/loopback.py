"""A backend to test the dispatcher with: NumPy's primitives, each behind one that notes its calls.

It is loaded by its dotted path, as any third party's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from kbridge.backends.kit import install
from kbridge.backends.numpy import PRIMITIVES as NUMPY
from kbridge.backends.numpy.engine import NumPyEngine


class Call(NamedTuple):
    """One call of a primitive, and whether it raised."""

    name: str
    args: tuple[Any, ...]
    raised: bool


CALLS: list[Call] = []


def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which takes its arguments by position alone, as all of kbridge calls it."""

    @functools.wraps(function)
    def native(*args: Any) -> Any:
        try:
            result = function(*args)
        except Exception:
            CALLS.append(Call(name, args, True))
            raise
        CALLS.append(Call(name, args, False))
        return result

    return native


class Loopback(NumPyEngine):
    """NumPy as it is."""

    name = title = "loopback"


install(globals(), Loopback(), [], base={name: noted(name, f) for name, f in NUMPY.items()})
