"""Tensors of fixed content."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt

from kbridge.api.rules import as_dtype, check_dims, known_sizes
from kbridge.symbolic import shapes
from kbridge_pytensor.engine import contract, engine, numpy_dtype, own, plain_getitem
from kbridge_pytensor.graph import variable


def dims(sizes: Any) -> Any:
    """Sizes as a tuple of numbers and scalars."""
    if isinstance(sizes, (list, tuple)):
        return tuple(sizes)
    if engine.is_native(sizes) and sizes.type.ndim:
        return tuple(plain_getitem(sizes, i) for i in range(sizes.type.shape[0]))
    return (sizes,)


def sizes_of(x: Any) -> list[Any]:
    """The sizes of ``x``: numbers where they are known."""
    return [x.shape[i] if n is None else n for i, n in enumerate(x.type.shape)]


@contract
def full(shape: Any, value: float, dtype: str) -> Any:
    return pt.alloc(pt.constant(value, dtype=numpy_dtype(dtype)), *dims(shape))


@contract
def full_like(x: Any, value: float, dtype: str | None = None) -> Any:
    return filled(x, value, dtype or x.type.dtype)


def filled(x: Any, value: float, dtype: str) -> Any:
    return pt.fill(x, pt.constant(value, dtype=numpy_dtype(dtype)))


@contract
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    begin, end = (0, start) if stop is None else (start, stop)
    parts = (begin, end, step)
    if all(isinstance(part, (int, float)) for part in parts):
        return pt.constant(np.arange(*parts).astype(numpy_dtype(dtype)))
    return pt.cast(pt.arange(*parts), numpy_dtype(dtype))


@contract.own
def eye(size: Any, dtype: Any = None, name: str | None = None) -> Any:
    sizes = dims(check_dims(size))
    known_sizes(sizes)  # an error unless they are integers
    shapes.eye([None if engine.is_native(each) else each for each in sizes])
    if any(map(engine.is_native, sizes)):
        diagonal = pt.eq(pt.expand_dims(pt.arange(sizes[0]), 1), pt.arange(sizes[-1]))
        return own(pt.cast(diagonal, numpy_dtype(as_dtype(dtype))))
    return variable(np.eye(sizes[0], sizes[-1]), dtype, name)


@contract
def shape(x: Any) -> Any:
    """The static sizes as numbers: what is computed of them is known before the run."""
    if not x.ndim:
        return pt.constant([], dtype="int32")
    sizes = [pt.cast(x.shape[i], "int32") if n is None else n for i, n in enumerate(x.type.shape)]
    return pt.stack([pt.as_tensor(size, dtype="int32") for size in sizes])


@contract
def size(x: Any, name: str | None = None) -> Any:
    return pt.cast(pt.prod(x.shape), "int32") if x.ndim else pt.constant(1, dtype="int32")
