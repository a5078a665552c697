"""Element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kbridge.backends.namespace.tools import cast, public
from kbridge.binding import host_functions

#: The names here, and what NumPy calls them.
_SAME = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "true_divide",
    "floor_divide": "floor_divide",
    "mod": "mod",
    "negative": "negative",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "logical_not": "logical_not",
    "abs": "abs",
    "exp": "exp",
    "log": "log",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "equal": "equal",
    "not_equal": "not_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "less": "less",
    "less_equal": "less_equal",
    "maximum": "maximum",
    "minimum": "minimum",
    "where": "where",
}


def primitives(xp: Any, engine: Any) -> dict[str, Callable[..., Any]]:
    def square(x: Any) -> Any:
        return xp.multiply(x, x)

    def sqrt(x: Any) -> Any:
        return xp.sqrt(xp.maximum(x, cast(xp.zeros((), x.dtype), x.dtype)))

    def round(x: Any) -> Any:
        return x if x.dtype.kind in "iub" else xp.rint(x)

    def sign(x: Any) -> Any:
        return x if x.dtype.kind == "b" else xp.sign(x)

    def pow(x: Any, a: Any) -> Any:
        tensor = x if engine.is_native(x) else a
        if tensor.dtype.kind in "iu":
            powers = engine.as_array(a)
            if (powers < 0).any():
                host_functions()["pow"](engine.as_array(x), powers)  # which says what is wrong
        return cast(xp.power(x, a), tensor.dtype)

    def clip(x: Any, min_value: Any, max_value: Any) -> Any:
        # The upper bound first: where the bounds cross, the lower one wins.
        below = x if max_value is None else xp.minimum(x, max_value)
        return below if min_value is None else xp.maximum(below, min_value)

    found = {name: getattr(xp, other) for name, other in _SAME.items()}
    return {**found, **public({n: f for n, f in locals().items() if n != "found"})}
