"""Activations and normalisation on PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from kbridge.backends.torch.values import channels_last
from kbridge.errors import ShapeError
from kbridge.symbolic.shapes import normalize_axis

softmax = torch.softmax
sigmoid = torch.sigmoid
tanh = torch.tanh
elu = F.elu


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: float = 0.0) -> Any:
    if alpha.__class__ is float and max_value is None and not threshold:
        return F.leaky_relu(x, alpha) if alpha else torch.relu(x)
    above = x if max_value is None else torch.clamp(x, 0, max(max_value, 0))
    # At 0 the slope is that of the lower part; at another threshold an equal element passes.
    lower = x < threshold if threshold else x <= 0
    if isinstance(alpha, torch.Tensor) or alpha:
        return torch.where(lower, (x - threshold) * alpha, above)
    return torch.where(lower, 0, above)


def softplus(x: Any) -> Any:
    # Above a threshold PyTorch takes x itself: 20 is enough but for float64.
    return F.softplus(x, 1, 40) if x.dtype is torch.float64 else F.softplus(x)


def softsign(x: Any) -> Any:
    return x / (torch.abs(x) + 1)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    shape, width = x.shape, bias.dim()
    rank = len(shape)
    if rank == 2 and width == 1 and bias.numel() == shape[1]:
        return torch.add(x, bias)
    channels = rank - 1
    if rank > 2 and not channels_last(data_format):
        channels = 1
    if width == 1 < rank and bias.shape[0] == shape[channels]:
        return torch.add(x, bias if channels == rank - 1 else bias.reshape(-1, *[1] * (rank - 2)))
    if width == rank - 1 > 1:
        if channels != rank - 1:
            bias = bias.reshape(bias.shape[-1:] + bias.shape[:-1])
        result = torch.add(x, bias)
        if result.shape == shape:
            return result
    raise ShapeError(f"a bias {tuple(bias.shape)} does not fit {tuple(shape)}")


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 0.001
) -> Any:
    rank = x.dim()
    axis = normalize_axis(axis, rank)
    if axis != rank - 1:
        mean, var, beta, gamma = (_along(t, axis, rank) for t in (mean, var, beta, gamma))
    scale = torch.rsqrt(var + epsilon)
    if gamma is not None:
        scale = scale * gamma
    # Not F.batch_norm: its statistics get no gradient, and it multiplies before it subtracts.
    centred = x - mean
    return centred * scale if beta is None else torch.addcmul(beta, centred, scale)


def _along(tensor: Any, axis: int, rank: int) -> Any:
    """A vector as a tensor that broadcasts along ``axis``."""
    if tensor is None or tensor.dim() in (0, rank):
        return tensor
    return tensor.reshape([-1 if i == axis else 1 for i in range(rank)])
