"""Reductions on PyTorch, which takes an empty list of axes for all of them, and widens integers."""

from __future__ import annotations

from typing import Any

import torch

_LISTS = (tuple, list)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not axis and axis.__class__ in _LISTS:
        return x.clone()
    return torch.amax(x, () if axis is None else axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not axis and axis.__class__ in _LISTS:
        return x.clone()
    return torch.amin(x, () if axis is None else axis, keepdims)


def _counted(x: Any) -> Any:
    """The dtype of a sum: integers keep theirs, truth values are counted in int32."""
    return torch.int32 if x.dtype is torch.bool else x.dtype


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not axis and axis.__class__ in _LISTS:
        return x.to(_counted(x), copy=True)
    if x.is_floating_point():
        return torch.sum(x, axis, keepdims)
    return torch.sum(x, axis, keepdims, dtype=_counted(x))


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if axis.__class__ is int:
        return torch.prod(x, axis, keepdims, dtype=_counted(x))
    if axis is None and not keepdims:
        return torch.prod(x, dtype=_counted(x))
    x = x.to(_counted(x), copy=True)
    for one in _axes(x, axis):  # the last first, so that the others keep their places
        x = torch.prod(x, one, keepdims, dtype=x.dtype)
    return x


def _axes(x: Any, axis: Any) -> list[int]:
    rank = x.dim()
    axes = range(rank) if axis is None else axis if isinstance(axis, _LISTS) else (axis,)
    return sorted((one + rank if one < 0 else one for one in axes), reverse=True)


def cumsum(x: Any, axis: int = 0) -> Any:
    return torch.cumsum(x, axis, dtype=_counted(x))


def cumprod(x: Any, axis: int = 0) -> Any:
    return torch.cumprod(x, axis, dtype=_counted(x))


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not axis and axis.__class__ in _LISTS:
        return x.clone()
    return torch.mean(x, axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not axis and axis.__class__ in _LISTS:
        return x - x
    if not x.numel():
        return torch.mean(x, axis, keepdims)  # nan, of which torch.var warns
    return torch.var(x, axis, correction=0, keepdim=keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    truth = x if x.dtype is torch.bool else x != 0  # of uint8 PyTorch would make uint8
    if not axis and axis.__class__ in _LISTS:
        return truth.clone()
    return torch.any(truth, axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    truth = x if x.dtype is torch.bool else x != 0
    if not axis and axis.__class__ in _LISTS:
        return truth.clone()
    return torch.all(truth, axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Any:
    return torch.argmax(x.byte() if x.dtype is torch.bool else x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    return torch.argmin(x.byte() if x.dtype is torch.bool else x, axis)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None:
        axis = tuple(range(x.dim()))
    if not axis and axis.__class__ in _LISTS:
        return x.clone()
    return torch.logsumexp(x, axis, keepdims)
