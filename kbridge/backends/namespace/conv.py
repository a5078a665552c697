"""Convolution and pooling: the windows are looked up by an index that is computed on the host."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.api.rules import as_data_format
from kbridge.backends.namespace.tools import cast, inverse, public, summed, wide
from kbridge.backends.numpy.conv import Windows
from kbridge.symbolic import conv_shapes
from kbridge.symbolic.conv_shapes import tuple_of


class Places(Windows):
    """Windows as positions in the flattened spatial axes; padding stands one place behind."""

    @property
    def index(self) -> Any:
        """A row of positions for each window."""
        n = len(self.sizes)
        index, inside = np.zeros((), int), np.ones((), bool)
        axes = (self.spatial, self.sizes, self.strides, self.dilation, self.counts, self.pads)
        for axis, (size, width, step, gap, count, (before, _)) in enumerate(
            zip(*axes, strict=True)
        ):
            at = np.arange(count)[:, None] * step - before + np.arange(width) * gap
            shape = [1] * (2 * n)
            shape[axis], shape[n + axis] = count, width
            at = at.reshape(shape)
            index = index * size + at
            inside = inside & (at >= 0) & (at < size)
        rows = (math.prod(self.counts), math.prod(self.sizes))
        return np.where(inside, index, math.prod(self.spatial)).reshape(rows)


class Look:
    """The windows of one call, in a namespace."""

    def __init__(self, xp: Any, engine: Any, x: Any, *how: Any) -> None:
        self.xp, self.engine = xp, engine
        self.where = Places(x, *how)
        self.index = self.where.index
        self.batch, self.channels = x.shape[0], x.shape[1 if self.where.first else -1]

    def flat(self, x: Any) -> Any:
        """(batch, positions, channels), 16-bit floats in 32 bits."""
        x = self.xp.moveaxis(x, 1, -1) if self.where.first else x
        return self.xp.reshape(wide(x), (x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1]))

    def patches(self, x: Any, fill: float = 0.0) -> Any:
        """(batch, windows, places in the window, channels)."""
        x = self.flat(x)
        edge = np.full((x.shape[0], 1, x.shape[2]), fill, x.dtype)
        padded = self.xp.concatenate([x, self.engine.from_numpy(edge, self.engine.dtype(x))], 1)
        return padded[:, self.engine.from_numpy(self.index, "int64")]

    def spread(self, parts: Any) -> Any:
        """What patches add up to where they come from: (batch, positions, channels)."""
        rows = inverse(self.index, math.prod(self.where.spatial) + 1)[:-1]
        shape = (parts.shape[0], self.index.size, parts.shape[-1])
        return summed(self.xp, self.engine, self.xp.reshape(parts, shape), rows, 1)

    def close(self, x: Any, sizes: Any, dtype: Any) -> Any:
        """(batch, positions, channels) in the data format and dtype of the caller."""
        x = self.xp.reshape(x, (x.shape[0], *sizes, x.shape[-1]))
        return cast(self.xp.moveaxis(x, -1, 1) if self.where.first else x, dtype)

    def occupancy(self, like: Any) -> Any:
        """How many places of each window are not padding, (windows, 1)."""
        count = (self.index < math.prod(self.where.spatial)).sum(1, keepdims=True)
        return self.engine.from_numpy(count.astype(like.dtype), self.engine.dtype(like))

    def first_maxima(self, x: Any) -> Any:
        """Where in each window its first maximum stands, as truth values of the patches' shape."""
        patches = self.patches(x, -np.inf)
        places = np.arange(self.index.shape[1]).reshape(-1, 1)
        highest = self.xp.argmax(patches, 2)
        shape = (highest.shape[0], highest.shape[1], 1, highest.shape[2])
        at = self.engine.from_numpy(places, self.engine.dtype(highest))
        return self.xp.equal(self.xp.reshape(highest, shape), at)


