"""Shape and dtype rules, and the forms of arguments, that many declarations share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge import config
from kbridge.errors import ArgumentError, ArgumentTypeError
from kbridge.symbolic import dtypes, host, shapes

#: Until narrower types help a checker: a Tensor, a native tensor, an array, a number or a list.
TensorLike = Any
Shape = Any


def reduced(x: Any, axis: Any, keepdims: Any) -> Any:
    """The shape of a reduction."""
    return shapes.reduce(x.shape, axis, keepdims)


def accumulated(x: Any, *rest: Any) -> str:
    """The dtype of a sum or product."""
    return dtypes.accumulate(x.dtype)


def same(x: Any, *rest: Any) -> Any:
    """The shape of the first operand."""
    return x.shape


def as_axis(axis: Any) -> Any:
    """None, an int, or a tuple of ints."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, (list, tuple)) or (isinstance(axis, np.ndarray) and axis.ndim == 1):
        return tuple(shapes.integer(item, "an axis") for item in axis)
    return shapes.integer(axis, "axis")


def as_dtype(dtype: Any) -> str:
    """The name of a dtype; floatx for None."""
    return config.floatx() if dtype is None else dtypes.normalize(dtype)


def as_data_format(data_format: Any) -> str:
    """The data format; the configured one, read now, for None."""
    return config.normalize_data_format(data_format)


def as_seed(seed: Any) -> Any:
    """A seed; drawn from ``np.random`` for None."""
    if seed is None:
        return int(np.random.randint(0, 2**31 - 1))
    if isinstance(seed, (bool, float)):
        raise ArgumentTypeError(f"seed must be an integer or None, not {seed!r}.")
    return int(seed) if isinstance(seed, (int, np.integer)) else seed


def as_float(value: Any) -> Any:
    """A Python float, where a number is given."""
    if isinstance(value, (int, np.generic)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return float(value)
    if value is not None and not isinstance(value, float):
        raise ArgumentTypeError(f"expected a number, got {type(value).__name__}: {value!r:.80}")
    return value


def check_dims(shape: Any) -> Any:
    """A shape argument without ``None``, which only a placeholder can have."""
    if isinstance(shape, (list, tuple)) and any(item is None for item in shape):
        raise ArgumentError(
            f"shape must be known here, got {tuple(shape)} with None. Use K.shape(x)[axis] for a "
            f"size that only the run knows."
        )
    return shape


def known_sizes(sizes: Any) -> Any:
    """What is known of sizes before the run; ``sizes`` as given where nothing is."""
    for item in sizes if isinstance(sizes, (list, tuple)) else (sizes,):
        dtype = getattr(item, "dtype", None)
        if dtype is not None and not dtypes.is_integer(dtypes.normalize(dtype)):
            raise ArgumentTypeError(
                f"sizes must be integers, got a tensor of {dtypes.normalize(dtype)}; cast it with "
                f"K.cast(x, 'int32')"
            )
    known = host.known(sizes)
    return sizes if known is None else known
