"""Sparse matrices on TensorFlow are its SparseTensors.

A compiled graph takes and reads their parts, which are ordinary tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from kbridge.backends.tensorflow.support import VARIABLE
from kbridge.symbolic.sparse import scipy


def is_matrix(value: Any) -> bool:
    return isinstance(value, tf.SparseTensor)


def from_scipy(matrix: Any, dtype: str) -> Any:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    places = np.stack([rows, matrix.indices], 1).astype(np.int64)
    with tf.init_scope():  # so that it outlives a graph that is being built
        sizes = tf.constant(matrix.shape, tf.int64)
        return tf.SparseTensor(tf.constant(places), tf.constant(matrix.data), sizes)


def to_scipy(native: Any) -> Any:
    rows, columns = native.indices.numpy().T
    return scipy().csr_matrix((native.values.numpy(), (rows, columns)), tuple(native.shape))


class Storage:
    """The matrix of a variable, whose number of elements may change, in two ``tf.Variable``."""

    def __init__(self, native: Any) -> None:
        self.sizes = tuple(native.shape)
        with tf.init_scope():
            # Not tf.Variable: tf.function takes that over, and refuses it after the first trace.
            self.indices = VARIABLE(native.indices, trainable=False, shape=(None, 2))
            self.values = VARIABLE(native.values, trainable=False, shape=(None,))

    def read_value(self) -> Any:
        return tf.SparseTensor(self.indices.read_value(), self.values.read_value(), self.sizes)

    def assign(self, native: Any) -> None:
        with tf.init_scope():
            self.indices.assign(native.indices)
            self.values.assign(native.values)


def store(native: Any, storage: Any = None) -> Any:
    if storage is None:
        return Storage(native)
    storage.assign(native)
    return storage


# --- parts --------------------------------------------------------------------------------------


def signature(feed: Any) -> list[Any]:
    """What a graph takes for a feed: one tensor, or the indices, values and shape of a matrix."""
    if not feed.sparse:
        return [tf.TensorSpec(feed.shape, feed.dtype)]
    return [
        tf.TensorSpec((None, 2), tf.int64),
        tf.TensorSpec((None,), feed.dtype),
        tf.TensorSpec((2,), tf.int64),
    ]


def parts(natives: Sequence[Any]) -> list[Any]:
    """The tensors that a graph is called with."""
    found: list[Any] = []
    for native in natives:
        if is_matrix(native):
            found += [native.indices, native.values, native.dense_shape]
        else:
            found.append(native)
    return found


def joined(feeds: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """The values of the feeds, in a graph that is given their parts."""
    source = iter(tensors)
    found = []
    for feed in feeds:
        first = next(source)
        if feed.sparse:
            first = tf.SparseTensor(first, next(source), next(source))
            first.set_shape(feed.shape)
        found.append(first)
    return found


# --- primitives -----------------------------------------------------------------------------------


def sparse_dot(x: Any, y: Any, turned: bool) -> Any:
    return tf.sparse.sparse_dense_matmul(x, y, adjoint_a=turned)


def sparse_concatenate(tensors: Any, axis: int) -> Any:
    return tf.sparse.concat(axis, tensors)


def sparse_cast(x: Any, dtype: str) -> Any:
    return tf.cast(x, dtype)


def sparse_to_dense(x: Any) -> Any:
    # One that a user made may hold its elements in any order, and some twice.
    return tf.scatter_nd(x.indices, x.values, x.dense_shape)
