"""Printing values on NumPy."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.printing import printer


def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Any:
    printer(message, summarize)(x)
    return x
