"""Element by element: functions, comparisons, operators."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from kbridge.conformance.oracles import each, exp, log, pairs
from kbridge.conformance.records import case, record
from kbridge.conformance.samples import away, bools, ints, normal, positive, values

FLOATS = "float16 bfloat16 float64"
INTS = "int8 uint8 int32 int64"
INF, NAN = math.inf, math.nan


def _shapes(kind: Any) -> list[Any]:
    """Ranks 0 to 3, with sizes 1 and 0."""
    return [case(kind(2, 3)), case(kind()), case(kind(1, 4)), case(kind(0, 3)), case(kind(2, 1, 2))]


# --- of one operand ----------------------------------------------------------------------------

record(
    "square",
    each(lambda x: x * x),
    *_shapes(normal),
    case(ints(2, 3)),
    case(values([-INF, NAN, 0.0])).named("special").without("gradient"),
    dtypes=f"{FLOATS} int32 int64 uint8",
)
record(
    "abs",
    each(lambda x: -x if x < 0 else x),
    *_shapes(away),
    case(values([-1.5, 0.0, 2.0])).named("kink").slope([-1.0, 0.0, 1.0]),
    case(values([-INF, INF, NAN])).named("special").without("gradient"),
    dtypes=f"{FLOATS} int32 int64 int8 bool",
)
record(
    "sqrt",
    each(lambda x: math.sqrt(x) if x > 0 else x if x != x else 0.0),
    *_shapes(positive),
    case(ints(2, 3, low=0)),
    case(values([-2.0, -0.25, 0.25, 4.0])).named("negative").slope([0.0, 0.0, 1.0, 0.25]),
    case(values([0.0, 1.0])).named("zero").slope([INF, 0.5]),
    case(values([INF, 1e-30, NAN])).named("special").without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} int32 bool",
)
record(
    "exp",
    each(exp),
    *_shapes(normal),
    case(ints(2, 3)),
    case(values([1000.0, -1000.0, -INF, INF, NAN])).named("special").without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} int32 bool",
)
record(
    "log",
    each(log),
    *_shapes(positive),
    case(ints(2, 3, low=1)),
    case(values([0.0, -1.0, INF, NAN, 1e-30])).named("special").without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} uint8",
)
record(
    "sin",
    each(lambda x: math.sin(x) if math.isfinite(x) else NAN),
    *_shapes(normal),
    case(values([INF, NAN, 100.0])).named("special").without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)
record(
    "cos",
    each(lambda x: math.cos(x) if math.isfinite(x) else NAN),
    *_shapes(normal),
    case(values([INF, NAN, 100.0])).named("special").without("gradient"),
    result="floating",
    dtypes=f"{FLOATS} int32",
)
record(
    "round",
    each(lambda x: float(round(x)) if math.isfinite(x) else x),
    *_shapes(normal),
    case(values([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.49])).named("halves"),
    case(values([INF, -INF, NAN, 1e10])).named("special"),
    case(ints(2, 3)).gives(lambda x: x),
    gradient=False,
    dtypes=f"{FLOATS} int32",
)
record(
    "sign",
    each(lambda x: (x > 0) - (x < 0) if isinstance(x, int) else float((x > 0) - (x < 0))),
    *_shapes(away),
    case(values([-2.0, 0.0, 3.0])).named("zero").slope([0.0, 0.0, 0.0]),
    case(values([-INF, INF])).named("infinite").without("gradient"),
    case(ints(2, 3)),
    dtypes=f"{FLOATS} int32 int8",
)
record(
    "identity",
    lambda x, name=None: x,
    *_shapes(normal),
    case(ints(2, 3)),
    case(bools(2, 3)),
    case(normal(3), name="same"),
    dtypes=f"{FLOATS} {INTS} bool",
)
record(
    "stop_gradient",
    lambda variables: variables,
    *_shapes(normal),
    case(ints(2, 3)),
    gradient=False,
    dtypes=f"{FLOATS} int32",
)


def _cast(x: Any, dtype: str) -> Any:
    if dtype == "bool":
        return np.array([item != 0 for item in x.reshape(-1).tolist()]).reshape(x.shape)
    if dtype.startswith(("int", "uint")):
        return np.array([int(item) for item in x.reshape(-1).tolist()]).reshape(x.shape)
    return x.astype(np.float64)


record(
    "cast",
    _cast,
    case(normal(2, 3), "float64"),
    case(normal(2, 3), "float16").without("gradient"),
    case(normal(2, 3), "bfloat16").without("gradient"),
    case(values([-1.75, -0.5, 0.5, 2.99]), "int32").named("truncates").without("gradient"),
    case(values([0.0, 0.25, -1.0]), "bool").named("truth").without("gradient"),
    case(bools(2, 3), "float32"),
    case(bools(2, 3), "int32"),
    case(ints(2, 3), "float32"),
    case(ints(2, 3), "int64"),
    case(ints(2, 3, low=0), "uint8"),
    case(normal(), "float32"),
    case(normal(0, 2), "float64"),
    result=lambda given, each_: each_.args[1],
    dtypes="float16 bfloat16 float64 int32 bool",
)
record(
    "negative",
    each(operator.neg),
    *_shapes(normal),
    case(ints(2, 3)),
    case(values([INF, NAN, -2.0])).named("special").without("gradient"),
    call=lambda K, x: -x,
    eager=False,
    dtypes=f"{FLOATS} int32 int64",
)
record(
    "logical_not",
    each(lambda x: not x),
    case(bools(2, 3)),
    case(bools()),
    case(bools(1, 4)),
    case(bools(0, 3)),
    case(values([0.0, 0.5, -1.0])).named("numbers"),
    call=lambda K, x: ~x,
    eager=False,
    result="bool",
    gradient=False,
    dtypes="bool int32 float16",
)


# --- of two operands ---------------------------------------------------------------------------


def _both(kind: Any, other: Any = None) -> list[Any]:
    """Equal shapes, broadcasting either way, scalars, sizes 1 and 0, and numbers."""
    other = other or kind
    return [
        case(kind(2, 3), other(2, 3)),
        case(kind(2, 3), other(3)),
        case(kind(1), other(2, 1, 3)),
        case(kind(2, 1), other(1, 3)),
        case(kind(), other(2, 2)),
        case(kind(0, 3), other(1, 3)),
        case(kind(2, 3), 1.5),
    ]


def _compared(function: Any) -> list[Any]:
    del function
    return [
        *_both(away),
        case(ints(3, 4), ints(3, 4)),
        case(ints(4), 1),
        case(values([1.0, NAN, INF, 2.0]), values([1.0, NAN, INF, NAN])).named("special"),
    ]


for _name, _function in (
    ("equal", operator.eq),
    ("not_equal", operator.ne),
    ("greater", operator.gt),
    ("greater_equal", operator.ge),
    ("less", operator.lt),
    ("less_equal", operator.le),
):
    record(
        _name,
        pairs(_function),
        *_compared(_function),
        result="bool",
        gradient=False,
        dtypes=f"{FLOATS} {INTS} bool",
    )


def _extreme(choose: Any) -> Any:
    return pairs(lambda x, y: NAN if x != x or y != y else choose(x, y))


for _name, _choose in (("maximum", max), ("minimum", min)):
    record(
        _name,
        _extreme(_choose),
        *_both(normal),
        case(ints(3, 4), ints(3, 4)),
        case(values([1.0, 2.0, 2.0]), values([2.0, 2.0, 1.0]))
        .named("ties")
        .slope(*(([0.0, 0.5, 1.0], [1.0, 0.5, 0.0])[:: 1 if _name == "maximum" else -1])),
        case(values([1.0, NAN, INF]), values([NAN, 1.0, 2.0])).named("special").without("gradient"),
        result="common",
        dtypes=f"{FLOATS} {INTS} bool",
    )

record(
    "pow",
    pairs(lambda x, a: x**a),
    *_both(positive, normal),
    case(normal(2, 3), 2),
    case(away(2, 3), 3.0),
    case(away(2, 3), -1.0),
    case(2.0, normal(2, 3)),
    case(ints(3, 4), 2),
    case(ints(3, 4), ints(3, 4, low=0)),
    case(values([0.0, 1.0, 2.0]), 0.0).named("zeroth"),
    result="common",
    dtypes=FLOATS,
)


def _clip(x: Any, low: Any, high: Any) -> Any:
    if high is not None and low is not None and high < low:
        high = low
    x = x if low is None or x >= low or x != x else low
    return x if high is None or x <= high or x != x else high


record(
    "clip",
    pairs(_clip),
    case(away(2, 3), -0.2, 0.2),
    case(away(), 0.0, 1.0),
    case(away(0, 3), -1.0, 1.0),
    case(away(2, 3), None, 0.2),
    case(away(2, 3), 0.1, None),
    case(away(2, 3), None, None),
    case(away(2, 3), 1.0, -1.0).named("crossed"),
    case(away(2, 3), values([-0.2, -0.1, 0.1]), 0.2).named("lower_tensor"),
    case(away(2, 3), values([-0.2, -0.1, 0.2]), values([0.2, 0.1, 0.15])).named("tensors"),
    case(ints(3, 4), -1, 2),
    case(ints(3, 4), 0, None),
    case(values([-3.0, 0.5, INF, -INF, NAN]), -1.0, 1.0).named("special").without("gradient"),
    result="common",
    dtypes=f"{FLOATS}",
)


# --- operators ---------------------------------------------------------------------------------

for _name, _operator, _dtypes in (
    ("add", operator.add, f"{FLOATS} {INTS} bool"),
    ("subtract", operator.sub, f"{FLOATS} int8 int32 int64"),
    ("multiply", operator.mul, f"{FLOATS} {INTS} bool"),
):
    record(
        _name,
        pairs(_operator),
        *_both(normal),
        case(2.5, normal(2, 3)),
        case(normal(2, 3), 2),
        case(3, ints(2, 3)),
        case(ints(3, 4), ints(4)),
        call=lambda K, x, y, _operator=_operator: _operator(x, y),
        eager=False,
        result="common",
        dtypes=_dtypes,
    )


def _divide(x: float, y: float) -> float:
    if y:
        return x / y
    return NAN if x == 0 or x != x else math.copysign(INF, x)


record(
    "divide",
    pairs(_divide),
    *_both(normal, away),
    case(2.5, away(2, 3)),
    case(normal(2, 3), 2),
    case(ints(3, 4), ints(3, 4, low=1)),
    case(ints(3, 4), 2),
    case(values([1.0, -1.0, 0.0]), values([0.0, 0.0, 0.0])).named("by_zero").without("gradient"),
    call=lambda K, x, y: x / y,
    eager=False,
    result="floating",
    dtypes=f"{FLOATS} int64",
)
record(
    "floor_divide",
    pairs(lambda x, y: x // y),
    *_both(normal, away),
    case(ints(3, 4), ints(3, 4, low=1)),
    case(ints(3, 4), -2),
    case(values([-5.0, 5.0, -5.5]), values([3.0, -3.0, 2.0])).named("signs"),
    call=lambda K, x, y: x // y,
    eager=False,
    gradient=False,
    result="common",
    dtypes="float64",
)
record(
    "mod",
    pairs(lambda x, y: x % y),
    *_both(normal, away),
    case(ints(3, 4), ints(3, 4, low=1)),
    case(ints(3, 4), -3),
    case(values([-5.0, 5.0, -5.5]), values([3.0, -3.0, 2.0])).named("signs"),
    call=lambda K, x, y: x % y,
    eager=False,
    result="common",
    dtypes="float64",
)

for _name, _operator in (
    ("logical_and", operator.and_),
    ("logical_or", operator.or_),
    ("logical_xor", operator.xor),
):
    record(
        _name,
        pairs(lambda x, y, _operator=_operator: _operator(bool(x), bool(y))),
        case(bools(2, 3), bools(2, 3)),
        case(bools(2, 3), bools(3)),
        case(bools(), bools(4)),
        case(bools(0, 3), bools(1, 3)),
        case(bools(2, 3), True),
        case(ints(3, 4, low=0, high=2), ints(3, 4, low=0, high=3)),
        call=lambda K, x, y, _operator=_operator: _operator(x, y),
        eager=False,
        result="bool",
        gradient=False,
        dtypes="bool",
    )
