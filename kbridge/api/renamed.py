"""Older spellings of functions and arguments, which real code still uses, and names that are gone.

An older spelling works, with a DeprecationWarning at the caller's line that names the new one.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from kbridge.api.declare import Operation, composite
from kbridge.api.rules import TensorLike
from kbridge.errors import ArgumentError, ArgumentTypeError

__all__ = ["asymmetric_temporal_padding", "deconv2d", "deconv3d", "lesser", "lesser_equal"]

# --- functions -----------------------------------------------------------------------------------


def _warn(old: str, new: str) -> None:
    # Between here and the caller are the composition and its dispatcher.
    warnings.warn(f"K.{old} is deprecated; use K.{new}.", DeprecationWarning, stacklevel=4)


@composite
def lesser(K: Any, x: TensorLike, y: TensorLike) -> Any:
    """The same as ``K.less``, under its older name; it warns.

    >>> K.eval(K.lesser(K.constant([1.0, 2.0]), 2.0)).tolist()
    [True, False]
    """
    _warn("lesser", "less")
    return K.less(x, y)


@composite
def lesser_equal(K: Any, x: TensorLike, y: TensorLike) -> Any:
    """The same as ``K.less_equal``, under its older name; it warns.

    >>> K.eval(K.lesser_equal(K.constant([1.0, 2.0, 3.0]), 2.0)).tolist()
    [True, True, False]
    """
    _warn("lesser_equal", "less_equal")
    return K.less_equal(x, y)


@composite
def asymmetric_temporal_padding(
    K: Any, x: TensorLike, left_pad: int = 1, right_pad: int = 1
) -> Any:
    """``K.temporal_padding(x, (left_pad, right_pad))``, under its older name; it warns.

    >>> K.eval(K.asymmetric_temporal_padding(K.constant([[[7.0]]]), 0, 2)).tolist()
    [[[7.0], [0.0], [0.0]]]
    """
    _warn("asymmetric_temporal_padding", "temporal_padding(x, padding=(left_pad, right_pad))")
    return K.temporal_padding(x, (left_pad, right_pad))


@composite
def deconv2d(
    K: Any,
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """The same as ``K.conv2d_transpose``, under its older name; it warns.

    >>> x, kernel = K.ones((1, 2, 2, 1)), K.ones((2, 2, 1, 1))
    >>> K.int_shape(K.deconv2d(x, kernel, (1, 4, 4, 1), strides=(2, 2)))
    (1, 4, 4, 1)
    """
    _warn("deconv2d", "conv2d_transpose")
    return K.conv2d_transpose(x, kernel, output_shape, strides, padding, data_format, dilation_rate)


@composite
def deconv3d(
    K: Any,
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """The same as ``K.conv3d_transpose``, under its older name; it warns.

    >>> x, kernel = K.ones((1, 2, 2, 2, 1)), K.ones((2, 2, 2, 1, 1))
    >>> K.int_shape(K.deconv3d(x, kernel, (1, 4, 4, 4, 1), strides=(2, 2, 2)))
    (1, 4, 4, 4, 1)
    """
    _warn("deconv3d", "conv3d_transpose")
    return K.conv3d_transpose(x, kernel, output_shape, strides, padding, data_format)


# --- arguments -----------------------------------------------------------------------------------


class Renamed(NamedTuple):
    """What an older keyword has become: the parameter ("": ignored), and its values, if renamed."""

    new: str
    values: dict[str, str | None] | None = None


#: The default of a parameter that an older keyword may give instead: not given.
MISSING = type("Missing", (), {"__repr__": lambda self: "<not given>"})()

_UNSUPPORTED = "unsupported"
_IGNORED = Renamed("")
_FORMAT = {
    "dim_ordering": Renamed(
        "data_format", {"th": "channels_first", "tf": "channels_last", "default": None}
    )
}
_PADDING = {
    "border_mode": Renamed(
        "padding", {"valid": "valid", "same": "same", "half": "same", "full": _UNSUPPORTED}
    )
}
_CONVOLUTION = {
    **_PADDING,
    **_FORMAT,
    "subsample": Renamed("strides"),
    **dict.fromkeys(("image_shape", "filter_shape", "volume_shape"), _IGNORED),
}

#: The older keywords of each operation that has any; its dispatcher takes them after its own.
KEYWORDS: dict[str, dict[str, Renamed]] = {
    "conv1d": _CONVOLUTION,
    "conv2d": _CONVOLUTION,
    "conv3d": _CONVOLUTION,
    "conv2d_transpose": _CONVOLUTION,
    "conv3d_transpose": _CONVOLUTION,
    "deconv2d": _CONVOLUTION,
    "deconv3d": _CONVOLUTION,
    "depthwise_conv2d": _CONVOLUTION,
    "separable_conv1d": _CONVOLUTION,
    "separable_conv2d": _CONVOLUTION,
    "pool2d": {**_PADDING, **_FORMAT, "subsample": Renamed("strides")},
    "pool3d": {**_PADDING, **_FORMAT, "subsample": Renamed("strides")},
    "spatial_2d_padding": _FORMAT,
    "spatial_3d_padding": _FORMAT,
    "resize_images": {"X": Renamed("x"), **_FORMAT},
    "resize_volumes": {"X": Renamed("x"), **_FORMAT},
    "expand_dims": {"dim": Renamed("axis")},
    "one_hot": {"nb_classes": Renamed("num_classes")},
    "random_normal": {"std": Renamed("stddev")},
    "random_uniform": {"low": Renamed("minval"), "high": Renamed("maxval")},
}


def translated(op: Operation, args: tuple[Any, ...], old: dict[str, Any]) -> list[Any]:
    """The arguments of a call with those of its older keywords in their places."""
    found = dict(zip(op.parameters, args, strict=True))
    texts = []
    for name, value in old.items():
        renamed = KEYWORDS[op.name][name]
        if value is MISSING:
            continue
        if not renamed.new:
            texts.append(f"K.{op.name}: {name} is deprecated and ignored; leave it out.")
            continue
        if found[renamed.new] is not MISSING:
            raise ArgumentTypeError(
                f"K.{op.name}: both {renamed.new} and {name}, its older spelling, are given; give "
                f"{renamed.new} alone."
            )
        texts.append(f"K.{op.name}: {name} is deprecated; use {renamed.new}.")
        found[renamed.new] = _value(op.name, name, renamed, value)
    for text in texts:
        # Between here and the caller is the dispatcher.
        warnings.warn(text, DeprecationWarning, stacklevel=3)
    return list(found.values())


def _value(operation: str, name: str, renamed: Renamed, value: Any) -> Any:
    if renamed.values is None:
        return value
    new = renamed.values.get(value, MISSING) if isinstance(value, str) else MISSING
    if new is _UNSUPPORTED:
        raise ArgumentError(
            f"K.{operation}: {name}={value!r} is not supported on any engine. Pad with zeros first "
            f"(K.temporal_padding, K.spatial_2d_padding, K.spatial_3d_padding), then use "
            f"{renamed.new}='valid'."
        )
    if new is MISSING:
        known = [k for k, v in renamed.values.items() if v is not _UNSUPPORTED]
        raise ArgumentError(
            f"K.{operation}: {name} must be one of {', '.join(known)}, not {value!r:.60}; its new "
            f"spelling is {renamed.new}."
        )
    return new


def required(op: Operation, name: str) -> Any:
    """The error of a call that gives a required argument in no spelling."""
    raise ArgumentTypeError(f"K.{op.name}() missing 1 required positional argument: {name!r}")


# --- names that are gone -------------------------------------------------------------------------

_MODULE = (
    "was {what}, which Keras's own backend modules happened to show. Import it yourself, use "
    "K.lift(function) for a function of the engine that K lacks, and K.backend() to tell engines "
    "apart"
)
_SUBMODULE = (
    "was the module of Keras's {what} backend. Its functions are those of K itself; "
    "kbridge.load_backend(name) gives the K functions of one engine"
)

#: Names that programs for Keras 2 take from its backend modules, and what to do instead.
GONE = {
    "tf": _MODULE.format(what="the module tensorflow"),
    "theano": _MODULE.format(what="the module theano"),
    "T": _MODULE.format(what="the module theano.tensor"),
    "C": _MODULE.format(what="the module cntk"),
    "control_flow_ops": _MODULE.format(what="a module of TensorFlow's")
    + "; K.switch, K.map_fn and K.rnn are the control flow of K",
    "tensorflow_backend": _SUBMODULE.format(what="TensorFlow"),
    "theano_backend": _SUBMODULE.format(what="Theano"),
    "cntk_backend": _SUBMODULE.format(what="CNTK"),
    "numpy_backend": _SUBMODULE.format(what="NumPy"),
    "_BACKEND": "was the name of the backend; K.backend() returns it",
    "ContextValueCache": "belongs to tf.keras alone, which keeps state per graph; kbridge has no "
    "global graph, and a dictionary does",
}
