"""Convolution and pooling on NumPy: windows by ``sliding_window_view``, products by BLAS.

Inside, arrays are channels last and any number of spatial axes is treated alike. The adjoints
are in ``adjoint.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kbridge.api.rules import as_data_format
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
        if x.ndim != n + 2 or (max(self.strides) > 1 and max(self.dilation) > 1):
            raise ValueError(x.shape, strides, dilation)
        self.spatial = x.shape[2:] if self.first else x.shape[1:-1]
        steps = list(zip(self.spatial, sizes, self.strides, self.dilation, strict=True))
        same = check_padding(padding) == "same"
        self.pads = [same_padding(*step) if same else (0, 0) for step in steps]
        self.reach = tuple((k - 1) * d + 1 for _, k, _, d in steps)
        self.padded = tuple(s + a + b for s, (a, b) in zip(self.spatial, self.pads, strict=True))
        self.counts = tuple(
            (size - reach) // step + 1
            for size, reach, step in zip(self.padded, self.reach, self.strides, strict=True)
        )
        if min(self.counts) < 1:
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
        padded = np.full((len(x), *self.padded, x.shape[-1]), fill, dtype)
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
                (slice(None), *(slice(a * d, a * d + (c - 1) * s + 1, s) for a, d, s, c in axes)),
            )

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


def convolve(
    x: Any, kernel: Any, strides: Any, padding: str, data_format: Any, dilation: Any
) -> Any:
    """A convolution over the spatial axes of ``kernel``."""
    where = Windows(x, kernel.shape[:-2], strides, padding, data_format, dilation)
    opened = where.open(x)
    weights = kernel.astype(opened.dtype, copy=False)
    if kernel.shape[-2] != opened.shape[-1]:
        raise ValueError(x.shape, kernel.shape)
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


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    return convolve(x, kernel, strides, padding, data_format, dilation_rate)


# --- pooling -------------------------------------------------------------------------------------


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    return pool(x, tuple_of(pool_size, 2, "pool_size"), strides, padding, data_format, pool_mode)


def pool(
    x: Any, pool_size: Any, strides: Any, padding: str, data_format: Any, pool_mode: str
) -> Any:
    """The maximum or the average of each window: both go axis by axis."""
    where = Windows(x, pool_size, strides, padding, data_format)
    if pool_mode == "max":
        return where.close(slid(where, where.open(x, -np.inf), np.maximum), x.dtype)
    if pool_mode == "avg":
        return where.close(slid(where, where.open(x), np.add) / where.occupancy(), x.dtype)
    raise ValueError(pool_mode)


def slid(where: Windows, x: Any, combine: Any) -> Any:
    """All elements of each window combined by a ufunc."""
    steps = zip(where.sizes, where.strides, where.counts, strict=True)
    for axis, (size, step, count) in enumerate(steps, 1):
        lead = (slice(None),) * axis
        parts = [x[(*lead, slice(a, a + (count - 1) * step + 1, step))] for a in range(size)]
        x = parts[0] if size == 1 else combine(parts[0], parts[1])
        for part in parts[2:]:
            combine(x, part, out=x)
    return x
