"""Older spellings: the same results as the new ones, with warnings at the caller's line."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge import errors
from kbridge.api.renamed import GONE, KEYWORDS
from kbridge.conformance.records import fault, program

E = errors


def warned(call: Callable[[], Any], *words: str) -> Any:
    """The result of ``call``, which must warn once for each of ``words``, from this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    found = [(w.category, w.filename, str(w.message)) for w in caught]
    wanted = [(DeprecationWarning, __file__, text) for text in words]
    if found != wanted:
        raise AssertionError(f"warnings are {found}, should be {wanted}")
    return result


# --- functions -----------------------------------------------------------------------------------


@program(
    ([True, False], [True, True], [[[0.0], [7.0], [0.0], [0.0]]], [[[0.0], [7.0], [0.0]]]),
    covers="lesser lesser_equal asymmetric_temporal_padding",
)
def older_functions(K: Any) -> Any:
    x, steps = K.constant([1.0, 2.0]), K.constant([[[7.0]]])
    less = "K.lesser is deprecated; use K.less."
    equal = "K.lesser_equal is deprecated; use K.less_equal."
    padding = (
        "K.asymmetric_temporal_padding is deprecated; use "
        "K.temporal_padding(x, padding=(left_pad, right_pad))."
    )
    padded = warned(lambda: K.asymmetric_temporal_padding(steps, left_pad=1, right_pad=2), padding)
    return (
        K.eval(warned(lambda: K.lesser(x, 2.0), less)),
        K.eval(warned(lambda: K.lesser_equal(x, 2.0), equal)),
        K.eval(padded),
        K.eval(warned(lambda: K.asymmetric_temporal_padding(steps), padding)),
    )


@program((True, (1, 2, 4, 4), True, (1, 4, 4, 4, 1)), covers="deconv2d deconv3d")
def older_transposed_convolutions(K: Any) -> Any:
    """With their older keywords as well."""
    rng = np.random.default_rng(1)
    x, kernel = K.constant(rng.normal(size=(1, 3, 2, 2))), K.constant(rng.normal(size=(2, 2, 2, 3)))
    old = warned(
        lambda: K.deconv2d(
            x, kernel, (1, 2, 4, 4), strides=(2, 2), border_mode="valid", dim_ordering="th"
        ),
        "K.deconv2d: border_mode is deprecated; use padding.",
        "K.deconv2d: dim_ordering is deprecated; use data_format.",
        "K.deconv2d is deprecated; use K.conv2d_transpose.",
    )
    new = K.conv2d_transpose(x, kernel, (1, 2, 4, 4), (2, 2), data_format="channels_first")
    volume = K.constant(rng.normal(size=(1, 2, 2, 2, 1)))
    cube = K.constant(rng.normal(size=(2, 2, 2, 1, 1)))
    deep = warned(
        lambda: K.deconv3d(volume, cube, (1, 4, 4, 4, 1), (2, 2, 2)),
        "K.deconv3d is deprecated; use K.conv3d_transpose.",
    )
    same = K.conv3d_transpose(volume, cube, (1, 4, 4, 4, 1), (2, 2, 2))
    return (
        np.array_equal(K.eval(old), K.eval(new)),
        K.int_shape(old),
        np.array_equal(K.eval(deep), K.eval(same)),
        K.int_shape(deep),
    )


@program(("tf", "th", "channels_first"), covers="image_dim_ordering set_image_dim_ordering")
def older_data_format(K: Any) -> Any:
    get = "image_dim_ordering() is deprecated; use image_data_format()."
    put = "set_image_dim_ordering() is deprecated; use set_image_data_format()."
    before = warned(lambda: K.image_dim_ordering(), get)
    warned(lambda: K.set_image_dim_ordering("th"), put)
    return before, warned(lambda: K.image_dim_ordering(), get), K.image_data_format()


# --- keywords ------------------------------------------------------------------------------------


