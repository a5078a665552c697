"""Primitives for any module that is like NumPy: CuPy, Autograd's NumPy, NumPy itself.

What is asked of it: NumPy's functions by NumPy's names, arrays with operators, indexing, ``shape``,
``astype`` and NumPy's dtypes. Nothing is written in place, and no ``out=`` or method of a ufunc is
used, so that a namespace may trace, differentiate or be lazy. Sizes and positions are computed
on the host, and reach the namespace as index arrays: a convolution is one look-up and one product,
and so are its adjoints. An engine that has something faster brings it, and it goes before these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kbridge.backends.engine import Engine
from kbridge.backends.namespace import adjoint, conv, elementwise, linalg, nn, reduction, shaping

TOPICS = (elementwise, reduction, linalg, shaping, nn, conv, adjoint)


def primitives(xp: Any, engine: Engine) -> dict[str, Callable[..., Any]]:
    """The primitives, by name, that the namespace ``xp`` can have: the ``base`` of ``install``."""
    found: dict[str, Callable[..., Any]] = {}
    for topic in TOPICS:
        found.update(topic.primitives(xp, engine))
    return found
