"""Convolution and pooling on PyTorch, whose functions want the channels before the rows.

A permuted view of a channels-last tensor is in PyTorch's own "channels last" memory format, for
which it has kernels: nothing is copied.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from kbridge.backends.torch.values import channels_last
from kbridge.errors import ArgumentError, ShapeError
from kbridge.symbolic.conv_shapes import check_padding, same_padding, tuple_of


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    x, last = _channels_second(x, data_format)
    steps, gaps = _pair(strides), _pair(dilation_rate)
    if max(steps) > 1 and max(gaps) > 1:
        raise ArgumentError("strides and dilation_rate cannot both be above 1")
    around = [0, 0]
    if check_padding(padding) == "same":
        pairs = _around(x, kernel.shape[:2], steps, gaps)
        around = [before for before, _ in pairs]
        (top, bottom), (left, right) = pairs
        if (top, left) != (bottom, right):
            x = torch.constant_pad_nd(x, (0, right - left, 0, bottom - top))
    result = F.conv2d(x, kernel.permute(3, 2, 0, 1), None, steps, around, gaps)
    return result.permute(0, 2, 3, 1) if last else result


def _channels_second(x: Any, data_format: Any) -> tuple[Any, bool]:
    """``x`` as PyTorch takes it, and whether its channels were the last axis."""
    if x.dim() != 4:  # PyTorch would take an image without the batch
        raise ShapeError(f"an input of rank 4 is needed, got {tuple(x.shape)}")
    last = channels_last(data_format)
    return (x.permute(0, 3, 1, 2) if last else x), last


def _pair(value: Any) -> Any:
    """Two sizes; PyTorch refuses what is no size."""
    return value if value.__class__ is tuple and len(value) == 2 else tuple_of(value, 2, "sizes")


def _around(x: Any, sizes: Any, steps: Any, gaps: Any = (1, 1)) -> list[tuple[int, int]]:
    """The padding of the last two axes."""
    axes = zip(x.shape[2:], sizes, steps, gaps, strict=True)
    return [same_padding(*axis) for axis in axes]


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    x, last = _channels_second(x, data_format)
    sizes, steps = _pair(pool_size), _pair(strides)
    same = check_padding(padding) == "same"
    around, first = [0, 0], [0, 0]
    if same:
        # PyTorch pads both sides alike. One row more at the end is what ceil_mode adds where the
        # stride is above 1; else one is added at both ends, and the first window left out.
        for axis, (before, after) in enumerate(_around(x, sizes, steps)):
            first[axis] = after - before if steps[axis] == 1 else 0
            around[axis] = before + first[axis]
    if pool_mode == "max":
        result = F.max_pool2d(x, sizes, steps, around, ceil_mode=same)
    elif pool_mode == "avg":
        result = F.avg_pool2d(x, sizes, steps, around, same, count_include_pad=False)
    else:
        raise ArgumentError(f'pool_mode must be "max" or "avg", got {pool_mode!r}')
    if any(first):
        result = result[:, :, first[0] :, first[1] :]
    return result.permute(0, 2, 3, 1) if last else result
