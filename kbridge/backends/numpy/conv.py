"""Convolution on NumPy: windows by ``sliding_window_view``, products by BLAS.

Inside, arrays are channels last and any number of spatial axes is treated alike. The adjoints
are in ``adjoint.py``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kbridge.api.rules import as_data_format
from kbridge.symbolic import conv_shapes
from kbridge.symbolic.conv_shapes import check_padding, same_padding, tuple_of


class Windows:
    """Where the windows of one convolution or pooling lie."""

    def __init__(
        self, x: Any, sizes: Any, strides: Any, padding: str, data_format: Any, dilation: Any = 1
    ) -> None:
        n = len(sizes)
        self.first = as_data_format(data_format) == "channels_first"
        self.sizes = tuple(sizes)
        self.strides = tuple_of(strides, n, "strides")
        self.dilation = tuple_of(dilation, n, "dilation_rate")
        if x.ndim != n + 2 or 0 in sizes or (max(self.strides) > 1 and max(self.dilation) > 1):
            raise ValueError(x.shape, strides, dilation)
        self.spatial = x.shape[2:] if self.first else x.shape[1:-1]
        steps = list(zip(self.spatial, sizes, self.strides, self.dilation, strict=True))
        self.reach = tuple((k - 1) * d + 1 for _, k, _, d in steps)
        rule = check_padding(padding, causal=n == 1)
        self.pads = [(0, 0)] * n
        if rule == "same":
            self.pads = [same_padding(*step) for step in steps]
        elif rule == "causal":
            self.pads = [(self.reach[0] - 1, 0)]
        self.padded = tuple(s + a + b for s, (a, b) in zip(self.spatial, self.pads, strict=True))
        self.counts = tuple(
            (size - reach) // step + 1
            for size, reach, step in zip(self.padded, self.reach, self.strides, strict=True)
        )
        if min(self.counts) < (1 if rule == "valid" else 0):
            raise ValueError("a window does not fit")

    def channels_last(self, x: Any) -> Any:
        """``x`` channels last and in one piece, 16-bit floats in 32 bits."""
        x = np.moveaxis(x, 1, -1) if self.first else x
        return np.ascontiguousarray(x, np.float32 if x.dtype.itemsize == 2 else x.dtype)

    def open(self, x: Any, fill: float = 0.0) -> Any:
        """The input so, with its padding."""
        if self.padded == self.spatial:
            return self.channels_last(x)
        x = np.moveaxis(x, 1, -1) if self.first else x
        dtype = np.float32 if x.dtype.itemsize == 2 else x.dtype
        shape = (len(x), *self.padded, x.shape[-1])
        padded = np.full(shape, fill, dtype) if fill else np.zeros(shape, dtype)  # much faster
        padded[self.inside()] = x
        return padded

    def inside(self) -> Any:
        """The index of what is not padding."""
        sizes = zip(self.pads, self.spatial, strict=True)
        return (slice(None), *(slice(before, before + size) for (before, _), size in sizes))

    def close(self, x: Any, dtype: Any) -> Any:
        """A result in the data format and dtype of the caller."""
        x = x.astype(dtype, copy=False)
        return np.moveaxis(x, -1, 1) if self.first else x

    def occupancy(self) -> Any:
        """How many elements of each window are not padding, (windows..., 1)."""
        result = np.ones(1, np.float32)
        steps = zip(self.spatial, self.sizes, self.strides, self.counts, self.pads, strict=True)
        for size, width, step, count, (start, _) in reversed(list(steps)):
            begin = np.arange(count) * step - start
            inside = np.minimum(begin + width, size) - np.maximum(begin, 0)
            result = np.multiply.outer(inside.astype(np.float32), result)
        return result

    def positions(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Each position in the window, with the index of its elements in all windows."""
        for at in product(*map(range, self.sizes)):
            axes = zip(at, self.dilation, self.strides, self.counts, strict=True)
            yield (
                at,
                (slice(None), *(strided(a * d, s, c) for a, d, s, c in axes)),
            )

    def terms(self, kernel: Any, dtype: Any) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
        """The same with the weights of a depthwise kernel there, once per window of a row."""
        kernel = kernel.reshape(*self.sizes, -1).astype(dtype, copy=False)
        for at, index in self.positions():
            yield at, index, np.tile(kernel[at], (self.counts[-1], 1))

    def patches(self, x: Any) -> Any:
        """A view (batch, windows..., channels, kernel...) of an opened array."""
        n = len(self.sizes)
        view = sliding_window_view(x, self.reach, tuple(range(1, n + 1)))
        steps = [slice(None, None, step) for step in self.strides]
        gaps = [slice(None, None, gap) for gap in self.dilation]
        return view[(slice(None), *steps, slice(None), *gaps)]

    def columns(self, x: Any) -> tuple[Any, bool]:
        """The patches as a matrix, (kernel..., channels) by windows or the other way round.

        The second result says whether the windows are the rows. With few channels, runs along
        the spatial axes are what can be copied fast.
        """
        n, channels = len(self.sizes), x.shape[-1]
        patches = self.patches(x)
        windows = tuple(range(n + 1))
        inner = (*range(n + 2, 2 * n + 2), n + 1)
        size, count = math.prod(self.sizes) * channels, len(x) * math.prod(self.counts)
        if channels < 8:
            return patches.transpose(*inner, *windows).reshape(size, count), False
        return patches.transpose(*windows, *inner).reshape(count, size), True


