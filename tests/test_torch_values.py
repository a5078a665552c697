"""What goes in and out of functions on PyTorch, its draws, and its own options."""

from __future__ import annotations

import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import kbridge  # noqa: E402
from kbridge import errors  # noqa: E402

K = kbridge.load_backend("torch")
RNG = np.random.default_rng(0)


def normal(*shape, dtype="float32"):
    return RNG.normal(size=shape).astype(dtype)


# --- values ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_feeds_of_any_layout():
    x = K.placeholder((None, None))
    f = K.function([x], [x * 1.0, x])
    base = np.arange(12, dtype="float32").reshape(3, 4)
    frozen = base.copy()
    frozen.setflags(write=False)
    cases = [base[::-1, ::-2], base.T, frozen, base.astype("float64"), base.astype(">f4")]
    cases += [base.astype("float16"), base.astype("int32"), base.tolist(), np.zeros((0, 4))]
    cases += [torch.from_numpy(base), torch.from_numpy(base).T.double(), np.float32(base)[1:, ::3]]
    for case in cases:
        for result in f([case]):
            assert result.dtype == "float32"
            assert np.array_equal(result, np.asarray(case, "float32"))
            result[...] = -1.0  # the caller's own
    assert np.array_equal(base, np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int32", "int64", "bool"])
def test_every_dtype_goes_in_and_out(dtype):
    from kbridge.symbolic.dtypes import to_numpy

    value = np.array([[0, 1, 2], [3, 4, 5]]).astype(to_numpy(dtype))
    v, x = K.variable(value, dtype), K.placeholder((2, 3), dtype=dtype)
    for got in (K.get_value(v), K.function([x], [K.identity(x)])([value[::-1]])[0][::-1]):
        assert got.dtype == to_numpy(dtype)
        assert np.array_equal(got, value)
    K.set_value(v, value[::-1])
    assert np.array_equal(K.get_value(v), value[::-1])
    assert v.value.requires_grad == dtype.startswith(("float", "bfloat"))


def test_scalars():
    v, x = K.variable(2.0), K.placeholder(())
    assert K.get_value(v).shape == ()
    assert float(K.function([x], [K.max(x) * v])([np.float32(3.0)])[0]) == 6.0
    assert K.eval(K.sum(torch.tensor(3.0))) == 3.0
    assert K.eval(K.logsumexp(torch.tensor(3.0))) == 3.0


def test_sizes_come_out_of_a_function():
    x = K.placeholder((None, 3))
    shape, size = K.function([x], [K.shape(x), K.size(x)])([np.zeros((5, 3))])
    assert shape.tolist() == [5, 3]
    assert shape.dtype == "int32"
    assert int(size) == 15


# --- draws -------------------------------------------------------------------------------------


def test_draws_are_new_at_each_call_and_repeat_from_run_to_run():
    def drawn(seed, calls):
        f = K.function([], [K.random_uniform((64,), seed=seed)])
        return np.stack([f([])[0] for _ in range(calls)])

    first = drawn(1, 50)
    assert np.array_equal(first, drawn(1, 50))
    assert len(np.unique(np.concatenate([first, drawn(2, 50)]), axis=0)) == 100


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_never_reaches_its_upper_end(dtype):
    f = K.function([], [K.random_uniform((200_000,), -1.0, 3.0, dtype=dtype, seed=0)])
    drawn = f([])[0].astype("float64")
    assert drawn.min() >= -1.0
    assert drawn.max() < 3.0
    assert abs(drawn.mean() - 1.0) < 0.02


def test_moments_of_draws():
    shape = (200_000,)
    f = K.function(
        [],
        [
            K.random_normal(shape, 5.0, 2.0, seed=1),
            K.truncated_normal(shape, 3.0, 2.0, seed=2),
            K.random_uniform(shape, -2, 3, dtype="int32", seed=3),
            K.random_binomial(shape, 0.3, seed=4),
        ],
    )
    bell, cut, whole, binomial = f([])
    assert abs(bell.mean() - 5.0) < 0.02
    assert abs(bell.std() - 2.0) < 0.02
    assert cut.min() >= -1.0
    assert cut.max() <= 7.0
    assert abs(cut.std() - 1.759) < 0.01
    assert np.mean(np.abs(cut - 3.0) > 3.998) < 0.001
    assert whole.dtype == "int32"
    assert np.bincount(whole + 2, minlength=5).min() > 39_000
    assert set(np.unique(binomial)) == {0.0, 1.0}
    assert abs(binomial.mean() - 0.3) < 0.01


def test_keys_of_draws_differ_and_cost_little():
    from kbridge.backends.torch.random import key

    keys = [key(seed, position) for seed in (0, 1, 2**40, -1) for position in range(20_000)]
    assert len(set(keys)) == len(keys)
    low = [k & 0xFFFFFFFF for k in keys[:20_000]]
    assert len(set(low)) == len(low)  # what PyTorch's generator on the CPU reads
    start = time.perf_counter()
    for position in range(20_000):
        key(5, position)
    assert (time.perf_counter() - start) / 20_000 < 20e-6


# --- functions ---------------------------------------------------------------------------------


# torch.compile itself looks at .grad of tensors between the parts that it compiles.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_the_compile_option():
    x, w0 = K.placeholder((None, 3)), normal(3, 2)
    w = K.variable(w0)
    y = K.reshape(K.tanh(K.dot(x, w)), (K.shape(x)[0] * 2,)) + K.random_uniform((1,), seed=1) * 0.0
    updates = [K.update_sub(w, K.gradients(K.sum(y), [w])[0])]
    results = []
    for options in ({}, {"compile": {"backend": "eager"}}):
        K.set_value(w, w0)
        f = K.function([x], [y], updates, **options)
        results.append([f([np.full((n, 3), 0.1)])[0] for n in (1, 4, 4)] + [K.get_value(w)])
    for plain, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-5)
    with pytest.raises(errors.ArgumentError, match="compile"):
        K.function([x], [y], compile="fast")([normal(1, 3)])
    with pytest.raises(errors.ArgumentError, match="donate"):
        K.function([x], [y], donate=True)
