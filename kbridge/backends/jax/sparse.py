"""Sparse matrices on JAX: coordinates and data, in arrays whose length is a power of two.

Matrices of one shape but different numbers of elements thus share a few compiled programs. What
fills an array up lies outside the matrix, where JAX reads zeros and drops what is added. (JAX's own
``jax.experimental.sparse`` is no longer developed.)
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from kbridge.backends.jax.staging import compiled, enable_x64, in_width
from kbridge.symbolic import dtypes
from kbridge.symbolic.sparse import scipy


class Matrix:
    """A sparse matrix, a pytree of JAX's; its shape is part of the program, its length is not.

    Elements whose row and column are the numbers of rows and columns are there to fill it up.
    """

    __slots__ = ("columns", "data", "rows", "shape")

    def __init__(self, rows: Any, columns: Any, data: Any, shape: tuple[int, int]) -> None:
        self.rows = rows
        self.columns = columns
        self.data = data
        self.shape = shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def __repr__(self) -> str:
        return f"<sparse matrix of kbridge shape={self.shape} dtype={self.dtype}>"


jax.tree_util.register_pytree_node(
    Matrix,
    lambda m: ((m.rows, m.columns, m.data), m.shape),
    lambda shape, parts: Matrix(parts[0], parts[1], parts[2], shape),
)


def is_matrix(value: Any) -> bool:
    return isinstance(value, Matrix)


def from_scipy(matrix: Any, dtype: str) -> Any:
    count = matrix.nnz
    length = 1 << max(count - 1, 0).bit_length()
    height, width = matrix.shape

    def filled(values: Any, kind: Any, rest: float) -> Any:
        made = np.full(length, rest, kind)
        made[:count] = values
        return made

    rows = np.repeat(np.arange(height), np.diff(matrix.indptr))
    return Matrix(
        filled(rows, np.int32, height),
        filled(matrix.indices, np.int32, width),
        filled(matrix.data, matrix.data.dtype, 0),
        matrix.shape,
    )


def to_scipy(native: Any) -> Any:
    rows, columns, data = map(np.asarray, (native.rows, native.columns, native.data))
    inside = rows < native.shape[0]
    places = rows[inside], columns[inside]
    return scipy().csr_matrix((data[inside], places), native.shape)


def store(native: Any, storage: Any = None) -> Any:
    with jax.ensure_compile_time_eval(), enable_x64(True):
        return jax.device_put(native)


# --- primitives -----------------------------------------------------------------------------------


@compiled("turned")
def _product(x: Any, y: Any, turned: bool) -> Any:
    to, at = (x.columns, x.rows) if turned else (x.rows, x.columns)
    result = jnp.zeros((x.shape[turned], y.shape[1]), x.dtype)
    if 0 in (*x.shape, y.shape[1]):
        return result
    picked = y.at[at].get(mode="fill", fill_value=0)
    return result.at[to].add(x.data[:, None] * picked, mode="drop")


def sparse_dot(x: Any, y: Any, turned: bool) -> Any:
    if x.shape[not turned] != y.shape[0]:
        raise ValueError(x.shape, y.shape)  # which would read zeros outside of y
    return _product(x, y, turned)


def sparse_concatenate(tensors: Any, axis: int) -> Any:
    down = axis in (0, -2)
    sizes = [t.shape[0 if down else 1] for t in tensors]
    others = {t.shape[1 if down else 0] for t in tensors}
    if len(others) > 1:
        raise ValueError([t.shape for t in tensors])
    (other,), total = others, sum(sizes)
    starts = np.cumsum([0, *sizes[:-1]]).tolist()

    def along(own: Any, size: int, start: int) -> Any:
        return jnp.where(own < size, own + start, total)

    if down:
        rows = [along(t.rows, n, at) for t, n, at in zip(tensors, sizes, starts, strict=True)]
        columns, shape = [t.columns for t in tensors], (total, other)
    else:
        columns = [along(t.columns, n, at) for t, n, at in zip(tensors, sizes, starts, strict=True)]
        rows, shape = [t.rows for t in tensors], (other, total)
    join = jnp.concatenate
    return Matrix(join(rows), join(columns), join([t.data for t in tensors]), shape)


def sparse_cast(x: Any, dtype: str) -> Any:
    kind = dtypes.to_numpy(dtype)
    data = in_width(dtype, lambda: lax.convert_element_type(x.data, kind))
    return Matrix(x.rows, x.columns, data, x.shape)


@compiled()
def sparse_to_dense(x: Any) -> Any:
    return jnp.zeros(x.shape, x.dtype).at[x.rows, x.columns].add(x.data, mode="drop")
