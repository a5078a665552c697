"""Activations and normalisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kbridge.conformance.oracles import each, exp, lines, softmax
from kbridge.conformance.records import case, record
from kbridge.conformance.samples import away, distinct, ints, normal, positive, values

FLOATS = "float16 bfloat16 float64"
INF, NAN = math.inf, math.nan


def _shapes(kind: Any) -> list[Any]:
    return [case(kind(2, 3)), case(kind()), case(kind(1, 4)), case(kind(0, 3)), case(kind(2, 1, 2))]


def _relu(x: float, alpha: float = 0.0, max_value: Any = None, threshold: float = 0.0) -> float:
    if x != x:
        return x
    if x < threshold:
        return alpha * (x - threshold) if alpha else 0.0
    return x if max_value is None else min(max(x, 0.0), max(max_value, 0.0))


def _leaky(x: Any, alpha: Any) -> Any:
    return np.where(x >= 0, x, alpha * x)


record(
    "relu",
    each(_relu),
    *_shapes(away),
    case(away(2, 3), 0.1),
    case(away(2, 3), alpha=0.3),
    case(away(2, 3), max_value=1.0),
    case(away(2, 3), max_value=-1.0).named("max_below_zero"),
    case(away(2, 3), threshold=0.2),
    case(away(2, 3), 0.1, 1.0, -0.2),
    case(away(2, 3), positive(3)).named("slope_per_channel").gives(lambda x, a: _leaky(x, a)),
    case(away(2, 3), positive(1, 3), threshold=0.1)
    .named("slope_and_threshold")
    .gives(lambda x, a: np.where(x >= 0.1, x, a * (x - 0.1))),
    case(away(2, 3), np.array(0.1), np.float64(1.0), np.array(0.2)).named("numpy_numbers"),
    case(values([-2.0, 0.5, 1.0, 3.0, 7.0]), 0.1, 5.0, 0.8).named("all"),
    case(values([-1.0, 0.0, 1.0]), threshold=1.0).named("at_threshold").without("gradient"),
    case(values([-INF, INF, NAN])).named("special").without("gradient"),
    case(ints(2, 3)),
    result="floating",
    dtypes=f"{FLOATS} int32",
)


def _elu(x: float, alpha: float = 1.0) -> float:
    return x if x > 0 or x != x else alpha * math.expm1(x)


record(
    "elu",
    each(_elu),
    *_shapes(away),
    case(away(2, 3), 0.5),
    case(away(2, 3), alpha=np.array(2.0)).named("numpy_number"),
    case(values([1000.0, -1000.0, -1e-6, INF, NAN])).named("special").without("gradient"),
    case(ints(2, 3)),
    result="floating",
    dtypes=f"{FLOATS} int32",
)
record(
    "softmax",
    lines(softmax),
    case(normal(2, 3)),
    case(normal(2, 3), axis=0),
    case(normal(2, 3, 2), axis=1),
    case(normal(4), axis=-1),
    case(normal(0, 3)),
    case(normal(2, 1)),
    case(values([[1000.0, 1001.0], [-1000.0, -1002.0]])).named("large"),
    case(values([[-INF, 0.0, 1.0]])).named("masked").without("gradient"),
    dtypes=FLOATS,
)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(exp(-abs(x))) if x == x else x


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else exp(x) if x == x else x


record(
    "softplus",
    each(_softplus),
    *_shapes(normal),
    case(ints(2, 3)),
    case(values([1000.0, -1000.0, INF, -INF, NAN, -20.0])).named("special").without("gradient"),
    case(values([30.0, -30.0, 100.0])).named("large"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)
record(
    "softsign",
    each(lambda x: x / (1 + abs(x))),
    *_shapes(normal),
    case(ints(2, 3)),
    case(values([1e30, -1e30, NAN])).named("special").without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)
record(
    "sigmoid",
    each(_sigmoid),
    *_shapes(normal),
    case(ints(2, 3)),
    case(values([1000.0, -1000.0, INF, -INF, NAN])).named("special").without("gradient"),
    case(values([30.0, -30.0])).named("large"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)
record(
    "tanh",
    each(math.tanh),
    *_shapes(normal),
    case(ints(2, 3)),
    case(values([1000.0, -1000.0, INF, -INF, NAN])).named("special").without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)
record(
    "hard_sigmoid",
    each(lambda x: x if x != x else min(max(0.2 * x + 0.5, 0.0), 1.0)),
    *_shapes(normal),
    case(values([-3.0, -2.0, 0.0, 2.0, 3.0])).named("ends").without("gradient"),
    case(values([INF, -INF, NAN])).named("special").without("gradient"),
    case(ints(2, 3)),
    result="floating",
    dtypes=f"{FLOATS} int32",
)


# --- bias --------------------------------------------------------------------------------------


def _bias_add(x: Any, bias: Any, data_format: Any = None) -> Any:
    """Each element with the bias of its channel, or of its place and channel.

    A bias of higher rank has the channels last, yet beside channels that come first its elements
    are taken in order: that is what models of Keras have learnt.
    """
    first = data_format == "channels_first"
    if first and bias.ndim > 1:
        bias = np.array(bias.ravel().tolist()).reshape(bias.shape[-1:] + bias.shape[:-1])
    result = np.array(x)
    for place in np.ndindex(*x.shape):
        own = place[1:]
        if bias.ndim == 1:
            own = (place[1] if first else place[-1],)
        own = tuple(0 if size == 1 else i for i, size in zip(own, bias.shape, strict=True))
        result[place] = x[place] + bias[own]
    return result


record(
    "bias_add",
    _bias_add,
    case(normal(2, 3), normal(3)),
    case(normal(2, 3), normal(3), "channels_first"),
    case(normal(2, 4, 3), normal(3)),
    case(normal(2, 3, 4), normal(3), "channels_first"),
    case(normal(2, 2, 3, 2), normal(2), data_format="channels_last"),
    case(normal(2, 2, 3, 1), normal(2), data_format="channels_first"),
    case(normal(2, 4, 3), normal(4, 3)),
    case(normal(2, 3, 4), normal(4, 3), "channels_first"),
    case(normal(1, 2, 3, 2), normal(2, 3, 2)),
    case(normal(1, 2, 2, 3), normal(2, 3, 2), "channels_first"),
    case(normal(1, 2, 1, 2, 3), normal(3)),
    case(normal(1, 3, 1, 2, 2), normal(3), "channels_first"),
    case(normal(0, 3), normal(3)),
    dtypes=FLOATS,
)


# --- normalisation -----------------------------------------------------------------------------


def _batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Any:
    """Each element with the mean, variance, scale and shift of its place on ``axis``."""
    result = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        own = [_along(t, place, axis, x.ndim, d) for t, d in ((mean, 0.0), (var, 1.0))]
        shift, scale = (
            _along(beta, place, axis, x.ndim, 0.0),
            _along(gamma, place, axis, x.ndim, 1.0),
        )
        result[place] = (x[place] - own[0]) / math.sqrt(own[1] + epsilon) * scale + shift
    return result


def _along(tensor: Any, place: Any, axis: int, rank: int, default: float) -> float:
    if tensor is None:
        return default
    if tensor.ndim == rank:
        return float(
            tensor[tuple(0 if s == 1 else i for i, s in zip(place, tensor.shape, strict=True))]
        )
    return float(tensor[place[axis]])


record(
    "batch_normalization",
    _batch_normalization,
    case(normal(2, 3), normal(3), positive(3), normal(3), positive(3)),
    case(normal(2, 3), normal(3), positive(3), None, None),
    case(normal(2, 3), normal(3), positive(3), normal(3), None),
    case(normal(2, 3), normal(3), positive(3), None, positive(3)),
    case(normal(2, 3, 2), normal(3), positive(3), normal(3), positive(3), axis=1),
    case(normal(2, 2, 2, 3), normal(3), positive(3), normal(3), positive(3), epsilon=0.1),
    case(normal(2, 3, 2, 2), normal(3), positive(3), normal(3), positive(3), 1),
    case(normal(2, 3), normal(1, 3), positive(1, 3), normal(1, 3), positive(1, 3)),
    case(normal(2, 3, 2), normal(1, 3, 1), positive(1, 3, 1), None, None, axis=1),
    case(normal(0, 3), normal(3), positive(3), normal(3), positive(3)),
    dtypes=FLOATS,
)


def _normalized_batch(
    x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3
) -> Any:
    axes = [axis % x.ndim for axis in reduction_axes]
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    rows = np.moveaxis(x, kept, range(len(kept))).reshape(*(x.shape[a] for a in kept), -1)
    mean, var = np.zeros(rows.shape[:-1]), np.zeros(rows.shape[:-1])
    for place in np.ndindex(*rows.shape[:-1]):
        line = rows[place].tolist()
        mean[place] = math.fsum(line) / len(line)
        var[place] = math.fsum((item - mean[place]) ** 2 for item in line) / len(line)
    result = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        own = tuple(place[axis] for axis in kept)
        scale = 1.0 if gamma is None else gamma[own]
        shift = 0.0 if beta is None else beta[own]
        result[place] = (x[place] - mean[own]) / math.sqrt(var[own] + epsilon) * scale + shift
    return result, mean, var


record(
    "normalize_batch_in_training",
    _normalized_batch,
    case(normal(4, 3), positive(3), normal(3), [0]),
    case(normal(4, 3), None, None, [0]),
    case(normal(2, 2, 2, 3), positive(3), normal(3), [0, 1, 2]),
    case(normal(2, 3, 2, 2), positive(3), normal(3), [0, 2, 3]),
    case(normal(4, 2, 3), positive(2, 3), normal(2, 3), (0,), epsilon=0.1),
    case(normal(4, 3), positive(3), None, [-2]),
    result=["first", "first", "first"],
    dtypes="float64",
)


def _in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    found = []
    for row, target in zip(predictions.tolist(), targets.tolist(), strict=True):
        if not 0 <= target < len(row) or not math.isfinite(row[target]):
            found.append(False)
        else:
            found.append(sum(item > row[target] for item in row) < k)
    return np.array(found, bool)


record(
    "in_top_k",
    _in_top_k,
    case(distinct(4, 3), values([0, 1, 2, 0]), 1),
    case(distinct(4, 3), values([0, 1, 2, 0]), 2),
    case(distinct(4, 3), values([0, 1, 2, 0]), 3),
    case(values([[0.5, 0.5, 0.1], [0.1, 0.2, 0.2]]), values([1, 2]), 1).named("ties"),
    case(values([[0.5, 0.1], [0.5, 0.1]]), values([2, -1]), 2).named("out_of_range"),
    case(values([[NAN, 0.1], [0.5, INF]]), values([0, 1]), 2).named("not_finite"),
    case(normal(0, 3), ints(0, low=0, high=3), 1),
    result="bool",
    gradient=False,
)
