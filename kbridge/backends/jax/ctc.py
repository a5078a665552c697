"""Decoding and sparse labels on JAX; NumPy searches, outside of compiled programs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kbridge.backends.jax.sparse import Matrix
from kbridge.backends.jax.staging import Tracer, in_width
from kbridge.errors import UnsupportedError
from kbridge.symbolic import dtypes
from kbridge.symbolic.ctc_search import search, trimmed


def _array(x: Any) -> Any:
    if isinstance(x, Tracer):
        raise UnsupportedError(
            "K.ctc_decode: how long the decoded labels are depends on data, which JAX does not "
            "know while it traces (jax.jit, vmap, the step of a loop). Return y_pred and decode it "
            "outside; K.function does so by itself."
        )
    return np.asarray(x)


def _native(array: Any) -> Any:
    return in_width(dtypes.normalize(array.dtype), jax.device_put, array)


def ctc_search(y_pred: Any, input_length: Any, *how: Any) -> Any:
    return _native(search(_array(y_pred), _array(input_length), *how))


def ctc_trim(paths: Any) -> Any:
    return _native(trimmed(_array(paths)).copy())


def ctc_sparse(labels: Any, mask: Any) -> Any:
    # All places, of which those left out lie outside of the matrix: a compiled program must know
    # how many there are.
    height, width = labels.shape
    rows, columns = jnp.meshgrid(
        jnp.arange(height, dtype=np.int32), jnp.arange(width, dtype=np.int32), indexing="ij"
    )
    rows, columns = jnp.where(mask, rows, height), jnp.where(mask, columns, width)
    return Matrix(rows.ravel(), columns.ravel(), labels.ravel(), labels.shape)
