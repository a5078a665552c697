"""Printing values on JAX."""

from __future__ import annotations

from typing import Any

import jax

from kbridge.backends.jax.staging import Tracer, trace_state_clean
from kbridge.symbolic.printing import printer


def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Any:
    show = printer(message, summarize)
    if not isinstance(x, Tracer) and trace_state_clean():
        show(x)
    else:  # a constant as well, which would else be printed once, while it is traced
        jax.debug.callback(show, x)
    return x
