"""The NumPy backend against oracles of other code: SciPy, closed forms, plain loops."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import ndimage, signal, special

import kbridge
from kbridge.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError

K: Any = kbridge.load_backend("numpy")
FORMATS = ("channels_last", "channels_first")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# --- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("sigmoid", special.expit),
        ("softplus", lambda x: np.logaddexp(0.0, x)),
        ("softsign", lambda x: x / (1.0 + np.abs(x))),
        ("tanh", np.tanh),
        ("elu", lambda x: np.where(x > 0, x, special.expm1(np.minimum(x, 0.0)))),
        ("hard_sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0.0, 1.0)),
    ],
)
def test_activation_against_scipy(name: str, oracle: Any) -> None:
    x = np.concatenate([np.linspace(-40.0, 40.0, 4001), [-1e4, 1e4, -1e-9, 1e-9, 0.0]])
    np.testing.assert_allclose(getattr(K, name)(x), oracle(x), rtol=2e-14, atol=1e-300)
    small = getattr(K, name)(x.astype("float32"))
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, oracle(x), rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_where_beside_a_zero_is_exact(zero: float, dtype: str) -> None:
    x = np.array([[1.5, -0.0, np.inf], [np.nan, -1e-7, np.inf]], dtype)
    condition = np.array([[True, True, True], [False, True, False]])
    for given, held in ((x, condition), (x[:, ::2], condition[:, ::2]), (x[0], condition)):
        found = K.where(held, given, zero)
        expected = np.where(held, given, given.dtype.type(zero))
        np.testing.assert_array_equal(found, expected, strict=True)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_against_scipy(axis: Any, keepdims: bool, rng: np.random.Generator) -> None:
    for scale in (1.0, 1e4):
        x = rng.normal(size=(2, 3, 4)) * scale
        expected = special.logsumexp(x, axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(K.logsumexp(x, axis, keepdims), expected, rtol=1e-13)
    x = np.array([-np.inf, -np.inf])
    assert K.logsumexp(x) == -np.inf
    assert K.logsumexp(np.array([np.inf, 1.0])) == np.inf
    assert K.logsumexp(np.zeros((2, 0)), axis=1).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_against_scipy(axis: int, rng: np.random.Generator) -> None:
    for scale in (1.0, 1e3):
        x = rng.normal(size=(3, 4, 2)) * scale
        np.testing.assert_allclose(K.softmax(x, axis), special.softmax(x, axis), rtol=1e-12)


def test_relu_by_its_formula(rng: np.random.Generator) -> None:
    x = np.concatenate([rng.normal(size=50) * 3, [-np.inf, np.inf, 0.0, -1.0, 1.0]])
    for alpha, top, threshold in itertools.product((0.0, 0.1), (None, 2.0), (0.0, 1.0, -1.0)):
        expected = [
            (min(max(v, 0.0), top) if top is not None else v)
            if v >= threshold
            else (0.0 if alpha == 0.0 else alpha * (v - threshold))
            for v in x.tolist()
        ]
        np.testing.assert_allclose(K.relu(x, alpha, top, threshold), expected, atol=1e-15)
    assert np.isnan(K.relu(np.array([np.nan]))).all()
    assert np.isnan(K.relu(np.array([np.nan]), 0.1, 2.0, 1.0)).all()


# --- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "subscripts"),
    [
        ((3, 4), (4, 2), "ab,bc->ac"),
        ((2, 3, 4), (4, 5), "abc,cd->abd"),
        ((2, 3), (4, 3, 5), "ab,cbd->acd"),
        ((2, 2, 3), (2, 4, 3, 2), "abc,decf->abdef"),
        ((4,), (4,), "a,a->"),
        ((2, 3, 4), (4,), "abc,c->ab"),
        ((4,), (3, 4, 2), "a,bac->bc"),
        ((0, 4), (4, 2), "ab,bc->ac"),
        ((2, 0), (0, 3), "ab,bc->ac"),
        ((2, 3, 0), (0, 3), "abc,cd->abd"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_dot_against_einsum(
    x: Any, y: Any, subscripts: str, dtype: str, rng: np.random.Generator
) -> None:
    a, b = ((rng.normal(size=s) * 3).astype(dtype) for s in (x, y))
    found = K.dot(a, b)
    assert found.dtype == dtype
    exact = np.einsum(subscripts, a.astype("float64"), b.astype("float64"))
    np.testing.assert_allclose(found, exact, rtol=1e-3 if dtype == "float16" else 1e-12, atol=1e-2)


def test_products_of_half_precision_are_added_up_in_single(rng: np.random.Generator) -> None:
    # Rounded to float16 at each step, 2048 ones plus another one stay 2048.
    x, y = np.ones((2, 4096), "float16"), np.ones((4096, 2), "float16")
    for found in (K.dot(x, y), K.eval(K.constant(x, "float16") @ K.constant(y, "float16"))):
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, 4096.0)
    assert K.batch_dot(x, np.ascontiguousarray(y.T)).tolist() == [[4096.0]] * 2


@pytest.mark.parametrize(
    ("x", "y", "axes", "subscripts"),
    [
        ((3, 4), (3, 4), None, "ab,ab->a"),
        ((3, 2, 4), (3, 4, 5), None, "abc,acd->abd"),
        ((3, 2, 4), (3, 5, 4), (2, 2), "abc,adc->abd"),
        ((3, 4), (3, 5, 4), (1, 2), "ab,acb->ac"),
        ((2, 3, 4, 2), (2, 2, 3, 5), (1, 2), "abcd,aebf->acdef"),
        ((0, 2, 4), (0, 4, 5), None, "abc,acd->abd"),
    ],
)
def test_batch_dot_against_einsum(
    x: Any, y: Any, axes: Any, subscripts: str, rng: np.random.Generator
) -> None:
    a, b = rng.normal(size=x), rng.normal(size=y)
    expected = np.einsum(subscripts, a, b)
    found = K.batch_dot(a, b, axes)
    np.testing.assert_allclose(found, expected[:, None] if expected.ndim == 1 else expected)
    with pytest.raises(ShapeError, match="batch"):
        K.batch_dot(np.ones((1, 2, 4)), np.ones((3, 4, 5)))


# --- convolution ---------------------------------------------------------------------------------


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """As TensorFlow documents it."""
    out = -(-size // stride)
    total = max((out - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def padded(x: Any, kernel: Any, strides: Any, padding: str, dilation: Any, fill: float) -> Any:
    """(batch, rows, columns, channels) with what "same" adds."""
    if padding == "valid":
        return x
    pairs = [same_padding(*a) for a in zip(x.shape[1:3], kernel, strides, dilation, strict=True)]
    return np.pad(x, ((0, 0), *pairs, (0, 0)), constant_values=fill)


def convolution_by_loops(x: Any, kernel: Any, strides: Any, padding: str, dilation: Any) -> Any:
    height, width, _, filters = kernel.shape
    x = padded(x, (height, width), strides, padding, dilation, 0.0)
    (sy, sx), (dy, dx) = strides, dilation
    rows = (x.shape[1] - (height - 1) * dy - 1) // sy + 1
    columns = (x.shape[2] - (width - 1) * dx - 1) // sx + 1
    result = np.zeros((len(x), rows, columns, filters))
    for n, i, j, f in np.ndindex(result.shape):
        for a, b in np.ndindex(height, width):
            result[n, i, j, f] += x[n, i * sy + a * dy, j * sx + b * dx] @ kernel[a, b, :, f]
    return result


def in_format(x: Any, data_format: str) -> Any:
    return x if data_format == "channels_last" else np.moveaxis(x, -1, 1)


def back(x: Any, data_format: str) -> Any:
    return x if data_format == "channels_last" else np.moveaxis(x, 1, -1)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(
    ("strides", "dilation"),
    [((1, 1), (1, 1)), ((2, 2), (1, 1)), ((3, 1), (1, 1)), ((1, 1), (2, 3))],
)
@pytest.mark.parametrize("kernel", [(3, 3), (2, 4), (1, 1), (4, 1)])
@pytest.mark.parametrize("channels", [1, 3, 9])
def test_conv2d_against_loops(
    kernel: Any, channels: int, strides: Any, padding: str, dilation: Any, data_format: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    x, w = rng.normal(size=(2, 9, 10, channels)), rng.normal(size=(*kernel, channels, 2))
    if padding == "valid" and dilation == (2, 3) and kernel == (2, 4):
        x = rng.normal(size=(2, 9, 12, channels))
    found = K.conv2d(in_format(x, data_format), w, strides, padding, data_format, dilation)
    expected = convolution_by_loops(x, w, strides, padding, dilation)
    np.testing.assert_allclose(back(found, data_format), expected, rtol=1e-10, atol=1e-12)


def test_conv2d_against_scipy(rng: np.random.Generator) -> None:
    x, w = rng.normal(size=(12, 11)), rng.normal(size=(4, 3))
    found = K.conv2d(x[None, ..., None], w[..., None, None], data_format="channels_last")
    np.testing.assert_allclose(found[0, ..., 0], signal.correlate(x, w, "valid"))
    odd = rng.normal(size=(5, 3))
    found = K.conv2d(x[None, ..., None], odd[..., None, None], 1, "same", "channels_last")
    np.testing.assert_allclose(found[0, ..., 0], ndimage.correlate(x, odd, mode="constant"))


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(
    ("size", "strides"), [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((1, 1), (2, 2)), ((5, 5), (3, 1))]
)
def test_pool2d_against_loops(
    size: Any, strides: Any, padding: str, mode: str, data_format: str, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(2, 6, 7, 3))
    whole = padded(x, size, strides, padding, (1, 1), np.nan)
    axes = zip(whole.shape[1:3], size, strides, strict=True)
    rows, columns = ((n - k) // s + 1 for n, k, s in axes)
    expected = np.empty((2, rows, columns, 3))
    combine = np.nanmax if mode == "max" else np.nanmean
    for n, i, j, c in np.ndindex(expected.shape):
        y, z = i * strides[0], j * strides[1]
        expected[n, i, j, c] = combine(whole[n, y : y + size[0], z : z + size[1], c])
    found = K.pool2d(in_format(x, data_format), size, strides, padding, data_format, mode)
    np.testing.assert_allclose(back(found, data_format), expected, rtol=1e-12)


def test_pool2d_against_scipy(rng: np.random.Generator) -> None:
    x = rng.normal(size=(9, 8))
    found = K.pool2d(x[None, ..., None], (3, 5), (1, 1), "same", "channels_last")
    expected = ndimage.maximum_filter(x, (3, 5), mode="constant", cval=-np.inf)
    np.testing.assert_array_equal(found[0, ..., 0], expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_windows_keep_the_dtype_and_add_up_halves_in_single(dtype: str) -> None:
    x, w = np.ones((1, 64, 64, 1), dtype), np.ones((64, 64, 1, 2), dtype)
    found = K.conv2d(x, w, data_format="channels_last")
    assert found.dtype == dtype
    assert found.ravel().tolist() == [4096.0, 4096.0]
    for mode in ("max", "avg"):
        found = K.pool2d(x, (64, 64), (1, 1), "valid", "channels_last", mode)
        assert found.dtype == dtype
        assert found.ravel().tolist() == [1.0]


def test_what_does_not_fit_a_window_is_an_error() -> None:
    x, w = np.ones((1, 4, 4, 3)), np.ones((3, 3, 2, 1))
    with pytest.raises(ShapeError, match="3 channels"):
        K.conv2d(x, w, data_format="channels_last")
    with pytest.raises(ShapeError, match="does not fit"):
        K.pool2d(x, (5, 5), data_format="channels_last")
    with pytest.raises(ArgumentError, match="padding"):
        K.conv2d(x, np.ones((3, 3, 3, 1)), padding="full", data_format="channels_last")
    with pytest.raises(ArgumentError, match="strides"):
        K.conv2d(x, np.ones((1, 1, 3, 1)), 2, "valid", "channels_last", 2)
    with pytest.raises(ArgumentError, match="pool_mode"):
        K.pool2d(x, 2, data_format="channels_last", pool_mode="sum")


@pytest.mark.parametrize("channels", [1, 16])
@pytest.mark.parametrize("data_format", FORMATS)
def test_convolution_needs_little_memory(
    channels: int, data_format: str, rng: np.random.Generator
) -> None:
    """Less than four times input, output and the input once per place in the kernel."""
    x = in_format(rng.normal(size=(8, 28, 28, channels)), data_format).copy()
    w = rng.normal(size=(3, 3, channels, 32))
    y = K.conv2d(x, w, 1, "same", data_format)
    bound = x.nbytes + y.nbytes + 9 * x.nbytes
    how = ((1, 1), "same", data_format, (1, 1))
    for program in (
        lambda: K.conv2d(x, w, 1, "same", data_format),
        lambda: K.native["conv_input_adjoint"](y, x, w, *how),
        lambda: K.native["conv_kernel_adjoint"](y, x, w, *how),
    ):
        program()
        tracemalloc.start()
        program()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2 * bound


# --- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float64"])
def test_result_dtypes(dtype: str) -> None:
    x = np.array([[0, 1], [1, 1]], dtype)
    counted = "int32" if dtype == "bool" else dtype
    floating = dtype if dtype.startswith("float") else "float32"
    for name, expected in {
        **dict.fromkeys(("square", "abs", "sign", "round", "identity", "max", "min"), dtype),
        **dict.fromkeys(("sum", "prod", "cumsum", "cumprod"), counted),
        **dict.fromkeys(("mean", "var", "std", "logsumexp", "exp", "sqrt", "sin"), floating),
        **dict.fromkeys(("relu", "elu", "softmax", "softplus", "sigmoid", "tanh"), floating),
        **dict.fromkeys(("any", "all"), "bool"),
        **dict.fromkeys(("argmax", "argmin"), "int64"),
    }.items():
        function = getattr(K, name)
        recorded = function(K.constant(x, dtype))
        assert function(x).dtype == expected, name
        assert recorded.dtype == expected, name
        assert K.eval(recorded).dtype == expected, name


def test_bool_is_no_number() -> None:
    mask = np.array([True, False])
    for x in (mask, K.constant(mask, "bool")):
        for operate in (
            lambda a: K.pow(a, a),
            lambda a: K.subtract(a, a),
            lambda a: K.negative(a),
            lambda a: K.mod(a, a),
            lambda a: K.floor_divide(a, a),
        ):
            with pytest.raises(DTypeError, match="not for bools"):
                operate(x)
    assert K.eval(1 - K.constant(mask, "bool")).tolist() == [0, 1]


def test_integers_to_negative_powers() -> None:
    x = np.array([1, 2, 3], "int32")
    assert K.pow(x, 2).tolist() == [1, 4, 9]
    for base in (x, K.constant(x, "int32")):
        with pytest.raises(ArgumentError, match="an integer to"):
            K.eval(K.pow(base, -1))
    assert K.pow(x, -1.0).dtype == np.float32


def test_half_precision_is_added_up_in_single() -> None:
    x = np.full(4096, 0.1, "float16")
    exact = x.astype("float64")
    for name in ("sum", "mean", "var", "std", "logsumexp"):
        found = getattr(K, name)(x)
        assert found.dtype == np.float16
    np.testing.assert_allclose(K.sum(x), exact.sum(), rtol=5e-4)
    np.testing.assert_allclose(K.mean(x), exact.mean(), rtol=5e-4)
    np.testing.assert_allclose(K.cumsum(x)[-1], exact.sum(), rtol=5e-4)
    assert K.var(x) == 0.0
    assert K.mean(np.full(100_000, 60_000.0, "float16")) == 60_000.0


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([[-1.5, 0.5], [2.0, 3.0]]).astype(ml_dtypes.bfloat16)
    programs = {
        "exp": K.exp(x),
        "relu": K.relu(x, 0.5, 2.0, 1.0),
        "softmax": K.softmax(x),
        "sum": K.sum(x, axis=0),
        "std": K.std(x),
        "dot": K.dot(x, x),
        "clip": K.clip(x, 0.0, 1.0),
        "power": K.pow(x, 2.0),
    }
    exact = x.astype("float64")
    oracles = {
        "exp": np.exp(exact),
        "relu": np.array([[-1.25, -0.25], [2.0, 2.0]]),
        "softmax": special.softmax(exact, -1),
        "sum": exact.sum(0),
        "std": exact.std(),
        "dot": exact @ exact,
        "clip": exact.clip(0, 1),
        "power": exact**2,
    }
    for name, found in programs.items():
        assert found.dtype == ml_dtypes.bfloat16, name
        np.testing.assert_allclose(found.astype("float64"), oracles[name], rtol=1e-2, err_msg=name)
    v = K.variable(exact, dtype="bfloat16")
    loss = K.sum(K.square(v) * 0.5 + 1.0)
    assert loss.dtype == "bfloat16"
    assert K.eval(K.gradients(loss, v)[0]).astype("float64").tolist() == exact.tolist()


def test_scalars_alone_keep_their_own_dtype() -> None:
    x = np.array([3.0, 4.0])
    norm = K.sqrt(K.sum(K.square(x)))
    assert norm == 5.0
    assert norm.dtype == np.float64
    assert K.divide(norm, 2).dtype == np.float64
    assert K.add(np.ones(2, "float32"), np.float64(1.0)).dtype == np.float32  # beside an array


# --- warnings, which are errors in this suite ----------------------------------------------------


SILENT = {
    "divide": lambda: K.divide(np.array([1.0, 0.0]), np.array([0.0, 0.0])),
    "floor_divide": lambda: K.floor_divide(np.array([1, 0]), np.array([0, 0])),
    "mod": lambda: K.mod(np.array([1, 0]), np.array([0, 0])),
    "log": lambda: K.log(np.array([0.0, -1.0])),
    "exp": lambda: K.exp(np.array([1e4])),
    "square": lambda: K.square(np.array([1e300])),
    "pow": lambda: K.pow(np.array([0.0]), np.array([-1.0])),
    "add": lambda: K.add(np.array([np.inf]), np.array([-np.inf])),
    "sin": lambda: K.sin(np.array([np.inf])),
    "sum": lambda: K.sum(np.array([1e308, 1e308])),
    "prod": lambda: K.prod(np.array([1e308, 1e308])),
    "mean": lambda: K.mean(np.zeros((0, 2)), axis=0),
    "var": lambda: K.var(np.zeros((0, 2)), axis=0),
    "dot": lambda: K.dot(np.full((2, 2), np.inf), np.array([[0.0, 1.0], [1.0, -1.0]])),
    "softmax": lambda: K.softmax(np.array([-np.inf, -np.inf])),
    "cast_nan": lambda: K.cast(np.array([np.nan, 1e30]), "int32"),
    "cast_overflow": lambda: K.cast(np.array([1e300]), "float32"),
    "logsumexp": lambda: K.logsumexp(np.array([-np.inf])),
    "recorded": lambda: K.eval(K.constant([1.0]) / K.constant([0.0])),
    "function": lambda: K.function([], K.log(K.constant([0.0])))([]),
}


@pytest.mark.parametrize("name", SILENT)
def test_floating_point_faults_are_silent(name: str) -> None:
    program = SILENT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = program()
    with np.errstate(all="raise"):
        second = program()
    np.testing.assert_array_equal(first, second)


def test_floating_point_faults_are_silent_without_any_settings() -> None:
    """The filter that the backend sets hides what the fast path lets NumPy say."""
    x = np.array([0.0, -1.0])
    with warnings.catch_warnings(record=True) as said:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        np.log(x)
    assert said
    code = (
        "import warnings, numpy as np; warnings.simplefilter('default')\n"
        "import kbridge; K = kbridge.load_backend('numpy'); x = np.zeros(2)\n"
        "K.log(x), K.divide(x, x), K.sigmoid(x - np.inf), K.mean(x[:0]), K.exp(x + 1e4)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""


# --- memory that is not shared -------------------------------------------------------------------


def test_values_handed_out_are_copies() -> None:
    v = K.variable([1.0, 2.0])
    x = K.placeholder((2,))
    given = np.array([5.0, 6.0], "float32")
    f = K.function([x], [x, v, K.reshape(x, (1, 2)), K.identity(x)], updates=[K.update(v, x)])
    outs = [K.get_value(v), K.eval(v), np.asarray(v), K.eval(K.reshape(v, (2, 1))), *f([given])]
    for out in outs:
        assert out.flags.writeable
        out[...] = -1.0
    assert given.tolist() == [5.0, 6.0]
    given[0] = 7.0
    assert K.get_value(v).tolist() == [5.0, 6.0]
    a = np.array([1.0, 2.0])
    for copy in (K.identity(a), K.eval(a), K.get_value(K.constant(a))):
        copy[0] = 9.0
    assert a.tolist() == [1.0, 2.0]


def test_a_view_of_a_variable_cannot_change_it() -> None:
    v = K.variable([[1.0, 2.0]])
    with K.eager_scope():
        view = K.reshape(v, (2,))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5.0
    assert K.get_value(v).tolist() == [[1.0, 2.0]]
    K.set_value(v, np.array([[3.0, 4.0]]))
    with pytest.raises(ValueError, match="read-only"):
        v.value[0] = 5.0


# --- picking -------------------------------------------------------------------------------------


def test_gather_names_the_index_and_the_range() -> None:
    table = np.arange(6.0).reshape(3, 2)
    assert K.gather(table, np.array([[2, 0]])).tolist() == [[[4.0, 5.0], [0.0, 1.0]]]
    assert K.gather(table, np.zeros((0,), "int32")).shape == (0, 2)
    assert K.gather(table, np.array([1], "uint8")).tolist() == [[2.0, 3.0]]
    for wrong in (3, -1, -4):
        for indices in (np.array([0, wrong]), np.array([[wrong]], "int32")):
            with pytest.raises(IndexRangeError, match=rf"index {wrong} .*\[0, 3\)"):
                K.gather(table, indices)


def test_slice_must_lie_inside() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert K.slice(x, (0, 1), (-1, 2)).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    with pytest.raises(ShapeError, match="past axis 1"):
        K.slice(x, (0, 2), (2, 2))
    p = K.placeholder((None, None))
    with pytest.raises(ShapeError, match="past axis 1"):
        K.function([p], K.slice(p, (0, 2), (2, 2)))([x])


@pytest.mark.parametrize("pairs", [((0, 0), (1, 2)), ((2, 0), (0, 0)), ((0, 0), (0, 0))])
@pytest.mark.parametrize("value", [0.0, -1.5])
def test_pad_against_numpy(pairs: Any, value: float, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3))
    found = K.eval(K.pad(K.constant(x, "float64"), pairs, value))
    np.testing.assert_array_equal(found, np.pad(x, pairs, constant_values=value))


# --- adjoints: <A x, y> is <x, A* y> -------------------------------------------------------------


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize(
    ("strides", "padding", "dilation"),
    [((1, 1), "valid", (1, 1)), ((2, 3), "same", (1, 1)), ((1, 1), "same", (2, 1))],
)
def test_convolution_adjoints(
    strides: Any, padding: str, dilation: Any, data_format: str, rng: np.random.Generator
) -> None:
    how = (strides, padding, data_format, dilation)
    x = in_format(rng.normal(size=(2, 7, 8, 9)), data_format)
    w = rng.normal(size=(3, 2, 9, 4))
    y = K.conv2d(x, w, *how)
    g = rng.normal(size=y.shape)
    product = np.sum(y * g)
    np.testing.assert_allclose(np.sum(x * K.native["conv_input_adjoint"](g, x, w, *how)), product)
    np.testing.assert_allclose(np.sum(w * K.native["conv_kernel_adjoint"](g, x, w, *how)), product)


def test_threads_share_a_function() -> None:
    """Suppressing warnings is per thread, and the plan has no state."""
    x = K.placeholder((2,))
    f = K.function([x], [K.log(x) / x])
    results: list[Any] = [None] * 4

    def work(i: int) -> None:
        with np.errstate(all="raise"):
            results[i] = [f([np.zeros(2)])[0].tolist() for _ in range(50)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(r == [[-np.inf, -np.inf]] * 50 for r in results)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: K.argmax(x, axis=None),
        lambda x: K.softmax(x, axis=None),
        lambda x: K.repeat_elements(x, 2, None),
        lambda x: K.concatenate([x, x], axis=None),
        lambda x: K.squeeze(x, None),
        lambda x: K.expand_dims(x, None),
        lambda x: K.permute_dimensions(x, None),
        lambda x: K.stack([x, x], axis=None),
        lambda x: K.cumsum(x, None),
    ],
)
def test_what_numpy_would_do_along_all_axes_is_an_error(program: Any) -> None:
    with pytest.raises((TypeError, ShapeError)) as caught:
        program(np.ones((2, 1)))
    assert "K." in str(caught.value)


def test_an_update_does_not_keep_what_the_caller_may_change() -> None:
    x = K.placeholder((2, 1, 1, 1))
    n = K.placeholder((2,), dtype="int32")
    v, w = K.variable(np.zeros((2, 1, 1, 1))), K.variable([0, 0], dtype="int32")
    pooled = K.pool2d(x, (1, 1), (1, 1), "valid", "channels_last")
    f = K.function([x, n], [], updates=[K.update(v, pooled), K.update(w, K.round(n))])
    a, b = np.ones((2, 1, 1, 1), "float32"), np.array([1, 2], "int32")
    f([a, b])
    a[...], b[...] = 5.0, 5
    assert K.get_value(v).ravel().tolist() == [1.0, 1.0]
    assert K.get_value(w).tolist() == [1, 2]
    assert a.flags.writeable
    assert b.flags.writeable
