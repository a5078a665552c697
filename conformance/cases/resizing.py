"""Resizing of images and volumes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kbridge.conformance.oracles import channels_last, in_format
from kbridge.conformance.records import case, program, record
from kbridge.conformance.samples import ints, normal

FLOATS = "float16 bfloat16 float64"


def _nearest(x: Any, *factors: int) -> Any:
    """Each element of the result from its place divided by the factors."""
    sizes = [size * factor for size, factor in zip(x.shape[1:-1], factors, strict=True)]
    result = np.zeros((len(x), *sizes, x.shape[-1]), x.dtype)
    for place in np.ndindex(*sizes):
        at = tuple(i // factor for i, factor in zip(place, factors, strict=True))
        result[(slice(None), *place)] = x[(slice(None), *at)]
    return result


def _bilinear(x: Any, *factors: int, half: bool = False) -> Any:
    """Each element of the result from the four around its place."""
    sizes = [size * factor for size, factor in zip(x.shape[1:-1], factors, strict=True)]
    result = np.zeros((len(x), *sizes, x.shape[-1]))
    for place in np.ndindex(*sizes):
        corners = [(1.0, ())]
        for i, factor, size in zip(place, factors, x.shape[1:-1], strict=True):
            at = (i + 0.5) / factor - 0.5 if half else i / factor
            low = math.floor(at)
            around = (low, 1.0 - (at - low)), (low + 1, at - low)
            corners = [
                (weight * part, (*spot, min(max(j, 0), size - 1)))
                for weight, spot in corners
                for j, part in around
            ]
        for weight, spot in corners:
            result[(slice(None), *place)] += weight * x[(slice(None), *spot)]
    return result


def _resized(
    x: Any,
    height_factor: int,
    width_factor: int,
    data_format: Any,
    interpolation: str = "nearest",
    half_pixel_centers: bool = False,
) -> Any:
    x, factors = channels_last(x, data_format), (height_factor, width_factor)
    if interpolation == "nearest":
        return in_format(_nearest(x, *factors), data_format)
    return in_format(_bilinear(x, *factors, half=half_pixel_centers), data_format)


def _linear_matrix(size: int, factor: int, half: bool) -> Any:
    """The matrix of the interpolation along one axis, from its action on unit images."""
    units = np.eye(size).reshape(size, size, 1, 1)
    return _bilinear(units, factor, 1, half=half)[..., 0, 0].T


def _kind(given: list[str], each: Any) -> str:
    """The dtype of ``x``; integers that are interpolated are floatx."""
    linear = "bilinear" in (*each.args, *each.kwargs.values())
    return "float32" if linear and "float" not in given[0] else given[0]


record(
    "resize_images",
    _resized,
    case(normal(2, 2, 3, 2), 2, 3, "channels_last").in_all_dtypes(),
    case(normal(2, 3, 2, 3), 3, 1, "channels_first"),
    case(normal(1, 2, 2, 1), 1, 1, "channels_last"),
    case(normal(1, 1, 1, 2), 2, 4, "channels_last").named("one_element"),
    case(normal(1, 2, 3, 1), np.int64(2), np.int32(2), "channels_last").named("numpy_factors"),
    case(normal(0, 2, 3, 1), 2, 2, "channels_last").named("no_sample"),
    case(normal(1, 0, 3, 1), 2, 2, "channels_last").named("no_row"),
    case(normal(1, 2, 2, 1), 2, 2, None).named("format_of_the_configuration"),
    case(ints(1, 2, 2, 2), 2, 2, "channels_first"),
    case(normal(2, 2, 3, 2), 2, 3, "channels_last", "bilinear").in_all_dtypes(),
    case(normal(1, 2, 3, 4), 3, 2, "channels_first", "bilinear"),
    case(normal(1, 4, 2, 1), 1, 5, "channels_last", "bilinear"),
    case(normal(1, 3, 2, 1), 1, 1, "channels_last", "bilinear"),
    case(normal(1, 1, 1, 2), 3, 2, "channels_last", "bilinear").named("bilinear_of_one"),
    case(normal(0, 2, 3, 1), 2, 2, "channels_last", "bilinear").named("bilinear_no_sample"),
    case(normal(1, 2, 0, 1), 2, 2, "channels_last", "bilinear").named("bilinear_no_column"),
    case(ints(1, 2, 3, 1), 2, 2, "channels_last", "bilinear"),
    case(ints(1, 2, 3, 1), 1, 1, "channels_last", "bilinear").named("integers_unchanged"),
    case(normal(2, 2, 3, 2), 2, 3, "channels_last", "bilinear", half_pixel_centers=True),
    case(normal(1, 2, 3, 2), 3, 4, "channels_first", "bilinear", True).named("first_half_pixel"),
    case(normal(1, 1, 2, 1), 2, 2, "channels_last", "bilinear", True).named("half_pixel_of_one"),
    result=_kind,
    dtypes=f"{FLOATS} int32",
)


record(
    "resize_volumes",
    lambda x, depth_factor, height_factor, width_factor, data_format: in_format(
        _nearest(channels_last(x, data_format), depth_factor, height_factor, width_factor),
        data_format,
    ),
    case(normal(1, 2, 1, 3, 2), 2, 3, 1, "channels_last"),
    case(normal(2, 2, 1, 2, 3), 1, 2, 3, "channels_first"),
    case(normal(1, 1, 1, 1, 1), 2, 2, 2, "channels_last"),
    case(normal(1, 2, 1, 2, 1), 1, 1, 1, "channels_last"),
    case(normal(0, 2, 1, 2, 1), 2, 1, 2, "channels_last").named("no_sample"),
    case(normal(1, 2, 1, 0, 1), 2, 1, 2, "channels_last").named("no_column"),
    case(normal(1, 2, 1, 2, 1), np.int64(2), np.int64(1), np.int32(2), "channels_last").named(
        "numpy_factors"
    ),
    case(ints(1, 1, 2, 2, 1), 2, 2, 1, "channels_last"),
    dtypes=f"{FLOATS} int32",
    exact=True,
)


@program(
    ([[1.0, 1.5, 2.0, 2.0], [2.0, 2.5, 3.0, 3.0], [3.0, 3.5, 4.0, 4.0], [3.0, 3.5, 4.0, 4.0]],),
    covers="resize_images enlarge interpolate",
)
def the_grid_of_keras_2(K: Any) -> Any:
    """The corners of the elements lie on each other, not their centres."""
    x = K.variable(np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 2, 2, 1))
    return (K.eval(K.resize_images(x, 2, 2, "channels_last", interpolation="bilinear"))[0, ..., 0],)


_HIGHER = [
    ("nearest", "channels_last", False),
    ("nearest", "channels_first", False),
    ("bilinear", "channels_last", False),
    ("bilinear", "channels_first", False),
    ("bilinear", "channels_last", True),
]


def _curved(interpolation: str, data_format: str, half: bool) -> Any:
    """The derivatives of a sum of cubes, in a direction, by the matrix of each axis."""
    rng = np.random.default_rng(5)
    x, direction = rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 2, 3))
    if interpolation == "nearest":
        rows, columns = np.eye(2).repeat(3, 0), np.eye(3).repeat(2, 0)
    else:
        rows, columns = _linear_matrix(2, 3, half), _linear_matrix(3, 2, half)
    value, along = rows @ x @ columns.T, rows @ direction @ columns.T
    return [
        rows.T @ (6.0 * value * along) @ columns,
        rows.T @ (6.0 * along * along) @ columns,
    ] * 2


@program([_curved(*each) for each in _HIGHER], covers="resize_images gradients")
def the_second_and_third_derivative_of_resizing(K: Any) -> Any:
    return [_derivatives(K, *each) for each in _HIGHER]


def _derivatives(K: Any, interpolation: str, data_format: str, half: bool) -> Any:
    """The same by K, of known and of unknown sizes."""
    rng = np.random.default_rng(5)
    feeds = [rng.standard_normal((2, 2, 3)) for _ in range(2)]
    axis = -1 if data_format == "channels_last" else 1
    found = []
    for shape in ((None, *np.expand_dims(feeds[0], axis).shape[1:]), (None,) * 4):
        x, direction = (K.placeholder(shape, dtype="float64") for _ in range(2))
        large = K.resize_images(x, 3, 2, data_format, interpolation, half_pixel_centers=half)
        slope = K.gradients(K.sum(large * large * large), [x])[0]
        curved = K.gradients(K.sum(slope * direction), [x])[0]
        third = K.gradients(K.sum(curved * direction), [x])[0]
        f = K.function([x, direction], [curved, third])
        found += f([np.expand_dims(feed, axis) for feed in feeds])
    return [np.squeeze(value, axis) for value in found]
