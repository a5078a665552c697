"""Fixed contents: like another tensor, ranges; and variables, constants and placeholders."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.conformance.records import case, program, record
from kbridge.conformance.samples import bools, ints, normal

for _name, _value in (("zeros_like", 0), ("ones_like", 1)):
    record(
        _name,
        lambda x, dtype=None, name=None, _value=_value: np.full(x.shape, _value, x.dtype),
        case(normal(2, 3)),
        case(normal()),
        case(normal(0, 3)),
        case(ints(2, 3)),
        case(bools(2, 3)),
        case(normal(2, 3), dtype="int32"),
        case(normal(2, 3), "float64", "named"),
        result=lambda given, each: each.kwargs.get("dtype") or [*each.args, None][1] or given[0],
        gradient=False,
        dtypes="float16 bfloat16 float64 int32 uint8 bool",
        exact=True,
    )
record(
    "full_like",
    lambda x, value, dtype=None: np.full(x.shape, value),
    case(normal(2, 3), 2.5),
    case(normal(), -1.0),
    case(normal(0, 3), 1.0),
    case(ints(2, 3), 3),
    case(normal(2, 3), 4, "int32"),
    result=lambda given, each: [*each.args, None][2] or given[0],
    gradient=False,
    dtypes="float16 float64",
    exact=True,
)


def _range(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    begin, end = (0, start) if stop is None else (start, stop)
    found = []
    while (begin < end) if step > 0 else (begin > end):
        found.append(begin)
        begin = begin + step
    return np.array(found, np.float64 if "float" in dtype else np.int64)


record(
    "arange",
    _range,
    case(4),
    case(1, 4),
    case(0, 7, 3),
    case(5, 0, -2),
    case(0),
    case(3, 1),
    case(0, 2, 0.5, "float32"),
    case(3, dtype="float64"),
    case(2, 6, dtype="int64"),
    case(normal(2, 3))
    .named("length_of_a_shape")
    .by(lambda K, x: K.arange(0, K.shape(x)[1]))
    .gives(lambda x: np.arange(3))
    .without("inferred"),
    result=lambda given, each: each.kwargs.get("dtype") or [*each.args, *[None] * 4][3] or "int32",
    gradient=False,
    eager=False,
    exact=True,
)
record(
    "full",
    lambda shape, value, dtype: np.full(shape, value),
    case((2, 3), 1.5, "float32"),
    case((), 2, "int32"),
    case([0, 2], 1, "float16"),
    case((2,), 0, "bool").gives([False, False]),
    case(normal(2, 3))
    .named("shape_of_another")
    .by(lambda K, x: K.full(K.shape(x), 2.0, "float32"))
    .gives(lambda x: np.full(x.shape, 2.0)),
    case(normal(2, 3))
    .named("size_of_another")
    .by(lambda K, x: K.full((K.shape(x)[0], 2), 2.0, "float32"))
    .gives(lambda x: np.full((2, 2), 2.0)),
    result=lambda given, each: each.args[2] if len(each.args) > 2 else "float32",
    gradient=False,
    eager=False,
    exact=True,
)


# --- variables, constants, placeholders --------------------------------------------------------

_EYE = [[1.0, 0.0], [0.0, 1.0]]


@program(
    (
        np.ones((2, 2), "float32"),
        np.array([1, 2], "int32"),
        np.array(3.0, "float32"),
        np.array([[1.0], [2.0]], "float64"),
        np.array([True, False]),
        np.array([0.5, 2.0], "float16"),
    ),
    covers="variable",
)
def variable_values(K: Any) -> Any:
    """What a variable takes: arrays, numbers, lists, tensors, in every dtype."""
    made = (
        K.variable(np.ones((2, 2))),
        K.variable([1, 2], dtype="int32"),
        K.variable(3),
        K.variable(K.constant([[1.0], [2.0]]), dtype="float64"),
        K.variable(np.array([1, 0]), dtype=bool),
        K.variable([0.5, 2.0], dtype=np.float16),
    )
    return tuple(K.eval(v) for v in made)


@program(
    ("float32", (2, 2), (2, 2), "float64", "example_var", "example_var", "outer/inner", "given"),
    covers="variable name_scope",
)
def variable_attributes(K: Any) -> Any:
    plain = K.variable([[1, 2], [3, 4]])
    named = K.variable(plain, dtype="float64", name="example_var")
    with K.name_scope("outer"):
        scoped = K.variable(0.0, name="inner")
    constrained = K.variable(0.0, constraint="given")
    return (
        K.dtype(plain),
        K.int_shape(plain),
        plain._keras_shape,
        K.dtype(named),
        named.name,
        str(named),
        scoped.name,
        constrained.constraint,
    )


@program(([1.0, 2.0], [1.0, 2.0], [9.0, 2.0]), covers="variable get_value eval")
def variable_copies(K: Any) -> Any:
    """The value given, and the values handed out, are copies that may be changed."""
    given = np.array([1.0, 2.0], "float32")
    v = K.variable(given)
    given[0] = 9.0
    got = K.get_value(v)
    got[0] = 9.0
    return K.eval(v), K.get_value(v), got


@program(
    (
        np.array([1.0, 2.0], "float32"),
        np.array(1, "int32"),
        np.full((2, 3), 7.0, "float32"),
        np.array([[1.0, 2.0], [3.0, 4.0]], "float64"),
        np.zeros((0,), "float32"),
        (2, 3),
        "float32",
        "given",
    ),
    covers="constant",
)
def constant_values(K: Any) -> Any:
    wide = K.constant(7, shape=[2, np.int64(3)])
    return (
        K.eval(K.constant([1, 2])),
        K.eval(K.constant(1, dtype="int32")),
        K.eval(wide),
        K.eval(K.constant([1, 2, 3, 4], dtype="float64", shape=(2, 2))),
        K.eval(K.constant([])),
        K.int_shape(wide),
        K.dtype(wide),
        K.constant(1.0, name="given").name,
    )


@program(
    ((2, 4, 5), (2, 4, 5), (None, None, None), (3,), "float32", "int32", "named", True, False),
    covers="placeholder is_placeholder",
)
def placeholder_attributes(K: Any) -> Any:
    full = K.placeholder(shape=(2, 4, 5))
    return (
        K.int_shape(full),
        full._keras_shape,
        K.int_shape(K.placeholder(ndim=3)),
        K.int_shape(K.placeholder(shape=[3], ndim=5)),
        K.dtype(full),
        K.dtype(K.placeholder((1,), dtype=np.dtype("int32"))),
        K.placeholder((1,), name="named").name,
        K.is_placeholder(full),
        K.is_placeholder(full + 1),
    )


@program(
    (
        np.zeros((3, 4), "float32"),
        np.ones((2,), "int32"),
        np.eye(3, dtype="float32"),
        np.eye(2, 3, dtype="float32"),
        np.zeros((), "float32"),
        np.ones((0, 2), "float16"),
        np.zeros((1,), "float32"),
        (True, True, True),
        ("z", "o", "e"),
    ),
    covers="zeros ones eye",
)
def zeros_ones_eye(K: Any) -> Any:
    made = (K.zeros((1,), name="z"), K.ones((1,), name="o"), K.eye(1, name="e"))
    return (
        K.eval(K.zeros((3, 4))),
        K.eval(K.ones([2], dtype="int32")),
        K.eval(K.eye(3)),
        K.eval(K.eye((2, 3))),
        K.eval(K.zeros(())),
        K.eval(K.ones((0, 2), "float16")),
        K.eval(K.zeros(1)),
        tuple(K.is_variable(v) for v in made),
        tuple(v.name for v in made),
    )


@program(
    (np.zeros((2, 3), "float32"), np.ones((2, 4), "float32"), (False, False), (None, 3)),
    covers="zeros ones",
)
def zeros_ones_of_a_symbolic_shape(K: Any) -> Any:
    x = K.placeholder((None, 3))
    zeros, ones = K.zeros(K.shape(x)), K.ones((K.shape(x)[0], 4))
    f = K.function([x], [zeros, ones])
    kinds = (K.is_variable(zeros), K.is_variable(ones))
    return (*f([np.zeros((2, 3))]), kinds, K.int_shape(zeros))
