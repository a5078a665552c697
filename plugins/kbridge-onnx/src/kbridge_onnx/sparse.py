"""Sparse matrices: SciPy's outside of compiled functions, dense inside, as the runtime has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge_onnx import graph
from kbridge_onnx.elementwise import wide_where
from kbridge_onnx.graph import as_value, emit, moved, primitive


@primitive
def sparse_dot(x: Any, y: Any, turned: bool) -> Any:
    x = as_value(x)
    return emit("MatMul", moved(x, [1, 0]) if turned else x, y)


@primitive
def sparse_concatenate(tensors: Any, axis: int) -> Any:
    return emit("Concat", *tensors, axis=int(axis))


@primitive
def sparse_cast(x: Any, dtype: str) -> Any:
    return graph.to(x, dtype)


@primitive
def sparse_to_dense(x: Any) -> Any:
    return x


@primitive
def ctc_sparse(labels: Any, mask: Any) -> Any:
    return wide_where(mask, as_value(labels), np.zeros(()))
