"""Pooling: the maximum or the mean of windows."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import operation
from kbridge.api.rules import TensorLike, as_data_format
from kbridge.errors import ArgumentError
from kbridge.symbolic import conv_shapes


def _pool_mode(mode: Any) -> Any:
    if mode not in ("max", "avg"):
        raise ArgumentError(f'pool_mode must be "max" or "avg", got {mode!r}')
    return mode


def _rules(n: int) -> dict[str, Any]:
    """What is declared of pooling over ``n`` spatial axes."""
    return {
        "floating": True,
        "shape": lambda x, pool_size, strides, padding, data_format, pool_mode: conv_shapes.pool(
            x.shape, pool_size, strides, padding, data_format, n
        ),
        "resolve": {
            "pool_size": lambda value: conv_shapes.tuple_of(value, n, "pool_size"),
            "strides": lambda value: conv_shapes.tuple_of(value, n, "strides"),
            "data_format": as_data_format,
            "pool_mode": _pool_mode,
        },
    }


@operation("x", **_rules(2))
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
    ``pool_size`` and ``strides`` are an integer or two. Integers become floatx first. What does not
    fit raises ShapeError, another ``pool_mode`` ArgumentError.

    Of equal maxima the first in the window gets the gradient. A nan is the maximum of its windows,
    except on TensorFlow, which passes over it.

    >>> x = K.reshape(K.arange(1, 10, dtype="float32"), (1, 3, 3, 1))
    >>> K.eval(K.pool2d(x, (2, 2), (2, 2), "same", "channels_last", "avg"))[0, :, :, 0].tolist()
    [[3.0, 4.5], [7.5, 9.0]]
    """


@operation("x", **_rules(3))
def pool3d(
    x: TensorLike,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """The maximum (``"max"``) or the mean (``"avg"``) of each window of the volumes ``x``.

    ``x`` has (samples, depth, rows, columns, channels) for ``"channels_last"``, (samples, channels,
    depth, rows, columns) for ``"channels_first"``; None is the configured format. ``pool_size`` and
    ``strides`` are an integer or three. All else is as for ``K.pool2d``.

    >>> x = K.reshape(K.arange(8, dtype="float32"), (1, 2, 2, 2, 1))
    >>> K.eval(K.pool3d(x, (2, 1, 2), data_format="channels_last"))[0, 0, :, 0, 0].tolist()
    [5.0, 7.0]
    """