def strided(start: int, step: int, count: int) -> slice:
    """``count`` indices from ``start``."""
    return slice(start, start + max((count - 1) * step + 1, 0), step)


def convolve(
    x: Any, kernel: Any, strides: Any, padding: str, data_format: Any, dilation: Any
) -> Any:
    """A convolution over the spatial axes of ``kernel``."""
    where = Windows(x, kernel.shape[:-2], strides, padding, data_format, dilation)
    if kernel.shape[-2] != x.shape[1 if where.first else -1]:
        raise ValueError(x.shape, kernel.shape)
    if 0 in where.counts:
        return where.close(np.zeros((len(x), *where.counts, kernel.shape[-1])), x.dtype)
    opened = where.open(x)
    weights = kernel.astype(opened.dtype, copy=False)
    few = kernel.shape[-2] < 8 or max(where.strides) > 1
    result = _by_columns(where, opened, weights) if few else _by_rows(where, opened, weights)
    return where.close(result, x.dtype)


def _by_columns(where: Windows, x: Any, kernel: Any) -> Any:
    columns, rows = where.columns(x)
    result = np.dot(columns if rows else columns.T, kernel.reshape(-1, kernel.shape[-1]))
    return result.reshape(len(x), *where.counts, kernel.shape[-1])


def _by_rows(where: Windows, x: Any, kernel: Any) -> Any:
    """Unfold the last spatial axis only, and add up one product for each place on the others."""
    *_, width, channels, filters = kernel.shape
    n = len(where.sizes)
    step, gap = where.strides[-1], where.dilation[-1]
    view = sliding_window_view(x, where.reach[-1], n)[..., ::step, :, ::gap]
    unfolded = np.ascontiguousarray(np.swapaxes(view, -1, -2))
    unfolded = unfolded.reshape(*unfolded.shape[:-2], width * channels)
    # Runs of rows that lie in one piece are one product.
    run = math.prod(where.counts[-2:])
    shape = (len(x), *where.counts[:-2], run, width * channels)
    result: Any = None
    for at, index in where.positions():
        if at[-1] == 0:
            rows = unfolded[index[:-1]].reshape(shape)
            part = np.matmul(rows, kernel[at[:-1]].reshape(width * channels, filters))
            result = part if result is None else np.add(result, part, out=result)
    return result.reshape(len(x), *where.counts, filters)


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
        if kernel.ndim != n + 2:
            raise ValueError(kernel.shape)
        return convolve(x, kernel, strides, padding, data_format, dilation_rate)

    return conv


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


# --- channel by channel --------------------------------------------------------------------------


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    *sizes, channels, multiplier = depthwise_kernel.shape
    where = Windows(x, sizes, strides, padding, data_format, dilation_rate)
    opened = where.open(x)
    if channels != opened.shape[-1]:
        raise ValueError(x.shape, depthwise_kernel.shape)
    wide = repeated(opened, multiplier)
    result = np.zeros((len(x), *where.counts, wide.shape[-1]), wide.dtype)
    term = np.empty_like(result)
    for _, index, weights in where.terms(depthwise_kernel, wide.dtype):
        result += np.multiply(wide[index], weights, out=term)
    return where.close(result, x.dtype)


def rows_of(x: Any) -> Any:
    """``x`` as a matrix with all axes but the last in one."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def repeated(x: Any, multiplier: int) -> Any:
    """``x`` with each channel as many times as a depthwise kernel has results for it."""
    return x if multiplier == 1 else x.repeat(multiplier, -1)


# --- transposed ----------------------------------------------------------------------------------


def input_adjoint(where: Windows, g: Any, kernel: Any, depthwise: bool = False) -> Any:
    """What the windows of a convolution add to its input where its result is ``g``."""
    dtype, g = g.dtype, where.channels_last(g)
    channels, filters = kernel.shape[-2:]
    if depthwise:
        result = np.zeros((len(g), *where.padded, channels * filters), g.dtype)
        term = np.empty_like(g)
        for _, index, weights in where.terms(kernel, g.dtype):
            result[index] += np.multiply(g, weights, out=term)
        if filters > 1:
            result = result.reshape(*result.shape[:-1], channels, filters).sum(-1)
    else:
        result = np.zeros((len(g), *where.padded, channels), g.dtype)
        rows, kernel = rows_of(g), kernel.astype(g.dtype, copy=False)
        term = np.empty((len(rows), channels), g.dtype)
        for at, index in where.positions():
            np.dot(rows, kernel[at].T, out=term)
            result[index] += term.reshape(*g.shape[:-1], channels)
    return where.close(result[where.inside()], dtype)


def _transposed(
    x: Any, kernel: Any, output_shape: Any, strides: Any, padding: str, data_format: Any, gaps: Any
) -> Any:
    layout = as_data_format(data_format)
    sizes = [size if size is None else operator.index(size) for size in output_shape]
    shape: Any = conv_shapes.conv_transpose(
        x.shape, kernel.shape, sizes, strides, padding, layout, gaps, kernel.ndim - 2
    )
    target = np.broadcast_to(x.dtype.type(0), shape)  # for its shape
    where = Windows(target, kernel.shape[:-2], strides, padding, layout, gaps)
    return input_adjoint(where, x, kernel)


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    return _transposed(x, kernel, output_shape, strides, padding, data_format, dilation_rate)


def conv3d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    return _transposed(x, kernel, output_shape, strides, padding, data_format, 1)
