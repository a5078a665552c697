"""Every native operation of TensorFlow beside the NumPy backend, in all dtypes and all ways.

One row of the table is one call. It runs on native tensors, and compiled for placeholders of
which no size is known; values, shapes and dtypes must be NumPy's. Gradients are compared with
central differences in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import kbridge
from kbridge.api.declare import OPERATIONS

tf = pytest.importorskip("tensorflow")

FLOATS = ("float32", "float64", "float16", "bfloat16")
NUMBERS = (*FLOATS, "int32", "int8", "uint8")
ALL = (*NUMBERS, "bool")


class Row(NamedTuple):
    """A call: ``run(K, *tensors)`` of tensors of the given shapes."""

    name: str
    run: Callable[..., Any]
    shapes: tuple[Any, ...]
    dtypes: tuple[str, ...] = ALL
    gradient: bool = True


def calls(
    names: str,
    *shapes: Any,
    dtypes: tuple[str, ...] = ALL,
    gradient: bool = True,
    more: tuple[Any, ...] = (),
) -> list[Row]:
    """Rows of operations that take just the tensors, and ``more`` static arguments."""

    def row(name: str) -> Row:
        return Row(name, lambda K, *t: getattr(K, name)(*t, *more), shapes, dtypes, gradient)

    return [row(name) for name in names.split()]


M, V, T = (3, 4), (4,), (2, 3, 4)
IMAGE = (2, 5, 6, 2)

ROWS: list[Row] = [
    *calls("square abs round sign identity", M),
    *calls("exp sin cos tanh sigmoid softplus softsign softmax elu relu sqrt", M),
    Row("log", lambda K, x: K.log(K.abs(x)), (M,)),
    *calls("negative", M, dtypes=NUMBERS),
    *calls("logical_not", M, gradient=False),
    *calls("add multiply divide maximum minimum", M, V),
    *calls("subtract", M, V, dtypes=NUMBERS),
    *calls("equal not_equal greater greater_equal less less_equal", M, V, gradient=False),
    *calls("logical_and logical_or logical_xor", M, V, gradient=False),
    Row("mod", lambda K, x: K.mod(x, 2), (M,), NUMBERS),
    Row("floor_divide", lambda K, x: K.floor_divide(x, 2), (M,), NUMBERS, False),
    Row("pow", lambda K, x: K.pow(K.abs(x), 2), (M,), NUMBERS),
    Row("pow", lambda K, x, a: K.pow(K.abs(x), K.abs(a)), (M, V), (*FLOATS, "int32")),
    Row("pow", lambda K, a: K.pow(2.0, a), (M,), FLOATS),
    Row("subtract", lambda K, x: K.subtract(1, x), (M,), NUMBERS),
    Row("maximum", lambda K, x: K.maximum(0.5, x), (M,), FLOATS),
    Row("clip", lambda K, x: K.clip(x, -1, 1), (M,), (*FLOATS, "int32")),
    Row("clip", lambda K, x, y: K.clip(x, None, y), (M, V), NUMBERS),
    Row("clip", lambda K, x, y: K.clip(x, y, 0.1), (M, V), FLOATS),
    Row("where", lambda K, x, y: K.where(K.greater(x, y), x, y), (M, V)),
    Row("where", lambda K, x: K.where(x, 1.0, 0.0), (M,), gradient=False),
    Row("choose", lambda K, x, y: K.switch(K.any(K.greater(x, 0.0)), x, y), (M, (2, 4))),
    Row("stop_gradient", lambda K, x: K.multiply(x, K.stop_gradient(x)), (M,), gradient=False),
    *(Row("cast", lambda K, x, d=d: K.cast(K.abs(x), d), (M,), gradient=False) for d in ALL),
    # reductions
    *calls("sum prod mean var any all max min logsumexp", T, more=((0, -1), True)),
    *calls("sum prod mean var any all max min logsumexp", T, gradient=False),
    *calls("sum mean max logsumexp", (700, 2), dtypes=("float16", "bfloat16"), more=(0,)),
    *calls("argmax argmin", T, more=(1,), gradient=False),
    *calls("cumsum cumprod", T, more=(1,)),
    Row("cumprod", lambda K, x: K.cumprod(K.relu(x), -1), (M,), FLOATS),
    Row("prod", lambda K, x: K.prod(K.relu(x), 1), (M,), FLOATS),
    # products
    *calls("dot", M, (4, 2)),
    *calls("dot", T, (2, 4, 3)),
    *calls("dot", T, V),
    *calls("matmul", T, (4, 2)),
    *calls("matmul", V, (2, 4, 3)),
    *calls("matmul", V, V),
    *calls("batch_dot", (2, 3, 4), (2, 4, 5)),
    *calls("batch_dot", (2, 4), (2, 3, 4), more=((1, 2),)),
    *calls("batch_dot", M, M, more=(1,)),
    *calls("transpose", T),
    # shapes
    *calls("permute_dimensions", T, more=((2, 0, -2),)),
    *calls("reshape", T, more=((4, -1),)),
    Row("reshape", lambda K, x: K.reshape(x, K.stack([K.shape(x)[0], -1])), (T,)),
    Row("reshape", lambda K, x: K.reshape(x, (K.shape(x)[1], 2, K.shape(x)[-1])), (T,)),
    Row("concatenate", lambda K, x, y: K.concatenate([x, y], 0), (M, (1, 4))),
    Row("stack", lambda K, x, y: K.stack([x, y], 1), (M, M)),
    *calls("repeat_elements", T, more=(2, -1)),
    *calls("repeat", M, more=(3,)),
    Row("repeat", lambda K, x: K.repeat(x, K.shape(x)[0]), (M,)),
    *calls("tile", M, more=((2, 1),)),
    *calls("tile", M, more=(2,)),
    *calls("tile", M, more=((2, 1, 1),)),
    Row("tile", lambda K, x: K.tile(x, (K.shape(x)[1], 1)), (M,)),
    *calls("flatten batch_flatten", T),
    *calls("expand_dims", M, more=(1,)),
    *calls("squeeze", (3, 1, 4), more=(1,)),
    *calls("reverse", T, more=((0, -1),)),
    *calls("reverse", M, more=(1,)),
    *calls("pad", M, more=(((1, 0), (2, 1)),)),
    *calls("slice", T, more=((0, 1, 1), (2, -1, 2))),
    Row("slice", lambda K, x: K.slice(x, (0, 1), (K.shape(x)[0], 2)), (M,)),
    Row("gather", lambda K, x: K.gather(x, K.constant([[2, 0], [1, 2]], "int32")), (M,)),
    Row("one_hot", lambda K, x: K.one_hot(K.cast(K.abs(x), "uint8"), 3), (M,), gradient=False),
    *calls("shape size", T, gradient=False),
    *(
        Row("getitem", lambda K, x, key=key: K.getitem(x, key), (T,))
        for key in (
            0,
            (1, -1),
            (slice(None), slice(None, None, -2)),
            (Ellipsis, None, slice(1, 3)),
            (slice(None), np.array([0, -1, 0])),
            (np.array([1, 0]), 2),
            (Ellipsis, np.array([[0, 3]])),
        )
    ),
    Row("getitem", lambda K, x: K.getitem(x, (K.shape(x)[0] - 1, slice(K.shape(x)[1] - 1))), (T,)),
    Row("getitem", lambda K, x: K.getitem(x, (slice(None), K.argmin(x, 1)[0])), (T,)),
    # contents
    *calls("full_like", M, more=(3,), gradient=False),
    Row("full", lambda K, x: K.full((2, K.shape(x)[0]), 1.5, "float64"), (M,), ("int32",), False),
    Row("arange", lambda K, x: K.arange(K.shape(x)[1]), (M,), ("int32",), False),
    Row("arange", lambda K, x: K.arange(7, K.shape(x)[0], -2, "float16"), (M,), ("int32",), False),
    # layers
    *calls("relu", M, more=(0.2, 1.0, 0.1), dtypes=NUMBERS),
    Row("relu", lambda K, x, a: K.relu(x, a), (M, V), FLOATS),
    *calls("elu", M, more=(0.7,), dtypes=NUMBERS),
    *calls("softmax", T, more=(1,)),
    *calls("bias_add", M, V),
    *calls("bias_add", T, (3,), more=("channels_first",)),
    *calls("bias_add", IMAGE, (5, 6, 2), more=("channels_last",)),
    *calls("bias_add", IMAGE, (6, 2, 5), more=("channels_first",)),
    *(
        Row("conv2d", lambda K, x, k, a=a: K.conv2d(x, k, *a), shapes, NUMBERS)
        for shapes, a in (
            ((IMAGE, (2, 3, 2, 3)), ((1, 1), "valid", "channels_last")),
            ((IMAGE, (2, 3, 2, 3)), ((2, 1), "same", "channels_last")),
            ((IMAGE, (2, 2, 2, 1)), ((1, 1), "same", "channels_last", (2, 3))),
            (((2, 3, 5, 6), (2, 3, 3, 2)), ((2, 2), "valid", "channels_first")),
        )
    ),
    *(
        Row("pool2d", lambda K, x, a=a: K.pool2d(x, *a), (IMAGE,), NUMBERS)
        for a in (
            ((2, 3), (1, 2), "valid", "channels_last", "max"),
            ((2, 2), (2, 2), "same", "channels_last", "avg"),
            ((3, 2), (2, 1), "same", "channels_first", "max"),
        )
    ),
    *(
        Row("pool3d", lambda K, x, a=a: K.pool3d(x, *a), ((1, 3, 2, 4, 2),), NUMBERS)
        for a in (
            ((2, 1, 3), (1, 2, 1), "valid", "channels_last", "max"),
            ((2, 2, 5), (2, 1, 1), "same", "channels_last", "avg"),
            ((3, 2, 2), (2, 1, 1), "same", "channels_first", "max"),
        )
    ),
    *(
        Row("resize_images", lambda K, x, a=a: K.resize_images(x, *a), (IMAGE,), NUMBERS)
        for a in (
            (2, 3, "channels_last"),
            (3, 1, "channels_first"),
            (2, 3, "channels_last", "bilinear"),
            (2, 2, "channels_first", "bilinear", True),
        )
    ),
]


def values(row: Row, dtype: str) -> list[Any]:
    """Operands of which no two elements tie, and none stands where a function has a corner."""
    made = []
    for position, shape in enumerate(row.shapes):
        rng = np.random.default_rng(position)
        n = int(np.prod(shape))
        array = (rng.permutation(n) - n // 2 + 0.37 + 0.11 * position).reshape(shape) * 5 / n
        if not dtype.startswith(("float", "bfloat")):
            array = np.abs(array) if dtype.startswith("u") else np.round(array)
        made.append(array.astype(numpy_dtype(dtype)))
    return made


def numpy_dtype(dtype: str) -> Any:
    return kbridge.symbolic.dtypes.to_numpy(dtype)


@pytest.fixture(name="backends", scope="module")
def both_backends() -> tuple[Any, Any]:
    return kbridge.load_backend("tensorflow"), kbridge.load_backend("numpy")


ZERO = tf.UnconnectedGradients.ZERO
TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 4e-3, "bfloat16": 3e-2}


def compare(row: Row, way: str, got: Any, want: Any, dtype: str) -> None:
    where = f"{row.name} of {dtype}, {way}"
    assert got.shape == want.shape, where
    assert got.dtype == want.dtype, where
    if got.dtype.kind in "biu":
        assert np.array_equal(got, want), where
        return
    # Where float16 took part, an exact dtype of the result makes it no more exact.
    limit = max(TOLERANCE[np.dtype(got.dtype).name], TOLERANCE.get(dtype, 0))
    got, want = got.astype("float64"), want.astype("float64")
    scale = np.abs(want[np.isfinite(want)]).max(initial=1.0)
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit * scale, err_msg=where)


IDS = [f"{i}-{row.name}" for i, row in enumerate(ROWS)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of nan and infinities
@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_values_shapes_and_dtypes(backends, row):
    K, N = backends
    for dtype in row.dtypes:
        arrays = values(row, dtype)
        want = N.eval(row.run(N, *(N.constant(a, dtype) for a in arrays)))
        natives = [K.engine.from_numpy(a, dtype) for a in arrays]
        result = row.run(K, *natives)
        compare(row, "native", np.asarray(K.eval(result)), want, dtype)
        given = [K.placeholder((None,) * len(shape), dtype=dtype) for shape in row.shapes]
        recorded = row.run(K, *given)
        assert recorded.dtype == want.dtype
        function = K.function(given, [recorded])
        compare(row, "compiled", np.asarray(function(arrays)[0]), want, dtype)


@pytest.mark.parametrize("row", [r for r in ROWS if r.gradient], ids=lambda r: r.name)
def test_gradients_are_central_differences(backends, row):
    K, _ = backends
    arrays = values(row, "float64")
    given = [K.placeholder((None,) * a.ndim, dtype="float64") for a in arrays]
    result = row.run(K, *given)
    rng = np.random.default_rng(9)
    weights = K.constant(rng.normal(size=K.function(given, [result])(arrays)[0].shape), "float64")
    loss = K.sum(result * weights)
    f = K.function(given, [loss])
    found = K.gradients(loss, given)
    found = [K.zeros_like(x) if g is None else g for g, x in zip(found, given, strict=True)]
    gradients = K.function(given, found)(arrays)
    for array, gradient in zip(arrays, gradients, strict=True):
        assert gradient.shape == array.shape
        for at in rng.permutation(array.size)[:6]:
            index = np.unravel_index(at, array.shape)
            start, step = array[index], 1e-6
            ends = []
            for value in (start + step, start - step):
                array[index] = value
                ends.append(f(arrays)[0])
            array[index] = start
            slope = (ends[0] - ends[1]) / (2 * step)
            assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-6), (row.name, index)


def test_every_native_operation_has_a_row(backends):
    K, _ = backends
    rows = {row.name for row in ROWS}
    # These topics have tests of their own, the convolutions in test_convolution.py.
    elsewhere = {n for n, op in OPERATIONS.items() if op.topic in ("conv", "ctc", "sparse")}
    missing = {n for n in K.native if not OPERATIONS[n].random} - rows - elsewhere
    assert missing <= {"print_tensor", "enlarge", "interpolate"}  # the last two by resize_images


# --- what a table of smooth points does not show -----------------------------------------------


def gradient(K: Any, function: Callable[..., Any], *arrays: Any) -> list[Any]:
    given = [K.placeholder(np.shape(a)) for a in arrays]
    found = K.gradients(function(*given), given)
    compiled = K.function(given, found)(list(arrays))
    natives = [tf.constant(a, "float32") for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(natives)
        result = function(*natives)
    for one, other in zip(
        compiled, tape.gradient(result, natives, unconnected_gradients=ZERO), strict=True
    ):
        np.testing.assert_allclose(one, other)  # nan and infinities alike
    return [g.tolist() for g in compiled]


def test_gradients_at_corners(backends):
    K, _ = backends
    inf = float("inf")
    assert gradient(K, K.sqrt, [-4.0, 0.0, 4.0]) == [[0.0, inf, 0.25]]
    assert gradient(K, K.maximum, [1.0, 2.0, 3.0], [2.0] * 3) == [[0, 0.5, 1], [1, 0.5, 0]]
    assert gradient(K, K.minimum, [1.0, 2.0, 3.0], [2.0] * 3) == [[1, 0.5, 0], [0, 0.5, 1]]
    assert gradient(K, lambda x: K.maximum(x, 0.0), [-1.0, 0.0, 1.0]) == [[0, 0.5, 1]]
    assert gradient(K, K.max, [1.0, 3.0, 3.0]) == [[0, 0.5, 0.5]]
    assert gradient(K, K.abs, [-1.0, 0.0, 1.0]) == [[-1, 0, 1]]
    assert gradient(K, K.sign, [-1.0, 0.0, 1.0]) == [[0, 0, 0]]
    assert gradient(K, K.prod, [0.0, 2.0, 3.0]) == [[6, 0, 0]]
    assert gradient(K, K.prod, [0.0, 0.0, 3.0]) == [[0, 0, 0]]
    assert gradient(K, K.cumprod, [2.0, 0.0, 3.0]) == [[1, 8, 0]]
    assert gradient(K, lambda x: K.pow(x, 0.0), [0.0, 2.0]) == [[0, 0]]
    assert gradient(K, K.pow, [0.0, -2.0], [0.0, 2.0])[0] == [0, -4]
    pool = gradient(
        K,
        lambda x: K.pool2d(K.reshape(x, (1, 2, 2, 1)), (2, 2), data_format="channels_last"),
        [1.0, 1.0, 0.0, 1.0],
    )
    assert pool == [[1, 0, 0, 0]]


def test_sums_of_float16_go_on_beyond_2048(backends):
    K, _ = backends
    ones = np.ones((5000, 2), "float16")
    x = K.placeholder((None, 2), dtype="float16")
    for function, wanted in ((K.sum, 5000.0), (K.mean, 1.0), (K.var, 0.0)):
        assert function(tf.constant(ones), 0).numpy().tolist() == [wanted] * 2
        assert K.function([x], [function(x, 0)])([ones])[0].tolist() == [wanted] * 2


def test_numbers_keep_their_digits_in_float64(backends):
    K, _ = backends
    x = K.placeholder((1,), dtype="float64")
    programs = (
        lambda x: x * 0.1,
        lambda x: K.relu(-x, alpha=0.1) * -1.0,
        lambda x: K.full((1,), 0.1, "float64") * x,
        lambda x: K.pad(x * 0.0, ((1, 0),), 0.1)[:1],
        lambda x: K.full_like(x, 0.1),
    )
    for program in programs:
        assert K.function([x], [program(x)])([[1.0]])[0].tolist() == [0.1]
