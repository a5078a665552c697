"""Convolutions on every engine: second derivatives, and what NumPy's way of them costs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kbridge

NUMPY: Any = kbridge.load_backend("numpy")
LAST, FIRST = "channels_last", "channels_first"

Shape = tuple[int, ...]

#: A function of K and two operands, and their shapes.
CASES: dict[str, tuple[Callable[..., Any], Shape, Shape]] = {
    "conv1d": (lambda K, x, k: K.conv1d(x, k, 2, "same", LAST), (2, 5, 2), (3, 2, 2)),
    "conv1d_causal": (lambda K, x, k: K.conv1d(x, k, 1, "causal", FIRST, 2), (1, 2, 5), (3, 2, 1)),
    "conv2d": (lambda K, x, k: K.conv2d(x, k, 1, "same", LAST, (1, 2)), (1, 4, 5, 2), (2, 2, 2, 1)),
    "conv3d": (lambda K, x, k: K.conv3d(x, k, 2, "same", FIRST), (1, 1, 3, 4, 3), (2, 3, 2, 1, 2)),
    "conv3d_small": (lambda K, x, k: K.conv3d(x, k, 3, "same", LAST), (1, 4, 5, 6, 1), (1,) * 5),
    "conv2d_transpose": (
        lambda K, x, k: K.conv2d_transpose(x, k, (None, 4, 3, 2), 2, "same", LAST),
        (1, 2, 2, 1),
        (3, 2, 2, 1),
    ),
    "conv3d_transpose": (
        lambda K, x, k: K.conv3d_transpose(x, k, (1, 2, 3, 4, 5), (1, 2, 3), "valid", FIRST),
        (1, 1, 2, 2, 2),
        (2, 2, 1, 2, 1),
    ),
    "depthwise_conv2d": (
        lambda K, x, k: K.depthwise_conv2d(x, k, (1, 2), "same", LAST),
        (2, 3, 4, 2),
        (2, 3, 2, 2),
    ),
    "depthwise_dilated": (
        lambda K, x, k: K.depthwise_conv2d(x, k, 1, "same", FIRST, 2),
        (1, 2, 4, 3),
        (2, 2, 2, 1),
    ),
    "separable_conv1d": (
        lambda K, x, k: K.separable_conv1d(x, k, K.ones((1, 4, 2), "float64"), 2, "same", LAST),
        (1, 5, 2),
        (3, 2, 2),
    ),
    "local_conv1d": (
        lambda K, x, k: K.local_conv1d(x, k, (2,), (2,), FIRST),
        (2, 2, 5),
        (2, 4, 3),
    ),
    "local_conv2d": (
        lambda K, x, k: K.local_conv2d(x, k, (2, 1), (1, 2), (2, 2), LAST),
        (1, 3, 4, 2),
        (4, 4, 2),
    ),
}


def _second_derivatives(K: Any, name: str) -> list[Any]:
    """By both operands, of a sum of squares of the derivatives of a sum of squares."""
    function, *shapes = CASES[name]
    rng = np.random.default_rng(len(name))
    values = [rng.normal(size=shape) for shape in shapes]
    inputs = [K.placeholder((None, *values[0].shape[1:]), dtype="float64")]
    inputs.append(K.placeholder(values[1].shape, dtype="float64"))
    first = K.gradients(K.sum(K.square(function(K, *inputs))), inputs)
    second = K.gradients(sum(K.sum(K.square(g)) for g in first), inputs)
    return K.function(inputs, [*first, *second])(values)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_are_those_of_numpy(K: Any, name: str) -> None:
    """Those of the NumPy backend are tested against central differences, rule by rule."""
    found, expected = _second_derivatives(K, name), _second_derivatives(NUMPY, name)
    for f, e in zip(found, expected, strict=True):
        assert np.abs(e).max() > 0
        np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-9 * np.abs(e).max())


@pytest.mark.parametrize("name", CASES)
def test_a_native_call_is_what_is_recorded(K: Any, name: str) -> None:
    function, *shapes = CASES[name]
    rng = np.random.default_rng(len(name))
    values = [rng.normal(size=shape) for shape in shapes]
    natives = [K.engine.from_numpy(value, "float64") for value in values]
    inputs = [K.placeholder((None,) * value.ndim, dtype="float64") for value in values]
    recorded = K.function(inputs, [function(K, *inputs)])(values)[0]
    np.testing.assert_allclose(K.eval(function(K, *natives)), recorded, rtol=1e-12, atol=1e-12)


# --- what it costs on NumPy ----------------------------------------------------------------------


@pytest.mark.parametrize("data_format", [LAST, FIRST])
@pytest.mark.parametrize(
    ("name", "x", "kernel", "how"),
    [
        ("conv1d", (8, 200, 16), (5, 16, 16), (1, "causal")),
        ("conv2d", (8, 28, 28, 16), (3, 3, 16, 32), (2, "same")),
        ("conv3d", (2, 12, 12, 12, 16), (3, 3, 3, 16, 16), (1, "valid")),
        ("depthwise_conv2d", (8, 28, 28, 16), (3, 3, 16, 2), (1, "same")),
    ],
)
def test_numpy_needs_little_memory(
    name: str, x: Shape, kernel: Shape, how: Any, data_format: str
) -> None:
    """Less than four times input, output and the input once per place in the kernel."""
    rng = np.random.default_rng(0)
    a, w = rng.normal(size=x), rng.normal(size=kernel)
    a = a if data_format == LAST else np.moveaxis(a, -1, 1).copy()
    convolve = getattr(NUMPY, name)
    y = convolve(a, w, *how, data_format)
    bound = a.nbytes * (1 + int(np.prod(kernel[:-2]))) + y.nbytes
    full = (*how, data_format, 1, name.startswith("depthwise"))
    for program in (
        lambda: convolve(a, w, *how, data_format),
        lambda: NUMPY.native["conv_input_adjoint"](y, a, w, *full),
        lambda: NUMPY.native["conv_kernel_adjoint"](y, a, w, *full),
    ):
        tracemalloc.start()
        program()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * bound
