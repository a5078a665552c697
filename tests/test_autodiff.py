"""The graph's own autodiff: every rule against central differences, and the conventions."""

from __future__ import annotations

import importlib
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge.api.declare import OPERATIONS
from kbridge.binding import Backend
from kbridge.errors import UnsupportedError
from kbridge.symbolic import autodiff

K: Any = kbridge.load_backend("numpy")


# --- every rule against central differences ------------------------------------------------------


def normal(*shape: int) -> Any:
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape)


def positive(*shape: int) -> Any:
    return np.abs(normal(*shape)) + 0.5


def apart(*shape: int) -> Any:
    """Distinct values, none near 0 or near another one, so that no difference crosses a kink."""
    size = int(np.prod(shape))
    values = np.arange(1, size + 1) * 0.37 * (-1.0) ** np.arange(size)
    return np.random.default_rng(size).permutation(values).reshape(shape)


INDICES = np.array([[2, 0], [0, 1]], "int32")


class Case:
    """A function of float64 tensors, and the values at which it is differentiated."""

    def __init__(self, name: str, function: Callable[..., Any], *values: Any) -> None:
        self.name = name
        self.function = function
        self.values = [np.asarray(value, "float64") for value in values]

    def __repr__(self) -> str:
        shapes = "-".join("x".join(map(str, v.shape)) or "scalar" for v in self.values)
        return f"{self.name}-{shapes}"


def _binary(name: str, *kinds: Any) -> list[Case]:
    function = getattr(K, name)
    first, second = kinds if len(kinds) == 2 else kinds * 2
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((1,), (2, 1, 3)), ((), (2, 2)), ((2, 1), (1, 3))]
    return [
        *(Case(name, function, first(*x), second(*y) * 1.01) for x, y in shapes),
        Case(name, lambda x: function(x, 1.7), first(2, 3)),
        Case(name, lambda y: function(1.7, y), second(2, 3)),
    ]


def _unary(name: str, kind: Any = normal, *args: Any) -> list[Case]:
    return [Case(name, lambda x: getattr(K, name)(x, *args), kind(*s)) for s in ((2, 3), (), (4,))]


def _reductions(name: str, kind: Any = apart) -> list[Case]:
    function = getattr(K, name)
    axes = [None, 0, 1, -1, (0, 2), (2, 1), (0, 1, 2), ()]
    return [
        Case(f"{name}-{axis}-{keep}", lambda x, a=axis, k=keep: function(x, a, k), kind(2, 3, 4))
        for axis in axes
        for keep in (False, True)
    ] + [Case(name, function, kind(5)), Case(name, function, kind())]


def _getitems() -> list[Case]:
    keys = {
        "int": (slice(None), 1),
        "negative": (-1,),
        "slices": (slice(0, 1), slice(1, None)),
        "step": (Ellipsis, slice(None, None, 2)),
        "backwards": (slice(None), slice(None, None, -1), slice(3, 0, -2)),
        "new_axis": (None, slice(None), None, Ellipsis),
        "dots_int": (Ellipsis, 2),
        "array": (np.array([1, 0, 1, 1]),),
        "array_inside": (slice(None), INDICES),
        "array_and_int": (1, INDICES),
    }
    return [
        Case(f"getitem-{name}", lambda x, key=key: x[key], normal(2, 3, 4))
        for name, key in keys.items()
    ] + [
        Case("getitem-tensor", lambda x: x[K.constant([1, 1, 0], dtype="int32")], normal(2, 3)),
        Case("getitem-scalar", lambda x: x[:, K.constant(2, dtype="int32")], normal(2, 3)),
        Case("getitem-size", lambda x: x[: K.shape(x)[0] - 1, 1:], normal(3, 3)),
    ]


