"""Element by element on PyTorch."""

from __future__ import annotations

import operator
from typing import Any

import torch

from kbridge.backends.torch.values import TORCH, beside
from kbridge.errors import ArgumentError

add = torch.add
subtract = torch.sub
multiply = torch.mul
divide = torch.div
floor_divide = torch.floor_divide
negative = torch.neg
matmul = torch.matmul
logical_and = torch.logical_and
logical_or = torch.logical_or
logical_xor = torch.logical_xor
logical_not = torch.logical_not
exp = torch.exp
log = torch.log
sin = torch.sin
cos = torch.cos
round = torch.round
sign = torch.sign
stop_gradient = torch.detach

# Unlike torch.eq and the like, the operators take a number on the left.
equal = operator.eq
not_equal = operator.ne
greater = operator.gt
greater_equal = operator.ge
less = operator.lt
less_equal = operator.le

_NUMBERS = (float, int)


def mod(x: Any, y: Any) -> Any:
    # With a number on the left PyTorch has no derivative.
    return torch.remainder(beside(x, y) if isinstance(x, _NUMBERS) else x, y)


def pow(x: Any, a: Any) -> Any:
    # PyTorch takes 0 for an integer to a negative power, and torch.compile cannot look at one.
    if isinstance(a, torch.Tensor) and not a.dtype.is_floating_point:
        whole = isinstance(x, int) or not x.dtype.is_floating_point
        if whole and not torch.compiler.is_compiling() and (a < 0).any():
            raise ArgumentError(
                "K.pow: an integer to a negative power is no integer; cast the base with "
                "K.cast(x, K.floatx())."
            )
    return torch.pow(x, a)


def maximum(x: Any, y: Any) -> Any:
    return torch.maximum(x, y) if x.__class__ is y.__class__ else torch.maximum(*_tensors(x, y))


def minimum(x: Any, y: Any) -> Any:
    return torch.minimum(x, y) if x.__class__ is y.__class__ else torch.minimum(*_tensors(x, y))


def _tensors(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands as tensors, where one may be a number."""
    if isinstance(x, _NUMBERS):
        return beside(x, y), y
    return x, beside(y, x) if isinstance(y, _NUMBERS) else y


def abs(x: Any) -> Any:
    return x.clone() if x.dtype is torch.bool else torch.abs(x)


def square(x: Any) -> Any:
    return x.clone() if x.dtype is torch.bool else torch.square(x)


def sqrt(x: Any) -> Any:
    # clamp_min lets no gradient pass below 0, where that of sqrt itself would be nan.
    return torch.sqrt(torch.clamp_min(x, 0))


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    if isinstance(min_value, _NUMBERS) and isinstance(max_value, _NUMBERS):
        return torch.clamp(x, min_value, max_value if max_value > min_value else min_value)
    if min_value is None and max_value is None:
        return x.clone()
    # The upper bound first: where the bounds cross, the lower one wins.
    below = x if max_value is None else torch.clamp(x, max=max_value)
    return below if min_value is None else torch.clamp(below, min=min_value)


def where(condition: Any, x: Any, y: Any) -> Any:
    return torch.where(condition if condition.dtype is torch.bool else condition != 0, x, y)


def cast(x: Any, dtype: str) -> Any:
    return x.to(TORCH[dtype])


def identity(x: Any, name: str | None = None) -> Any:
    return torch.clone(x)
