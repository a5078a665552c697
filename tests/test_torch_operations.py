"""Every primitive of the PyTorch backend beside the NumPy one: now, recorded, and its gradients.

The conformance suite asks whether a backend keeps the contract; here are the places where
PyTorch itself differs from it: dtypes that it would widen, axes that it lacks, precision on the
CPU, and its own autograd through the eager functions.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import kbridge  # noqa: E402
from kbridge import errors  # noqa: E402
from kbridge.binding import OPERATIONS  # noqa: E402

K = kbridge.load_backend("torch")
N = kbridge.load_backend("numpy")

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int32", "uint8")
ALL = (*FLOATS, *INTEGERS, "bool")
TOLERANCE = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}


class T:
    """An operand of a shape; ``low`` and ``high`` bound its values."""

    def __init__(self, *shape, low=-2.0, high=2.0, dtype=None):
        self.shape, self.low, self.high, self.dtype = shape, low, high, dtype

    def make(self, dtype, rng):
        dtype = self.dtype or dtype
        if dtype == "bool":
            return rng.random(self.shape) < 0.5
        low = max(self.low, 0) if dtype.startswith("u") else self.low
        if dtype.startswith("float"):
            return rng.uniform(low, self.high, self.shape).astype(dtype)
        return rng.integers(int(np.ceil(low)), int(self.high) + 1, self.shape).astype(dtype)

    def __repr__(self):
        return f"T{self.shape}"


class P(T):
    """A positive operand."""

    def __init__(self, *shape, **keywords):
        super().__init__(*shape, **{"low": 1.0, "high": 3.0, **keywords})


X, Y, ROW = T(3, 4), T(3, 4), T(4)
CUBE = T(2, 3, 4)
IMAGE = T(2, 5, 6, 3)
I32 = {"dtype": "int32"}

# Per operation: the dtypes to try, then tuples of arguments.
TABLE = {
    **{name: (ALL, [(X,), (T(),)]) for name in ("abs", "identity", "transpose", "flatten")},
    **{name: (ALL, [(X, Y), (CUBE, ROW), (X, T())]) for name in ("equal", "not_equal", "less")},
    **{name: (ALL, [(X, Y), (X, 1.0), (1.0, X), (X, T(dtype="float16"))]) for name in
       ("greater", "greater_equal", "less_equal")},
    **{name: ((*FLOATS, *INTEGERS), [(X,)]) for name in ("square", "sign", "negative", "round")},
    **{name: (ALL, [(X,), (T(),)]) for name in
       ("exp", "sin", "cos", "tanh", "sigmoid", "softsign", "softplus", "elu", "relu")},
    **{name: (ALL, [(P(3, 4),)]) for name in ("sqrt", "log")},
    **{name: (ALL, [(X, Y), (CUBE, ROW), (X, T(4, dtype="float32"))]) for name in
       ("add", "multiply", "maximum", "minimum")},
    **{name: ((*FLOATS, *INTEGERS), [(X, P(3, 4)), (X, 2.0), (2.5, P(3, 4)), (X, P(dtype="int64"))])
       for name in ("subtract", "divide", "mod", "floor_divide", "maximum_", "minimum_", "add_")},
    "pow": ((*FLOATS, "int32"), [(P(3, 4), P(4)), (P(3, 4), 2.0), (2.0, X), (P(3, 4), 2)]),
    **{name: (ALL, [(X, Y), (X, T(4, dtype="float32"))]) for name in
       ("logical_and", "logical_or", "logical_xor")},
    "logical_not": (ALL, [(X,)]),
    "clip": ((*FLOATS, *INTEGERS), [(X, 0, 1), (X, None, 1.0), (X, 0.0, None), (X, 1.0, -1.0),
             (X, None, None), (X, ROW, T(4)), (X, 0.5, ROW)]),
    "where": (ALL, [(T(3, 1, dtype="bool"), X, ROW), (Y, X, Y), (Y, X, 0), (X, 1.5, X)]),
    "choose": (ALL, [(T(dtype="bool"), X, Y), (T(), X, Y)]),
    "cast": (ALL, [(X, d) for d in ("float16", "float64", "bool")] + [(P(3, 4), "uint8")]),
    "matmul": ((*FLOATS, *INTEGERS), [(X, T(4, 2)), (CUBE, T(2, 4, 2)), (ROW, ROW), (CUBE, ROW)]),
    "dot": ((*FLOATS, *INTEGERS), [(X, T(4, 2)), (CUBE, T(5, 4, 2)), (ROW, ROW), (CUBE, ROW),
            (ROW, T(5, 4, 2)), (T(), X), (CUBE, T(4, 2))]),
    "batch_dot": ((*FLOATS, *INTEGERS), [(CUBE, T(2, 4, 5)), (X, Y, 1), (CUBE, T(2, 5, 4), (2, 2)),
                  (CUBE, T(2, 4), (2, 1)), (T(2, 3, 4, 5), T(2, 4, 6), [2, -2]), (X, Y)]),
    **{name: (ALL, [(CUBE, axis, keep) for axis in (None, 0, -1, (0, 2), [1], (), [])
                    for keep in (False, True)] + [(T(),), (T(3), np.int64(0))]) for name in
       ("max", "min", "sum", "mean", "var", "any", "all", "logsumexp")},
    "prod": (ALL, [(P(2, 3, 4, high=1.5), axis, keep) for axis in (None, 0, -1, (0, 2), ())
                   for keep in (False, True)]),
    **{name: (ALL, [(CUBE, 0), (CUBE, -1)]) for name in ("argmax", "argmin", "cumsum", "cumprod")},
    "reshape": (ALL, [(X, (2, -1)), (X, [12]), (X, 12), (X, np.array([4, 3])), (T(1), ())]),
    "permute_dimensions": (ALL, [(CUBE, (2, 0, 1)), (CUBE, [1, -1, 0]),
                                 (CUBE, np.array([0, 2, 1]))]),
    "concatenate": (ALL, [([X, T(3, 2)],), ([X, T(2, 4, dtype="float32")], 0), ([X], 1)]),
    "stack": (ALL, [([X, Y],), ([X, Y], -1), ([X, T(3, 4, dtype="int32")], 1)]),
    "repeat_elements": (ALL, [(CUBE, 2, 1), (CUBE, np.int64(3), -1)]),
    "repeat": (ALL, [(X, 3)]),
    "tile": (ALL, [(X, (2, 1)), (X, 2), (ROW, [2, 1, 3]), (X, np.array([1, 2]))]),
    "batch_flatten": (ALL, [(CUBE,), (ROW,), (T(0, 2, 3),)]),
    "expand_dims": (ALL, [(X,), (X, 0), (X, -2)]),
    "squeeze": (ALL, [(T(3, 1), 1), (T(1, 3, 1), (0, -1)), (T(1, 3), np.int64(0))]),
    "pad": (ALL, [(X, ((1, 0), (2, 1))), (X, ((0, 0), (1, 1)), 1.0)]),
    "gather": (ALL, [(X, T(2, 2, low=0, **I32)), (X, T(low=0, **I32)),
                     (ROW, T(3, low=0, dtype="uint8")), (CUBE, T(0, low=0, high=1, **I32))]),
    "one_hot": ((*INTEGERS, "bool"), [(X, 3), (T(), np.int64(2))]),
    "reverse": (ALL, [(X, 1), (X, [0, 1]), (X, (-1,)), (X, ())]),
    "slice": (ALL, [(X, (1, 0), (2, -1)), (X, [0, 1], [-1, 2]), (ROW, 1, 2),
                    (X, np.array([1, 1]), np.array([1, 2]))]),
    "getitem": (ALL, [(CUBE, key) for key in (
        (1,), (-1, ..., 0), (slice(None), slice(None, None, 2)), (slice(None, None, -1),),
        (..., slice(3, 0, -2)), (None, slice(0, 0), 1), (np.array([1, 0, 1]),),
        (slice(None), np.array([[0, 2]])), (0, np.array([1, 1])), (..., np.array([0, -1]), 2),
        (slice(5, None, -1), None, np.array([1])), (slice(0, 2, -1),))]),
    "full_like": (ALL, [(X, 1), (X, 2.0, "float64")]),
    "softmax": (ALL, [(X,), (CUBE, 1)]),
    "relu_": (ALL, [(X, 0.1), (X, 0.0, 1.5), (X, 0.25, 1.5, 0.5), (X, 1.0, 1.0, -1.0),
              (X, 0.0, None, -0.5), (X, ROW), (X, 0, 1)]),
    "elu_": (FLOATS, [(X, 0.5)]),
    "bias_add": (ALL, [(X, ROW), (CUBE, ROW, "channels_last"), (CUBE, T(3), "channels_first"),
                 (CUBE, T(3, 4)), (CUBE, T(4, 3), "channels_first"), (CUBE, T(1, 4))]),
    "batch_normalization": (FLOATS, [(CUBE, ROW, P(4), ROW, ROW), (CUBE, T(3), P(3), T(3), T(3), 1),
                            (CUBE, ROW, P(4), None, None, -1, 0.5), (CUBE, ROW, P(4), None, ROW),
                            (CUBE, T(1, 3, 1), P(1, 3, 1), T(1, 3, 1), None, 1)]),
    "conv2d": (FLOATS, [
        (IMAGE, T(3, 2, 3, 4), *rest) for rest in (
            (), ((1, 1), "same"), ((2, 2), "same"), ((2, 1), "same"), ((2, 2), "valid"),
            ((1, 1), "same", None, (2, 2)), (2, "same", "channels_last"))
    ] + [(T(2, 3, 5, 6), T(2, 3, 3, 4), (1, 2), "same", "channels_first")]),
    "pool2d": (FLOATS, [
        (IMAGE, size, steps, padding, None, mode)
        for size, steps in (((2, 2), (1, 1)), ((3, 2), (2, 1)), ((2, 3), (3, 2)), ((3, 3), (1, 1)))
        for padding in ("same", "valid") for mode in ("max", "avg")
    ] + [(T(2, 3, 5, 6), 2, 2, "same", "channels_first", "avg")]),
    "pool3d": (FLOATS, [
        (T(1, 3, 4, 5, 2), size, steps, padding, None, mode)
        for size, steps in ((2, 1), ((3, 2, 1), (1, 2, 3)), ((1, 3, 2), 2))
        for padding in ("same", "valid") for mode in ("max", "avg")
    ] + [(T(1, 2, 2, 3, 1), (3, 3, 4), 1, "same", "channels_first", "avg")]),
    "enlarge": (ALL, [(IMAGE, (1, 2, 4, 1)), (IMAGE, (1, 3, 2, 1)), (IMAGE, (1, 1, 2, 3)),
                      (IMAGE, (1, 1, 1, 1)), (T(1, 2, 1, 3, 2), (1, 2, 3, 1, 1))]),
    "interpolate": (FLOATS, [(IMAGE, factors, first, half) for factors in ((2, 3), (1, 5))
                             for first in (1, 2) for half in (False, True)]),
    "softmax_cost": (FLOATS, [(T(3, low=0, high=3, **I32), X),
                              (T(2, 3, low=0, high=3, dtype="int64"), CUBE)]),
}  # fmt: skip

CASES = [
    pytest.param(name.rstrip("_"), dtype, args, id=f"{name.rstrip('_')}-{dtype}-{i}")
    for name, (dtypes, cases) in TABLE.items()
    for dtype in dtypes
    for i, args in enumerate(cases)
]


def call(api, name):
    """The function of that name; what only operators record is private, but called alike."""
    if name != "getitem":
        return getattr(api, name)
    return lambda x, key: api.operations["getitem"](x, key)


def mapped(args, function):
    """The arguments with ``function`` applied to the operands in it."""
    return tuple(
        function(a)
        if isinstance(a, T)
        else [function(item) for item in a]
        if isinstance(a, list) and a and isinstance(a[0], T)
        else a
        for a in args
    )


def values(args, dtype):
    rng, found = np.random.default_rng(7), []

    def make(operand):
        found.append(operand.make(dtype, rng))
        return found[-1]

    return mapped(args, make), found


def recorded(api, name, args, arrays):
    source = iter(arrays)
    made = []

    def placeholder(_):
        array = next(source)
        made.append(api.placeholder((None,) * array.ndim, dtype=str(array.dtype)))
        return made[-1]

    return call(api, name)(*mapped(args, placeholder)), made


def natives(api, args, arrays, **keywords):
    source = iter(arrays)

    def native(_):
        array = next(source)
        made = api.engine.from_numpy(array, str(array.dtype))
        if keywords and array.dtype.kind == "f":
            made.requires_grad_()
        tensors.append(made)
        return made

    tensors = []
    return mapped(args, native), tensors


def agree(got, want, dtype):
    assert str(got.dtype) == dtype
    assert got.shape == want.shape
    limit = TOLERANCE.get(dtype, 0.0)
    np.testing.assert_allclose(
        got.astype("float64"), want.astype("float64"), rtol=limit, atol=limit
    )


@pytest.mark.parametrize(("name", "dtype", "args"), CASES)
@pytest.mark.filterwarnings("ignore:(invalid|divide by zero):RuntimeWarning")
def test_now_and_recorded_as_on_numpy(name, dtype, args):
    _, arrays = values(args, dtype)
    reference, made = recorded(N, name, args, arrays)
    want = np.asarray(N.function(made, [reference])(arrays)[0])

    result, made = recorded(K, name, args, arrays)
    agree(np.asarray(K.function(made, [result])(arrays)[0]), want, reference.dtype)

    operands, tensors = natives(K, args, arrays)
    now = call(K, name)(*operands)
    assert type(now) is torch.Tensor
    agree(K.eval(now), want, reference.dtype)
    for tensor, array in zip(tensors, arrays, strict=True):
        assert np.array_equal(tensor, array)  # nothing works in place


def smooth(name, dtype):
    op = OPERATIONS[name]
    return dtype == "float64" and op.differentiable and name != "sign"


@pytest.mark.parametrize(
    ("name", "args"), [(c.values[0], c.values[2]) for c in CASES if smooth(*c.values[:2])]
)
@pytest.mark.filterwarnings("ignore:(invalid|divide by zero):RuntimeWarning")
def test_gradients(name, args):
    _, arrays = values(args, "float64")
    result, made = recorded(K, name, args, arrays)
    if result.dtype != "float64":
        return
    weight = np.cos(np.arange(K.function(made, [K.size(result)])(arrays)[0]) + 1.0)
    loss = K.sum(K.flatten(result) * K.constant(weight, dtype="float64"))
    at = [i for i, array in enumerate(arrays) if array.dtype == "float64"]
    found = K.gradients(loss, [made[i] for i in at])
    f = K.function(made, [loss, *(g for g in found if g is not None)])
    _, *slopes = f(arrays)

    operands, tensors = natives(K, args, arrays, recording=True)
    now = torch.sum(call(K, name)(*operands).reshape(-1) * torch.from_numpy(weight))
    now.backward()
    rng = np.random.default_rng(1)
    connected = [i for i, g in zip(at, found, strict=True) if g is not None]
    for i, slope in zip(connected, slopes, strict=True):
        own = np.zeros(arrays[i].shape) if tensors[i].grad is None else tensors[i].grad
        np.testing.assert_allclose(own, slope, rtol=1e-10, atol=1e-12)
        for _ in range(2):
            way = rng.normal(size=slope.shape)
            sides = [
                f([array + step * way if at == i else array for at, array in enumerate(arrays)])[0]
                for step in (1e-6, -1e-6)
            ]
            want = float(sides[0] - sides[1]) / 2e-6
            np.testing.assert_allclose(np.sum(slope * way), want, rtol=1e-5, atol=1e-6)


def test_the_table_has_every_primitive():
    elsewhere = {"shape", "size", "item", "full", "arange", "stop_gradient"}
    graph_only = {n for n, op in OPERATIONS.items() if op.topic == "adjoint"}
    wanted = {n for n, op in OPERATIONS.items() if op.operand_indices} | set(K.native)
    wanted -= elsewhere | graph_only | {n for n, op in OPERATIONS.items() if op.random}
    wanted = {n for n in wanted if OPERATIONS[n].composition is None or n in K.native}
    # These topics have tests of their own, the convolutions in test_convolution.py.
    wanted -= {n for n in wanted if OPERATIONS[n].topic in ("ctc", "sparse", "printing")}
    wanted -= {n for n in wanted if OPERATIONS[n].topic == "conv"} - {"conv2d"}
    assert wanted == {name.rstrip("_") for name in TABLE}


# --- what a comparison of values does not show -------------------------------------------------


def slope(function, value):
    x = torch.tensor(value, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


def test_gradients_at_kinks():
    zeros = torch.zeros(1)
    assert slope(K.sqrt, [-1.0, 0.0, 4.0]) == [0.0, np.inf, 0.25]
    assert slope(K.abs, [0.0]) == [0.0]
    assert slope(K.sign, [0.0, 3.0]) == [0.0, 0.0]
    assert slope(lambda x: K.maximum(x, zeros), [0.0]) == [0.5]
    assert slope(lambda x: K.maximum(x, 0.0), [0.0]) == [0.5]
    assert slope(lambda x: K.minimum(0.0, x), [0.0]) == [0.5]
    assert slope(K.max, [1.0, 3.0, 3.0]) == [0.0, 0.5, 0.5]
    assert slope(lambda x: K.min(x, axis=(0,)), [1.0, 1.0, 3.0]) == [0.5, 0.5, 0.0]
    pooled = slope(lambda x: K.pool2d(K.reshape(x, (1, 1, 4, 1)), (1, 4)), [0.0, 2.0, 2.0, 2.0])
    assert pooled == [0.0, 1.0, 0.0, 0.0]
    assert slope(K.prod, [0.0, 2.0, 3.0]) == [6.0, 0.0, 0.0]


def test_values_at_the_ends():
    big = torch.tensor([-1000.0, 0.0, 1000.0])
    assert K.softplus(big).tolist() == [0.0, pytest.approx(np.log(2.0)), 1000.0]
    assert K.sigmoid(big).tolist() == [0.0, 0.5, 1.0]
    assert K.softplus(torch.tensor([30.0], dtype=torch.float64)).item() > 30.0
    assert K.logsumexp(big).item() == 1000.0
    assert K.logsumexp(torch.full((2,), -np.inf)).item() == -np.inf
    assert K.round(torch.tensor([-1.5, -0.5, 0.5, 1.5, 2.5])).tolist() == [-2.0, 0.0, 0.0, 2.0, 2.0]
    assert K.relu(torch.tensor([-np.inf, np.nan]), threshold=1.0).tolist()[0] == 0.0
    ints = torch.tensor([2_000_000_000], dtype=torch.int32)
    assert K.sum(ints).dtype is torch.int32


@pytest.mark.parametrize("bad", [3, -1])
@pytest.mark.parametrize("shape", [(1,), (1, 1), ()])
def test_gather_out_of_range(bad, shape):
    table, index = torch.zeros(3, 2), torch.full(shape, bad, dtype=torch.int32)
    with pytest.raises(errors.IndexRangeError, match=rf"index {bad} .*\[0, 3\)"):
        K.gather(table, index)


def test_one_hot_out_of_range_is_zero():
    assert K.one_hot(torch.tensor([5, 0, -1]), 2).tolist() == [[0, 0], [1, 0], [0, 0]]


def test_what_pytorch_would_let_pass():
    x, image = torch.ones(2, 3), torch.ones(3, 4, 4)
    wrong = [
        lambda: K.squeeze(x, 0),
        lambda: K.repeat(torch.ones(3), 2),
        lambda: K.bias_add(x, torch.ones(1)),
        lambda: K.slice(x, (1, 0), (2, 2)),
        lambda: K.slice(x, (-1, 0), (1, 2)),
        lambda: K.dot(x, x),
        lambda: K.conv2d(image, torch.ones(2, 2, 3, 1), data_format="channels_first"),
        lambda: K.pool2d(image, (2, 2), data_format="channels_first"),
        lambda: K.batch_dot(torch.ones(2, 3, 4), torch.ones(1, 4, 5)),
    ]
    for call_it in wrong:
        with pytest.raises(errors.ArgumentError, match=r"^K\."):
            call_it()


@pytest.mark.parametrize("dtype", ["int32", "float32", "int64", "float16"])
@pytest.mark.parametrize(
    "args", [(5,), (0,), (2, 5), (5, 2), (0, 5, 2), (5, 0, -2), (0, 2, 0.5), (3.5,), (1, 1), (-3,)]
)
def test_arange(args, dtype):
    x = K.placeholder(())
    if 0.5 in args and dtype.startswith("int"):
        with pytest.raises(errors.ArgumentError, match="give dtype='float32'"):
            K.arange(*args, dtype=dtype)
        return
    got = K.function([x], [K.arange(*args, dtype=dtype)])([0.0])[0]
    assert got.dtype == dtype
    assert np.array_equal(got, np.arange(*args).astype(dtype))


def test_data_dependent_sizes():
    x, n = K.placeholder((None, 2)), K.placeholder((), dtype="int32")
    f = K.function([x, n], [K.arange(n), K.reshape(x, (n, -1)), K.tile(x, (n, 1)), x[:n], x[n]])
    got = f([np.arange(6.0).reshape(3, 2), 2])
    assert [r.tolist() for r in got[:2]] == [[0, 1], [[0, 1, 2], [3, 4, 5]]]
    assert [r.shape for r in got[2:]] == [(6, 2), (2, 2), (2,)]
