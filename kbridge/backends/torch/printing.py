"""Printing values on PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from kbridge.symbolic.printing import printer


def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Any:
    show = printer(message, summarize)
    plain = x.detach()
    try:
        show((plain.float() if x.dtype is torch.bfloat16 else plain).numpy(force=True))
    except RuntimeError:  # inside a transform of torch.func, which hides the value from NumPy
        print(message, plain, flush=True)
    return x.view_as(x)
