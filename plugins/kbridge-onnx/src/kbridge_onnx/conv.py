"""Convolution in ONNX: the runtime's own in float32, products of slices in float64.

Inside arrays are channels last, as kernels are. Sizes other than the batch's are static.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from kbridge.symbolic import conv_shapes
from kbridge.symbolic.conv_shapes import check_padding, same_padding, tuple_of
from kbridge_onnx.graph import (
    Unsized,
    Value,
    as_value,
    dims,
    emit,
    moved,
    padded,
    primitive,
    reshaped,
    to,
)
from kbridge_onnx.graph import product as times


class Windows:
    """Where the windows of one convolution or pooling lie."""

    def __init__(
        self, spatial: Any, sizes: Any, strides: Any, padding: str, dilation: Any = 1
    ) -> None:
        if None in (*spatial, *sizes):
            raise Unsized("a window")
        n = len(sizes)
        self.sizes = tuple(sizes)
        self.strides = tuple_of(strides, n, "strides")
        self.dilation = tuple_of(dilation, n, "dilation_rate")
        self.spatial = tuple(spatial)
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

    def open(self, x: Any, fill: float = 0.0) -> Any:
        """A channels-last input with its padding."""
        return padded(x, [(0, 0), *self.pads, (0, 0)], fill)

    def inside(self, x: Any) -> Any:
        """What is not padding."""
        return cropped(
            x, [(before, size) for (before, _), size in zip(self.pads, self.spatial, strict=True)]
        )

    def positions(self) -> Iterator[tuple[tuple[int, ...], Callable[[Any], Any]]]:
        """Each position in the window, with what takes its elements in all windows."""
        for at in product(*map(range, self.sizes)):
            starts = [a * d for a, d in zip(at, self.dilation, strict=True)]
            yield at, partial(strided, starts=starts, counts=self.counts, steps=self.strides)


def strided(x: Any, starts: Any, counts: Any, steps: Any) -> Any:
    """Elements on the spatial axes, from the second on."""
    ends = [
        s + max((c - 1) * step + 1, 0) for s, c, step in zip(starts, counts, steps, strict=True)
    ]
    axes = np.arange(1, len(ends) + 1)
    return emit("Slice", x, starts, ends, axes, steps)


def cropped(x: Any, parts: Any) -> Any:
    starts, sizes = zip(*parts, strict=True)
    if sizes == tuple(x.shape[1:-1]):
        return x
    return strided(x, starts, sizes, (1,) * len(sizes))


def last(x: Any, data_format: Any) -> Any:
    """``x`` channels last, 16-bit floats in 32 bits."""
    x = as_value(x)
    x = to(x, "float64" if x.dtype == "float64" else "float32")
    first = data_format == "channels_first"
    return moved(x, [0, *range(2, x.ndim), 1]) if first else x


def close(x: Any, data_format: Any, dtype: str) -> Any:
    """A result in the data format and dtype of the caller."""
    first = data_format == "channels_first"
    return to(moved(x, [0, x.ndim - 1, *range(1, x.ndim - 1)]) if first else x, dtype)


def kernel_at(kernel: Any) -> Callable[[tuple[int, ...]], Any]:
    """What gives the matrix of a kernel at a position in the window."""
    *sizes, channels, filters = kernel.shape
    flat = reshaped(kernel, [int(np.prod(sizes)), channels, filters])
    return lambda at: emit("Gather", flat, np.ravel_multi_index(at, sizes), axis=0)


def added(parts: Iterator[Any]) -> Any:
    result = None
    for part in parts:
        result = part if result is None else emit("Add", result, part)
    return result


def nothing(x: Any, spatial: Any, channels: int) -> Any:
    """``x``, which has no elements, as as many samples of other sizes, one of which is 0.

    The runtime's Conv takes no empty axis but the batch.
    """
    return reshaped(x, [dims(x)[0], *spatial, channels])


def correlated(where: Windows, x: Any, kernel: Any) -> Any:
    """The windows of channels-last ``x`` times the kernel."""
    if 0 in where.counts:
        return nothing(x, where.counts, kernel.shape[-1])
    if x.dtype == "float64":
        opened, at_ = where.open(x), kernel_at(kernel)
        return added(emit("MatMul", take(opened), at_(at)) for at, take in where.positions())
    n = len(where.sizes)
    return _native(where, x, moved(kernel, [n + 1, n, *range(n)]), 1)


def _native(where: Windows, x: Any, weights: Any, group: int) -> Any:
    """The runtime's Conv, whose tensors are channels first."""
    n = len(where.sizes)
    x = moved(x, [0, n + 1, *range(1, n + 1)])
    starts, ends = zip(*where.pads, strict=True)
    found = emit(
        "Conv",
        x,
        weights,
        kernel_shape=where.sizes,
        strides=where.strides,
        dilations=where.dilation,
        pads=[*starts, *ends],
        group=group,
    )
    return moved(found, [0, *range(2, n + 2), 1])


def depthwise(where: Windows, x: Any, kernel: Any) -> Any:
    """Each channel of ``x`` times its own kernels."""
    *sizes, channels, multiplier = kernel.shape
    if 0 in where.counts:
        return nothing(x, where.counts, channels * multiplier)
    n = len(sizes)
    if x.dtype == "float64":
        flat = reshaped(kernel, [int(np.prod(sizes)), channels * multiplier])
        opened = repeated(where.open(x), multiplier)
        parts = (
            emit("Mul", take(opened), emit("Gather", flat, np.ravel_multi_index(at, sizes)))
            for at, take in where.positions()
        )
        return added(parts)
    weights = reshaped(moved(kernel, [n, n + 1, *range(n)]), [channels * multiplier, 1, *sizes])
    return _native(where, x, weights, channels)


