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

from kbridge.api.declare import OPERATIONS
from kbridge.backends.engine import Engine
from kbridge.binding import Backend, load_contract

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
    """Nothing is known of a flat module's engine: every function is the module's own."""

    has_graph = False

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = self.title = name

    def is_native(self, value: Any) -> bool:
        return False


def bind_flat(module: ModuleType, name: str) -> Backend:
    """The contract bound to the functions of ``module``, which is not changed."""
    load_contract()
    own = {
        key: getattr(module, key)
        for key, op in OPERATIONS.items()
        if op.public and op.plain is None and callable(getattr(module, key, None))
    }
    native = {**_OPERATORS, **own}
    if "switch" in own:
        native["where"] = own["switch"]
    return Backend(name, FlatEngine(name), native)
