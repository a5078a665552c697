"""Shape rules of windows that slide: convolution, pooling, and what goes with them.

Inputs are (batch, spatial..., channels), or (batch, channels, spatial...) with
"channels_first"; kernels are always (spatial..., in, out). See ``shapes`` for the conventions.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from kbridge.errors import ArgumentError, ShapeError
from kbridge.symbolic.shapes import Dim, Shape, count, differ, integer, shape_argument, show

Padding: TypeAlias = Literal["valid", "same", "causal"]


# --- arguments -------------------------------------------------------------------------------


def tuple_of(value: object, n: int, name: str) -> tuple[int, ...]:
    """Return ``n`` positive integers from one of them, or from a sequence of ``n``."""
    if type(value) is int and value > 0:
        return (value,) * n
    if type(value) is tuple and len(value) == n:
        for entry in value:
            if type(entry) is not int or entry < 1:
                break
        else:
            return value
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        values = tuple([integer(entry, name) for entry in value])
    else:
        values = (integer(value, name),) * n
    if len(values) != n:
        raise ArgumentError(f"{name} must be one integer or {n} of them, got {show(value)}")
    if min(values) < 1:
        raise ArgumentError(f"{name} must be positive, got {show(value)}")
    return values


def check_padding(padding: object, causal: bool = False) -> Padding:
    """Return ``padding`` if it is "valid" or "same", or "causal" where that is allowed."""
    if padding == "valid":
        return "valid"
    if padding == "same":
        return "same"
    if padding == "causal" and causal:
        return "causal"
    accepted = '"valid", "same" or "causal"' if causal else '"valid" or "same"'
    raise ArgumentError(f"padding must be {accepted}, got {show(padding)}")


def channel_axis(rank: int, data_format: object) -> int:
    """Return the axis of the channels, counted from the front."""
    if data_format == "channels_last":
        return rank - 1
    if data_format == "channels_first":
        return min(1, rank - 1)
    raise ArgumentError(
        f'data_format must be "channels_last" or "channels_first", got {show(data_format)}'
    )


def _split(shape: Shape, data_format: object, spatial_rank: int | None) -> tuple[Shape, Dim]:
    """Return the spatial sizes and the channels of an input, after a check of its rank."""
    axis = channel_axis(len(shape), data_format)
    expected = len(shape) if spatial_rank is None else spatial_rank + 2
    if len(shape) != expected or not 3 <= expected <= 5:
        needed = "3, 4 or 5" if spatial_rank is None else str(expected)
        raise ShapeError(
            f"the input {shape} has rank {len(shape)}, expected {needed}: the batch, the "
            f"channels, and {'1 to 3' if spatial_rank is None else spatial_rank} spatial axes"
        )
    return shape[1:axis] + shape[axis + 1 :] if axis > 1 else shape[2:], shape[axis]


def _joined(batch: Dim, spatial: Shape, channels: Dim, data_format: object) -> Shape:
    """Return the shape of an output from its parts."""
    if data_format == "channels_last":
        return (batch, *spatial, channels)
    return (batch, channels, *spatial)


def _check_kernel(
    kernel: Shape, spatial_rank: int, channels: Dim, at: int, what: str, there: str = "there are"
) -> None:
    """Raise unless ``kernel`` has the rank of the input, and its channels on axis ``at``."""
    if len(kernel) != spatial_rank + 2:
        raise ShapeError(
            f"the {what} {kernel} has rank {len(kernel)}, expected {spatial_rank + 2}: "
            f"{spatial_rank} spatial sizes and two of channels"
        )
    if 0 in kernel[:-2]:
        raise ShapeError(f"the {what} {kernel} is empty")
    given = kernel[at]
    if given != channels and given is not None and channels is not None:
        raise ShapeError(
            f"{there} {channels} channels, but the {what} {kernel} is for {given} (its axis {at})"
        )


def _check_steps(strides: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    """Raise where strides and dilation are both above 1, which no classic engine offers."""
    if max(strides) > 1 and max(dilation) > 1:
        raise ArgumentError(
            f"strides {strides} and dilation_rate {dilation} cannot both be above 1; "
            f"set one of them to 1"
        )


# --- one axis --------------------------------------------------------------------------------


def window(
    size: Dim,
    kernel: Dim,
    stride: int,
    dilation: int,
    padding: Padding,
    remedy: str = 'use a smaller one, or padding="same"',
) -> Dim:
    """Return how many windows fit on an axis; "same" and "causal" have one per stride."""
    if size is None:
        return None
    if padding != "valid":
        return -(-size // stride)
    if kernel is None:
        return None
    reach = (kernel - 1) * dilation + 1
    if size < reach:
        raise ShapeError(
            f"a window of {reach} does not fit on a spatial axis of {size} elements; {remedy}"
        )
    return (size - reach) // stride + 1


def same_padding(size: int, kernel: int, stride: int = 1, dilation: int = 1) -> tuple[int, int]:
    """Return (before, after) of "same" padding as TensorFlow aligns it: the odd one goes after."""
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def _windows(
    spatial: Shape,
    kernel: Shape,
    strides: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: Padding,
) -> Shape:
    """Return the windows on every spatial axis."""
    axes = zip(spatial, kernel, strides, dilation, strict=True)
    return tuple([window(size, width, step, gap, padding) for size, width, step, gap in axes])


# --- operations ------------------------------------------------------------------------------


def conv(
    x: Shape,
    kernel: Shape,
    strides: object,
    padding: object,
    data_format: object,
    dilation: object = 1,
    spatial_rank: int | None = None,
) -> Shape:
    """Return the shape of a convolution with a kernel (spatial..., in, out).

    The number of spatial axes is that of the input, or ``spatial_rank`` if an operation has a
    fixed one. "causal" is for one spatial axis.
    """
    spatial, channels = _split(x, data_format, spatial_rank)
    n = len(spatial)
    _check_kernel(kernel, n, channels, -2, "kernel")
    steps, gaps = tuple_of(strides, n, "strides"), tuple_of(dilation, n, "dilation_rate")
    _check_steps(steps, gaps)
    sizes = _windows(spatial, kernel[:-2], steps, gaps, check_padding(padding, causal=n == 1))
    return _joined(x[0], sizes, kernel[-1], data_format)


def depthwise_conv(
    x: Shape,
    kernel: Shape,
    strides: object,
    padding: object,
    data_format: object,
    dilation: object = 1,
    spatial_rank: int | None = None,
) -> Shape:
    """Return the shape of a convolution channel by channel, kernel (spatial..., in, multiplier)."""
    result = conv(x, kernel, strides, padding, data_format, dilation, spatial_rank)
    channels = x[channel_axis(len(x), data_format)]
    inputs, multiplier = kernel[-2] if channels is None else channels, kernel[-1]
    outputs = None if inputs is None or multiplier is None else inputs * multiplier
    return _joined(result[0], _split(result, data_format, None)[0], outputs, data_format)


def separable_conv(
    x: Shape,
    depthwise: Shape,
    pointwise: Shape,
    strides: object,
    padding: object,
    data_format: object,
    dilation: object = 1,
    spatial_rank: int | None = None,
) -> Shape:
    """Return the shape of a depthwise convolution, then one by a kernel (1..., in, out)."""
    middle = depthwise_conv(x, depthwise, strides, padding, data_format, dilation, spatial_rank)
    spatial, channels = _split(middle, data_format, None)
    _check_kernel(pointwise, len(spatial), channels, -2, "pointwise kernel")
    if any(size not in (1, None) for size in pointwise[:-2]):
        raise ShapeError(f"the pointwise kernel {pointwise} must have size 1 on its spatial axes")
    return _joined(middle[0], spatial, pointwise[-1], data_format)


def conv_transpose(
    x: Shape,
    kernel: Shape,
    output_shape: object,
    strides: object,
    padding: object,
    data_format: object,
    dilation: object = 1,
    spatial_rank: int | None = None,
) -> Shape:
    """Return ``output_shape``, after a check that a convolution of it has the shape ``x``.

    Here the kernel is (spatial..., out, in), as for that convolution. Sizes of ``output_shape``
    that are None are filled in where the input and the kernel tell them.
    """
    spatial, channels = _split(x, data_format, spatial_rank)
    n = len(spatial)
    _check_kernel(kernel, n, channels, -1, "kernel")
    steps, gaps = tuple_of(strides, n, "strides"), tuple_of(dilation, n, "dilation_rate")
    _check_steps(steps, gaps)
    rule = check_padding(padding)
    target = shape_argument(output_shape)
    if len(target) != len(x):
        raise ShapeError(
            f"output_shape {show(output_shape)} has {len(target)} sizes, expected {len(x)}: the "
            f"batch, the channels and {n} spatial ones"
        )
    sizes, outputs = _split(target, data_format, None)
    _check_kernel(kernel, n, outputs, -2, "kernel", "output_shape has")
    if target[0] is not None and x[0] is not None and target[0] != x[0]:
        raise ShapeError(f"the batch of output_shape {target} is not that of the input {x}")
    back = _windows(sizes, kernel[:-2], steps, gaps, rule)
    if differ(back, spatial):
        raise ShapeError(
            f"output_shape {target} does not fit: a convolution of it with strides {steps} and "
            f'padding "{rule}" has the spatial sizes {back}, but the input has {spatial}'
        )
    batch = x[0] if target[0] is None else target[0]
    return _joined(batch, sizes, kernel[-2] if outputs is None else outputs, data_format)


def pool(
    x: Shape,
    pool_size: object,
    strides: object,
    padding: object,
    data_format: object,
    spatial_rank: int | None = None,
) -> Shape:
    """Return the shape of a maximum or average over windows."""
    spatial, channels = _split(x, data_format, spatial_rank)
    n = len(spatial)
    sizes, steps = tuple_of(pool_size, n, "pool_size"), tuple_of(strides, n, "strides")
    result = _windows(spatial, sizes, steps, (1,) * n, check_padding(padding))
    return _joined(x[0], result, channels, data_format)


def local_conv(
    x: Shape,
    kernel: Shape,
    kernel_size: object,
    strides: object,
    data_format: object,
    output_shape: object = None,
    spatial_rank: int | None = None,
) -> Shape:
    """Return the shape of an unshared convolution, kernel (windows, window size * in, out).

    ``output_shape`` has the spatial sizes only; it may be None, and fills in what is unknown.
    """
    spatial, channels = _split(x, data_format, spatial_rank)
    n = len(spatial)
    sizes, steps = tuple_of(kernel_size, n, "kernel_size"), tuple_of(strides, n, "strides")
    axes = zip(spatial, sizes, steps, strict=True)
    result = tuple(
        [window(size, width, step, 1, "valid", "use a smaller one") for size, width, step in axes]
    )
    wanted = "(windows, window size * input channels, filters)"
    if len(kernel) != 3:
        raise ShapeError(f"the kernel {kernel} must have the shape {wanted}")
    given = (None,) * n if output_shape is None else shape_argument(output_shape)
    if len(given) != n or differ(given, result):
        raise ShapeError(
            f"output_shape {show(output_shape)} does not fit: the numbers of windows are {result}"
        )
    result = tuple([b if a is None else a for a, b in zip(result, given, strict=True)])
    expected = (count(result), count((*sizes, channels)))
    if differ(kernel[:2], expected):
        raise ShapeError(
            f"the kernel {kernel} must have the shape {wanted}, here {(*expected, kernel[2])}"
        )
    result = kernel[:1] if result == (None,) else result
    return _joined(x[0], result, kernel[2], data_format)


def bias_add(x: Shape, bias: Shape, data_format: object) -> Shape:
    """Return the shape of ``x``, after a check that ``bias`` fits.

    It has one value per channel, or the shape (spatial..., channels) in either data format.
    """
    rank = len(x)
    if rank < 2:
        raise ShapeError(f"the input {x} needs a rank of at least 2: the batch and the channels")
    axis = channel_axis(rank, data_format)
    if len(bias) not in (1, rank - 1):
        raise ShapeError(
            f"the bias {bias} has rank {len(bias)}, expected 1 (one per channel) or {rank - 1}"
        )
    positions = [*(at for at in range(1, rank) if at != axis), axis][-len(bias) :]
    sizes = list(x)
    for at, size in zip(positions, bias, strict=True):
        if sizes[at] is None:
            sizes[at] = None if size == 1 and len(bias) > 1 else size
        elif size not in (None, sizes[at]) and (size != 1 or len(bias) == 1):
            raise ShapeError(
                f"the bias {bias} does not fit {x}: {size} != {sizes[at]} on axis {at} of the "
                f"input (channels are axis {axis}, {data_format})"
            )
    return tuple(sizes)
