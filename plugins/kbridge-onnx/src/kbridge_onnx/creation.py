"""Tensors of fixed content in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic import dtypes
from kbridge_onnx.graph import Value, dims, emit, expanded, primitive, reshaped, to


@primitive
def full(shape: Any, value: float, dtype: str) -> Any:
    return expanded(np.asarray(value, dtypes.to_numpy(dtype)), shape)


@primitive
def full_like(x: Any, value: float, dtype: str | None = None) -> Any:
    filler = np.asarray(value, dtypes.to_numpy(dtype or x.dtype))
    return np.full(x.shape, filler) if None not in x.shape else expanded(filler, dims(x))


@primitive
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    parts = (0, start, step) if stop is None else (start, stop, step)
    floats = dtypes.is_float(dtype) or any(_is_float(part) for part in parts)
    used = "float64" if floats else "int64"
    scalars = (reshaped(to(p, used), []) if isinstance(p, Value) else to(p, used) for p in parts)
    return to(emit("Range", *scalars), dtype)


def _is_float(part: Any) -> bool:
    dtype = getattr(part, "dtype", None)
    return isinstance(part, float) if dtype is None else dtypes.is_float(dtypes.normalize(dtype))
