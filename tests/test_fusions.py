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