def _convolutions() -> list[Case]:
    cases = []
    for size, kernel, strides, padding, dilation in (
        ((5, 6), (3, 3), 1, "valid", 1),
        ((5, 6), (2, 3), 1, "same", 1),
        ((5, 6), (3, 2), 2, "same", 1),
        ((6, 5), (2, 2), (1, 3), "valid", 1),
        ((6, 6), (2, 3), 1, "same", 2),
        ((4, 3), (1, 1), 2, "valid", 1),
    ):
        for data_format in ("channels_last", "channels_first"):
            how = (strides, padding, data_format, dilation)
            x = normal(2, *size, 3) if data_format == "channels_last" else normal(2, 3, *size)
            cases.append(
                Case(
                    f"conv2d-{kernel}-{how}",
                    lambda x, kernel, how=how: K.conv2d(x, kernel, *how),
                    x,
                    normal(*kernel, 3, 2),
                )
            )
    many = Case("conv2d-many", lambda x, w: K.conv2d(x, w), normal(1, 4, 4, 9), normal(3, 3, 9, 2))
    return [*cases, many]


def _poolings() -> list[Case]:
    return [
        Case(
            f"pool2d-{mode}-{size}-{strides}-{padding}-{data_format}",
            lambda x, a=(size, strides, padding, data_format, mode): K.pool2d(x, *a),
            apart(2, 5, 4, 3) if data_format == "channels_last" else apart(2, 3, 5, 4),
        )
        for mode in ("max", "avg")
        for size, strides, padding in (
            ((2, 2), (2, 2), "valid"),
            ((2, 3), (1, 1), "same"),
            ((3, 2), (2, 3), "same"),
            ((1, 1), (2, 1), "valid"),
        )
        for data_format in ("channels_last", "channels_first")
    ]


def _batch_dots() -> list[Case]:
    shapes: list[Any] = [
        ((3, 4), (3, 4), None),
        ((3, 4), (3, 4), 1),
        ((3, 2, 4), (3, 4, 2), None),
        ((3, 2, 4), (3, 5, 4), (2, 2)),
        ((3, 4, 2), (3, 4, 5), (1, 1)),
        ((3, 4), (3, 5, 4), (1, 2)),
        ((3, 5, 4), (3, 4), (2, 1)),
        ((2, 3, 4, 2), (2, 2, 3, 5), (1, 2)),
        ((2, 3, 2, 4), (2, 4, 2), (-1, 1)),
    ]
    return [
        Case(f"batch_dot-{axes}", lambda x, y, a=axes: K.batch_dot(x, y, a), normal(*s), normal(*t))
        for s, t, axes in shapes
    ]


def _products(name: str, *shapes: Any) -> list[Case]:
    return [Case(name, getattr(K, name), normal(*s), normal(*t) + 0.1) for s, t in shapes]


