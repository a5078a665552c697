"""Resizing of images and volumes by whole factors."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from kbridge import config
from kbridge.api.declare import composite, replaceable
from kbridge.api.rules import TensorLike, as_data_format
from kbridge.errors import ArgumentError, ShapeError
from kbridge.symbolic import dtypes, shapes


@composite
def resize_images(
    K: Any,
    x: TensorLike,
    height_factor: int,
    width_factor: int,
    data_format: str | None,
    interpolation: str = "nearest",
    half_pixel_centers: bool = False,
) -> Any:
    """The images ``x``, made larger by an integer factor on each spatial axis.

    ``x`` has (samples, rows, columns, channels) for ``"channels_last"``, (samples, channels, rows,
    columns) for ``"channels_first"``, and None is the configured format. The result has rows *
    ``height_factor`` and columns * ``width_factor``.

    ``"nearest"`` repeats each element, in the dtype of ``x``. ``"bilinear"`` interpolates linearly
    along both axes; integers become floatx first. As in Keras 2 on TensorFlow 1 the element ``i``
    of the result is at ``i / factor`` in ``x``, and past the last element it is that one. With
    ``half_pixel_centers=True`` it is at ``(i + 0.5) / factor - 0.5``, as in Keras 3.

    Another rank raises ShapeError; a factor that is no positive integer, or another interpolation,
    ArgumentError.

    >>> x = K.reshape(K.constant([1.0, 2.0, 3.0, 4.0]), (1, 2, 2, 1))
    >>> K.eval(K.resize_images(x, 2, 2, "channels_last"))[0, :, :, 0].tolist()
    [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0], [3.0, 3.0, 4.0, 4.0]]
    >>> K.eval(K.resize_images(x, 1, 2, "channels_last", "bilinear"))[0, :, :, 0].tolist()
    [[1.0, 1.5, 2.0, 2.0], [3.0, 3.5, 4.0, 4.0]]
    """
    factors = _factor(height_factor, "height_factor"), _factor(width_factor, "width_factor")
    axes = _spatial_axes(K, x, 2, data_format)
    if interpolation == "nearest":
        return K.enlarge(x, _per_axis(factors, axes))
    if interpolation != "bilinear":
        raise ArgumentError(f'interpolation must be "nearest" or "bilinear", got {interpolation!r}')
    if not dtypes.is_float(K.dtype(x)):
        x = K.cast(x, config.floatx())
    if all(K.int_shape(x)[axis] for axis in axes):
        return K.interpolate(x, factors, axes[0], bool(half_pixel_centers))
    return _interpolated(K, x, factors, axes, half_pixel_centers)


@composite
def resize_volumes(
    K: Any,
    x: TensorLike,
    depth_factor: int,
    height_factor: int,
    width_factor: int,
    data_format: str | None,
) -> Any:
    """The volumes ``x``, each element repeated by an integer factor on each spatial axis.

    ``x`` has (samples, depth, rows, columns, channels) for ``"channels_last"``, (samples, channels,
    depth, rows, columns) for ``"channels_first"``, and None is the configured format. Another rank
    raises ShapeError, a factor that is no positive integer ArgumentError.

    >>> K.int_shape(K.resize_volumes(K.ones((1, 2, 3, 4, 5)), 3, 2, 1, "channels_last"))
    (1, 6, 6, 4, 5)
    """
    named = ("depth_factor", depth_factor), ("height_factor", height_factor)
    factors = [_factor(value, name) for name, value in (*named, ("width_factor", width_factor))]
    return K.enlarge(x, _per_axis(factors, _spatial_axes(K, x, 3, data_format)))


def _factor(value: Any, name: str) -> int:
    factor = shapes.integer(value, name)
    if factor < 1:
        raise ArgumentError(f"{name} must be at least 1, got {factor}")
    return factor


def _spatial_axes(K: Any, x: Any, n: int, data_format: Any) -> Sequence[int]:
    if K.ndim(x) != n + 2:
        raise ShapeError(
            f"a tensor of rank {n + 2} is needed, with {n} spatial axes, got the shape "
            f"{K.int_shape(x)}"
        )
    first = 1 if as_data_format(data_format) == "channels_last" else 2
    return range(first, first + n)


def _per_axis(factors: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The factors with those of the batch and of the channels, which are 1."""
    after = len(factors) + 2 - axes[-1] - 1
    return (*(1,) * axes[0], *factors, *(1,) * after)


# --- what engines may do by themselves -----------------------------------------------------------


def _enlarged(x: Any, factors: Sequence[int]) -> Any:
    sizes = zip(x.shape, factors, strict=True)
    return tuple(None if size is None else size * factor for size, factor in sizes)


@replaceable("x", shape=_enlarged, public=False)
def enlarge(K: Any, x: TensorLike, factors: Sequence[int]) -> Any:
    """Each element of ``x`` repeated; there is a factor for each axis."""
    result = K.identity(x)
    for axis in reversed(range(len(factors))):  # the last first, where what is copied is shortest
        if factors[axis] > 1:
            result = K.repeat_elements(result, factors[axis], axis)
    return result


@replaceable(
    "x",
    floating=True,
    shape=lambda x, factors, first, half: _enlarged(x, _per_axis(factors, (first, first + 1))),
    public=False,
)
def interpolate(
    K: Any, x: TensorLike, factors: Sequence[int], first: int, half_pixel_centers: bool
) -> Any:
    """Images of known sizes above 0, interpolated along two axes, of which rows are ``first``."""
    return _interpolated(K, x, factors, (first, first + 1), half_pixel_centers)


def _interpolated(
    K: Any, x: Any, factors: Sequence[int], axes: Sequence[int], half_pixel_centers: bool
) -> Any:
    result = K.identity(x)
    for factor, axis in reversed(list(zip(factors, axes, strict=True))):
        if factor > 1:
            shift = (0.5 / factor - 0.5) if half_pixel_centers else 0.0
            places = [k / factor + shift for k in range(factor)]
            result = _between(K, result, places, axis)
    return result


def _between(K: Any, x: Any, places: Sequence[float], axis: int) -> Any:
    """Values at ``places`` from -1 to 1 beside each element, towards the next and the last one."""

    def part(start: int | None, stop: int | None) -> Any:
        return K.getitem(x, (*[builtins.slice(None)] * axis, builtins.slice(start, stop)))

    rise = K.subtract(K.concatenate([part(1, None), part(-1, None)], axis), x)
    fall = None
    if places[0] < 0:
        fall = K.subtract(x, K.concatenate([part(0, 1), part(0, -1)], axis))
    found = []
    for place in places:
        slope = rise if place > 0 else fall
        found.append(K.add(x, K.multiply(slope, place)) if place else x)
    sizes = [K.shape(x)[i] if size is None else size for i, size in enumerate(K.int_shape(x))]
    sizes[axis] = sizes[axis] * len(places)
    return K.reshape(K.stack(found, axis + 1), tuple(sizes))
