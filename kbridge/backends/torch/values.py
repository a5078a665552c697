"""What several topics need: PyTorch's dtypes by name, sizes as ints, numbers as tensors."""

from __future__ import annotations

from operator import index
from typing import Any

import torch

from kbridge.api.rules import as_data_format
from kbridge.symbolic.dtypes import DTYPES

TORCH = {name: getattr(torch, name) for name in DTYPES}


def ints(value: Any) -> tuple[int, ...]:
    """A shape, an axis order or repeats as a tuple of ints, from any form that they may have."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(map(index, value)) if isinstance(value, (list, tuple)) else (index(value),)


def beside(number: float, tensor: Any) -> Any:
    """A number as a tensor of rank 0 with the dtype and the device of ``tensor``."""
    return torch.scalar_tensor(number, dtype=tensor.dtype, device=tensor.device)


def channels_last(data_format: Any) -> bool:
    """Whether a data format, which may be left to the configuration, has the channels last."""
    if data_format == "channels_first":
        return False
    return data_format == "channels_last" or as_data_format(data_format) == "channels_last"
