"""Fixed contents on PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from kbridge.backends.torch.values import TORCH, ints
from kbridge.errors import ArgumentError


def full(shape: Any, value: float, dtype: str) -> Any:
    return torch.full(ints(shape), value, dtype=TORCH[dtype])


def full_like(x: Any, value: float, dtype: str | None = None) -> Any:
    return torch.full_like(x, value, dtype=None if dtype is None else TORCH[dtype])


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    begin, end = (0, start) if stop is None else (start, stop)
    begin, end, step = (n.item() if hasattr(n, "item") else n for n in (begin, end, step))
    if step == 0:
        raise ArgumentError("K.arange: step must not be 0.")
    if begin == end or (begin > end) == (step > 0):
        return torch.empty(0, dtype=TORCH[dtype])  # which torch.arange refuses
    # In its own numbers first: torch.arange(0, 2, 0.5, dtype=torch.int32) would step by 0.
    exact = torch.int64 if all(isinstance(n, int) for n in (begin, end, step)) else torch.float64
    return torch.arange(begin, end, step, dtype=exact).to(TORCH[dtype])
