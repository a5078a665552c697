"""Convolution: ordinary, transposed, channel by channel, and with a kernel per position."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Concatenate

from kbridge.api.declare import F, P, R, composite, operation, replaceable
from kbridge.api.rules import TensorLike, as_data_format, known_sizes
from kbridge.config import floatx
from kbridge.errors import ArgumentError
from kbridge.symbolic import conv_shapes, dtypes


def _resolved(n: int, *more: str) -> dict[str, Callable[[Any], Any]]:
    """What puts strides, the data format and ``more`` like strides in one form for ``n`` axes."""
    sizes = {name: partial(conv_shapes.tuple_of, n=n, name=name) for name in ("strides", *more)}
    return {**sizes, "data_format": as_data_format}


def _convolution(
    n: int, kernel: str = "kernel", rule: Callable[..., Any] = conv_shapes.conv
) -> Callable[[F], F]:
    """Declare a convolution over ``n`` spatial axes."""
    return operation(
        f"x {kernel}",
        promote=f"x {kernel}",
        floating=True,
        shape=lambda x, kernel, *how: rule(x.shape, kernel.shape, *how, n),
        resolve=_resolved(n, "dilation_rate"),
    )


def _transposed(n: int, *more: str) -> Callable[[F], F]:
    """Declare a transposed convolution over ``n`` spatial axes."""

    def shape(
        x: Any, kernel: Any, target: Any, strides: Any, padding: Any, layout: Any, rate: Any = 1
    ) -> Any:
        if isinstance(target, (list, tuple)):
            at = conv_shapes.channel_axis(len(target), layout)
            if any(s is None and i not in (0, at) for i, s in enumerate(target)):
                raise ArgumentError(
                    f"only the batch and the channels of output_shape may be None, got "
                    f"{tuple(target)}. Use K.shape(x)[axis] for a size that only the run knows"
                )
        sizes = known_sizes(target)
        return conv_shapes.conv_transpose(
            x.shape, kernel.shape, sizes, strides, padding, layout, rate, n
        )

    return operation(
        "x kernel",
        promote="x kernel",
        floating=True,
        shape=shape,
        host_arguments="output_shape",
        resolve=_resolved(n, *more),
    )


# --- ordinary ------------------------------------------------------------------------------------


@_convolution(1)
def conv1d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """1-D convolution, as ``K.conv2d`` over one axis.

    ``x`` has (samples, steps, channels) for ``"channels_last"``, (samples, channels, steps) for
    ``"channels_first"``; the kernel has (size, in, out). Besides ``"valid"`` and ``"same"`` there
    is the padding ``"causal"``: zeros before the first step only, so that no result depends on a
    later step.

    >>> x, kernel = K.constant([[[1.0], [2.0], [3.0]]]), K.constant([[[10.0]], [[1.0]]])
    >>> K.eval(K.conv1d(x, kernel, padding="causal", data_format="channels_last")).tolist()
    [[[1.0], [12.0], [23.0]]]
    """


@_convolution(2)
def conv2d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """2-D convolution: the products of a kernel with each window of ``x``, added up.

    As in all neural networks the kernel is not flipped. It has the shape (rows, columns, in, out)
    in either data format; ``x`` has (samples, rows, columns, channels) for ``"channels_last"``,
    (samples, channels, rows, columns) for ``"channels_first"``, and None is the configured format.

    ``padding`` is ``"valid"`` for windows inside ``x`` only, or ``"same"`` for ``ceil(size /
    stride)`` windows, with as many zeros before as after, and the odd one after, as TensorFlow
    aligns it. ``strides`` and ``dilation_rate`` are an integer or two; not both may be above 1
    (ArgumentError). The operands are promoted; integers become floatx first. What does not fit
    raises ShapeError.

    >>> x, ones = K.reshape(K.arange(1, 10, dtype="float32"), (1, 3, 3, 1)), K.ones((2, 2, 1, 1))
    >>> K.eval(K.conv2d(x, ones, data_format="channels_last"))[0, :, :, 0].tolist()
    [[12.0, 16.0], [24.0, 28.0]]
    """


@_convolution(3)
def conv3d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1, 1),
) -> Any:
    """3-D convolution, as ``K.conv2d`` over three axes.

    ``x`` has (samples, depth, rows, columns, channels) for ``"channels_last"``, (samples, channels,
    depth, rows, columns) for ``"channels_first"``; the kernel has (depth, rows, columns, in, out).

    >>> x = K.placeholder((None, 8, 8, 8, 3))
    >>> K.int_shape(K.conv3d(x, K.ones((3, 3, 3, 3, 4)), 2, "same", "channels_last"))
    (None, 4, 4, 4, 4)
    """


# --- transposed ----------------------------------------------------------------------------------


@_transposed(2, "dilation_rate")
def conv2d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """The transpose of ``K.conv2d`` (a "deconvolution"): each element of ``x`` spreads the kernel.

    It is the derivative by its input of the ``K.conv2d`` with these ``strides``, ``padding`` and
    ``dilation_rate`` from ``output_shape`` to the shape of ``x``, and so the kernel has the shape
    (rows, columns, out, in). ``output_shape`` is the shape of the result, the batch included: a
    tuple of integers and scalar tensors such as ``K.shape(x)[0]``, or a vector of such; None for
    the batch or the channels takes that of ``x`` or of the kernel. An ``output_shape`` of which
    that convolution does not give the shape of ``x`` raises ShapeError.

    >>> x, kernel = K.constant([[[[1.0], [2.0]]]]), K.constant([[[[1.0]], [[10.0]]]])
    >>> y = K.conv2d_transpose(x, kernel, (None, 1, 4, 1), (1, 2), data_format="channels_last")
    >>> K.eval(y)[0, :, :, 0].tolist()
    [[1.0, 10.0, 2.0, 20.0]]
    """


@_transposed(3)
def conv3d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """The transpose of ``K.conv3d``, as ``K.conv2d_transpose`` over three axes.

    The kernel has the shape (depth, rows, columns, out, in).

    >>> x, kernel = K.placeholder((None, 4, 4, 4, 2)), K.ones((3, 3, 3, 5, 2))
    >>> shape = (K.shape(x)[0], 8, 8, 8, 5)
    >>> K.int_shape(K.conv3d_transpose(x, kernel, shape, (2, 2, 2), "same", "channels_last"))
    (None, 8, 8, 8, 5)
    """


# --- channel by channel --------------------------------------------------------------------------


@_convolution(2, "depthwise_kernel", conv_shapes.depthwise_conv)
def depthwise_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """2-D convolution of each channel of ``x`` with kernels of its own.

    The kernel has the shape (rows, columns, channels, multiplier). The result has channels *
    multiplier channels: those of the first channel of ``x`` first. All else is as for
    ``K.conv2d``.

    >>> x, kernel = K.constant([[[[1.0, 10.0]]]]), K.constant([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> K.eval(K.depthwise_conv2d(x, kernel, data_format="channels_last")).tolist()
    [[[[1.0, 2.0, 30.0, 40.0]]]]
    """


_separable_rule = lru_cache(1024)(conv_shapes.separable_conv)


@composite
def separable_conv1d(
    K: Any,
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """1-D convolution of each channel, then one that mixes the channels at each step.

    It is ``K.separable_conv2d`` over one axis: the depthwise kernel has (size, channels,
    multiplier), the pointwise one (1, channels * multiplier, out).

    >>> x, deep = K.constant([[[1.0, 2.0], [3.0, 4.0]]]), K.ones((2, 2, 1))
    >>> K.eval(K.separable_conv1d(x, deep, K.ones((1, 2, 1)), data_format="channels_last")).tolist()
    [[[10.0]]]
    """
    layout, (step,), (gap,) = _checked_separable(
        K, (x, depthwise_kernel, pointwise_kernel), strides, padding, data_format, dilation_rate, 1
    )
    # On a second axis of size 1, which the steps leave as it is.
    axis = 1 if layout == "channels_last" else 2
    wide = K.depthwise_conv2d(
        K.expand_dims(x, axis),
        K.expand_dims(depthwise_kernel, 0),
        (step, step),
        padding,
        layout,
        (gap, gap),
    )
    pointwise = K.expand_dims(pointwise_kernel, 0)
    return K.squeeze(K.conv2d(wide, pointwise, (1, 1), "valid", layout), axis)


@composite
def separable_conv2d(
    K: Any,
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """2-D convolution of each channel, then one that mixes the channels at each place.

    The first is ``K.depthwise_conv2d`` with these arguments and a kernel (rows, columns, channels,
    multiplier); the second is ``K.conv2d`` with a kernel (1, 1, channels * multiplier, out).

    >>> x, deep = K.placeholder((None, 8, 8, 3)), K.ones((3, 3, 3, 2))
    >>> wide = K.separable_conv2d(x, deep, K.ones((1, 1, 6, 4)), 2, "same", "channels_last")
    >>> K.int_shape(wide)
    (None, 4, 4, 4)
    """
    layout, steps, gaps = _checked_separable(
        K, (x, depthwise_kernel, pointwise_kernel), strides, padding, data_format, dilation_rate, 2
    )
    wide = K.depthwise_conv2d(x, depthwise_kernel, steps, padding, layout, gaps)
    return K.conv2d(wide, pointwise_kernel, (1, 1), "valid", layout)


def _checked_separable(
    K: Any, operands: Any, strides: Any, padding: Any, data_format: Any, dilation: Any, n: int
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The data format, strides and dilation in one form, after a check of the shapes."""
    layout = as_data_format(data_format)
    steps = conv_shapes.tuple_of(strides, n, "strides")
    gaps = conv_shapes.tuple_of(dilation, n, "dilation_rate")
    conv_shapes.check_padding(padding)
    _separable_rule(*map(K.int_shape, operands), steps, padding, layout, gaps, n)
    return layout, steps, gaps


# --- a kernel per position -----------------------------------------------------------------------

_local_rule = lru_cache(1024)(conv_shapes.local_conv)


def _unshared(n: int, *more: str) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[P, R]]:
    """Declare a convolution over ``n`` spatial axes with a kernel for each window."""

    def shape(x: Any, kernel: Any, size: Any, strides: Any, *rest: Any) -> Any:
        *counts, layout = rest
        target = counts[0] if counts else None
        return _local_rule(x.shape, kernel.shape, size, strides, layout, target, n)

    return replaceable(
        "inputs kernel",
        promote="inputs kernel",
        floating=True,
        shape=shape,
        resolve=_resolved(n, "kernel_size", *more),
    )


@_unshared(1)
def local_conv1d(
    K: Any,
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Any,
    strides: Any,
    data_format: str | None = None,
) -> Any:
    """1-D convolution with a kernel of its own for each window: ``K.local_conv2d`` over one axis.

    The kernel has the shape (windows, size * channels, out), and ``kernel_size`` is (size,).

    >>> x = K.constant([[[1.0], [2.0], [3.0]]])
    >>> kernel = K.constant([[[1.0], [1.0]], [[0.0], [5.0]]])
    >>> K.eval(K.local_conv1d(x, kernel, (2,), (1,), "channels_last")).tolist()
    [[[3.0], [15.0]]]
    """
    return _local(K, inputs, kernel, kernel_size, strides, None, data_format, 1)


@_unshared(2, "output_shape")
def local_conv2d(
    K: Any,
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Any,
    strides: Any,
    output_shape: Any,
    data_format: str | None = None,
) -> Any:
    """2-D convolution with a kernel of its own for each window, without padding.

    The kernel has the shape (windows, rows * columns * channels, out) with ``kernel_size`` (rows,
    columns), and ``output_shape`` (the numbers of windows along the rows and the columns). Windows
    are counted row by row. Inside one the order is that of ``inputs``: (rows, columns, channels)
    for ``"channels_last"``, (channels, rows, columns) for ``"channels_first"``. What does not fit
    raises ShapeError.

    >>> x, kernel = K.placeholder((None, 5, 5, 3)), K.ones((4, 27, 8))
    >>> K.int_shape(K.local_conv2d(x, kernel, (3, 3), (2, 2), (2, 2), "channels_last"))
    (None, 2, 2, 8)
    """
    return _local(K, inputs, kernel, kernel_size, strides, output_shape, data_format, 2)


def _local(
    K: Any,
    x: Any,
    kernel: Any,
    kernel_size: Any,
    strides: Any,
    output_shape: Any,
    data_format: Any,
    n: int,
) -> Any:
    layout = as_data_format(data_format)
    sizes = conv_shapes.tuple_of(kernel_size, n, "kernel_size")
    steps = conv_shapes.tuple_of(strides, n, "strides")
    if n > 1:
        output_shape = conv_shapes.tuple_of(output_shape, n, "output_shape")
    _local_rule(K.int_shape(x), K.int_shape(kernel), sizes, steps, layout, output_shape, n)
    if not dtypes.is_float(K.dtype(kernel)):
        own = K.dtype(x)
        kernel = K.cast(kernel, own if dtypes.is_float(own) else floatx())
    batch = _size(K, x, 0)
    windows, elements, filters = (_size(K, kernel, axis) for axis in range(3))
    counts = output_shape or (windows,)
    last = layout == "channels_last"
    # One part of the input for each place in a window; a slice ends where the last window has it.
    lead = (slice(None),) if last else (slice(None), slice(None))
    parts = []
    for place in itertools.product(*map(range, sizes)):
        axes = zip(place, sizes, steps, strict=True)
        slices = [slice(at, at - size + 1 or None, step) for at, size, step in axes]
        parts.append(K.getitem(x, (*lead, *slices)))
    # Then a product of matrices, (batch, elements) by (elements, filters), for each window.
    if last:
        columns = K.reshape(K.stack(parts, -2), (batch, windows, elements))
        result = K.batch_dot(K.permute_dimensions(columns, (1, 0, 2)), kernel)
        return K.reshape(K.permute_dimensions(result, (1, 0, 2)), (batch, *counts, filters))
    columns = K.reshape(K.stack(parts, 2), (batch, elements, windows))
    result = K.batch_dot(K.permute_dimensions(columns, (2, 0, 1)), kernel)
    return K.reshape(K.permute_dimensions(result, (1, 2, 0)), (batch, filters, *counts))


def _size(K: Any, x: Any, axis: int) -> Any:
    """One size of ``x``: an int if it is known."""
    known = K.int_shape(x)[axis]
    return K.shape(x)[axis] if known is None else known
