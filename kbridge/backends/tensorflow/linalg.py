"""Products on TensorFlow."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from kbridge.backends.tensorflow.support import EAGER, REFUSED, dims
from kbridge.symbolic.shapes import batch_dot_axes

# The kernels that are missing, which a graph would find out only when it runs.
_MISSING = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.int32,
    tf.uint16: tf.int32,
    tf.uint32: tf.int64,
    tf.uint64: tf.int64,
}


def product(x: Any, y: Any) -> Any:
    """The product of two tensors of matrices."""
    dtype = x.dtype
    if dtype is tf.float32 or dtype not in _MISSING or y.dtype is not dtype:
        return tf.matmul(x, y)
    used = _MISSING[dtype]
    return tf.cast(tf.matmul(tf.cast(x, used), tf.cast(y, used)), dtype)


_matrix_product = tf.raw_ops.MatMul  # half of tf.matmul's time, which asks for ranks first


def dot(x: Any, y: Any) -> Any:
    if x.__class__ is EAGER and y.__class__ is EAGER:
        try:
            return _matrix_product(a=x, b=y)
        except REFUSED:
            pass  # no matrices, or of a dtype without a kernel
    left, right = x.shape.rank, y.shape.rank
    if left == 2 and right == 2:
        return product(x, y)
    if not left or not right:
        return tf.multiply(x, y)
    x_sizes, y_sizes = dims(x), dims(y)
    size = x_sizes[-1]
    # -1 is not to be inferred beside a 0.
    rows = tf.reshape(x, (-1 if size.__class__ is int and size else count(x_sizes[:-1]), size))
    if right == 1:
        columns = tf.expand_dims(y, 1)
    elif right == 2:
        columns = y
    else:
        # The contracted axis, the last but one, to the front.
        order = (right - 2, *range(right - 2), right - 1)
        columns = tf.transpose(y, order)
        columns = tf.reshape(columns, (y_sizes[-2], count([*y_sizes[:-2], y_sizes[-1]])))
    kept = y_sizes[:-2] + y_sizes[-1:] if right > 1 else []
    return tf.reshape(product(rows, columns), [*x_sizes[:-1], *kept])


def count(sizes: Any) -> Any:
    """The number of elements: an int, or a scalar where a size is one."""
    if all(isinstance(size, int) for size in sizes):
        return math.prod(sizes)
    return tf.reduce_prod(tf.stack(sizes))


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    if axes is None and len(x.shape) == 3 == len(y.shape) and x.shape[0] == y.shape[0] is not None:
        return product(x, y)
    a, b = batch_dot_axes(tuple(x.shape), tuple(y.shape), axes)
    x_sizes, y_sizes = dims(x), dims(y)
    if x.shape[0] is None or y.shape[0] is None:  # a batch of one would broadcast
        text = ["the batches have different sizes", x_sizes[0], y_sizes[0]]
        with tf.control_dependencies([tf.debugging.Assert(x_sizes[0] == y_sizes[0], text)]):
            x = tf.identity(x)
    elif x.shape[0] != y.shape[0]:
        raise ValueError(x.shape, y.shape)
    x_free = [i for i in range(1, len(x_sizes)) if i != a]
    y_free = [i for i in range(1, len(y_sizes)) if i != b]
    # (batch, the rest of x, size) times (batch, size, the rest of y).
    left = tf.reshape(
        tf.transpose(x, (0, *x_free, a)),
        (x_sizes[0], count([x_sizes[i] for i in x_free]), x_sizes[a]),
    )
    right = tf.reshape(
        tf.transpose(y, (0, b, *y_free)),
        (y_sizes[0], y_sizes[b], count([y_sizes[i] for i in y_free])),
    )
    kept = [x_sizes[i] for i in x_free] + [y_sizes[i] for i in y_free]
    return tf.reshape(product(left, right), [x_sizes[0], *(kept or [1])])


def transpose(x: Any) -> Any:
    return tf.transpose(x)