def primitives(xp: Any, engine: Any) -> dict[str, Callable[..., Any]]:
    def _convolve(x: Any, kernel: Any, strides: Any, padding: str, layout: Any, gaps: Any) -> Any:
        look = Look(xp, engine, x, kernel.shape[:-2], strides, padding, layout, gaps)
        if kernel.shape[-2] != look.channels:
            raise ValueError(x.shape, kernel.shape)
        count, size = look.index.shape
        rows = (look.batch * count, size * look.channels)
        patches = xp.reshape(look.patches(x), rows)
        product = xp.matmul(patches, xp.reshape(wide(kernel), (rows[1], kernel.shape[-1])))
        result = xp.reshape(product, (look.batch, count, kernel.shape[-1]))
        return look.close(result, look.where.counts, x.dtype)

    def _convolution(n: int) -> Callable[..., Any]:
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
            return _convolve(x, kernel, strides, padding, data_format, dilation_rate)

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
        *sizes, channels, filters = depthwise_kernel.shape
        look = Look(xp, engine, x, sizes, strides, padding, data_format, dilation_rate)
        if channels != look.channels:
            raise ValueError(x.shape, depthwise_kernel.shape)
        patches = look.patches(x)
        weights = xp.reshape(wide(depthwise_kernel), (look.index.shape[1], channels, filters))
        terms = xp.reshape(patches, (*patches.shape, 1)) * weights
        shape = (look.batch, look.index.shape[0], channels * filters)
        result = xp.reshape(xp.sum(terms, axis=2), shape)
        return look.close(result, look.where.counts, x.dtype)

    def _input_adjoint(look: Look, g: Any, kernel: Any, depthwise: bool) -> Any:
        dtype, g, kernel = g.dtype, look.flat(g), wide(kernel)
        channels, filters = kernel.shape[-2:]
        count, size = look.index.shape
        if depthwise:
            weights = xp.reshape(kernel, (size, channels, filters))
            parts = xp.reshape(g, (g.shape[0], count, 1, channels, filters)) * weights
            parts = xp.sum(parts, axis=-1)
        else:
            turned = xp.transpose(xp.reshape(kernel, (size * channels, filters)))
            parts = xp.matmul(xp.reshape(g, (g.shape[0] * count, filters)), turned)
            parts = xp.reshape(parts, (g.shape[0], count, size, channels))
        return look.close(look.spread(parts), look.where.spatial, dtype)

    def _transposed(
        x: Any, kernel: Any, sizes: Any, strides: Any, padding: str, layout: Any, gaps: Any
    ) -> Any:
        layout = as_data_format(layout)
        sizes = [size if size is None else operator.index(size) for size in sizes]
        shape: Any = conv_shapes.conv_transpose(
            x.shape, kernel.shape, sizes, strides, padding, layout, gaps, kernel.ndim - 2
        )
        target = np.broadcast_to(np.int8(0), shape)  # for its shape
        look = Look(xp, engine, target, kernel.shape[:-2], strides, padding, layout, gaps)
        return _input_adjoint(look, x, kernel, False)

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

    # --- pooling -------------------------------------------------------------------------------

    def _pool(n: int) -> Callable[..., Any]:
        def pool(
            x: Any,
            pool_size: Any,
            strides: Any = 1,
            padding: str = "valid",
            data_format: str | None = None,
            pool_mode: str = "max",
        ) -> Any:
            sizes = tuple_of(pool_size, n, "pool_size")
            look = Look(xp, engine, x, sizes, strides, padding, data_format)
            if pool_mode == "max":
                result = xp.max(look.patches(x, -np.inf), axis=2)
            elif pool_mode == "avg":
                result = xp.sum(look.patches(x), axis=2)
                result = result / look.occupancy(result)
            else:
                raise ValueError(pool_mode)
            return look.close(result, look.where.counts, x.dtype)

        return pool

    pool2d, pool3d = map(_pool, (2, 3))

    # --- adjoints ------------------------------------------------------------------------------

    def conv_input_adjoint(
        g: Any,
        x: Any,
        kernel: Any,
        strides: Any,
        padding: str,
        data_format: str,
        dilation_rate: Any,
        depthwise: bool = False,
    ) -> Any:
        how = (kernel.shape[:-2], strides, padding, data_format, dilation_rate)
        return _input_adjoint(Look(xp, engine, x, *how), g, kernel, depthwise)

    def conv_kernel_adjoint(
        g: Any,
        x: Any,
        kernel: Any,
        strides: Any,
        padding: str,
        data_format: str,
        dilation_rate: Any,
        depthwise: bool = False,
    ) -> Any:
        how = (kernel.shape[:-2], strides, padding, data_format, dilation_rate)
        look = Look(xp, engine, x, *how)
        patches, flat = look.patches(x), look.flat(g)
        channels, filters = kernel.shape[-2:]
        count, size = look.index.shape
        if depthwise:
            slopes = xp.reshape(flat, (look.batch, count, 1, channels, filters))
            result = xp.sum(xp.reshape(patches, (*patches.shape, 1)) * slopes, axis=(0, 1))
        else:
            rows = xp.reshape(patches, (look.batch * count, size * channels))
            result = xp.matmul(xp.transpose(rows), xp.reshape(flat, (look.batch * count, filters)))
        return cast(xp.reshape(result, kernel.shape), g.dtype)

    def pool_adjoint(
        g: Any, x: Any, pool_size: Any, strides: Any, padding: str, layout: str, pool_mode: str
    ) -> Any:
        look = Look(xp, engine, x, pool_size, strides, padding, layout)
        flat = look.flat(g)
        count, size = look.index.shape
        if pool_mode == "avg":
            parts = xp.reshape(flat / look.occupancy(flat), (look.batch, count, 1, look.channels))
            parts = xp.broadcast_to(parts, (look.batch, count, size, look.channels))
        else:
            parts = xp.reshape(flat, (look.batch, count, 1, look.channels))
            parts = xp.where(look.first_maxima(x), parts, xp.zeros((), flat.dtype))
        return look.close(look.spread(parts), look.where.spatial, g.dtype)

    def pool_pick(
        values: Any, x: Any, pool_size: Any, strides: Any, padding: str, layout: str
    ) -> Any:
        look = Look(xp, engine, x, pool_size, strides, padding, layout)
        patches = look.patches(values)
        picked = xp.where(look.first_maxima(x), patches, xp.zeros((), patches.dtype))
        return look.close(xp.sum(picked, axis=2), look.where.counts, values.dtype)

    return public(locals())