def repeated(x: Any, multiplier: int) -> Any:
    """``x`` with each channel as many times as a depthwise kernel has results for it."""
    if multiplier == 1:
        return x
    sizes = dims(x)
    wider = emit("Expand", emit("Unsqueeze", x, [-1]), np.array([1] * x.ndim + [multiplier]))
    return reshaped(wider, [*sizes[:-1], times([sizes[-1], multiplier])])


def input_adjoint(where: Windows, g: Any, kernel: Any, is_depthwise: bool = False) -> Any:
    """What the windows add to the input where the result is ``g``.

    It is the convolution of ``g``, spread out by the strides, with the kernel turned round.
    """
    if 0 in where.counts:
        return nothing(g, where.spatial, kernel.shape[-2])
    n = len(where.sizes)
    for axis, (step, count) in enumerate(zip(where.strides, where.counts, strict=True), 1):
        g = _spread(g, axis, step, count)
    ends = [
        (reach - 1, size - ((count - 1) * step + 1))
        for reach, size, count, step in zip(
            where.reach, where.padded, where.counts, where.strides, strict=True
        )
    ]
    g = padded(g, [(0, 0), *ends, (0, 0)])
    far = np.iinfo(np.int64).min
    kernel = as_value(kernel)
    turned = emit("Slice", kernel, np.full(n, -1), np.full(n, far), np.arange(n), np.full(n, -1),
                  shape=kernel.shape)  # fmt: skip
    *sizes, channels, filters = kernel.shape
    back = Windows(g.shape[1:-1], sizes, 1, "valid", where.dilation)
    if not is_depthwise:
        return where.inside(correlated(back, g, moved(turned, [*range(n), n + 1, n])))
    flat = reshaped(turned, [*sizes, channels * filters, 1])
    found = depthwise(back, g, flat)
    if filters > 1:
        lead = dims(found)[:-1]
        found = emit("ReduceSum", reshaped(found, [*lead, channels, filters]), [-1], keepdims=0)
    return where.inside(found)


def _spread(g: Any, axis: int, step: int, count: int) -> Any:
    """``g`` with ``step - 1`` zeros between its elements along an axis."""
    if step == 1 or count < 1:
        return g
    sizes = dims(g)
    gaps = [(0, 0)] * (axis + 1) + [(0, step - 1)] + [(0, 0)] * (g.ndim - axis - 1)
    wider = padded(emit("Unsqueeze", g, [axis + 1]), gaps)
    joined = reshaped(wider, [*sizes[:axis], count * step, *sizes[axis + 1 :]])
    return emit("Slice", joined, [0], [(count - 1) * step + 1], [axis])


def windows_of(
    x: Any, sizes: Any, strides: Any, padding: str, data_format: Any, gaps: Any = 1
) -> Windows:
    """The windows on an input in the data format of the caller."""
    first = data_format == "channels_first"
    return Windows(x.shape[2:] if first else x.shape[1:-1], sizes, strides, padding, gaps)


def _prepared(x: Any, kernel: Any) -> tuple[Any, Any]:
    x, kernel = as_value(x), as_value(kernel)
    if None in kernel.shape:
        raise Unsized("the kernel")
    return x, to(kernel, "float64" if x.dtype == "float64" else "float32")


def _convolution(n: int) -> Callable[..., Any]:
    """The function of the contract for ``n`` spatial axes."""

    def conv(x: Any, kernel: Any, strides: Any, padding: str, layout: str, gaps: Any) -> Any:
        x, weights = _prepared(x, kernel)
        where = windows_of(x, weights.shape[:-2], strides, padding, layout, gaps)
        return close(correlated(where, last(x, layout), weights), layout, x.dtype)

    conv.__name__ = f"conv{n}d"
    return primitive(conv)


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


@primitive
def depthwise_conv2d(
    x: Any, kernel: Any, strides: Any, padding: str, layout: str, gaps: Any
) -> Any:
    x, weights = _prepared(x, kernel)
    where = windows_of(x, weights.shape[:-2], strides, padding, layout, gaps)
    return close(depthwise(where, last(x, layout), weights), layout, x.dtype)


@primitive
def conv2d_transpose(
    x: Any, kernel: Any, output_shape: Any, strides: Any, padding: str, layout: str, gaps: Any = 1
) -> Any:
    x, weights = _prepared(x, kernel)
    sizes = [None if n is None or isinstance(n, Value) else int(n) for n in output_shape]
    shape: Any = conv_shapes.conv_transpose(
        x.shape, weights.shape, sizes, strides, padding, layout, gaps, weights.ndim - 2
    )
    spatial = shape[2:] if layout == "channels_first" else shape[1:-1]
    where = Windows(spatial, weights.shape[:-2], strides, padding, gaps)
    g = last(x, layout)
    if tuple(g.shape[1:-1]) != where.counts:
        raise Unsized("the input")
    return close(input_adjoint(where, g, weights), layout, x.dtype)


@primitive
def conv3d_transpose(x: Any, kernel: Any, output_shape: Any, *how: Any) -> Any:
    return conv2d_transpose(x, kernel, output_shape, *how)
