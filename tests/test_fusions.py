"""Nodes that PyTorch computes together: the plans hold one call, the values are those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge.symbolic.plan import generate

K = kbridge.load_backend("torch")
HOST = kbridge.load_backend("numpy")
VALUES = np.random.default_rng(3).normal(size=(4, 2, 3))

PROGRAMS = {
    "x - 0.5 * a": lambda x, a, b: x - 0.5 * a,
    "x - a * 0.5": lambda x, a, b: x - a * 0.5,
    "x + 0.5 * a": lambda x, a, b: x + 0.5 * a,
    "x + a * 0.5": lambda x, a, b: x + a * 0.5,
    "x + a * b": lambda x, a, b: x + a * b,
    "a * b + x": lambda x, a, b: a * b + x,
    "x - a * b": lambda x, a, b: x - a * b,
    "x + a / b": lambda x, a, b: x + a / b,
    "x - a / b": lambda x, a, b: x - a / b,
    "a row": lambda x, a, b: x - a[0, 0] * b[0],
}


def lines(outputs: list[Any], inputs: list[Any]) -> list[str]:
    source = generate(K, inputs, outputs).source
    return [line for line in source.splitlines() if " = " in line and "(" in line]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_nodes_become_one(name: str, dtype: str) -> None:
    program = PROGRAMS[name]
    results = []
    for backend in (K, HOST):
        fed = [backend.placeholder((None, 3), dtype=dtype) for _ in range(3)]
        out = program(*fed)
        gradients = backend.gradients(backend.sum(out * out), fed)
        kept = [g for g in gradients if g is not None]
        results.append(backend.function(fed, [out, *kept])(list(VALUES[:3].astype(dtype))))
    for ours, expected in zip(*results, strict=True):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=1e-6)
    fed = [K.placeholder((None, 3), dtype=dtype) for _ in range(3)]
    reads = 2 if name == "a row" else 0
    assert len(lines([program(*fed)], fed)) == 1 + reads


def test_what_is_read_elsewhere_stays() -> None:
    x, a = K.placeholder((3,)), K.placeholder((3,))
    product = 0.5 * a
    assert len(lines([x - product, product], [x, a])) == 2
    assert len(lines([x - product, product + 1.0], [x, a])) == 3
    total = x - product
    assert len(lines([total, *K.gradients(K.sum(total), [product])], [x, a])) > 3


def test_a_product_that_is_fed_keeps_the_value_fed() -> None:
    x, a = K.placeholder((3,)), K.placeholder((3,))
    product = 0.5 * a
    f = K.function([x, product], [x - product])
    assert f([np.ones(3), np.ones(3)])[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_other_dtypes_stay(dtype: str) -> None:
    x, a = K.placeholder((3,), dtype=dtype), K.placeholder((3,), dtype=dtype)
    assert len(lines([x - a * a], [x, a])) == 2


def test_numbers_on_the_left_and_integers_stay() -> None:
    a = K.placeholder((3,))
    assert K.function([a], [1.0 - a * a])([np.full(3, 2.0)])[0].tolist() == [-3.0] * 3
    assert K.function([a], [a - 2 * a])([np.full(3, 2.0)])[0].tolist() == [-2.0] * 3


def test_both_operands_of_a_sum_may_be_products() -> None:
    m, g = K.placeholder((3,)), K.placeholder((3,))
    assert len(lines([0.9 * m + 0.1 * g], [m, g])) == 2
    f = K.function([m, g], [0.9 * m + 0.1 * g])
    np.testing.assert_allclose(f([np.ones(3), np.ones(3)])[0], np.ones(3), rtol=1e-6)


def test_shapes_that_do_not_fit_are_named_by_the_operation() -> None:
    x, a, b = (K.placeholder((None, None)) for _ in range(3))
    f = K.function([x, a, b], [x - a * b])
    with pytest.raises(kbridge.errors.ShapeError, match=r"K\.multiply"):
        f([np.ones((2, 2)), np.ones((2, 3)), np.ones((2, 4))])


def test_products_of_matrices() -> None:
    """With a matrix, a vector, as a bias, and where one of them broadcasts over the other."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(3, 2))
    others = [rng.normal(size=size) for size in ((4, 2), (2,), (1, 2), (4, 1))]
    for at, other in enumerate(others):
        results = []
        for backend in (K, HOST):
            shape = (None,) * other.ndim
            fed = [backend.placeholder(s) for s in (shape, (None, 3), (3, 2))]
            x, left, right = fed
            out = backend.dot(left, right)
            out = backend.bias_add(out, x) if at == 1 else x + out
            slopes = backend.gradients(backend.sum(backend.square(out)), fed)
            results.append(backend.function(fed, [out, *slopes])([other, a, b]))
            if backend is K:
                assert len(lines([out], fed)) == 1
        for ours, expected in zip(*results, strict=True):
            np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=1e-5)
    x, left, right = K.placeholder((None, 2)), K.placeholder((None, 3)), K.placeholder((3, 2))
    one_row = K.function([x, left, right], [x + K.dot(left, right)])
    found = one_row([others[0], a[:1], b])[0]
    np.testing.assert_allclose(found, others[0] + a[:1] @ b, rtol=2e-5, atol=1e-5)
    with pytest.raises(kbridge.errors.ShapeError, match=r"K\.add"):
        one_row([others[0], a[:3], b])


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_convolution_adds_its_bias(rank: int, data_format: str) -> None:
    rng = np.random.default_rng(0)
    shape = [2, *(5,) * rank, 3] if data_format == "channels_last" else [2, 3, *(5,) * rank]
    values = [rng.normal(size=size) for size in (shape, [2] * rank + [3, 4], [4])]
    results = []
    for backend in (K, HOST):
        fed = [backend.placeholder((None, *v.shape[1:])) for v in values[:1]]
        fed += [backend.placeholder(v.shape) for v in values[1:]]
        x, kernel, bias = fed
        conv = getattr(backend, f"conv{rank}d")
        out = conv(x, kernel, padding="same", data_format=data_format)
        out = backend.bias_add(out, bias, data_format=data_format)
        slopes = backend.gradients(backend.sum(backend.square(out)), fed)
        results.append(backend.function(fed, [out, *slopes])(values))
        if backend is K:
            assert len(lines([out], fed)) == 1
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_a_convolution_keeps_another_bias_apart() -> None:
    """In another layout, of a bias that is no vector, and where sizes differ, which is an error."""
    x, kernel, bias = (K.placeholder(shape) for shape in ((None, 5, 4), (2, 4, 4), (None,)))
    out = K.conv1d(x, kernel, data_format="channels_last")
    assert len(lines([K.bias_add(out, bias, data_format="channels_first")], [x, kernel, bias])) == 2
    whole = K.placeholder((4, 4))
    assert len(lines([K.bias_add(out, whole, "channels_last")], [x, kernel, whole])) == 2
    f = K.function([x, kernel, bias], [K.bias_add(out, bias, data_format="channels_last")])
    fed = [np.ones((1, 5, 4)), np.ones((2, 4, 4))]
    assert f([*fed, np.ones(4)])[0].shape == (1, 4, 4)
    for size in (1, 3):
        with pytest.raises(kbridge.errors.ShapeError, match=r"K\.bias_add"):
            f([*fed, np.ones(size)])
