"""Convolution on JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from kbridge.api.rules import as_data_format
from kbridge.backends.jax.staging import guarded, sizes
from kbridge.symbolic import conv_shapes
from kbridge.symbolic.conv_shapes import same_padding, tuple_of

_RULES = {False: conv_shapes.conv, True: conv_shapes.depthwise_conv}


def _layouts(n: int, data_format: str, kernel: str = "IO") -> tuple[str, str, str]:
    """The axes of input, kernel and result by letter."""
    spatial = "DHW"[3 - n :]
    layout = f"N{spatial}C" if data_format == "channels_last" else f"NC{spatial}"
    return layout, spatial + kernel, layout


@guarded("strides", "padding", "data_format", "dilation", "n", "depthwise", floating=True)
def _convolved(
    x: Any,
    kernel: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilation: Any,
    n: int,
    depthwise: bool,
) -> Any:
    rule = _RULES[depthwise]
    rule(x.shape, kernel.shape, strides, padding, data_format, dilation, n)
    groups = 1
    if depthwise:
        *window, groups, multiplier = kernel.shape
        kernel = kernel.reshape(*window, 1, groups * multiplier)
    pads: Any = padding.upper()  # "SAME" pads as TensorFlow does
    if padding == "causal":
        pads = [((kernel.shape[0] - 1) * dilation[0], 0)]
    return lax.conv_general_dilated(
        x,
        kernel,
        strides,
        pads,
        rhs_dilation=dilation,
        dimension_numbers=_layouts(n, data_format),
        feature_group_count=groups,
    )


def _convolution(n: int, depthwise: bool = False) -> Callable[..., Any]:
    """The function of the contract for ``n`` spatial axes."""

    def conv(
        x: Any,
        kernel: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
    ) -> Any:
        steps, gaps = tuple_of(strides, n, "strides"), tuple_of(dilation_rate, n, "dilation_rate")
        layout = as_data_format(data_format)
        return _convolved(x, kernel, steps, padding, layout, gaps, n, depthwise)

    return conv


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))
depthwise_conv2d = _convolution(2, depthwise=True)


# --- transposed ----------------------------------------------------------------------------------


@guarded("shape", "strides", "padding", "data_format", "dilation", "n", floating=True)
def _transposed(
    x: Any,
    kernel: Any,
    shape: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilation: Any,
    n: int,
) -> Any:
    shape = conv_shapes.conv_transpose(
        x.shape, kernel.shape, shape, strides, padding, data_format, dilation, n
    )
    first = 1 if data_format == "channels_last" else 2
    pads = []
    for axis, (step, gap) in enumerate(zip(strides, dilation, strict=True)):
        size, width = shape[first + axis], kernel.shape[axis]
        same = padding == "same"
        before, after = same_padding(size, width, step, gap) if same else (0, 0)
        reach = (width - 1) * gap + 1
        # What no window of the convolution reached at the end stays zero.
        rest = (before + size + after - reach) % step
        pads.append((reach - 1 - before, reach - 1 - after + rest))
    return lax.conv_general_dilated(
        x,
        lax.rev(kernel, range(n)),
        (1,) * n,
        pads,
        lhs_dilation=strides,
        rhs_dilation=dilation,
        dimension_numbers=_layouts(n, data_format, "OI"),
    )


def _transpose(x: Any, kernel: Any, shape: Any, n: int, *how: Any) -> Any:
    strides, padding, data_format, dilation = how
    target = tuple(None if size is None else sizes(size, f"conv{n}d_transpose") for size in shape)
    steps, gaps = tuple_of(strides, n, "strides"), tuple_of(dilation, n, "dilation_rate")
    return _transposed(x, kernel, target, steps, padding, as_data_format(data_format), gaps, n)


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


# --- a kernel per position: one program ----------------------------------------------------------


@guarded("size", "strides", "data_format", "counts", "n", floating=True)
def _unshared(
    x: Any, kernel: Any, size: Any, strides: Any, data_format: str, counts: Any, n: int
) -> Any:
    conv_shapes.local_conv(x.shape, kernel.shape, size, strides, data_format, counts, n)
    windows, elements, filters = kernel.shape
    counts = counts or (windows,)
    last = data_format == "channels_last"
    parts = []
    for place in itertools.product(*map(range, size)):
        axes = zip(place, strides, counts, strict=True)
        slices = [slice(at, at + (count - 1) * step + 1, step) for at, step, count in axes]
        parts.append(x[(slice(None), *slices) if last else (slice(None), slice(None), *slices)])
    if last:
        columns = jnp.stack(parts, -2).reshape(len(x), windows, elements)
        return jnp.einsum("bwe,wef->bwf", columns, kernel).reshape(len(x), *counts, filters)
    columns = jnp.stack(parts, 2).reshape(len(x), elements, windows)
    return jnp.einsum("bew,wef->bfw", columns, kernel).reshape(len(x), filters, *counts)


def local_conv1d(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, data_format: str | None = None
) -> Any:
    size, steps = tuple_of(kernel_size, 1, "kernel_size"), tuple_of(strides, 1, "strides")
    return _unshared(inputs, kernel, size, steps, as_data_format(data_format), None, 1)


def local_conv2d(
    inputs: Any,
    kernel: Any,
    kernel_size: Any,
    strides: Any,
    output_shape: Any,
    data_format: str | None = None,
) -> Any:
    size, steps = tuple_of(kernel_size, 2, "kernel_size"), tuple_of(strides, 2, "strides")
    counts = tuple_of(output_shape, 2, "output_shape")
    return _unshared(inputs, kernel, size, steps, as_data_format(data_format), counts, 2)
