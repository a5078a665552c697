"""Products on PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch

from kbridge.symbolic.shapes import batch_dot_axes


def dot(x: Any, y: Any) -> Any:
    if x.dim() == 2 == y.dim():
        return torch.mm(x, y)
    if not x.dim() or not y.dim():
        return torch.mul(x, y)
    if y.dim() <= 2:
        return torch.matmul(x, y)
    return torch.tensordot(x, y, ([-1], [-2]))  # matmul would broadcast the leading axes


def dot_in_plans(x: Any, y: Any) -> Any:
    """PyTorch's own function for matrices."""
    return torch.mm if len(x.shape) == 2 == len(y.shape) else None


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    if axes is None and x.dim() == y.dim() == 3:
        return torch.bmm(x, y)
    a, b = batch_dot_axes(x.shape, y.shape, axes)
    if x.dim() == 3 and y.dim() == 3:
        return torch.bmm(x if a == 2 else x.transpose(1, 2), y if b == 1 else y.transpose(1, 2))
    # The contracted axes to the end of x and to the middle of y, the rest flattened.
    left, right = x.movedim(a, -1), y.movedim(b, 1)
    x_kept, y_kept = left.shape[1:-1], right.shape[2:]
    left = left.reshape(x.shape[0], math.prod(x_kept), x.shape[a])
    right = right.reshape(y.shape[0], y.shape[b], math.prod(y_kept))
    return torch.bmm(left, right).reshape(x.shape[0], *(x_kept + y_kept or (1,)))


def transpose(x: Any) -> Any:
    rank = x.dim()
    return torch.t(x) if rank <= 2 else torch.permute(x, tuple(range(rank - 1, -1, -1)))
