"""Sparse matrices on NumPy are SciPy's, in CSR form; SciPy itself is imported elsewhere."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.dtypes import to_numpy
from kbridge.symbolic.sparse import is_scipy, scipy

is_matrix = is_scipy


def from_scipy(matrix: Any, dtype: str) -> Any:
    return matrix


def to_scipy(native: Any) -> Any:
    return native


def store(native: Any, storage: Any = None) -> Any:
    return native


def sparse_dot(x: Any, y: Any, turned: bool) -> Any:
    return (x.T if turned else x) @ y


def sparse_concatenate(tensors: Any, axis: int) -> Any:
    join = scipy().vstack if axis in (0, -2) else scipy().hstack
    return join(tensors, format="csr")


def sparse_cast(x: Any, dtype: str) -> Any:
    return x.astype(to_numpy(dtype))


def sparse_to_dense(x: Any) -> Any:
    return x.toarray()
