"""Convolutions called wrongly: the error's classes and text, the same on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge import errors
from kbridge.conformance.records import fault

E = errors


# --- ordinary ------------------------------------------------------------------------------------

fault(
    "conv-rank",
    lambda K, t: K.conv2d(t(4, 4, 1), t(2, 2, 1, 1)),
    E.ShapeError,
    text=r"^K\.conv2d: the input \(4, 4, 1\) has rank 3, expected 4",
)
fault(
    "conv-kernel-rank",
    lambda K, t: K.conv2d(t(1, 4, 4, 1), t(2, 1, 1)),
    E.ShapeError,
    text=r"^K\.conv2d: the kernel \(2, 1, 1\) has rank 3, expected 4",
)
fault(
    "conv-channels",
    lambda K, t: K.conv2d(t(1, 4, 4, 3), t(2, 2, 2, 1)),
    E.ShapeError,
    text=r"^K\.conv2d: there are 3 channels, but the kernel .* is for 2",
)
fault(
    "conv-window",
    lambda K, t: K.conv2d(t(1, 2, 2, 1), t(3, 3, 1, 1)),
    E.ShapeError,
    text=r"^K\.conv2d: a window of 3 does not fit",
)
fault(
    "conv-padding",
    lambda K, t: K.conv2d(t(1, 4, 4, 1), t(2, 2, 1, 1), padding="full"),
    E.ArgumentError,
    text=r'^K\.conv2d: padding must be "valid" or "same", got \'full\'',
)
fault(
    "conv-data-format",
    lambda K, t: K.conv2d(t(1, 4, 4, 1), t(2, 2, 1, 1), data_format="NHWC"),
    E.KBridgeError,
    ValueError,
    text=r"^K\.conv2d: .*NHWC",
)
fault(
    "conv-strides-and-dilation",
    lambda K, t: K.conv2d(t(1, 5, 5, 1), t(2, 2, 1, 1), (2, 2), dilation_rate=(2, 2)),
    E.ArgumentError,
    text=r"^K\.conv2d: strides \(2, 2\) and dilation_rate \(2, 2\) cannot both be above 1",
)
fault(
    "conv-strides-entries",
    lambda K, t: K.conv2d(t(1, 5, 5, 1), t(2, 2, 1, 1), (1, 1, 1)),
    E.ArgumentError,
    text=r"^K\.conv2d: strides.* must be one integer or 2",
)
fault(
    "conv-strides-zero",
    lambda K, t: K.conv2d(t(1, 5, 5, 1), t(2, 2, 1, 1), 0),
    E.ArgumentError,
    text=r"^K\.conv2d: strides.* must be positive",
)
fault(
    "conv1d-rank",
    lambda K, t: K.conv1d(t(1, 4, 4, 1), t(2, 1, 1)),
    E.ShapeError,
    text=r"^K\.conv1d: the input \(1, 4, 4, 1\) has rank 4, expected 3",
)
fault(
    "conv1d-padding",
    lambda K, t: K.conv1d(t(1, 4, 1), t(2, 1, 1), padding="full"),
    E.ArgumentError,
    text=r'^K\.conv1d: padding must be "valid", "same" or "causal", got \'full\'',
)
fault(
    "conv3d-causal",
    lambda K, t: K.conv3d(t(1, 2, 2, 2, 1), t(1, 1, 1, 1, 1), padding="causal"),
    E.ArgumentError,
    text=r'^K\.conv3d: padding must be "valid" or "same", got \'causal\'',
)
fault(
    "conv3d-channels",
    lambda K, t: K.conv3d(t(1, 2, 3, 3, 3), t(1, 1, 1, 3, 1), data_format="channels_first"),
    E.ShapeError,
    text=r"^K\.conv3d: there are 2 channels, but the kernel .* is for 3",
)
fault(
    "depthwise-channels",
    lambda K, t: K.depthwise_conv2d(t(1, 4, 4, 4), t(2, 2, 2, 2)),
    E.ShapeError,
    text=r"^K\.depthwise_conv2d: there are 4 channels, but the kernel .* is for 2",
)
fault(
    "separable-pointwise-size",
    lambda K, t: K.separable_conv2d(t(1, 4, 4, 2), t(2, 2, 2, 1), t(2, 2, 2, 1)),
    E.ShapeError,
    text=r"^K\.separable_conv2d: the pointwise kernel \(2, 2, 2, 1\) must have size 1",
)
fault(
    "separable-pointwise-channels",
    lambda K, t: K.separable_conv1d(t(1, 4, 2), t(2, 2, 2), t(1, 2, 1)),
    E.ShapeError,
    text=r"^K\.separable_conv1d: there are 4 channels, but the pointwise kernel .* is for 2",
)
fault(
    "separable-causal",
    lambda K, t: K.separable_conv1d(t(1, 4, 2), t(2, 2, 1), t(1, 2, 1), padding="causal"),
    E.ArgumentError,
    text=r'^K\.separable_conv1d: padding must be "valid" or "same", got \'causal\'',
)
fault(
    "transpose-sizes",
    lambda K, t: K.conv2d_transpose(t(1, 4, 4, 1), t(2, 2, 1, 1), (1, 10, 8, 1), 2, "same"),
    E.ShapeError,
    text=r"^K\.conv2d_transpose: output_shape \(1, 10, 8, 1\) does not fit: .*\(5, 4\).*\(4, 4\)",
)
fault(
    "transpose-batch",
    lambda K, t: K.conv2d_transpose(t(1, 4, 4, 1), t(2, 2, 1, 1), (2, 5, 5, 1)),
    E.ShapeError,
    text=r"^K\.conv2d_transpose: the batch of output_shape",
)
fault(
    "transpose-filters",
    lambda K, t: K.conv2d_transpose(t(1, 4, 4, 1), t(2, 2, 3, 1), (1, 5, 5, 1)),
    E.ShapeError,
    text=r"^K\.conv2d_transpose: output_shape has 1 channels, but the kernel .* is for 3",
)
fault(
    "transpose-entries",
    lambda K, t: K.conv3d_transpose(t(1, 2, 2, 2, 1), t(1, 1, 1, 1, 1), (2, 2, 2)),
    E.ShapeError,
    text=r"^K\.conv3d_transpose: output_shape \(2, 2, 2\) has 3 sizes, expected 5",
)
fault(
    "transpose-open-size",
    lambda K, t: K.conv2d_transpose(t(1, 4, 4, 1), t(2, 2, 1, 1), (None, None, 5, 1)),
    E.ArgumentError,
    text=r"^K\.conv2d_transpose: only the batch and the channels of output_shape may be None",
)
fault(
    "transpose-fraction",
    lambda K, t: K.conv2d_transpose(t(1, 4, 4, 1), t(2, 2, 1, 1), (1, 5.5, 5, 1)),
    E.ArgumentTypeError,
    text=r"^K\.conv2d_transpose: a shape's sizes must be an integer, got 5\.5",
)
fault(
    "transpose-strides-and-dilation",
    lambda K, t: K.conv2d_transpose(t(1, 4, 4, 1), t(2, 2, 1, 1), (1, 9, 9, 1), 2, dilation_rate=2),
    E.ArgumentError,
    text=r"^K\.conv2d_transpose: strides \(2, 2\) and dilation_rate \(2, 2\) cannot both",
)
fault(
    "local-kernel",
    lambda K, t: K.local_conv1d(t(1, 4, 2), t(3, 5, 1), (2,), (1,)),
    E.ShapeError,
    text=r"^K\.local_conv1d: the kernel \(3, 5, 1\) must have .*, here \(3, 4, 1\)",
)
fault(
    "local-output-shape",
    lambda K, t: K.local_conv2d(t(1, 4, 4, 2), t(9, 8, 1), (2, 2), (1, 1), (3, 4)),
    E.ShapeError,
    text=r"^K\.local_conv2d: output_shape \(3, 4\) does not fit: .*\(3, 3\)",
)
fault(
    "local-window",
    lambda K, t: K.local_conv1d(t(1, 4, 2), t(3, 10, 1), (5,), (1,)),
    E.ShapeError,
    text=r"^K\.local_conv1d: a window of 5 does not fit .*; use a smaller one",
)


# --- of sizes that only the run knows ------------------------------------------------------------


def _fed(K: Any, function: Any, *shapes: tuple[int, ...]) -> Any:
    """``function`` of placeholders whose sizes are unknown, run on ones."""
    inputs = [K.placeholder((None,) * len(shape)) for shape in shapes]
    return K.function(inputs, [function(*inputs)])([np.ones(shape) for shape in shapes])


fault(
    "conv-channels-at-run-time",
    lambda K, t: _fed(K, K.conv1d, (1, 3, 4), (2, 2, 2)),
    E.ShapeError,
    text=r"^K\.conv1d: there are 4 channels, but the kernel .* is for 2",
    ways="once",
)
fault(
    "depthwise-window-at-run-time",
    lambda K, t: _fed(K, K.depthwise_conv2d, (1, 2, 3, 1), (3, 3, 1, 1)),
    E.ShapeError,
    text=r"^K\.depthwise_conv2d: a window of 3 does not fit on a spatial axis of 2",
    ways="once",
)
fault(
    "transpose-sizes-at-run-time",
    lambda K, t: _fed(
        K,
        lambda x, k: K.conv2d_transpose(x, k, (K.shape(x)[0], K.shape(x)[1] * 2, 3, 1)),
        (1, 3, 3, 1),
        (1, 1, 1, 1),
    ),
    E.ShapeError,
    text=r"^K\.conv2d_transpose: output_shape .* does not fit: .*\(6, 3\).*\(3, 3\)",
    ways="once",
)
fault(
    "transpose-batch-at-run-time",
    lambda K, t: _fed(
        K,
        lambda x, k: K.conv2d_transpose(x, k, (K.shape(x)[0] + 1, 3, 3, 1)),
        (1, 3, 3, 1),
        (1, 1, 1, 1),
    ),
    E.ShapeError,
    text=r"^K\.conv2d_transpose: the batch of output_shape",
    ways="once",
)
fault(
    "local-windows-at-run-time",
    lambda K, t: _fed(K, lambda x, k: K.local_conv1d(x, k, (2,), (1,)), (1, 5, 1), (3, 2, 1)),
    E.ShapeError,
    text=r"^K\.(reshape: .*\(1, 3, 2\)|local_conv1d: the kernel .*, here \(4, 2, 1\))",
    ways="once",
)
