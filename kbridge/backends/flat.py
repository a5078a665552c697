"""A third party's flat module as a backend: its own graph, used as it is.

Such a module needs only ``placeholder``, ``variable`` and ``function``. What else it has is
used; compositions of the contract fill in what they can from it; the rest is absent. Operators
of its tensors stand in for the operations that K has no name for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from kbridge.api.declare import OPERATIONS, Operation
from kbridge.backends.engine import Engine
from kbridge.binding import Backend, load_contract
from kbridge.loader import REQUIRED

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "mod": operator.mod,
    "negative": operator.neg,
    "matmul": operator.matmul,
    "getitem": operator.getitem,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "logical_xor": operator.xor,
    "logical_not": operator.invert,
}


class FlatEngine(Engine):
    """Of a flat module's engine nothing is known, unless it brings an ``ENGINE`` that tells more.

    ``ENGINE`` is an object of a subclass with the first hooks of :class:`Engine` (``is_native``,
    ``shape``, ``dtype``, ``from_numpy``, ``loop``). It may list in :attr:`composes` functions
    that kbridge then composes, and use :class:`kbridge.backends.contract.Contract`.
    """

    has_graph = False
    #: Functions of kbridge's graph whose compositions are right on the module's own tensors too.
    composes: frozenset[str] = frozenset()
    #: The module's scalar for the learning phase, which its ``function`` takes as an input.
    phase: Any = None

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = self.title = name

    def is_native(self, value: Any) -> bool:
        return False

    def known_sizes(self, native: Any) -> Any:
        """What is known of a native scalar, or of each size in a native vector of known length."""
        raise NotImplementedError

    def finished(
        self, op: Operation, operands: list[Any], value: Any, shape: Any, dtype: str
    ) -> Any:
        """The result of a function of the module, of which the contract tells shape and dtype."""
        return value


def bind_flat(module: ModuleType, name: str) -> Backend:
    """The contract bound to the functions of ``module``, which is not changed.

    Where the module has an ``__all__``, what is not in it counts as not there.
    """
    load_contract()
    shown = getattr(module, "__all__", None)
    brought = getattr(module, "ENGINE", None)
    engine = brought if isinstance(brought, FlatEngine) else FlatEngine(name)
    own = {
        key: getattr(module, key)
        for key, op in OPERATIONS.items()
        if (op.public or engine is brought)
        and op.plain is None
        and callable(getattr(module, key, None))
        and (shown is None or key in shown or key in REQUIRED)
    }
    native = {**_OPERATORS, **own}
    if "switch" in own and "where" not in own:
        native["where"] = own["switch"]
    backend = Backend(name, engine, native)
    if engine.phase is not None:
        backend.phase_placeholder = engine.phase
    return backend
