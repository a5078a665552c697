"""Convolution: ordinary, transposed, channel by channel, and with a kernel per position."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.conformance.oracles import channels_last, in_format, per_axis, window_counts, windows
from kbridge.conformance.records import case, program, record
from kbridge.conformance.samples import ints, normal

FLOATS = "float16 bfloat16 float64"


def _conv(
    x: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    """Each element as the sum over its window, places outside the input left out."""
    x, n = channels_last(x, data_format), kernel.ndim - 2
    steps, gaps = per_axis(strides, n), per_axis(dilation_rate, n)
    if padding == "causal":
        zeros = np.zeros((len(x), (len(kernel) - 1) * gaps[0], x.shape[-1]))
        x, padding = np.concatenate([zeros, x], 1), "valid"
    places = list(windows(x.shape[1:-1], kernel.shape[:-2], steps, gaps, padding))
    result = np.zeros((x.shape[0], *window_counts(places), kernel.shape[-1]))
    for place, hits in places:
        for inside, at in hits:
            result[(slice(None), *place)] += x[(slice(None), *at)] @ kernel[inside]
    return in_format(result, data_format)


def _transposed(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    """Each element of the input adds the kernel, so many times, to the window that is its own."""
    x, n = channels_last(x, data_format), kernel.ndim - 2
    steps, gaps = per_axis(strides, n), per_axis(dilation_rate, n)
    spatial = output_shape[2:] if data_format == "channels_first" else output_shape[1:-1]
    result = np.zeros((x.shape[0], *spatial, kernel.shape[-2]))
    for place, hits in windows(spatial, kernel.shape[:-2], steps, gaps, padding):
        for inside, at in hits:
            result[(slice(None), *at)] += x[(slice(None), *place)] @ kernel[inside].T
    return in_format(result, data_format)


def _by_channel(
    x: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    """One convolution per channel, side by side."""
    x = channels_last(x, data_format)
    how = (strides, padding, None, dilation_rate)
    parts = [_conv(x[..., c : c + 1], kernel[..., c : c + 1, :], *how) for c in range(x.shape[-1])]
    return in_format(np.concatenate(parts, -1), data_format)


def _separable(
    x: Any,
    depthwise: Any,
    pointwise: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    wide = _by_channel(x, depthwise, strides, padding, data_format, dilation_rate)
    return in_format(
        np.tensordot(
            channels_last(wide, data_format),
            np.squeeze(pointwise, (*range(pointwise.ndim - 2),)),
            1,
        ),
        data_format,
    )


def _local(
    x: Any,
    kernel: Any,
    kernel_size: Any,
    strides: Any,
    output_shape: Any = None,
    data_format: Any = None,
) -> Any:
    """Window by window, each with its elements in the order of the input."""
    first, n = data_format == "channels_first", x.ndim - 2
    spatial = x.shape[2:] if first else x.shape[1:-1]
    sizes, steps = per_axis(kernel_size, n), per_axis(strides, n)
    places = list(windows(spatial, sizes, steps, [1] * n, "valid"))
    result = np.zeros((len(x), *window_counts(places), kernel.shape[-1]))
    for weights, (place, hits) in zip(kernel, places, strict=True):
        seen = [
            x[(slice(None), slice(None), *at) if first else (slice(None), *at)] for _, at in hits
        ]
        result[(slice(None), *place)] = (
            np.stack(seen, -1 if first else 1).reshape(len(x), len(weights)) @ weights
        )
    return in_format(result, data_format)


# --- ordinary ------------------------------------------------------------------------------------

record(
    "conv1d",
    _conv,
    case(normal(2, 5, 2), normal(3, 2, 3)),
    case(normal(1, 6, 2), normal(3, 2, 2), padding="same"),
    case(normal(1, 7, 1), normal(4, 1, 2), 2, "same").named("even_kernel_stride2"),
    case(normal(1, 6, 2), normal(3, 2, 1), 3).named("stride3"),
    case(normal(1, 6, 2), normal(2, 2, 1), (2,), "valid", None, (1,)).named("tuples"),
    case(normal(2, 5, 1), normal(3, 1, 2), padding="causal"),
    case(normal(1, 6, 1), normal(2, 1, 1), 2, "causal").named("causal_stride2"),
    case(normal(1, 6, 1), normal(3, 1, 1), 1, "causal", "channels_last", 2).named("causal_dilated"),
    case(normal(1, 2, 5), normal(2, 2, 3), 1, "causal", "channels_first"),
    case(normal(1, 7, 1), normal(3, 1, 1), dilation_rate=3),
    case(normal(1, 1, 6), normal(3, 1, 2), 1, "same", "channels_first", 2).named(
        "first_same_dilated"
    ),
    case(normal(2, 2, 6), normal(3, 2, 2), 2, "same", "channels_first").named("first_same_stride2"),
    case(normal(1, 1, 1), normal(1, 1, 1)).named("one_element"),
    case(normal(1, 2, 1), normal(5, 1, 1), padding="causal").named("causal_kernel_over_all"),
    case(normal(0, 4, 2), normal(2, 2, 3)).named("no_sample"),
    case(normal(0, 4, 2), normal(2, 2, 1), 1, "causal").named("no_sample_causal"),
    case(normal(2, 0, 2), normal(2, 2, 3), padding="same")
    .named("nothing_on_the_axis")
    .gives(np.zeros((2, 0, 3))),
    case(normal(1, 2, 0), normal(2, 2, 3), 1, "causal", "channels_first")
    .named("nothing_causal")
    .gives(np.zeros((1, 3, 0))),
    case(ints(1, 4, 2), ints(2, 2, 1)).named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

record(
    "conv2d",
    _conv,
    case(normal(1, 4, 4, 2), normal(2, 2, 2, 3)),
    case(normal(2, 4, 3, 1), normal(3, 2, 1, 2), padding="same"),
    case(normal(1, 4, 4, 1), normal(3, 3, 1, 1), (2, 2), "same").named("same_stride2"),
    case(normal(1, 5, 5, 1), normal(3, 3, 1, 1), (2, 2), "same").named("same_stride2_odd"),
    case(normal(1, 5, 4, 1), normal(2, 2, 1, 2), (2, 1)).named("strides_differ"),
    case(normal(1, 5, 5, 1), normal(2, 2, 1, 1), 2, "valid").named("stride_number"),
    case(normal(1, 2, 4, 4), normal(2, 2, 2, 3), data_format="channels_first"),
    case(normal(1, 1, 4, 5), normal(3, 2, 1, 2), (2, 2), "same", "channels_first").named(
        "first_same_stride2"
    ),
    case(normal(1, 5, 5, 1), normal(2, 2, 1, 1), dilation_rate=(2, 2)),
    case(normal(1, 5, 4, 1), normal(3, 2, 1, 1), (1, 1), "same", "channels_last", (2, 1)).named(
        "same_dilated"
    ),
    case(normal(1, 1, 5, 5), normal(2, 2, 1, 1), (1, 1), "same", "channels_first", 2).named(
        "first_same_dilated"
    ),
    case(normal(1, 3, 3, 2), normal(1, 1, 2, 2)).named("pointwise"),
    case(normal(1, 2, 2, 1), normal(3, 3, 1, 1), padding="same").named("kernel_over_all"),
    case(normal(2, 1, 1, 1), normal(1, 1, 1, 1), (2, 2), "same").named("one_element"),
    case(normal(1, 4, 4, 1), normal(1, 1, 1, 1), (3, 3), "same").named("stride_over_kernel"),
    case(normal(1, 4, 5, 1), normal(2, 4, 1, 1), padding="same").named("even_kernel"),
    case(normal(1, 4, 5, 1), normal(2, 4, 1, 1), (2, 3), "same").named("even_kernel_strides"),
    case(normal(1, 4, 4, 9), normal(3, 3, 9, 2)).named("many_channels").loosely(),
    case(normal(0, 4, 4, 1), normal(2, 2, 1, 1)).named("no_sample"),
    case(normal(0, 1, 4, 4), normal(2, 2, 1, 3), (1, 1), "same", "channels_first", 2).named(
        "no_sample_dilated"
    ),
    case(ints(1, 3, 3, 1), ints(2, 2, 1, 1)).named("integers"),
    case(normal(1, 0, 3, 2), normal(2, 2, 2, 1), (2, 2), "same")
    .named("nothing_on_an_axis")
    .gives(np.zeros((1, 0, 2, 1))),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

record(
    "conv3d",
    _conv,
    case(normal(1, 3, 3, 3, 2), normal(2, 2, 2, 2, 2)),
    case(normal(1, 3, 2, 4, 1), normal(3, 2, 3, 1, 2), padding="same"),
    case(normal(1, 4, 3, 4, 1), normal(2, 3, 2, 1, 1), (2, 2, 2), "same").named("same_stride2"),
    case(normal(1, 4, 3, 3, 1), normal(2, 1, 2, 1, 1), (2, 1, 1)).named("strides_differ"),
    case(normal(1, 4, 3, 4, 1), normal(1, 1, 1, 1, 2), 3, "same").named("stride_over_kernel"),
    case(normal(1, 2, 2, 3, 3), normal(2, 2, 2, 2, 1), data_format="channels_first"),
    case(normal(1, 1, 3, 2, 3), normal(2, 2, 2, 1, 2), 2, "same", "channels_first").named(
        "first_same_stride2"
    ),
    case(normal(1, 4, 3, 3, 1), normal(2, 2, 1, 1, 1), dilation_rate=(2, 1, 1)),
    case(normal(1, 1, 3, 3, 3), normal(2, 2, 2, 1, 1), 1, "same", "channels_first", 2).named(
        "first_same_dilated"
    ),
    case(normal(1, 1, 1, 1, 1), normal(1, 1, 1, 1, 1)).named("one_element"),
    case(normal(0, 3, 3, 3, 1), normal(2, 2, 2, 1, 2)).named("no_sample"),
    case(ints(1, 2, 2, 2, 1), ints(1, 2, 1, 1, 1)).named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

# --- transposed ----------------------------------------------------------------------------------

record(
    "conv2d_transpose",
    _transposed,
    case(normal(1, 3, 3, 2), normal(2, 2, 3, 2), (1, 4, 4, 3)),
    case(normal(1, 2, 2, 1), normal(3, 3, 2, 1), (None, 4, 4, 2), (2, 2), "same").named(
        "same_stride2"
    ),
    case(normal(1, 2, 3, 1), normal(3, 2, 1, 1), (None, 3, 6, None), (2, 2), "same").named(
        "same_stride2_odd"
    ),
    case(normal(1, 2, 2, 1), normal(3, 3, 1, 1), (1, 6, 5, 1), (2, 2)).named("rest_of_a_stride"),
    case(normal(1, 2, 3, 1), normal(2, 4, 2, 1), (1, 2, 3, 2), 1, "same").named("even_kernel"),
    case(normal(1, 2, 2, 1), normal(2, 4, 1, 1), (1, 3, 6, 1), (2, 3), "same").named(
        "even_kernel_strides"
    ),
    case(normal(1, 2, 3, 1), normal(3, 1, 1, 1), (1, 4, 3, 1), (2, 1), "same").named(
        "strides_differ"
    ),
    case(normal(1, 2, 2, 2), normal(1, 1, 2, 2), (1, 4, 5, 2), 3, "same").named(
        "stride_over_kernel"
    ),
    case(normal(1, 2, 2, 3), normal(2, 3, 1, 2), (None, 1, 3, 5), data_format="channels_first"),
    case(normal(1, 2, 2, 2), normal(3, 3, 1, 2), (1, 1, 3, 4), 2, "same", "channels_first").named(
        "first_same_stride2"
    ),
    case(normal(1, 2, 2, 1), normal(2, 2, 1, 1), (1, 4, 5, 1), 1, "valid", None, (2, 3)).named(
        "dilated"
    ),
    case(
        normal(1, 1, 3, 2), normal(2, 2, 2, 1), (1, 2, 3, 2), 1, "same", "channels_first", 2
    ).named("first_same_dilated"),
    case(normal(2, 1, 1, 1), normal(1, 1, 1, 1), (2, 1, 1, 1)).named("one_element"),
    case(normal(0, 2, 2, 1), normal(2, 2, 3, 1), (0, 4, 4, 3), (2, 2)).named("no_sample"),
    case(normal(0, 2, 2, 1), normal(3, 3, 2, 1), (None, 2, 2, 2), 1, "same").named(
        "no_sample_same"
    ),
    case(ints(1, 2, 2, 1), ints(2, 2, 1, 1), (1, 3, 3, 1)).named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

record(
    "conv3d_transpose",
    _transposed,
    case(normal(1, 2, 2, 2, 2), normal(2, 2, 2, 1, 2), (1, 3, 3, 3, 1)),
    case(normal(1, 2, 1, 2, 1), normal(3, 2, 3, 2, 1), (None, 4, 2, 3, 2), 2, "same").named(
        "same_stride2"
    ),
    case(normal(1, 2, 1, 2, 1), normal(2, 2, 1, 1, 1), (1, 5, 2, 2, None), (2, 1, 1)).named(
        "rest_of_a_stride"
    ),
    case(normal(1, 2, 2, 1, 1), normal(1, 2, 1, 1, 1), (1, 4, 5, 2, 1), 3, "same").named(
        "stride_over_kernel"
    ),
    case(
        normal(1, 2, 2, 2, 1), normal(2, 1, 2, 1, 2), (1, 1, 3, 2, 2), data_format="channels_first"
    ).named("first"),
    case(
        normal(1, 1, 2, 2, 1),
        normal(2, 3, 2, 2, 1),
        (None, 2, 3, 4, 2),
        2,
        "same",
        "channels_first",
    ).named("first_same_stride2"),
    case(normal(1, 1, 1, 1, 1), normal(1, 1, 1, 1, 1), (1, 1, 1, 1, 1)).named("one_element"),
    case(normal(0, 2, 2, 2, 1), normal(2, 2, 2, 1, 1), (0, 3, 3, 3, 1)).named("no_sample"),
    case(ints(1, 1, 2, 1, 1), ints(1, 2, 1, 1, 1), (1, 1, 3, 1, 1)).named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

# --- channel by channel --------------------------------------------------------------------------

record(
    "depthwise_conv2d",
    _by_channel,
    case(normal(1, 4, 3, 2), normal(2, 2, 2, 2)),
    case(normal(2, 3, 3, 3), normal(3, 2, 3, 1), padding="same"),
    case(normal(1, 4, 4, 2), normal(3, 3, 2, 1), (2, 2), "same").named("same_stride2"),
    case(normal(1, 4, 5, 1), normal(2, 2, 1, 2), (1, 2)).named("strides_differ"),
    case(normal(1, 5, 4, 2), normal(3, 2, 2, 1), (2, 3), "same").named("same_strides_differ"),
    case(normal(1, 2, 4, 4), normal(2, 2, 2, 3), data_format="channels_first"),
    case(normal(1, 2, 3, 4), normal(2, 3, 2, 2), (2, 1), "same", "channels_first").named(
        "first_same_strides_differ"
    ),
    case(normal(1, 5, 5, 2), normal(2, 2, 2, 1), dilation_rate=(2, 2)),
    case(normal(1, 2, 4, 3), normal(2, 2, 2, 2), 1, "same", "channels_first", (2, 1)).named(
        "first_same_dilated"
    ),
    case(normal(2, 1, 1, 1), normal(1, 1, 1, 1)).named("one_element"),
    case(normal(1, 3, 3, 2), normal(1, 1, 2, 1), (3, 3), "same").named("stride_over_kernel"),
    case(normal(0, 4, 4, 2), normal(2, 2, 2, 2)).named("no_sample"),
    case(normal(0, 4, 4, 2), normal(2, 2, 2, 2), dilation_rate=2).named("no_sample_dilated"),
    case(ints(1, 3, 3, 2), ints(2, 2, 2, 1)).named("integers"),
    case(normal(1, 3, 0, 2), normal(2, 2, 2, 1), padding="same")
    .named("nothing_on_an_axis")
    .gives(np.zeros((1, 3, 0, 2))),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

record(
    "separable_conv1d",
    _separable,
    case(normal(1, 5, 2), normal(3, 2, 2), normal(1, 4, 3)),
    case(normal(2, 4, 2), normal(2, 2, 1), normal(1, 2, 2), padding="same"),
    case(normal(1, 6, 2), normal(3, 2, 1), normal(1, 2, 1), (2,), "same", None, (1,)).named(
        "tuples"
    ),
    case(normal(1, 6, 1), normal(2, 1, 2), normal(1, 2, 2), 2).named("stride2"),
    case(normal(1, 6, 2), normal(2, 2, 1), normal(1, 2, 2), 1, "valid", "channels_last", 2).named(
        "dilated"
    ),
    case(normal(1, 2, 5), normal(2, 2, 2), normal(1, 4, 1), data_format="channels_first"),
    case(normal(1, 2, 5), normal(3, 2, 1), normal(1, 2, 2), 2, "same", "channels_first").named(
        "first_same_stride2"
    ),
    case(normal(1, 1, 1), normal(1, 1, 1), normal(1, 1, 1)).named("one_element"),
    case(normal(0, 4, 2), normal(2, 2, 1), normal(1, 2, 3)).named("no_sample"),
    case(ints(1, 3, 2), ints(2, 2, 1), ints(1, 2, 1)).named("integers"),
    result="floating",
    dtypes="float64 int32",
)

record(
    "separable_conv2d",
    _separable,
    case(normal(1, 4, 3, 2), normal(2, 2, 2, 2), normal(1, 1, 4, 3)),
    case(normal(2, 3, 2, 2), normal(3, 2, 2, 1), normal(1, 1, 2, 1), padding="same"),
    case(normal(1, 4, 4, 1), normal(3, 3, 1, 2), normal(1, 1, 2, 2), (2, 2), "same").named(
        "same_stride2"
    ),
    case(normal(1, 4, 4, 1), normal(2, 2, 1, 1), normal(1, 1, 1, 2), (1, 2)).named(
        "strides_differ"
    ),
    case(normal(1, 4, 4, 2), normal(2, 2, 2, 1), normal(1, 1, 2, 2), dilation_rate=(2, 1)),
    case(normal(1, 2, 3, 3), normal(2, 2, 2, 2), normal(1, 1, 4, 1), data_format="channels_first"),
    case(normal(1, 1, 1, 1), normal(1, 1, 1, 1), normal(1, 1, 1, 1)).named("one_element"),
    case(normal(0, 3, 3, 1), normal(2, 2, 1, 1), normal(1, 1, 1, 2)).named("no_sample"),
    case(ints(1, 2, 2, 1), ints(2, 2, 1, 1), ints(1, 1, 1, 2)).named("integers"),
    result="floating",
    dtypes="float64 int32",
)

# --- a kernel per position -----------------------------------------------------------------------

record(
    "local_conv1d",
    _local,
    case(normal(2, 4, 2), normal(3, 4, 3), (2,), (1,)),
    case(normal(1, 5, 1), normal(2, 3, 2), (3,), (2,)),
    case(normal(1, 5, 2), normal(2, 4, 2), 2, 3).named("numbers"),
    case(normal(2, 2, 4), normal(3, 4, 3), (2,), (1,), data_format="channels_first"),
    case(normal(1, 3, 5), normal(2, 6, 1), (2,), (2,), data_format="channels_first").named(
        "first_stride2"
    ),
    case(normal(1, 1, 1), normal(1, 1, 1), (1,), (1,)).named("one_element"),
    case(normal(0, 3, 2), normal(2, 4, 3), (2,), (1,)).named("no_sample"),
    case(ints(2, 3, 1), ints(2, 2, 1), (2,), (1,)).named("integers"),
    result="floating",
    dtypes="float16 float64 int32",
)

record(
    "local_conv2d",
    _local,
    case(normal(2, 3, 4, 2), normal(6, 8, 3), (2, 2), (1, 1), (2, 3)),
    case(normal(1, 4, 5, 1), normal(4, 6, 2), (2, 3), (2, 2), (2, 2)).named("strides"),
    case(normal(1, 3, 5, 1), normal(4, 2, 1), (2, 1), (1, 3), [2, 2]).named("strides_differ"),
    case(normal(2, 2, 3, 3), normal(4, 8, 3), (2, 2), (1, 1), (2, 2), "channels_first"),
    case(normal(1, 3, 3, 4), normal(2, 9, 2), (3, 1), (1, 3), (1, 2), "channels_first").named(
        "first_strides_differ"
    ),
    case(normal(1, 1, 1, 1), normal(1, 1, 1), (1, 1), (1, 1), (1, 1)).named("one_element"),
    case(normal(0, 3, 3, 2), normal(4, 8, 3), (2, 2), (1, 1), (2, 2)).named("no_sample"),
    case(ints(1, 2, 3, 1), ints(2, 4, 1), (2, 2), (1, 1), (1, 2)).named("integers"),
    result="floating",
    dtypes="float16 float64 int32",
)

# --- programs ------------------------------------------------------------------------------------


@program(
    ((1, 1, 3, 3), (1, 3, 2, 2), [[1.0, 2.0, 3.0]], (1, 3, 5, 5), (1, 3, 3, 1)),
    covers="conv2d pool2d bias_add spatial_2d_padding set_image_data_format",
)
def the_data_format_set(K: Any) -> Any:
    """Without ``data_format`` the one that is set at that moment holds, then for good."""
    x, kernel = K.placeholder((1, 3, 3, 3)), K.variable(np.ones((1, 1, 3, 1)))
    last = K.conv2d(x, kernel)
    K.set_image_data_format("channels_first")
    first = K.conv2d(x, kernel)
    pooled = K.pool2d(x, (2, 2))
    biased = K.bias_add(x, K.constant([1.0, 2.0, 3.0]))
    padded = K.spatial_2d_padding(x)
    f = K.function([x], [first, pooled, biased, padded, last])
    K.set_image_data_format("channels_last")
    found = f([np.zeros((1, 3, 3, 3))])
    return found[0].shape, found[1].shape, found[2][..., 0, 0], found[3].shape, found[4].shape


@program(((None, 6, 8, 2), (2, 6, 8, 2), 48.0, (3, 6, 8, 2)), covers="conv2d_transpose")
def an_output_shape_of_sizes(K: Any) -> Any:
    """The layers of Keras give the shape of a transposed convolution by sizes of the input."""
    x = K.placeholder((None, 3, None, 1))
    rows, columns = K.shape(x)[1] * 2, K.shape(x)[2] * 2
    kernel = K.variable(np.ones((2, 2, 2, 1)))
    shape = (K.shape(x)[0], 6, columns, 2)
    y = K.conv2d_transpose(x, kernel, shape, (2, 2), "same", "channels_last")
    fixed = K.conv2d_transpose(
        x, kernel, (K.shape(x)[0], rows, 8, 2), (2, 2), "same", "channels_last"
    )
    slope = K.gradients(K.sum(y), x)[0]
    f = K.function([x], [y, fixed, slope])
    value, same, slopes = f([np.ones((2, 3, 4, 1))])
    other = f([np.ones((3, 3, 4, 1))])[0]
    np.testing.assert_array_equal(value, same)
    static = K.int_shape(fixed)
    return (
        (static[0], value.shape[1], static[2], static[3]),
        value.shape,
        slopes.sum() / 4,
        other.shape,
    )


@program(((1, 5, 5, 1), (1, 5, 5, 1), (None, 5, 4, 4, 1)), covers="conv3d_transpose")
def an_output_shape_in_one_tensor(K: Any) -> Any:
    """The shape of another tensor, as it is."""
    image = K.placeholder((None, None, None, 1))
    small = K.conv2d(image, K.ones((3, 3, 1, 1)), 2, "valid", "channels_last")
    whole = K.conv2d_transpose(
        small, K.ones((3, 3, 1, 1)), K.shape(image), 2, "valid", "channels_last"
    )
    f = K.function([image], [whole, K.zeros_like(image)])
    found = f([np.ones((1, 5, 5, 1))])
    x = K.placeholder((None, 4, 3, 3, 1))
    shape = K.stack([K.shape(x)[0], 5, 4, 4, 1])
    y = K.conv3d_transpose(x, K.ones((2, 2, 2, 1, 1)), shape, data_format="channels_last")
    return found[0].shape, found[1].shape, K.int_shape(y)


@program(
    ((2, 3, 4, 4), (2, 3, 5), (2, 6, 4), (2, 3, 4), (2, 3, 4, 4), (2, 3, 4, 4, 4), (2, 1, 4)),
    covers="conv1d conv3d conv2d_transpose depthwise_conv2d separable_conv1d local_conv1d",
)
def every_convolution_reads_the_data_format_set(K: Any) -> Any:
    """Without ``data_format`` the one that is set when the call is made."""
    K.set_image_data_format("channels_first")
    ones = [
        K.depthwise_conv2d(K.ones((2, 3, 5, 5)), K.ones((2, 2, 3, 1))),
        K.conv1d(K.ones((2, 4, 5)), K.ones((1, 4, 3))),
        K.separable_conv1d(K.ones((2, 3, 5)), K.ones((2, 3, 1)), K.ones((1, 3, 6))),
        K.local_conv1d(K.ones((2, 2, 5)), K.ones((4, 4, 3)), (2,), (1,)),
        K.conv2d_transpose(K.ones((2, 1, 3, 3)), K.ones((2, 2, 3, 1)), (2, 3, 4, 4)),
        K.conv3d(K.ones((2, 1, 5, 5, 5)), K.ones((2, 2, 2, 1, 3))),
    ]
    K.set_image_data_format("channels_last")
    ones.append(K.local_conv1d(K.ones((2, 2, 5)), K.ones((1, 10, 4)), (2,), (1,)))
    return tuple(K.eval(one).shape for one in ones)


@program(
    (
        [[[24.0, 28.0, 32.0], [44.0, 48.0, 52.0], [64.0, 68.0, 72.0]]],
        [1.0, 2.0, 30.0, 40.0],
        [[[10.0, 18.0], [26.0, 34.0], [42.0, 50.0]]],
    ),
    covers="depthwise_conv2d",
)
def _channel_by_channel(K: Any) -> Any:
    """Dilation, the order of the channels, and strides that differ."""
    last = "channels_last"
    x, ones = K.variable(np.arange(25.0).reshape(1, 5, 5, 1)), K.variable(np.ones((2, 2, 1, 1)))
    kernel = K.variable(np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 1, 2, 2))
    two = K.variable(np.array([1.0, 10.0]).reshape(1, 1, 1, 2))
    y = K.variable(np.arange(16.0).reshape(1, 4, 4, 1))
    return (
        K.eval(K.depthwise_conv2d(x, ones, (1, 1), "valid", last, (2, 2)))[..., 0],
        K.eval(K.depthwise_conv2d(two, kernel, (1, 1), "valid", last)).ravel(),
        K.eval(K.depthwise_conv2d(y, ones, (1, 2), "valid", last))[..., 0],
    )
