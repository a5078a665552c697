"""Pooling on PyTorch, whose functions want the channels before the spatial axes.

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
from kbridge.symbolic.conv_shapes import pool as pooled_shape

_POOLS = {2: (F.max_pool2d, F.avg_pool2d), 3: (F.max_pool3d, F.avg_pool3d)}
#: The order of the axes with the channels second, and back.
_SECOND = {2: (0, 3, 1, 2), 3: (0, 4, 1, 2, 3)}
_LAST = {2: (0, 2, 3, 1), 3: (0, 2, 3, 4, 1)}


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    return _pool(x, pool_size, strides, padding, data_format, pool_mode, 2)


def pool3d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    return _pool(x, pool_size, strides, padding, data_format, pool_mode, 3)


def _pool(
    x: Any, pool_size: Any, strides: Any, padding: Any, data_format: Any, pool_mode: Any, n: int
) -> Any:
    if x.dim() != n + 2:  # PyTorch would take an image without the batch
        raise ShapeError(f"an input of rank {n + 2} is needed, got {tuple(x.shape)}")
    last = channels_last(data_format)
    if last:
        x = x.permute(_SECOND[n])
    sizes, steps = tuple_of(pool_size, n, "pool_size"), tuple_of(strides, n, "strides")
    around, extra = [0] * n, [0] * n
    same = check_padding(padding) == "same"
    if same:
        # PyTorch pads both sides alike. One row more at the end is what ceil_mode adds where the
        # stride is above 1; else one is added at both ends, and the first window left out.
        for axis, step in enumerate(steps):
            before, after = same_padding(x.shape[axis + 2], sizes[axis], step)
            extra[axis] = after - before if step == 1 else 0
            around[axis] = before + extra[axis]
    largest, average = _POOLS[n]
    try:
        if pool_mode == "max":
            result = largest(x, sizes, steps, around, ceil_mode=same)
        elif pool_mode == "avg":
            result = average(x, sizes, steps, around, same, count_include_pad=False)
        else:
            raise ArgumentError(f'pool_mode must be "max" or "avg", got {pool_mode!r}')
    except RuntimeError:
        extra = [0] * n
        if not x.numel():  # PyTorch takes an empty batch, but no other empty axis
            shape = pooled_shape(tuple(x.shape), sizes, steps, padding, "channels_first", n)
            result = x.reshape(shape)
        elif pool_mode == "avg":
            result = _mean_by_sums(x, sizes, steps, same)
        else:
            raise
    if any(extra):
        result = result[(..., *[slice(start, None) for start in extra])]
    return result.permute(_LAST[n]) if last else result


def _mean_by_sums(x: Any, sizes: Any, steps: Any, same: bool) -> Any:
    """The mean of volumes that PyTorch refuses.

    On the CPU it has no kernel of 16-bit floats, and none where a window is longer than an axis
    unless that is padded before.
    """
    axes = zip(x.shape[2:], sizes, steps, strict=True)
    pairs = [same_padding(*axis) if same else (0, 0) for axis in axes]
    around = [n for pair in reversed(pairs) for n in pair]
    wide = x.float() if x.dtype.itemsize == 2 else x

    def total(x: Any) -> Any:
        padded = torch.constant_pad_nd(x, around)
        return F.avg_pool3d(padded, sizes, steps, divisor_override=1)

    return (total(wide) / total(wide.new_ones((1, 1, *x.shape[2:])))).to(x.dtype)
