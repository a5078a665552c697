"""Convolution on PyTorch, whose functions want the channels before the spatial axes.

A permuted view of a channels-last tensor is in PyTorch's own "channels last" memory format, for
which it has kernels: nothing is copied.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F

from kbridge.api.rules import as_data_format
from kbridge.backends.torch.values import channels_last
from kbridge.errors import ArgumentError, ShapeError
from kbridge.symbolic import conv_shapes
from kbridge.symbolic.conv_shapes import check_padding, same_padding, tuple_of

_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSE = {2: F.conv_transpose2d, 3: F.conv_transpose3d}
#: By the number of spatial axes: a tensor as PyTorch takes it, and back; the same of a kernel.
_SECOND = {n: (0, n + 1, *range(1, n + 1)) for n in (1, 2, 3)}
_LAST = {n: (0, *range(2, n + 2), 1) for n in (1, 2, 3)}
_KERNEL = {n: (n + 1, n, *range(n)) for n in (1, 2, 3)}


def _channels_second(x: Any, data_format: Any, n: int) -> tuple[Any, bool]:
    """``x`` as PyTorch takes it, and whether its channels were the last axis."""
    if x.dim() != n + 2:  # PyTorch would take an image without the batch
        raise ShapeError(f"an input of rank {n + 2} is needed, got {tuple(x.shape)}")
    last = channels_last(data_format)
    return (x.permute(_SECOND[n]) if last else x), last


def _sizes(value: Any, n: int) -> Any:
    """``n`` sizes; PyTorch refuses what is no size."""
    return value if value.__class__ is tuple and len(value) == n else tuple_of(value, n, "sizes")


def _convolved(
    x: Any, weights: Any, bias: Any, groups: int, strides: Any, padding: Any, dilation: Any, n: int
) -> Any:
    """A convolution in PyTorch's own layout."""
    steps, gaps = _sizes(strides, n), _sizes(dilation, n)
    if max(steps) > 1 and max(gaps) > 1:
        raise ArgumentError("strides and dilation_rate cannot both be above 1")
    around: Any = [0] * n
    rule = check_padding(padding, causal=n == 1)
    if rule != "valid" and not x.numel() and 0 in x.shape[2:]:
        return _of_nothing(x, weights, bias, groups, steps)
    if rule == "same":
        axes = zip(x.shape[2:], weights.shape[2:], steps, gaps, strict=True)
        pairs = [same_padding(*axis) for axis in axes]
        around = [before for before, _ in pairs]
        more = [(0, after - before) for before, after in reversed(pairs)]
        if any(after for _, after in more):
            x = torch.constant_pad_nd(x, [size for pair in more for size in pair])
    elif rule == "causal":
        x = torch.constant_pad_nd(x, ((weights.shape[2] - 1) * gaps[0], 0))
    return _CONV[n](x, weights, bias, steps, around, gaps, groups)


def _of_nothing(x: Any, weights: Any, bias: Any, groups: int, steps: Any) -> Any:
    """What a padded convolution makes of an empty spatial axis, which PyTorch refuses."""
    if x.shape[1] != weights.shape[1] * groups:
        raise ShapeError(f"the kernel is not for {x.shape[1]} channels")
    counts = [-(-size // step) for size, step in zip(x.shape[2:], steps, strict=True)]
    used = x.sum() + weights.sum() + (0.0 if bias is None else bias.sum())  # which get gradients
    return x.new_zeros((x.shape[0], weights.shape[0], *counts)) * used


def biased_conv(
    n: int,
    bias: Any,
    x: Any,
    kernel: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    dilation_rate: Any,
) -> Any:
    """A convolution over ``n`` spatial axes, to which ``bias`` is added; None is no bias."""
    x, last = _channels_second(x, data_format, n)
    weights = kernel.permute(_KERNEL[n])
    result = _convolved(x, weights, bias, 1, strides, padding, dilation_rate, n)
    return result.permute(_LAST[n]) if last else result


def _convolution(n: int) -> Callable[..., Any]:
    """The function of the contract for ``n`` spatial axes."""

    def conv(
        x: Any,
        kernel: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
    ) -> Any:
        return biased_conv(n, None, x, kernel, strides, padding, data_format, dilation_rate)

    return conv


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    x, last = _channels_second(x, data_format, 2)
    rows, columns, channels, multiplier = depthwise_kernel.shape
    weights = depthwise_kernel.permute(2, 3, 0, 1).reshape(channels * multiplier, 1, rows, columns)
    result = _convolved(x, weights, None, channels, strides, padding, dilation_rate, 2)
    return result.permute(0, 2, 3, 1) if last else result


# --- transposed ----------------------------------------------------------------------------------


@lru_cache(1024)
def _edges(
    x: Any, kernel: Any, target: Any, steps: Any, padding: Any, data_format: Any, gaps: Any, n: int
) -> tuple[list[int], list[int], list[int]]:
    """What a transposed convolution cuts off before and after, and what it adds at the end."""
    shape: Any = conv_shapes.conv_transpose(x, kernel, target, steps, padding, data_format, gaps, n)
    spatial = shape[1:-1] if data_format == "channels_last" else shape[2:]
    before, more, beyond = [], [], []
    for size, width, step, gap in zip(spatial, kernel, steps, gaps, strict=False):
        start, end = same_padding(size, width, step, gap) if padding == "same" else (0, 0)
        # What no window of the convolution reached at the end stays zero; where one reached
        # further into the padding than at the start, the result is cut.
        rest = (start + size + end - (width - 1) * gap - 1) % step + start - end
        before.append(start)
        more.append(max(rest, 0))
        beyond.append(min(rest, 0))
    return before, more, beyond


def _transpose(x: Any, kernel: Any, output_shape: Any, n: int, *how: Any) -> Any:
    strides, padding, data_format, dilation = how
    steps, gaps = _sizes(strides, n), _sizes(dilation, n)
    target = tuple([None if size is None else operator.index(size) for size in output_shape])
    layout = as_data_format(data_format)
    shapes = tuple(x.shape), tuple(kernel.shape)
    before, more, beyond = _edges(*shapes, target, steps, padding, layout, gaps, n)
    x, last = _channels_second(x, layout, n)
    # In one piece, which the gradient by the kernel in float64 needs.
    weights = kernel.permute(_KERNEL[n]).contiguous()
    result = _TRANSPOSE[n](x, weights, None, steps, before, more, 1, gaps)
    for axis, rest in enumerate(beyond, 2):
        if rest:
            result = result.narrow(axis, 0, result.shape[axis] + rest)
    return result.permute(_LAST[n]) if last else result


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    return _transpose(x, kernel, output_shape, 2, strides, padding, data_format, dilation_rate)


def conv3d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    return _transpose(x, kernel, output_shape, 3, strides, padding, data_format, 1)