@program((True,) * 15)
def older_keywords(K: Any) -> Any:
    """Each gives what the new keyword gives, and warns."""
    rng = np.random.default_rng(2)
    image, kernel = (
        K.constant(rng.normal(size=(1, 2, 5, 5))),
        K.constant(rng.normal(size=(3, 3, 2, 4))),
    )
    row, line = K.constant(rng.normal(size=(1, 6, 2))), K.constant(rng.normal(size=(3, 2, 1)))
    volume, indices = K.constant(rng.normal(size=(1, 2, 2, 2, 1))), K.constant([0, 2], "int32")

    def equal(name: str, args: Any, old: Any, new: Any) -> bool:
        function, renamed = getattr(K, name), KEYWORDS[name]
        texts = [
            f"K.{name}: {key} is deprecated; use {renamed[key].new}."
            if renamed[key].new
            else f"K.{name}: {key} is deprecated and ignored; leave it out."
            for key in old
            if key in renamed
        ]
        older = warned(lambda: function(*args, **old), *texts)
        return bool(np.array_equal(K.eval(older), K.eval(function(*args, **new))))

    first = {"data_format": "channels_first"}
    return (
        equal(
            "conv2d",
            (image, kernel),
            {"border_mode": "same", "dim_ordering": "th", "subsample": (2, 2)},
            {"padding": "same", "strides": (2, 2), **first},
        ),
        equal(
            "conv2d",
            (image, kernel),
            {"border_mode": "half", "dim_ordering": "th", "image_shape": 1, "filter_shape": None},
            {"padding": "same", **first},
        ),
        equal("conv1d", (row, line), {"border_mode": "valid", "subsample": 2}, {"strides": 2}),
        equal("conv1d", (row, line), {"dim_ordering": "tf"}, {"data_format": "channels_last"}),
        equal("conv1d", (row, line), {"dim_ordering": "default", "volume_shape": 1}, {}),
        equal(
            "pool2d",
            (image, (2, 2)),
            {"border_mode": "same", "dim_ordering": "th"},
            {"padding": "same", **first},
        ),
        equal("spatial_2d_padding", (image,), {"dim_ordering": "th"}, first),
        equal("spatial_3d_padding", (volume,), {"dim_ordering": "tf"}, {}),
        equal(
            "resize_images",
            (),
            {"X": image, "height_factor": 2, "width_factor": 1, "dim_ordering": "th"},
            {"x": image, "height_factor": 2, "width_factor": 1, **first},
        ),
        equal(
            "resize_volumes",
            (volume, 1, 2, 1),
            {"dim_ordering": "tf"},
            {"data_format": "channels_last"},
        ),
        equal("expand_dims", (row,), {"dim": 1}, {"axis": 1}),
        equal("expand_dims", (row,), {"dim": -1}, {}),
        equal("one_hot", (indices,), {"nb_classes": 3}, {"num_classes": 3}),
        equal("random_normal", ((2,), 1.0), {"std": 0.0}, {"stddev": 0.0}),
        equal("random_uniform", ((3,),), {"low": 2.0, "high": 2.0}, {"minval": 2.0, "maxval": 2.0}),
    )


@program(([0.0, 1.0], (2, 1, 3)), natives=True)
def older_keywords_of_native_tensors(K: Any) -> Any:
    """What is given natively runs at once, whatever the spelling."""
    one = K.engine.from_numpy(np.array([1]), "int32")
    table = K.engine.from_numpy(np.ones((2, 3)), "float32")
    hot = warned(
        lambda: K.one_hot(one, nb_classes=2),
        "K.one_hot: nb_classes is deprecated; use num_classes.",
    )
    wide = warned(
        lambda: K.expand_dims(table, dim=1), "K.expand_dims: dim is deprecated; use axis."
    )
    return K.eval(hot)[0], K.int_shape(wide)


@program([])
def older_keywords_leave_signatures_alone(K: Any) -> Any:
    """What tools show of an operation is the contract's signature."""
    there = [name for name in KEYWORDS if hasattr(K, name)]
    return [n for n in there if "old" in inspect.signature(getattr(K, n)).parameters]


@program([False] * len(GONE))
def names_that_are_gone(K: Any) -> Any:
    return [hasattr(K, name) for name in GONE]


# --- what is refused -----------------------------------------------------------------------------

for _name, _call, _kinds, _text in (
    (
        "both-spellings",
        lambda K, t: K.conv2d(t(1, 5, 5, 2), t(3, 3, 2, 4), padding="valid", border_mode="same"),
        (E.ArgumentTypeError, TypeError),
        r"^K\.conv2d: both padding and border_mode, its older spelling, are given; give padding",
    ),
    (
        "both-spellings-by-position",
        lambda K, t: K.expand_dims(t(2), -1, dim=0),
        (E.ArgumentTypeError, TypeError),
        r"^K\.expand_dims: both axis and dim",
    ),
    (
        "border-mode-full",
        lambda K, t: K.conv2d(t(1, 5, 5, 2), t(3, 3, 2, 4), border_mode="full"),
        (E.ArgumentError, ValueError),
        r"^K\.conv2d: border_mode='full' is not supported.*K\.spatial_2d_padding.*padding='valid'",
    ),
    (
        "border-mode-unknown",
        lambda K, t: K.pool2d(t(1, 5, 5, 2), (2, 2), border_mode=1),
        (E.ArgumentError, ValueError),
        r"^K\.pool2d: border_mode must be one of valid, same, half, not 1; .*padding",
    ),
    (
        "dim-ordering-unknown",
        lambda K, t: K.pool2d(t(1, 5, 5, 2), (2, 2), dim_ordering="channels_last"),
        (E.ArgumentError, ValueError),
        r"^K\.pool2d: dim_ordering must be one of th, tf, default, .*data_format",
    ),
    (
        "too-many-by-position",
        lambda K, t: K.pool2d(t(1, 5, 5, 2), (2, 2), (1, 1), "valid", None, "max", "tf"),
        (E.ArgumentTypeError, TypeError),
        r"^K\.pool2d: both .* are given",
    ),
    (
        "neither-spelling",
        lambda K, t: K.one_hot(t(2, dtype="int32")),
        (E.ArgumentTypeError, TypeError),
        r"^K\.one_hot\(\) missing 1 required positional argument: 'num_classes'",
    ),
):
    fault(f"older-{_name}", _call, *_kinds, text=_text)
