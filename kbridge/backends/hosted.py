"""Primitives that follow from an engine's hooks: every backend of the kit begins with these.

Shapes are known to the engine, draws and fixed contents come from the host's NumPy and go to the
engine by ``from_numpy``. An engine that computes inside a graph of its own brings its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kbridge.binding import host_functions
from kbridge.symbolic.dtypes import normalize
from kbridge.symbolic.host import host_ints
from kbridge.symbolic.printing import printer


def primitives(engine: Any) -> dict[str, Callable[..., Any]]:
    """The primitives, by name, of an engine with concrete tensors."""

    def shape(x: Any) -> Any:
        return host_ints(engine.shape(x))

    def size(x: Any, name: str | None = None) -> Any:
        return host_ints(math.prod(engine.shape(x)))

    def cast(x: Any, dtype: str) -> Any:
        return engine.cast(x, dtype)

    def identity(x: Any, name: str | None = None) -> Any:
        return engine.copy(x)

    def stop_gradient(variables: Any) -> Any:
        return variables  # kbridge's own graph knows; an engine's autodiff must be told

    def choose(condition: Any, x: Any, y: Any) -> Any:
        return x if condition else y

    def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Any:
        printer(message, summarize)(engine.to_numpy(x))
        return x

    def full_like(x: Any, value: float, dtype: str | None = None) -> Any:
        return full(engine.shape(x), value, dtype or engine.dtype(x))

    def on_host(name: str) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            arrays = [engine.to_numpy(x) if engine.is_native(x) else x for x in args]
            made = host_functions()[name](*arrays)
            return engine.from_numpy(made, normalize(made.dtype))

        return run

    hosted = ("full", "arange", "random_normal", "random_uniform", "truncated_normal")
    found = {name: on_host(name) for name in (*hosted, "ctc_search", "ctc_trim")}
    full = found["full"]
    own = (shape, size, cast, identity, stop_gradient, choose, print_tensor, full_like)
    return {**found, **{function.__name__: function for function in own}}
