"""Sparse matrices: what they can do. ``K.placeholder`` and ``K.variable`` make them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from kbridge.api.declare import graph_function, operation
from kbridge.api.rules import TensorLike, as_axis, as_dtype
from kbridge.errors import ShapeError, UnsupportedError
from kbridge.symbolic import dtypes, shapes, sparse
from kbridge.symbolic.tensor import Tensor


@graph_function
def is_sparse(K: Any, tensor: TensorLike) -> bool:
    """Whether ``tensor`` is sparse: a sparse Tensor, or a matrix of the engine's or of SciPy's.

    >>> K.is_sparse(K.placeholder((2, 2))), K.is_sparse(K.placeholder((2, 2), sparse=True))
    (False, True)
    """
    return sparse.is_sparse(K.engine, tensor)


@graph_function
def to_dense(K: Any, tensor: TensorLike) -> Any:
    """``tensor`` as a dense tensor; itself if it is one.

    No derivative passes: a sparse tensor is data.

    >>> K.is_sparse(K.to_dense(K.placeholder((2, 2), sparse=True)))
    False
    """
    if not sparse.is_sparse(K.engine, tensor):
        return tensor
    sparse.of(K)
    return K.operations["sparse_to_dense"](tensor)


# --- private operations, named in messages without their "sparse_" -------------------------------


@operation(
    "x y",
    promote="x y",
    shape=lambda x, y, turned: shapes.dot(x.shape[::-1] if turned else x.shape, y.shape),
    differentiable="y",
    public=False,
)
def sparse_dot(x: TensorLike, y: TensorLike, turned: bool) -> Any:
    """The product of the sparse ``x``, transposed if ``turned``, with the dense matrix ``y``."""


@operation(
    "tensors*",
    shape=lambda tensors, axis: shapes.concatenate([t.shape for t in tensors], axis),
    resolve={"axis": as_axis},
    differentiable=False,
    public=False,
)
def sparse_concatenate(tensors: Any, axis: int) -> Any:
    """Sparse matrices side by side, as a sparse matrix."""


@operation(
    "x",
    shape=lambda x, dtype: x.shape,
    dtype=lambda x, dtype: dtype,
    differentiable=False,
    public=False,
)
def sparse_cast(x: TensorLike, dtype: str) -> Any:
    """A sparse matrix with elements of another dtype."""


@operation("x", differentiable=False, public=False)
def sparse_to_dense(x: TensorLike) -> Any:
    """The dense matrix."""


# --- what the operations of other topics do with sparse operands ---------------------------------


@sparse.takes("dot")
def _dot(K: Any, x: Any, y: Any) -> Any:
    left = sparse.is_sparse(K.engine, x)
    if left and sparse.is_sparse(K.engine, y):
        raise UnsupportedError(
            "two sparse tensors are not multiplied; make one of them dense with K.to_dense(tensor)"
        )
    matrix, other = (x, y) if left else (y, x)
    rank = K.ndim(other)
    if not rank:
        raise UnsupportedError(
            "a sparse tensor is multiplied by no scalar; make it dense with K.to_dense(tensor)"
        )
    shapes.dot(K.int_shape(x), K.int_shape(y))  # before axes are moved
    matrix, other = _beside(matrix, other), _beside(other, matrix)
    if rank == 2 and left:
        return K.sparse_dot(matrix, other, False)
    if rank == 2:
        return K.transpose(K.sparse_dot(matrix, K.transpose(other), True))
    # All other axes become one, and then themselves again.
    at = max(rank - 2, 0) if left else rank - 1
    rest = [axis for axis in range(rank) if axis != at]
    sizes, (size,) = _sizes(K, other, rest), _sizes(K, other, [at])
    count = prod(sizes) if all(type(n) is int for n in sizes) else K.prod(K.stack(sizes))
    if left:
        moved = K.permute_dimensions(other, [at, *rest]) if rest else other
        product = K.sparse_dot(matrix, K.reshape(moved, [size, count]), False)
        return K.reshape(product, [*_sizes(K, matrix, [0]), *sizes])
    product = K.dot(K.reshape(other, [count, size]), matrix)
    return K.reshape(product, [*sizes, *_sizes(K, matrix, [1])])


@sparse.takes("matmul")
def _matmul(K: Any, x: Any, y: Any) -> Any:
    if max(K.ndim(x), K.ndim(y)) > 2:
        raise ShapeError("beside a sparse matrix @ takes vectors and matrices; K.dot takes more")
    return _dot(K, x, y)


def _sizes(K: Any, x: Any, axes: Sequence[int]) -> list[Any]:
    """The sizes of these axes: integers, or scalar tensors where only the run knows them."""
    known = K.int_shape(x)
    return [K.shape(x)[axis] if known[axis] is None else known[axis] for axis in axes]


def _beside(value: Any, other: Any) -> Any:
    """An array or SciPy matrix of floats; it takes the dtype of a Tensor of floats beside it."""
    if not isinstance(other, Tensor) or not dtypes.is_float(other.dtype):
        return value
    known = isinstance(value, np.ndarray) or sparse.is_scipy(value)
    wanted = other.dtype if other.dtype in sparse.DTYPES else sparse.DTYPES[0]
    return value.astype(wanted) if known and value.dtype.kind == "f" else value


@sparse.takes("concatenate")
def _concatenate(K: Any, tensors: Any, axis: Any = -1) -> Any:
    mixed = isinstance(tensors, (list, tuple)) and not all(
        sparse.is_sparse(K.engine, tensor) for tensor in tensors
    )
    if mixed:
        return K.concatenate([K.to_dense(tensor) for tensor in tensors], axis)
    return sparse.marked(K.sparse_concatenate(tensors, axis))


@sparse.takes("cast")
def _cast(K: Any, x: Any, dtype: Any) -> Any:
    return sparse.marked(K.sparse_cast(x, sparse.checked_dtype(as_dtype(dtype))))


@sparse.takes("identity")
def _identity(K: Any, x: Any, name: str | None = None) -> Any:
    return sparse.marked(K.sparse_cast(x, K.dtype(x)))


@sparse.takes("size")
def _size(K: Any, x: Any, name: str | None = None) -> Any:
    return K.prod(K.shape(x))
