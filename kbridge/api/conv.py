"""Convolution and pooling."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import operation
from kbridge.api.rules import TensorLike, as_data_format
from kbridge.errors import ArgumentError
from kbridge.symbolic import conv_shapes


def _pair(value: Any) -> Any:
    return conv_shapes.tuple_of(value, 2, "strides, dilation_rate or pool_size")


def _pool_mode(mode: Any) -> Any:
    if mode not in ("max", "avg"):
        raise ArgumentError(f'pool_mode must be "max" or "avg", got {mode!r}')
    return mode


@operation(
    "x kernel",
    promote="x kernel",
    floating=True,
    shape=lambda x, kernel, strides, padding, data_format, dilation_rate: conv_shapes.conv(
        x.shape, kernel.shape, strides, padding, data_format, dilation_rate, 2
    ),
    resolve={"strides": _pair, "data_format": as_data_format, "dilation_rate": _pair},
)
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


@operation(
    "x",
    floating=True,
    shape=lambda x, pool_size, strides, padding, data_format, pool_mode: conv_shapes.pool(
        x.shape, pool_size, strides, padding, data_format, 2
    ),
    resolve={
        "pool_size": _pair,
        "strides": _pair,
        "data_format": as_data_format,
        "pool_mode": _pool_mode,
    },
)
def pool2d(
    x: TensorLike,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """The maximum (``"max"``) or the mean (``"avg"``) of each window of ``x``.

    ``x`` has (samples, rows, columns, channels) for ``"channels_last"``, (samples, channels, rows,
    columns) for ``"channels_first"``; None is the configured format. ``padding`` is ``"valid"`` or
    ``"same"``, aligned as by ``K.conv2d``; what it adds is neither a maximum nor counted in a mean.
    Of equal maxima the first in the window gets the gradient. Integers become floatx first.

    >>> x = K.reshape(K.arange(1, 10, dtype="float32"), (1, 3, 3, 1))
    >>> K.eval(K.pool2d(x, (2, 2), (2, 2), "same", "channels_last", "avg"))[0, :, :, 0].tolist()
    [[3.0, 4.5], [7.5, 9.0]]
    """
