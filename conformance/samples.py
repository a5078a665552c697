"""Operands of the cases: shape, kind and numbers that follow from the case's own name.

A sample is a description. Its numbers are drawn when a check needs them, seeded by the case, so
that they are the same in every run, on every backend and whatever else is declared.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]


class Sample:
    """A tensor operand to be made. ``family`` is "f", "i" or "b": float, int32 or bool."""

    def __init__(self, family: str, shape: tuple[int, ...], draw: Draw) -> None:
        self.family = family
        self.shape = shape
        self._draw = draw

    def make(self, seed: str) -> Any:
        """The numbers, as float64, int32 or bool."""
        rng = np.random.default_rng(zlib.crc32(seed.encode()))
        wanted = {"f": np.float64, "i": np.int32, "b": np.bool_}[self.family]
        return np.asarray(self._draw(rng, self.shape), wanted)

    @property
    def default_dtype(self) -> str:
        """The dtype that the operand has where a check asks for none."""
        return {"f": "float32", "i": "int32", "b": "bool"}[self.family]


def normal(*shape: int) -> Sample:
    """Standard normal numbers."""
    return Sample("f", shape, lambda rng, s: rng.standard_normal(s))


def away(*shape: int) -> Sample:
    """Numbers of both signs, 0.25 to 2 away from 0: no kink of a piecewise function is near."""

    def draw(rng: np.random.Generator, s: tuple[int, ...]) -> Any:
        return rng.uniform(0.25, 2.0, s) * rng.choice([-1.0, 1.0], s)

    return Sample("f", shape, draw)


def positive(*shape: int) -> Sample:
    """Numbers between 0.5 and 2."""
    return Sample("f", shape, lambda rng, s: rng.uniform(0.5, 2.0, s))


def unit(*shape: int) -> Sample:
    """Numbers between 0.05 and 0.95: probabilities."""
    return Sample("f", shape, lambda rng, s: rng.uniform(0.05, 0.95, s))


def simplex(*shape: int) -> Sample:
    """Rows of probabilities that sum to 1 along the last axis."""

    def draw(rng: np.random.Generator, s: tuple[int, ...]) -> Any:
        weights = rng.uniform(0.2, 1.0, s)
        return weights / weights.sum(-1, keepdims=True)

    return Sample("f", shape, draw)


def distinct(*shape: int) -> Sample:
    """Numbers without ties, in random order: multiples of 1/4 around 0, exact in any dtype."""

    def draw(rng: np.random.Generator, s: tuple[int, ...]) -> Any:
        count = int(np.prod(s))
        return ((rng.permutation(count) - count // 2) * 0.25).reshape(s)

    return Sample("f", shape, draw)


def onehot(*shape: int) -> Sample:
    """One-hot rows, as floats."""

    def draw(rng: np.random.Generator, s: tuple[int, ...]) -> Any:
        return np.eye(s[-1])[rng.integers(0, s[-1], s[:-1])]

    return Sample("f", shape, draw)


def ints(*shape: int, low: int = -4, high: int = 5) -> Sample:
    """Integers from ``low`` up to, without, ``high``."""
    return Sample("i", shape, lambda rng, s: rng.integers(low, high, s))


def bools(*shape: int) -> Sample:
    """Truth values, half of them true."""
    return Sample("b", shape, lambda rng, s: rng.random(s) < 0.5)


def values(content: Any) -> Sample:
    """Exactly these numbers: integers, floats or truth values."""
    array = np.asarray(content)
    family = {"f": "f", "i": "i", "b": "b"}[array.dtype.kind]
    return Sample(family, array.shape, lambda rng, s: array)


def in_dtype(sample: Sample, array: Any, dtype: str) -> Any:
    """A float sample's numbers as they are used where the operation is tried in ``dtype``."""
    if sample.family != "f" or dtype in ("float16", "bfloat16", "float32", "float64"):
        return array
    whole = np.rint(array * 2)
    if dtype == "bool":
        return whole > 0
    return np.abs(whole) if dtype.startswith("u") else whole
