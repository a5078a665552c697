"""Convolution and pooling."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from kbridge.conformance.records import case, program, record
from kbridge.conformance.samples import distinct, ints, normal, values

FLOATS = "float16 bfloat16 float64"


def _last(x: Any, data_format: Any) -> Any:
    return np.moveaxis(x, 1, -1) if data_format == "channels_first" else x


def _first(x: Any, data_format: Any) -> Any:
    return np.moveaxis(x, -1, 1) if data_format == "channels_first" else x


def _both(value: Any, n: int) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * n


def _windows(sizes: Any, widths: Any, steps: Any, gaps: Any, padding: str) -> Any:
    """For each place of the result, the pairs (place in the window, place in the input).

    "same" pads as TensorFlow does: one result per stride, the odd element of padding after.
    """
    per_axis = []
    for size, width, step, gap in zip(sizes, widths, steps, gaps, strict=True):
        reach = (width - 1) * gap + 1
        if padding == "same":
            count = -(-size // step)
            before = max((count - 1) * step + reach - size, 0) // 2
        else:
            count, before = (size - reach) // step + 1, 0
        per_axis.append(
            [
                [
                    (k, i * step + k * gap - before)
                    for k in range(width)
                    if 0 <= i * step + k * gap - before < size
                ]
                for i in range(count)
            ]
        )
    for place in itertools.product(*(range(len(axis)) for axis in per_axis)):
        hits = itertools.product(*(axis[i] for axis, i in zip(per_axis, place, strict=True)))
        yield place, [(tuple(k for k, _ in hit), tuple(i for _, i in hit)) for hit in hits]


def _counts(windows: list[Any]) -> tuple[int, ...]:
    return tuple(max(axis) + 1 for axis in zip(*(place for place, _ in windows), strict=True))


def _conv(
    x: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    """Each element as the sum over its window, places outside the input left out."""
    x, n = _last(x, data_format), kernel.ndim - 2
    steps, gaps = _both(strides, n), _both(dilation_rate, n)
    windows = list(_windows(x.shape[1:-1], kernel.shape[:-2], steps, gaps, padding))
    result = np.zeros((x.shape[0], *_counts(windows), kernel.shape[-1]))
    for place, hits in windows:
        for inside, at in hits:
            result[(slice(None), *place)] += x[(slice(None), *at)] @ kernel[inside]
    return _first(result, data_format)


def _pool(
    x: Any,
    pool_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    pool_mode: str = "max",
) -> Any:
    """The largest, or the mean, of what lies in each window and in the input."""
    x = _last(x, data_format)
    n = x.ndim - 2
    sizes, steps = _both(pool_size, n), _both(strides, n)
    windows = list(_windows(x.shape[1:-1], sizes, steps, [1] * n, padding))
    result = np.zeros((x.shape[0], *_counts(windows), x.shape[-1]))
    for place, hits in windows:
        seen = [x[(slice(None), *at)] for _, at in hits]
        total = sum(seen[1:], seen[0])
        best = seen[0]
        for item in seen[1:]:
            best = np.where(item > best, item, best)
        result[(slice(None), *place)] = best if pool_mode == "max" else total / len(seen)
    return _first(result, data_format)


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
    case(normal(0, 4, 4, 1), normal(2, 2, 1, 1)).named("no_sample"),
    case(ints(1, 3, 3, 1), ints(2, 2, 1, 1)).named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

_POOLED = [
    case(distinct(1, 4, 4, 2), (2, 2)),
    case(distinct(1, 4, 4, 1), (2, 2), (2, 2)),
    case(distinct(1, 5, 4, 1), (2, 2), (2, 2), "same").named("same_stride2"),
    case(distinct(1, 3, 3, 1), (3, 3), (1, 1), "same").named("same_stride1"),
    case(distinct(1, 4, 5, 1), (3, 2), (1, 2)).named("differ"),
    case(distinct(1, 2, 4, 4), (2, 2), (2, 2), "valid", "channels_first"),
    case(distinct(1, 1, 5, 5), (2, 2), (2, 2), "same", "channels_first"),
    case(distinct(2, 3, 3, 1), 2, 1).named("numbers"),
    case(distinct(1, 2, 2, 1), (3, 3), (2, 2), "same").named("window_over_all"),
    case(distinct(0, 4, 4, 1), (2, 2)).named("no_sample"),
]


def _average(each: Any) -> Any:
    """The same case with the mean."""
    made = case(*each.args, **each.kwargs, pool_mode="avg")
    return made.named(f"avg_{each.id}") if each.id else made


record(
    "pool2d",
    _pool,
    *_POOLED,
    *[_average(each) for each in _POOLED],
    case(values([[[[-3.0], [-1.0]], [[-2.0], [-4.0]]]]), (3, 3), (1, 1), "same").named(
        "max_of_negatives"
    ),
    case(values([[[[1.0], [1.0]], [[1.0], [1.0]]]]), (2, 2))
    .named("ties")
    .slope([[[[1.0], [0.0]], [[0.0], [0.0]]]]),
    case(ints(1, 4, 4, 1), (2, 2), pool_mode="avg").named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)


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
