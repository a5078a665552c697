"""Pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.conformance.oracles import channels_last, in_format, per_axis, window_counts, windows
from kbridge.conformance.records import case, program, record
from kbridge.conformance.samples import distinct, ints, values

FLOATS = "float16 bfloat16 float64"


def _pool(
    x: Any,
    pool_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    pool_mode: str = "max",
) -> Any:
    """The largest, or the mean, of what lies in each window and in the input."""
    x = channels_last(x, data_format)
    n = x.ndim - 2
    sizes, steps = per_axis(pool_size, n), per_axis(strides, n)
    places = list(windows(x.shape[1:-1], sizes, steps, [1] * n, padding))
    result = np.zeros((x.shape[0], *window_counts(places), x.shape[-1]))
    for place, hits in places:
        seen = [x[(slice(None), *at)] for _, at in hits]
        total = sum(seen[1:], seen[0])
        best = seen[0]
        for item in seen[1:]:
            best = np.where(item > best, item, best)
        result[(slice(None), *place)] = best if pool_mode == "max" else total / len(seen)
    return in_format(result, data_format)


def _both_modes(*cases: Any) -> list[Any]:
    """Each case with the maximum and with the mean."""
    found = list(cases)
    for each in cases:
        made = case(*each.args, **each.kwargs, pool_mode="avg")
        made.typed = each.typed
        found.append(made.named(f"avg_{each.id}") if each.id else made)
    return found


record(
    "pool2d",
    _pool,
    *_both_modes(
        case(distinct(1, 4, 4, 2), (2, 2)).in_all_dtypes(),
        case(distinct(1, 4, 4, 1), (2, 2), (2, 2)),
        case(distinct(1, 5, 4, 1), (2, 2), (2, 2), "same").named("same_stride2"),
        case(distinct(1, 3, 3, 1), (3, 3), (1, 1), "same").named("same_stride1"),
        case(distinct(1, 3, 3, 1), (2, 2), (1, 1), "same").named("same_even"),
        case(distinct(1, 4, 5, 1), (3, 2), (1, 2)).named("differ"),
        case(distinct(1, 2, 4, 4), (2, 2), (2, 2), "valid", "channels_first"),
        case(distinct(1, 1, 5, 5), (2, 2), (2, 2), "same", "channels_first"),
        case(distinct(2, 3, 3, 1), 2, 1).named("numbers"),
        case(distinct(1, 2, 2, 1), (3, 3), (2, 2), "same").named("window_over_all"),
        case(distinct(1, 4, 4, 1), (1, 5), (1, 1), "same").named("window_over_columns"),
        case(distinct(1, 4, 4, 1), (5, 5), (1, 3), "same")
        .named("window_over_both")
        .in_all_dtypes(),
        case(distinct(1, 5, 5, 1), (1, 1), (2, 3), "same").named("stride_over_window"),
        case(distinct(1, 7, 3, 1), (6, 2)).named("wide_window"),
        case(distinct(1, 3, 8, 1), (2, 6), (1, 2), "same").named("wide_window_same"),
        case(distinct(0, 4, 4, 1), (2, 2)).named("no_sample"),
    ),
    case(values([[[[-3.0], [-1.0]], [[-2.0], [-4.0]]]]), (3, 3), (1, 1), "same").named(
        "max_of_negatives"
    ),
    case(values([[[[1.0], [1.0]], [[1.0], [1.0]]]]), (2, 2))
    .named("ties")
    .slope([[[[1.0], [0.0]], [[0.0], [0.0]]]]),
    case(values(np.full((1, 2, 7, 1), 1.0)), (2, 6))
    .named("ties_in_wide_windows")
    .slope([[[[1.0], [1.0], *[[0.0]] * 5], [[0.0]] * 7]]),
    case(values([[[[1.0], [3.0], [2.0]], [[3.0], [2.0], [3.0]], [[0.0], [3.0], [3.0]]]]), (2, 2))
    .named("ties_in_windows_that_overlap")
    .slope([[[[0.0], [2.0], [0.0]], [[1.0], [0.0], [1.0]], [[0.0], [0.0], [0.0]]]]),
    case(distinct(1, 0, 4, 1), (2, 2), (2, 2), "same").gives(np.zeros((1, 0, 2, 1))),
    case(distinct(1, 0, 4, 1), (2, 3), (1, 3), "same", pool_mode="avg").gives(
        np.zeros((1, 0, 2, 1))
    ),
    case(ints(1, 4, 4, 1), (2, 2), pool_mode="avg").named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)

_FIRST_OF_EQUALS = np.zeros((1, 2, 3, 2, 1))
_FIRST_OF_EQUALS[0, 0, :2, 0] = [[1.0], [1.0]]

record(
    "pool3d",
    _pool,
    *_both_modes(
        case(distinct(1, 3, 4, 2, 2), (2, 2, 2)).in_all_dtypes(),
        case(distinct(1, 4, 4, 2, 1), (2, 2, 2), (2, 2, 2)),
        case(distinct(1, 3, 4, 3, 1), (2, 2, 2), (2, 2, 2), "same").named("same_stride2"),
        case(distinct(1, 2, 3, 3, 1), (3, 3, 3), (1, 1, 1), "same").named("same_stride1"),
        case(distinct(1, 3, 2, 3, 1), (2, 2, 2), (1, 1, 1), "same").named("same_even"),
        case(distinct(1, 4, 3, 5, 1), (3, 1, 2), (1, 2, 3)).named("differ"),
        case(distinct(1, 2, 4, 2, 4), (2, 1, 2), (2, 1, 2), "valid", "channels_first"),
        case(distinct(1, 1, 3, 3, 5), (2, 3, 2), (2, 1, 2), "same", "channels_first"),
        case(distinct(2, 3, 3, 2, 1), 2, 1).named("numbers"),
        case(distinct(1, 2, 1, 4, 1), (3, 3, 5), (2, 2, 1), "same")
        .named("window_over_all")
        .in_all_dtypes(),
        case(distinct(1, 5, 4, 1, 1), (1, 1, 1), (2, 3, 2), "same").named("stride_over_window"),
        case(distinct(0, 2, 2, 2, 1), (2, 2, 2)).named("no_sample"),
    ),
    case(values(np.full((1, 2, 3, 2, 1), 1.0)), (2, 2, 2)).named("ties").slope(_FIRST_OF_EQUALS),
    case(values(np.arange(8.0).reshape(1, 2, 2, 2, 1) - 9.0), 3, 1, "same").named(
        "max_of_negatives"
    ),
    case(distinct(1, 2, 0, 2, 1), 2, 2, "same").gives(np.zeros((1, 1, 0, 1, 1))),
    case(distinct(1, 2, 0, 2, 1), 2, 2, "same", pool_mode="avg").gives(np.zeros((1, 1, 0, 1, 1))),
    case(ints(1, 2, 2, 2, 1), (2, 2, 2), pool_mode="avg").named("integers"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)


def _curvature(K: Any, name: str, shape: Any, *how: Any) -> Any:
    """The derivative, in a direction, of the gradient of a sum of cubes of what is pooled."""
    x = K.placeholder((None,) * len(shape), dtype="float64")
    direction = K.placeholder((None,) * len(shape), dtype="float64")
    pooled = getattr(K, name)(x, *how)
    slope = K.gradients(K.sum(pooled * pooled * pooled), [x])[0]
    curved = K.gradients(K.sum(slope * direction), [x])[0]
    third = K.gradients(K.sum(curved * direction), [x])[0]
    rng = np.random.default_rng(3)
    count = int(np.prod(shape))
    numbers = rng.permutation(count).reshape(shape) * 0.25 - 1.0
    return K.function([x, direction], [curved, third])([numbers, rng.standard_normal(shape)])


def _curved(name: str, shape: Any, *how: Any) -> Any:
    """The same by plain loops: a pooled element is a weighted sum of the elements of its window."""
    rng = np.random.default_rng(3)
    count = int(np.prod(shape))
    x = rng.permutation(count).reshape(shape) * 0.25 - 1.0
    direction = rng.standard_normal(shape)
    size, step, padding, _, mode = how
    n = len(shape) - 2
    second, third = np.zeros(shape), np.zeros(shape)
    for _, hits in windows(shape[1:-1], per_axis(size, n), per_axis(step, n), [1] * n, padding):
        for batch, channel in np.ndindex(shape[0], shape[-1]):
            places = [(batch, *at, channel) for _, at in hits]
            if mode == "max":
                places = [max(places, key=lambda place: x[place])]
            weight = 1.0 / len(places)
            value = sum(x[place] for place in places) * weight
            along = sum(direction[place] for place in places) * weight
            for place in places:
                second[place] += 6.0 * value * along * weight
                third[place] += 6.0 * along * along * weight
    return [second, third]


_HIGHER = [
    (name, shape, size, step, padding, "channels_last", mode)
    for name, shape in (("pool2d", (2, 3, 4, 2)), ("pool3d", (1, 2, 3, 4, 2)))
    for size, step, padding in ((2, 1, "same"), (5, 1, "same"), (2, 1, "valid"), (3, 2, "same"))
    for mode in ("max", "avg")
]


@program([_curved(*each) for each in _HIGHER], covers="pool2d pool3d gradients")
def the_second_and_third_derivative_of_pooling(K: Any) -> Any:
    return [_curvature(K, *each) for each in _HIGHER]
