"""Convolution and pooling, by slices: one for each place in the window."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytensor
import pytensor.tensor as pt

from kbridge.errors import ArgumentError, ShapeError
from kbridge.symbolic.conv_shapes import check_padding, window
from kbridge.symbolic.record import named
from kbridge_pytensor.creation import dims
from kbridge_pytensor.engine import contract
from kbridge_pytensor.host import Host
from kbridge_pytensor.reduction import wide
from kbridge_pytensor.shaping import pad


class Windows:
    """Where the windows of ``x``, channels last, lie; sizes may be known at the run only."""

    def __init__(
        self, name: str, x: Any, sizes: Any, strides: Any, padding: str, dilation: Any
    ) -> None:
        rule = check_padding(padding, causal=len(sizes) == 1)
        self.steps = list(zip(sizes, strides, dilation, strict=True))
        self.pairs: list[tuple[Any, Any]] = [(0, 0)] * len(sizes)
        self.counts = []
        for i, (size, stride, gap) in enumerate(self.steps):
            whole = x.type.shape[i + 1]
            whole = x.shape[i + 1] if whole is None else whole
            reach = (size - 1) * gap + 1
            if rule == "valid":
                known = isinstance(whole, int) and isinstance(size, int)
                whole = whole if known else _fitting(name, whole, size, stride, gap)
                self.counts.append((whole - reach) // stride + 1)
                continue
            count = -(-whole // stride)
            self.counts.append(count)
            total = (count - 1) * stride + reach - whole
            total = max(total, 0) if isinstance(total, int) else pt.maximum(total, 0)
            before = total // 2 if rule == "same" else reach - 1
            self.pairs[i] = (before, total - total // 2 if rule == "same" else 0)

    def opened(self, x: Any, value: float = 0.0) -> Any:
        return pad(x, [(0, 0), *self.pairs, (0, 0)], value)

    def patches(self, x: Any) -> Any:
        """Of each spatial axis of an opened ``x`` two: the windows, and the places in them."""
        steps = list(enumerate(zip(self.steps, self.counts, strict=True), 1))
        for axis, ((size, stride, gap), count) in reversed(steps):
            starts = pt.expand_dims(pt.arange(count, dtype="int64") * stride, 1)
            index = starts + pt.arange(size, dtype="int64") * gap
            x = pt.take(x, index, axis=axis)
        return x


def _fitting(name: str, whole: Any, size: Any, stride: int, gap: int) -> Any:
    """The size of an axis, on which the window must fit when it runs."""

    def checked(whole: Any, size: Any) -> Any:
        try:
            window(int(whole), int(size), stride, gap, "valid")
        except ShapeError as error:
            raise named(error, name) from None
        return whole

    return Host(checked, "int64", ())(*(pt.as_tensor(n, dtype="int64") for n in (whole, size)))


def _last(x: Any, data_format: str) -> Any:
    return pt.moveaxis(x, 1, -1) if data_format == "channels_first" else x


def _back(x: Any, data_format: str) -> Any:
    return pt.moveaxis(x, -1, 1) if data_format == "channels_first" else x


def _convolved(
    name: str,
    x: Any,
    kernel: Any,
    strides: Any,
    padding: str,
    layout: str,
    gaps: Any,
    product: Any,
) -> Any:
    x, kernel = wide(_last(x, layout)), wide(kernel)
    n = len(strides)
    sizes = [kernel.shape[i] if s is None else s for i, s in enumerate(kernel.type.shape[:n])]
    where = Windows(name, x, sizes, strides, padding, gaps)
    return _back(product(where.patches(where.opened(x)), kernel, n), layout)


def _mixed(patches: Any, kernel: Any, n: int) -> Any:
    """(batch, count, size, count, size, ..., channels) by (sizes..., channels, out)."""
    return pt.tensordot(patches, kernel, [[*range(2, 2 * n + 1, 2), 2 * n + 1], [*range(n + 1)]])


def _apart(patches: Any, kernel: Any, n: int) -> Any:
    """The same by (sizes..., channels, multiplier), channel by channel."""
    counts, sizes = range(1, 2 * n, 2), range(2, 2 * n + 1, 2)
    order = (0, *counts, *sizes, 2 * n + 1)
    terms = pt.expand_dims(pt.transpose(patches, order), -1) * kernel
    product = pt.sum(terms, axis=tuple(range(n + 1, 2 * n + 1)), dtype=terms.type.dtype)
    shape = [product.shape[i] for i in range(product.ndim)]
    return pt.reshape(product, (*shape[:-2], shape[-2] * shape[-1]))


def _convolution(n: int) -> Callable[..., Any]:
    def conv(
        x: Any, kernel: Any, strides: Any, padding: str, data_format: Any, dilation_rate: Any
    ) -> Any:
        how = (strides, padding, data_format, dilation_rate, _mixed)
        return _convolved(name, x, kernel, *how)

    name = f"conv{n}d"
    return contract(conv, name)


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


@contract
def depthwise_conv2d(
    x: Any, depthwise_kernel: Any, strides: Any, padding: str, data_format: Any, dilation_rate: Any
) -> Any:
    how = (strides, padding, data_format, dilation_rate, _apart)
    return _convolved("depthwise_conv2d", x, depthwise_kernel, *how)


def _transposed(n: int) -> Callable[..., Any]:
    """The derivative of a convolution from ``output_shape`` to the shape of ``x``."""

    def conv_transpose(
        x: Any,
        kernel: Any,
        output_shape: Any,
        strides: Any,
        padding: str,
        data_format: Any,
        dilation_rate: Any = (1,) * n,
    ) -> Any:
        sizes = dims(output_shape)
        if not isinstance(sizes, tuple):
            sizes = tuple(sizes[i] for i in range(n + 2))
        channel = 1 if data_format == "channels_first" else n + 1
        filled = [x.shape[0] if i == 0 and s is None else s for i, s in enumerate(sizes)]
        filled[channel] = kernel.shape[n] if filled[channel] is None else filled[channel]
        start = pt.alloc(pt.constant(0, dtype=wide(x).type.dtype), *filled)
        how = (strides, padding, data_format, dilation_rate, _mixed)
        forward = _convolved(name, start, kernel, *how)
        known = {forward: pt.cast(x, forward.type.dtype)}
        return pytensor.grad(None, start, known_grads=known)

    name = f"conv{n}d_transpose"
    return contract(conv_transpose, name)


conv2d_transpose, conv3d_transpose = map(_transposed, (2, 3))


# --- pooling -------------------------------------------------------------------------------------


def _pooling(n: int) -> Callable[..., Any]:
    def pool(
        x: Any, pool_size: Any, strides: Any, padding: str, data_format: Any, pool_mode: str
    ) -> Any:
        if pool_mode not in ("max", "avg"):
            raise ArgumentError(f'pool_mode must be "max" or "avg", got {pool_mode!r}')
        y = wide(_last(x, data_format))
        where = Windows(name, y, pool_size, strides, padding, (1,) * n)
        places, ends = range(2, 2 * n + 1, 2), (0, *range(1, 2 * n, 2), 2 * n + 1)
        if pool_mode == "avg":
            total, count = (
                pt.sum(where.patches(where.opened(z)), axis=tuple(places), dtype=y.type.dtype)
                for z in (y, pt.ones_like(y))
            )
            return _back(total / count, data_format)
        patches = pt.transpose(where.patches(where.opened(y, float("-inf"))), (*ends, *places))
        patches = pt.reshape(patches, (*patches.shape[: n + 2], math.prod(pool_size)))
        # Of equal elements the first is the largest, as elsewhere.
        first = pt.expand_dims(pt.argmax(patches, axis=-1), -1)
        largest = pt.switch(pt.eq(pt.arange(math.prod(pool_size)), first), patches, 0)
        return _back(pt.sum(largest, axis=-1, dtype=y.type.dtype), data_format)

    name = f"pool{n}d"
    return contract(pool, name)


pool2d, pool3d = map(_pooling, (2, 3))
