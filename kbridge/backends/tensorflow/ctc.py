"""Decoding and sparse labels on TensorFlow; NumPy searches, in a graph as well."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from kbridge.backends.tensorflow.support import dims
from kbridge.symbolic.ctc_search import search, searcher


def ctc_search(y_pred: Any, input_length: Any, *how: Any) -> Any:
    if tf.executing_eagerly():
        return tf.constant(search(y_pred.numpy(), input_length.numpy(), *how))
    found = tf.numpy_function(searcher(*how), [y_pred, input_length], y_pred.dtype)
    samples, time, _ = y_pred.shape.as_list()
    paths = 1 if how[0] == 0 else how[1]
    return tf.ensure_shape(found, (samples, paths, None if time is None else time + 1))


def ctc_trim(paths: Any) -> Any:
    counts = tf.math.count_nonzero(paths >= 0, axis=1, dtype=tf.int32)
    return paths[:, : tf.reduce_max(tf.concat([counts, [0]], 0))]


def ctc_sparse(labels: Any, mask: Any) -> Any:
    shape = tf.cast(tf.stack(dims(labels)), tf.int64)
    return tf.SparseTensor(tf.where(mask), tf.boolean_mask(labels, mask), shape)
