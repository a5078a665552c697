"""Choices on NumPy."""

from __future__ import annotations

from typing import Any


def choose(condition: Any, x: Any, y: Any) -> Any:
    return x if condition else y
