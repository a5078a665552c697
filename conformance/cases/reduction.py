"""Reductions along axes."""

from __future__ import annotations

import math
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from kbridge.conformance.oracles import along, axes_of, lines, logsumexp, mean, variance
from kbridge.conformance.records import case, record
from kbridge.conformance.samples import bools, distinct, ints, normal, positive, values

FLOATS = "float16 bfloat16 float64"
INTS = "int8 uint8 int32 int64"
INF, NAN = math.inf, math.nan


def _axes(kind: Any, empty: Any = None) -> list[Any]:
    """Every way to name axes; ``empty`` is what an empty line gives."""
    cases = [
        case(kind(2, 3)),
        case(kind(2, 3), axis=0),
        case(kind(2, 3), axis=-1),
        case(kind(2, 3), axis=1, keepdims=True),
        case(kind(2, 3), keepdims=True),
        case(kind(2, 3, 2), axis=[0, 2]),
        case(kind(2, 3, 2), axis=(-1, 1), keepdims=True),
        case(kind(2, 3), axis=np.int64(1)).named("numpy_axis"),
        case(kind(2, 3, 2), np.array([0, 1]), 1).named("numpy_axes"),
        case(kind(2, 3), axis=[]),
        case(kind(), axis=None),
        case(kind(1, 1, 3), axis=1),
        case(kind(0, 2), axis=1),
    ]
    return cases if empty is None else [*cases, case(kind(2, 0), axis=1).gives([empty] * 2)]


record(
    "sum",
    along(lambda row: math.fsum(row) if any(isinstance(x, float) for x in row) else sum(row)),
    *_axes(normal, empty=0.0),
    case(ints(3, 4), axis=0),
    case(bools(3, 4), axis=0),
    case(values([1.0, NAN, INF])).named("special").without("gradient").gives(NAN),
    result="counted",
    dtypes=f"{FLOATS} {INTS} bool",
)
record(
    "prod",
    along(math.prod),
    *_axes(positive, empty=1.0),
    case(ints(3, 4), axis=0),
    case(bools(3, 4), axis=0),
    case(values([2.0, 0.0, 3.0])).named("one_zero").slope([0.0, 6.0, 0.0]),
    case(values([0.0, 0.0, 3.0])).named("two_zeros").slope([0.0, 0.0, 0.0]),
    result="counted",
    dtypes=f"{FLOATS} int32 int64 bool",
)
record(
    "max",
    along(max),
    *_axes(distinct),
    case(ints(3, 4), axis=0),
    case(values([1.0, 3.0, 3.0])).named("ties").slope([0.0, 0.5, 0.5]),
    case(values([[1.0, NAN], [INF, -INF]]), axis=1)
    .named("special")
    .without("gradient")
    .gives([NAN, INF]),
    dtypes=f"{FLOATS} {INTS} bool",
    exact=True,
)
record(
    "min",
    along(min),
    *_axes(distinct),
    case(ints(3, 4), axis=0),
    case(values([3.0, 1.0, 1.0])).named("ties").slope([0.0, 0.5, 0.5]),
    case(values([[1.0, NAN], [INF, -INF]]), axis=1)
    .named("special")
    .without("gradient")
    .gives([NAN, -INF]),
    dtypes=f"{FLOATS} {INTS} bool",
    exact=True,
)
record(
    "mean",
    along(mean),
    *_axes(normal),
    case(ints(3, 4), axis=0),
    case(bools(3, 4)),
    case(values([1.0, INF])).named("special").without("gradient").gives(INF),
    result="floating",
    dtypes=f"{FLOATS} {INTS} bool",
)
record(
    "var",
    along(variance),
    *_axes(normal),
    case(ints(3, 4), axis=0),
    case(bools(3, 4)),
    case(values([1000.0, 1001.0, 1002.0])).named("far_from_zero").loosely(),
    result="floating",
    dtypes=f"{FLOATS} int32 bool",
)
record(
    "std",
    along(lambda row: math.sqrt(variance(row))),
    *[c if c.args[0].shape else c.without("gradient") for c in _axes(normal)[:7]],
    case(normal(2, 3, 2), axis=[1]),
    case(normal(0, 3), axis=1),
    case(ints(3, 4), axis=0),
    case(bools(3, 4)),
    result="floating",
    dtypes=f"{FLOATS} int32 bool",
)
record(
    "any",
    along(any),
    *_axes(bools, empty=False),
    case(values([[0.0, 0.0], [0.0, 0.5]]), axis=1).named("numbers"),
    case(ints(3, 4, low=0, high=2), axis=0),
    result="bool",
    gradient=False,
    dtypes="bool int32 float16",
)
record(
    "all",
    along(all),
    *_axes(bools, empty=True),
    case(values([[0.0, 2.0], [1.0, 0.5]]), axis=1).named("numbers"),
    case(ints(3, 4, low=0, high=2), axis=0),
    result="bool",
    gradient=False,
    dtypes="bool int32 float16",
)
record(
    "logsumexp",
    along(logsumexp),
    *_axes(normal),
    case(ints(3, 4), axis=0),
    case(values([[1000.0, 1000.5], [-1000.0, -1001.0]]), axis=1).named("large"),
    case(values([[-INF, 0.0], [-INF, -INF], [INF, 1.0]]), axis=1)
    .named("special")
    .without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)


def _position(choose: Any) -> Any:
    def oracle(x: Any, axis: int = -1) -> Any:
        (one,) = axes_of(axis, x.ndim)
        return along(lambda row: row.index(choose(row)))(x, one)

    return oracle


for _name, _choose in (("argmax", max), ("argmin", min)):
    record(
        _name,
        _position(_choose),
        case(distinct(2, 3)),
        case(distinct(2, 3), axis=0),
        case(distinct(2, 3, 2), axis=-2),
        case(distinct(4)),
        case(distinct(0, 3), axis=1).gives(lambda x: x[:, 0].astype("int64")),
        case(ints(3, 4), 1),
        case(values([2.0, 3.0, 2.0, 3.0])).named("first_of_equals"),
        result="int64",
        gradient=False,
        dtypes=f"{FLOATS} {INTS} bool",
    )

record(
    "cumsum",
    lines(lambda row: list(accumulate(row)), 0),
    case(normal(2, 3)),
    case(normal(2, 3), axis=1),
    case(normal(2, 3, 2), axis=-2),
    case(normal(4)),
    case(normal(0, 3)),
    case(ints(3, 4), 1),
    case(bools(3, 4), axis=1),
    result="counted",
    dtypes=f"{FLOATS} int32 int64 bool",
)
record(
    "cumprod",
    lines(lambda row: list(accumulate(row, mul)), 0),
    case(positive(2, 3)),
    case(positive(2, 3), axis=1),
    case(positive(2, 3, 2), axis=-2),
    case(positive(4)),
    case(positive(0, 3)),
    case(ints(3, 4), 1),
    case(bools(3, 4), axis=1),
    case(values([2.0, 0.0, 3.0, 0.0])).named("zeros").slope([1.0, 8.0, 0.0, 0.0]),
    result="counted",
    dtypes=f"{FLOATS} int32 int64 bool",
)
