"""Convolution and pooling on PyTorch, whose functions want the channels before the rows.

A permuted view of a channels-last tensor is in PyTorch's own "channels last" memory format, for
which it has kernels: nothing is copied.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from kbridge.api.rules import as_data_format
from kbridge.errors import ArgumentError
from kbridge.symbolic.conv_shapes import check_padding, same_padding, tuple_of


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    last = as_data_format(data_format) == "channels_last"
    steps = tuple_of(strides, 2, "strides")
    gaps = tuple_of(dilation_rate, 2, "dilation_rate")
    if max(steps) > 1 and max(gaps) > 1:
        raise ArgumentError("strides and dilation_rate cannot both be above 1")
    if last:
        x = x.permute(0, 3, 1, 2)
    around = [0, 0]
    if check_padding(padding) == "same":
        pairs = _around(x, kernel.shape[:2], steps, gaps)
        around = [before for before, _ in pairs]
        (top, bottom), (left, right) = pairs
        if (top, left) != (bottom, right):
            x = torch.constant_pad_nd(x, (0, right - left, 0, bottom - top))
    result = F.conv2d(x, kernel.permute(3, 2, 0, 1), None, steps, around, gaps)
    return result.permute(0, 2, 3, 1) if last else result


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
    last = as_data_format(data_format) == "channels_last"
    sizes, steps = tuple_of(pool_size, 2, "pool_size"), tuple_of(strides, 2, "strides")
    if last:
        x = x.permute(0, 3, 1, 2)
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