CASES: dict[str, list[Case]] = {
    # operators
    **{name: _binary(name, apart) for name in ("add", "subtract", "multiply")},
    "divide": _binary("divide", normal, positive),
    "mod": _binary("mod", lambda *s: apart(*s) * 3.1, lambda *s: apart(*s) * 0.77 + 0.031),
    "negative": _unary("negative"),
    "where": [
        Case("where", lambda x, y: K.where(K.greater(x, y), x * y, y), apart(2, 3), apart(3) * 1.1),
        Case("where", lambda x: K.where(K.greater(x, 0.0), x * x, 1.0), apart(2, 3)),
        Case("where", lambda x: K.where(K.constant([True, False]), 2.0, x * x), apart(3, 1)),
    ],
    "choose": [
        Case("choose", lambda x, y, c=c: K.switch(K.constant(c), x * x, y), normal(2), normal(3))
        for c in (0.0, 2.0)
    ],
    "getitem": _getitems(),
    "matmul": _products(
        "matmul",
        *(((3, 4), (4, 2)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2))),
        *(((5, 3, 4), (4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (5, 4, 2)), ((5, 3, 4), (4,))),
        *(((1, 3, 4), (2, 4, 2)), ((3, 4), (2, 4, 2))),
    ),
    # functions of each element
    "square": _unary("square"),
    "abs": _unary("abs", apart),
    "sign": [Case("sign", lambda x: K.sign(x) * x, apart(2, 3))],
    "sqrt": [
        *_unary("sqrt", positive),
        Case("sqrt", lambda x: K.sqrt(x) * x, [-1.0, 0.5, 2.0, -3.0]),
    ],
    "exp": _unary("exp"),
    "log": _unary("log", positive),
    "sin": _unary("sin"),
    "cos": _unary("cos"),
    "pow": [
        *_binary("pow", positive, normal),
        *(Case("pow", lambda x, a=a: K.pow(x, a), apart(2, 3)) for a in (0, 1, 2, 3, -1)),
        *(Case("pow", lambda x, a=a: K.pow(x, a), positive(4)) for a in (0.5, -1.5, 2.5)),
    ],
    "clip": [
        Case("clip", lambda x: K.clip(x, -1.0, 1.0), apart(2, 3)),
        Case("clip", lambda x: K.clip(x, None, 0.5), apart(2, 3)),
        Case("clip", lambda x: K.clip(x, 0.5, None), apart(2, 3)),
        Case("clip", lambda x: K.clip(x, None, None) * x, apart(2, 3)),
        Case("clip", lambda x, a, b: K.clip(x * x, a, b), apart(2, 3), [0.1, 0.2, 9.0], [[1], [2]]),
        Case("clip", lambda x, a: K.clip(x, a, 1.0), apart(2, 3), 0.33),
    ],
    "maximum": _binary("maximum", apart),
    "minimum": _binary("minimum", apart),
    "cast": [Case("cast", lambda x: K.cast(K.cast(x * x, "float64"), "float64"), normal(2, 3))],
    "identity": _unary("identity"),
    # reductions
    **{name: _reductions(name) for name in ("max", "min", "sum", "mean", "var", "logsumexp")},
    "prod": [
        *_reductions("prod", normal),
        Case("prod-zero", K.prod, [2.0, 0.0, 3.0]),
        Case("prod-zeros", lambda x: K.prod(x, (0, 1)), [[2.0, 0.0], [3.0, 0.0]]),
        Case("prod-one_zero_each", lambda x: K.prod(x, 1), [[2.0, 0.0, 1.5], [3.0, 1.0, 0.0]]),
    ],
    "cumsum": [
        Case(f"cumsum-{a}", lambda x, a=a: K.cumsum(x, a), normal(2, 3, 2)) for a in (0, 1, -1)
    ],
    "cumprod": [
        *(Case(f"cumprod-{a}", lambda x, a=a: K.cumprod(x, a), normal(2, 3, 2)) for a in (0, -2)),
        Case("cumprod-zeros", lambda x: K.cumprod(x, 0), [2.0, 0.0, 3.0, 0.0, 1.5]),
        Case("cumprod-one", lambda x: K.cumprod(x, 0), [2.0]),
    ],
    # products
    "dot": _products(
        "dot",
        *(((3, 4), (4, 2)), ((2, 3, 4), (4, 5)), ((2, 3), (4, 3, 5)), ((2, 2, 3), (2, 4, 3, 2))),
        *(((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (4,)), ((4,), (4, 2)), ((4,), (3, 4, 2))),
        *(((), (2, 3)), ((2, 3), ()), ((), ())),
    ),
    "batch_dot": _batch_dots(),
    "transpose": [Case("transpose", K.transpose, normal(*s)) for s in ((2, 3), (2, 3, 4), (3,))],
    # shapes
    "reshape": [
        Case("reshape", lambda x: K.reshape(x, (3, -1)), normal(2, 3, 2)),
        Case("reshape", lambda x: K.reshape(x, (K.shape(x)[0], 6)), normal(2, 3, 2)),
    ],
    "permute_dimensions": [
        Case("permute", lambda x: K.permute_dimensions(x, (2, 0, 1)), normal(2, 3, 4)),
        Case("permute", lambda x: K.permute_dimensions(x, (-1, 1, 0)), normal(2, 3, 4)),
    ],
    "concatenate": [
        Case("concatenate", lambda x, y: K.concatenate([x, y, x], 1), normal(2, 3), normal(2, 2)),
        Case("concatenate", lambda *xs: K.concatenate(xs, -2), normal(1, 2, 3), normal(1, 4, 3)),
    ],
    "stack": [
        Case("stack", lambda x, y, a=a: K.stack([x, y, x * y], a), normal(2, 3), apart(2, 3))
        for a in (0, 1, -1)
    ],
    "repeat_elements": [
        Case(f"repeat_elements-{a}", lambda x, a=a: K.repeat_elements(x, 3, a), normal(2, 3))
        for a in (0, -1)
    ],
    "repeat": [Case("repeat", lambda x: K.repeat(x, 3), normal(2, 4))],
    "tile": [
        Case(f"tile-{n}", lambda x, n=n: K.tile(x, n), normal(2, 3))
        for n in ((2, 2), (3,), (2, 1, 2))
    ],
    "flatten": [Case("flatten", K.flatten, normal(2, 3))],
    "batch_flatten": [Case("batch_flatten", K.batch_flatten, normal(2, 3, 2))],
    "expand_dims": [
        Case("expand_dims", lambda x, a=a: K.expand_dims(x, a), normal(2, 3)) for a in (0, 1, -1)
    ],
    "squeeze": [Case("squeeze", lambda x: K.squeeze(x, 1), normal(2, 1, 3))],
    "pad": [
        Case("pad", lambda x: K.pad(x, ((1, 0), (0, 2)), 3.0), normal(2, 3)),
        Case("pad", lambda x: K.pad(x, ((0, 0), (2, 1)), 0.0), normal(2, 3)),
    ],
    "gather": [
        Case("gather", lambda x: K.gather(x, K.constant(INDICES, dtype="int32")), normal(3, 2)),
        Case("gather", lambda x: K.gather(x, K.constant([2, 2, 0], dtype="int64")), normal(3)),
    ],
    "reverse": [
        Case(f"reverse-{a}", lambda x, a=a: K.reverse(x, a), normal(2, 3)) for a in (0, (0, 1))
    ],
    "slice": [
        Case("slice", lambda x: K.slice(x, (1, 0), (2, 2)), normal(3, 3)),
        Case("slice", lambda x: K.slice(x, (0, 1), (-1, -1)), normal(3, 3)),
    ],
    # activations
    "relu": [
        *_unary("relu", apart),
        *(
            Case(f"relu-{how}", lambda x, how=how: K.relu(x, *how), apart(3, 4))
            for how in ((0.1, None, 0.0), (0.0, 2.0, 0.0), (0.3, 2.1, 1.0), (0.2, 1.0, -1.1))
        ),
        Case("relu-alpha", lambda x, a: K.relu(x, a, 2.0, 0.5), apart(2, 3), positive(3)),
        Case("relu-alpha", lambda x, a: K.relu(x, a), apart(2, 3), positive(2, 1)),
    ],
    "elu": [*_unary("elu", apart), *_unary("elu", apart, 0.7)],
    "softmax": [
        Case(f"softmax-{a}", lambda x, a=a: K.softmax(x, a), normal(2, 3, 2)) for a in (-1, 0, 1)
    ],
    "softplus": _unary("softplus"),
    "softsign": _unary("softsign", apart),
    "sigmoid": _unary("sigmoid"),
    "tanh": _unary("tanh"),
    "bias_add": [
        Case("bias_add", lambda x, b, f=f: K.bias_add(x, b, f), normal(*s), normal(*t))
        for s, t, f in (
            ((2, 3), (3,), "channels_last"),
            ((2, 3), (3,), "channels_first"),
            ((2, 4, 3), (3,), "channels_last"),
            ((2, 3, 4), (3,), "channels_first"),
            ((2, 4, 5, 3), (4, 5, 3), "channels_last"),
            ((2, 3, 4, 5), (4, 5, 3), "channels_first"),
            ((2, 3, 4, 5), (1, 5, 3), "channels_first"),
        )
    ],
    # windows
    "conv2d": _convolutions(),
    "pool2d": _poolings(),
    # replaced compositions and compositions
    "composites": [
        Case("std", lambda x: K.std(x, 1), normal(2, 4)),
        Case("l2_normalize", lambda x: K.l2_normalize(x, 1), normal(2, 4)),
        Case("hard_sigmoid", K.hard_sigmoid, apart(2, 3)),
        Case(
            "batch_normalization",
            lambda x, m, v, b, g: K.batch_normalization(x, m, v, b, g, -1, 0.01),
            *(normal(2, 3), normal(3), positive(3), normal(3), normal(3)),
        ),
        Case(
            "categorical_crossentropy",
            lambda y, x: K.categorical_crossentropy(y, K.softmax(x)),
            *(positive(2, 3), normal(2, 3)),
        ),
    ],
}
#: Internal operations, which the second derivatives of these exercise.
INTERNAL = {
    "broadcast_like": "sum",
    "sum_like": "multiply",
    "reshape_like": "reshape",
    "getitem_adjoint": "getitem",
    "slice_adjoint": "slice",
    "gather_adjoint": "gather",
    "repeat_elements_adjoint": "repeat_elements",
    "tile_adjoint": "tile",
    "recurrence": "cumprod",
    "conv_input_adjoint": "conv2d",
    "conv_kernel_adjoint": "conv2d",
    "pool_adjoint": "pool2d",
    "pool_pick": "pool2d",
}

ALL = [case for cases in CASES.values() for case in cases]


def test_every_differentiable_primitive_has_a_rule_and_a_case() -> None:
    primitives = {
        op.name
        for op in OPERATIONS.values()
        if op.differentiable and op.operand_indices and op.composition is None
    } - {"item", "gradients"}  # which belong to the engines that differentiate by themselves
    importlib.import_module("kbridge.symbolic.derivatives")
    assert primitives == set(autodiff._RULES)
    assert primitives == set(CASES) - {"composites"} | set(INTERNAL)


def weights(shape: Any, salt: int) -> Any:
    return np.random.default_rng(salt).normal(size=shape)


def scalar(tensors: list[Any], values: list[Any], salt: int = 1) -> Any:
    """The sum of all elements of ``tensors``, each with a weight of its own."""
    terms = [
        K.sum(t * K.constant(weights(np.shape(v), salt + i), dtype="float64"))
        for i, (t, v) in enumerate(zip(tensors, values, strict=True))
    ]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def numerically(f: Any, values: list[Any]) -> list[Any]:
    """Central differences of a scalar function, of fourth order."""
    step = 1e-3
    slopes = []
    for i, value in enumerate(values):
        slope = np.zeros(value.shape)
        for at in np.ndindex(value.shape):
            parts = []
            for times in (1, -1, 2, -2):
                moved = [np.array(v) for v in values]
                moved[i][at] += times * step
                parts.append(float(f(moved)))
            slope[at] = (8 * (parts[0] - parts[1]) - (parts[2] - parts[3])) / (12 * step)
        slopes.append(slope)
    return slopes


def inputs_of(case: Case, known: bool) -> list[Any]:
    return [
        K.placeholder(v.shape if known else (None,) * v.ndim, dtype="float64") for v in case.values
    ]


@pytest.mark.parametrize("known", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_gradient_and_second_gradient(case: Case, known: bool) -> None:
    needs_sizes = ("conv2d", "pool2d", "bias_add", "getitem-array_and_int")
    if not known and case.name.startswith(needs_sizes):
        inputs = inputs_of(case, True)
        shape = (None, *case.values[0].shape[1:])
        inputs[0] = K.placeholder(shape, dtype="float64")
    else:
        inputs = inputs_of(case, known)
    result = case.function(*inputs)
    value = K.function(inputs, result)(case.values)
    loss = scalar([result], [value])
    gradients = K.gradients(loss, inputs)
    assert None not in gradients
    found = K.function(inputs, gradients)(case.values)
    expected = numerically(K.function(inputs, loss), case.values)
    for x, g, f, e in zip(inputs, gradients, found, expected, strict=True):
        assert g.dtype == f.dtype == "float64"
        assert len(g.shape) == len(x.shape)
        assert all(p in (None, q) for p, q in zip(g.shape, f.shape, strict=True))
        assert f.shape == e.shape
        np.testing.assert_allclose(f, e, rtol=1e-7, atol=1e-7)

    # Once more: a scalar made of the gradients, differentiated.
    total = scalar(gradients, case.values, salt=10)
    second = K.gradients(total, inputs)
    through = [i for i, s in enumerate(second) if s is not None]
    twice = numerically(K.function(inputs, total), case.values)
    for i, slope in enumerate(twice):
        if i not in through:
            np.testing.assert_allclose(slope, 0.0, atol=1e-6)
    if through:
        found = K.function(inputs, [second[i] for i in through])(case.values)
        for i, f in zip(through, found, strict=True):
            np.testing.assert_allclose(f, twice[i], rtol=1e-6, atol=1e-6)


# --- conventions ---------------------------------------------------------------------------------


def slope(function: Callable[[Any], Any], values: Any, dtype: str = "float64") -> Any:
    """The derivative of the sum of ``function`` at ``values``."""
    x = K.variable(np.array(values), dtype=dtype)
    (gradient,) = K.gradients(K.sum(function(x)), [x])
    return K.eval(gradient)


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (lambda x: K.max(x, 1), [[2.0, 2.0, 1.0], [3.0, 3.0, 3.0]], [[0.5, 0.5, 0], [1 / 3] * 3]),
        (lambda x: K.min(x), [[2.0, 1.0], [1.0, 5.0]], [[0.0, 0.5], [0.5, 0.0]]),
        (lambda x: K.maximum(x, 1.0), [0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
        (lambda x: K.minimum(x, 1.0), [0.0, 1.0, 2.0], [1.0, 0.5, 0.0]),
        (lambda x: K.maximum(x, x), [1.0], [1.0]),
        (K.abs, [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
        (K.sign, [-2.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        (K.sqrt, [-1.0, 0.0, 4.0], [0.0, np.inf, 0.25]),
        (lambda x: K.clip(x, -1.0, 1.0), [-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
        (lambda x: K.clip(x, 1.0, -1.0), [-2.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]),
        (K.relu, [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
        (lambda x: K.relu(x, 0.1), [-1.0, 0.0, 1.0], [0.1, 0.1, 1.0]),
        (lambda x: K.relu(x, threshold=1.0), [0.5, 1.0, 2.0], [0.0, 1.0, 1.0]),
        (lambda x: K.relu(x, max_value=1.0), [0.5, 1.0, 2.0], [1.0, 0.0, 0.0]),
        (lambda x: K.pow(x, 0.0), [0.0, 1.0], [0.0, 0.0]),
        (lambda x: K.pow(x, K.constant([0.0, 2.0], dtype="float64")), [0.0, 3.0], [0.0, 6.0]),
        (lambda x: K.pow(K.constant([0.0, -2.0, 2.0], dtype="float64"), x), [2.0] * 3,
         [0.0, 0.0, 4 * np.log(2)]),
        (K.logsumexp, [-np.inf, -np.inf], [0.0, 0.0]),
        (K.logsumexp, [-np.inf, 1.0], [0.0, 1.0]),
        (lambda x: K.prod(x, 0), [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
        (lambda x: K.prod(x, 0), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
        (lambda x: K.softmax(K.reshape(x, (1, 2))), [1000.0, -1000.0], [0.0, 0.0]),
        (lambda x: K.softplus(x), [-1000.0, 0.0, 1000.0], [0.0, 0.5, 1.0]),
        (lambda x: K.sigmoid(x), [-1000.0, 0.0, 1000.0], [0.0, 0.25, 0.0]),
    ],
)  # fmt: skip
def test_convention(function: Any, values: Any, expected: Any) -> None:
    np.testing.assert_allclose(slope(function, values), expected, atol=1e-15)


def test_max_pooling_takes_the_first_maximum_of_a_window() -> None:
    x = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 3.0], [3.0, 3.0, 3.0]]).reshape(1, 3, 3, 1)
    found = slope(lambda v: K.pool2d(v, (2, 2), (1, 1), "valid", "channels_last"), x)
    assert found[0, ..., 0].tolist() == [[0, 2, 0], [1, 0, 1], [0, 0, 0]]
    # What padding adds is no maximum, even where all that is there is -inf.
    found = slope(
        lambda v: K.pool2d(v, (2, 2), (2, 2), "same", "channels_last"), np.full_like(x, -np.inf)
    )
    assert found[0, ..., 0].tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1]]


def test_a_choice_gives_exactly_nothing_to_what_it_does_not_take() -> None:
    a, b = K.variable([1.0, 2.0]), K.variable([3.0, 4.0])
    huge = K.constant([np.inf, np.nan])
    for condition in (K.constant([1.0, 1.0]), K.constant(1.0)):
        loss = K.sum(K.switch(condition, a, b) * huge)
        to_a, to_b = K.function([], K.gradients(loss, [a, b]))([])
        np.testing.assert_array_equal(to_a, [np.inf, np.nan])
        np.testing.assert_array_equal(to_b, [0.0, 0.0])


def test_a_condition_is_no_way_to_the_loss() -> None:
    c, x = K.variable(1.0), K.variable(2.0)
    assert K.gradients(K.switch(c, x, x * 2.0), [c])[0] is None
    wide = K.variable([1.0, 0.0])
    assert K.gradients(K.sum(K.switch(wide, x * wide[0:1], x)), [x])[0] is not None
    assert K.gradients(K.sum(K.where(wide, x, 0.0)), [wide])[0] is None


def test_phase_decides_the_gradient_too() -> None:
    x = K.placeholder((2,))
    y = K.in_train_phase(lambda: x * 10.0, lambda: K.square(x))
    f = K.function([x, K.learning_phase()], K.gradients(K.sum(y), [x]))
    assert f([[1.0, 3.0], 1])[0].tolist() == [10.0, 10.0]
    assert f([[1.0, 3.0], 0])[0].tolist() == [2.0, 6.0]


# --- which gradients there are -------------------------------------------------------------------


def test_unconnected_sources_are_none() -> None:
    a, c = K.variable(1.0), K.variable(3.0)
    none, six = K.gradients(c * c, [a, c])
    assert none is None
    assert K.eval(six) == 6.0
    v = K.variable(np.array([0.3, 0.7]))
    assert K.gradients(K.sum(K.round(v)), [v]) == [None]
    (g,) = K.gradients(K.sum(K.square(v) + K.stop_gradient(v)), v)
    np.testing.assert_allclose(K.eval(g), [0.6, 1.4], rtol=1e-6)
    assert K.gradients(K.sum(K.cast(K.cast(v, "int32"), "float32")), v) == [None]
    assert K.gradients(K.cast(K.sum(v), "int32"), v) == [None]


@pytest.mark.parametrize(
    "function",
    [K.round, lambda x: K.cast(K.argmax(x), "float32"), lambda x: K.cast(x > 0.0, "float32"),
     lambda x: x // 2.0, lambda x: K.ones_like(x), lambda x: K.cast(K.shape(x), "float32")],
)  # fmt: skip
def test_what_is_not_differentiable_cuts_the_way(function: Any) -> None:
    x = K.variable([1.5, 2.5])
    assert K.gradients(K.sum(function(x)), x) == [None]


def test_a_source_on_the_way_of_another_keeps_and_passes_its_whole_derivative() -> None:
    x = K.variable(2.0)
    hidden = x * x
    loss = hidden * 3.0 + K.square(hidden) + x
    to_x, to_hidden, to_loss = K.gradients(loss, [x, hidden, loss])
    assert (K.eval(to_hidden), K.eval(to_x), K.eval(to_loss)) == (11.0, 45.0, 1.0)


def test_placeholders_and_repeated_sources() -> None:
    x, w = K.placeholder((None, 2)), K.variable([[1.0], [2.0]])
    loss = K.sum(K.square(K.dot(x, w)))
    f = K.function([x], K.gradients(loss, [x, w, x]))
    first, second, third = f([[[1.0, 1.0], [0.0, 1.0]]])
    np.testing.assert_allclose(first, [[6.0, 12.0], [4.0, 8.0]])
    np.testing.assert_allclose(second, [[6.0], [10.0]])
    np.testing.assert_array_equal(first, third)


def test_losses_of_any_shape_are_summed() -> None:
    v = K.variable([1.0, 2.0])
    (g,) = K.gradients([v * v, K.sum(v)], v)
    assert K.eval(g).tolist() == [3.0, 5.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients_have_the_dtype_of_their_source(dtype: str) -> None:
    x = K.variable([[1.0, 2.0], [3.0, 4.0]], dtype=dtype)
    wide = K.variable(np.ones((2, 2)), dtype="float64")
    y = K.mean(K.softmax(K.relu(x) * wide) + K.tanh(x) ** 2 - K.prod(x, 0))
    for source, g in zip((x, wide), K.gradients(y, [x, wide]), strict=True):
        assert g.dtype == source.dtype == str(K.eval(g).dtype)


def test_gradients_inside_the_eager_scope_are_recorded() -> None:
    v = K.variable(3.0)
    loss = v * v
    with K.eager_scope():
        (g,) = K.gradients(loss, [v])
    assert K.eval(g) == 6.0


def test_third_derivative() -> None:
    x = K.variable(0.7, dtype="float64")
    y = K.exp(x) * K.sin(x)
    for _ in range(3):
        (y,) = K.gradients(y, [x])
    expected = 2 * np.exp(0.7) * (np.cos(0.7) - np.sin(0.7))
    np.testing.assert_allclose(K.eval(y), expected, rtol=1e-12)


# --- operations without a rule -------------------------------------------------------------------


def test_a_missing_rule_is_named() -> None:
    cube = K.lift(lambda x: x**3, shape=lambda shape: shape, dtype="float32")
    v = K.variable([1.0, 2.0])
    with pytest.raises(UnsupportedError, match="no rule for the operation"):
        K.gradients(K.sum(cube(v)), v)
    # A function that is called like an operation does not borrow its rule.

    def square(x: Any) -> Any:
        return x**3

    with pytest.raises(UnsupportedError, match="'square'"):
        K.gradients(K.sum(K.lift(square)(v)), v)


def test_a_native_replacement_is_differentiated_through_its_composition() -> None:
    calls = []

    def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=0.001):  # type: ignore[no-untyped-def]
        calls.append(axis)
        return (x - mean) / np.sqrt(var + epsilon) * gamma + beta

    native = {**K.native, "batch_normalization": batch_normalization}
    other: Any = Backend("numpy-with-native", type(K.engine)(), native)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=s) for s in ((4, 3), (3,), (3,), (3,))]

    def gradients(backend: Any) -> list[Any]:
        x, mean, beta, gamma = (backend.variable(v, dtype="float64") for v in values)
        spread = backend.mean(backend.square(x), axis=0)
        # The mean leads to x as well, so that x is reached in two ways.
        y = backend.batch_normalization(x, mean + backend.mean(x, 0), spread, beta, gamma)
        sources = [x, mean, beta, gamma]
        first = backend.gradients(backend.sum(backend.square(y) * y), sources)
        second = backend.gradients(backend.sum(backend.square(first[0])), sources)
        return backend.function([], [*first, *second])([])  # type: ignore[no-any-return]

    for found, expected in zip(gradients(other), gradients(K), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert calls == [-1]


# --- size ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_thousand_additions() -> None:
    x, v = K.placeholder((3,)), K.variable(np.ones(3))
    y = x
    for _ in range(100_000):
        y = y + v
    start = time.process_time()
    f = K.function([x], [y, *K.gradients(K.sum(y), [x, v])])
    y_value, to_x, to_v = f([np.zeros(3)])
    assert time.process_time() - start < 60
    assert y_value.tolist() == to_v.tolist() == [100_000.0] * 3
    assert to_x.tolist() == [1.0] * 3


def test_a_long_plan_is_compiled_in_sections_with_the_same_result() -> None:
    v = K.variable(np.full(3, 0.5), dtype="float64")
    y = v
    for _ in range(700):
        y = K.sin(y) * 1.01 + y * 0.01
    f = K.function([], [y, *K.gradients(K.sum(y), [v]), y, v])
    plan = f._program.plans[0]
    assert plan.source.count("def run") > 2
    (by_hand,) = (np.full(3, 0.5),)
    slope_by_hand = np.ones(3)
    for _ in range(700):
        slope_by_hand = slope_by_hand * (1.01 * np.cos(by_hand) + 0.01)
        by_hand = np.sin(by_hand) * 1.01 + by_hand * 0.01
    for _ in range(2):
        y_value, g, again, own = f([])
        np.testing.assert_allclose(y_value, by_hand, rtol=1e-10)
        np.testing.assert_allclose(g, slope_by_hand, rtol=1e-9)
        np.testing.assert_array_equal(y_value, again)
        np.testing.assert_array_equal(own, [0.5] * 3)


def test_a_long_plan_frees_what_nothing_reads() -> None:
    """A chain holds a few arrays at a time, whatever its length and its sections."""
    x = K.placeholder((125_000,), dtype="float64")  # a megabyte
    y = x
    for _ in range(4500):
        y = y + 1.0
    f = K.function([x], [y])
    value = np.zeros(125_000)
    f([value])
    tracemalloc.start()
    f([value])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6
