"""Every rule of the graph's own autodiff against central differences, twice."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import kbridge
from kbridge.binding import OPERATIONS
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
SPARSE = scipy.sparse.csr_matrix(np.array([[0.0, 2, 0, -1], [0, 0, 0, 0], [3, 0, 0.5, 0]]))


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


def _last(x: Any, data_format: str) -> Any:
    return x if data_format == "channels_last" else np.moveaxis(x, -1, 1).copy()


def _convolutions(name: str, n: int, out: int = 2) -> list[Case]:
    """An operation over ``n`` spatial axes with a kernel (spatial..., 2, out)."""
    function, cases = getattr(K, name), []
    for i, (size, kernel, strides, padding, dilation) in enumerate(
        (
            ((5, 4, 2), (3, 3, 2), 1, "valid", 1),
            ((5, 4, 2), (2, 3, 1), 1, "same", 1),
            ((5, 4, 2), (3, 2, 2), 2, "same", 1),
            ((4, 5, 2), (2, 2, 1), (1, 3, 2), "valid", 1),
            ((4, 5, 2), (2, 3, 2), 1, "same", 2),
            ((4, 3, 2), (1, 1, 1), 2, "valid", 1),
            ((5, 3, 2), (3, 2, 1), 1, "causal", 2),
        )[: 7 if n == 1 else 6]
    ):
        formats = ("channels_last", "channels_first")
        for data_format in formats if n < 3 else formats[i % 2 :][:1]:
            steps = strides[-n:] if isinstance(strides, tuple) else strides
            how = (steps, padding, data_format, dilation)
            cases.append(
                Case(
                    f"{name}-{kernel[:n]}-{how}",
                    lambda x, kernel, how=how: function(x, kernel, *how),
                    _last(normal(1 if n > 2 else 2, *size[:n], 2), data_format),
                    normal(*kernel[:n], 2, out),
                )
            )
    return cases


def _transposed(name: str, n: int) -> list[Case]:
    function, cases = getattr(K, name), []
    for size, kernel, strides, padding, target in (
        ((2, 3, 2), (2, 2, 1), 1, "valid", (3, 4, 2)),
        ((2, 3, 1), (3, 2, 2), 2, "same", (3, 6, 2)),
        ((2, 2, 1), (2, 1, 1), (2, 3, 1), "valid", (5, 4, 1)),
    ):
        for data_format in ("channels_last", "channels_first"):
            steps = strides[:n] if isinstance(strides, tuple) else strides
            last = data_format == "channels_last"
            shape = (None, *target[:n], 3) if last else (None, 3, *target[:n])
            how = (shape, steps, padding, data_format)
            cases.append(
                Case(
                    f"{name}-{kernel[:n]}-{how}",
                    lambda x, kernel, how=how: function(x, kernel, *how),
                    _last(normal(2, *size[:n], 2), data_format),
                    normal(*kernel[:n], 3, 2),
                )
            )
    return cases


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


def _volumes() -> list[Case]:
    return [
        Case(
            f"pool3d-{mode}-{size}-{strides}-{padding}-{data_format}",
            lambda x, a=(size, strides, padding, data_format, mode): K.pool3d(x, *a),
            apart(1, 2, 3, 2, 2),
        )
        for mode in ("max", "avg")
        for size, strides, padding, data_format in (
            ((2, 2, 2), (1, 1, 1), "valid", "channels_last"),
            ((2, 3, 2), (1, 2, 1), "same", "channels_last"),
            ((1, 2, 3), (2, 1, 1), "same", "channels_first"),
        )
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
    "print_tensor": _unary("print_tensor"),
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
    "sparse_dot": [
        Case("sparse_dot", lambda y: K.dot(SPARSE, y), normal(4, 3)),
        Case("sparse_dot-from_the_right", lambda x: K.dot(x, SPARSE), normal(2, 3)),
    ],
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
    "conv1d": _convolutions("conv1d", 1),
    "conv2d": [
        *_convolutions("conv2d", 2),
        Case("conv2d-many", lambda x, w: K.conv2d(x, w), normal(1, 4, 4, 9), normal(3, 3, 9, 2)),
    ],
    "conv3d": _convolutions("conv3d", 3, 1),
    "depthwise_conv2d": _convolutions("depthwise_conv2d", 2),
    "conv2d_transpose": [
        *_transposed("conv2d_transpose", 2),
        Case(
            "conv2d_transpose-dilated",
            lambda x, w: K.conv2d_transpose(x, w, (1, 4, 5, 2), dilation_rate=(2, 3)),
            normal(1, 2, 2, 3),
            normal(2, 2, 2, 3),
        ),
    ],
    "conv3d_transpose": _transposed("conv3d_transpose", 3),
    "pool2d": _poolings(),
    "pool3d": _volumes(),
    # replaced compositions and compositions
    "composites": [
        Case(
            "separable_conv1d",
            lambda x, d, p: K.separable_conv1d(x, d, p, 2, "same", "channels_first"),
            *(normal(2, 2, 5), normal(3, 2, 2), normal(1, 4, 2)),
        ),
        Case(
            "local_conv1d-first",
            lambda x, k: K.local_conv1d(x, k, (2,), (2,), "channels_first"),
            *(normal(2, 3, 5), normal(2, 6, 2)),
        ),
        Case(
            "local_conv2d",
            lambda x, k: K.local_conv2d(x, k, (2, 1), (1, 2), (2, 2), "channels_last"),
            *(normal(2, 3, 3, 2), normal(4, 4, 2)),
        ),
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
    needs_sizes = ("pool", "bias_add", "getitem-array_and_int")
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
