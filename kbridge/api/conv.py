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
    """2-D convolution (cross-correlation) with a kernel (rows, columns, in, out)."""


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
    """2-D pooling; the average leaves padding out of the divisor."""
