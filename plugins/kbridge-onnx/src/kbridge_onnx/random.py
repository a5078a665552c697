"""Draws inside compiled functions: a counter-based generator in ONNX's integer arithmetic.

A draw's numbers are a hash of its seed, its position in the stream and the number of the element
(D. Lemire's and G. Steele's splitmix64): so they come anew at each call, repeat with an explicit
seed, and differ at each step of a loop. ONNX's own random operators can do none of that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic import dtypes
from kbridge_onnx.elementwise import wide_where
from kbridge_onnx.graph import emit, numbered, primitive, to, wide
from kbridge_onnx.shaping import _listed, _size

_GOLDEN, _FIRST, _SECOND = (
    np.uint64(n).view(np.int64)
    for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def key_of(seed: int, position: Any) -> Any:
    """What the random primitives take as ``seed`` inside a compiled function."""
    position, *steps = position if isinstance(position, tuple) else (position,)
    key: Any = np.uint64(int(seed) & 0xFFFFFFFFFFFFFFFF).view(np.int64)
    for part in (position, *steps):
        key = _mixed(key + (part + 1) * _GOLDEN)
    return key


def _mixed(x: Any) -> Any:
    """splitmix64's finalizer: int64 arithmetic wraps, and shifts are of unsigned numbers."""
    for shift, factor in ((30, _FIRST), (27, _SECOND), (31, None)):
        moved = emit("BitShift", to(x, "uint64"), np.uint64(shift), direction="RIGHT")
        x = emit("BitwiseXor", x, to(moved, "int64"))
        x = x if factor is None else x * factor
    return x


def _uniform(sizes: Any, key: Any, salt: int = 0) -> Any:
    """Numbers in (0, 1) of 52 bits, float64."""
    start = _mixed(key + salt) if salt else key
    bits = _mixed((numbered(sizes) + 1) * _GOLDEN + start)
    high = emit("BitShift", to(bits, "uint64"), np.uint64(12), direction="RIGHT")
    return (to(to(high, "int64"), "float64") + 0.5) * 2.0**-52


def _sizes(shape: Any) -> list[Any]:
    return [_size(n) for n in _listed(shape)]


def _scaled(values: Any, factor: Any, offset: Any, dtype: str) -> Any:
    return to(values * to(factor, "float64") + to(offset, "float64"), dtype)


@primitive
def random_uniform(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> Any:
    values = _uniform(_sizes(shape), seed)
    if not dtypes.is_float(dtype):
        whole = emit("Floor", values * float(int(maxval) - int(minval)))
        return to(to(whole, "int64") + int(minval), dtype)
    found = _scaled(values, maxval - minval, minval, dtype)
    if not maxval > minval:
        return found
    number = dtypes.to_numpy(dtype).type
    below = np.nextafter(number(maxval), number(minval))
    return wide_where(wide("Less", found, number(maxval)), found, below)


@primitive
def random_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    """The transform of Box and Muller."""
    sizes = _sizes(shape)
    radius = emit("Sqrt", emit("Log", _uniform(sizes, seed)) * -2.0)
    angle = _uniform(sizes, seed, 1) * (2 * np.pi)
    return _scaled(radius * emit("Cos", angle), stddev, mean, dtype)


#: M. Giles, Approximating the erfinv function (2011), for numbers up to some 0.9966.
_ERFINV = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)


@primitive
def truncated_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    """The inverse of the distribution between -2 and 2, by the inverse error function."""
    reach = 0.9544997361036416  # erf(2 / sqrt(2))
    y = _uniform(_sizes(shape), seed) * (2 * reach) - reach
    w = -emit("Log", 1 - y * y) - 2.5
    p: Any = _ERFINV[0]
    for factor in _ERFINV[1:]:
        p = p * w + factor
    found = emit("Max", emit("Min", p * y * np.sqrt(2), 2.0), -2.0)
    return _scaled(found, stddev, mean, dtype)
