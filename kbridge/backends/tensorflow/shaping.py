"""Shapes and picking on TensorFlow."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import tensorflow as tf

from kbridge import config
from kbridge.backends.tensorflow.failures import cleared
from kbridge.backends.tensorflow.linalg import count
from kbridge.backends.tensorflow.support import EAGER, REFUSED, dims, number, recorded, sizes
from kbridge.backends.tensorflow.support import size as one_size
from kbridge.symbolic.host import host_ints
from kbridge.symbolic.shapes import normalize_axes

expand_dims = tf.expand_dims
concatenate = tf.concat
stack = tf.stack


def shape(x: Any) -> Any:
    static = x.shape
    return host_ints(static.as_list()) if static.is_fully_defined() else tf.shape(x)


def size(x: Any, name: str | None = None) -> Any:
    static = x.shape.num_elements()
    return tf.size(x) if static is None else host_ints(static)


def reshape(x: Any, shape: Any) -> Any:
    try:
        result = tf.reshape(x, shape)  # it takes most forms of a shape itself
    except REFUSED:
        result = tf.reshape(x, sizes(shape))
    return result if result.__class__ is EAGER else _same_count(x, shape, result)


def _same_count(x: Any, shape: Any, result: Any) -> Any:
    """``result``, checked where TensorFlow would leave out the reshape with its own check.

    It does where all axes but one are known to stay, and takes this one to stay as well.
    """
    if None in (x.shape.rank, result.shape.rank) or x.shape.is_fully_defined():
        return result
    before, after = x.shape.as_list(), result.shape.as_list()
    if 0 in after:
        fits = tf.reduce_any(tf.equal(tf.shape(x), 0))
    else:
        axis, one = before.index(None), before.count(None) == 1 and len(before) == len(after)
        if not one or before[:axis] + before[axis + 1 :] != after[:axis] + after[axis + 1 :]:
            return result
        given = sizes(shape)[axis]
        if given.__class__ is int and given == -1:
            return result
        fits = tf.logical_or(tf.equal(given, -1), tf.equal(given, tf.shape(x)[axis]))
    with tf.control_dependencies([tf.debugging.Assert(fits, ["reshape", tf.shape(x), shape])]):
        return tf.identity(result)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    if min(pattern, default=0) < 0:  # with which the gradient would fail
        pattern = normalize_axes(pattern, x.shape.rank)
    return tf.transpose(x, pattern)


def squeeze(x: Any, axis: int) -> Any:
    if axis.__class__ is int:
        return tf.squeeze(x, axis)
    axes = sizes(axis)
    return tf.squeeze(x, axes) if axes else x  # without axes TensorFlow takes all that fit


def repeat_elements(x: Any, rep: Any, axis: int) -> Any:
    return tf.repeat(x, one_size(rep), axis)


def repeat(x: Any, n: Any) -> Any:
    return tf.tile(tf.expand_dims(x, 1), tf.stack([1, one_size(n), 1]))


def tile(x: Any, n: Any) -> Any:
    if x.__class__ is EAGER:
        try:
            return tf.tile(x, n)
        except REFUSED:
            pass
    times = sizes(n)
    missing = x.shape.rank - (len(times) if isinstance(times, list) else times.shape[0])
    if missing > 0:
        times = tf.concat([[1] * missing, times], 0)
    elif missing < 0:
        x = tf.reshape(x, [1] * -missing + dims(x))
    if x.dtype is tf.uint16:  # which tf.tile lacks
        return tf.cast(tf.tile(tf.cast(x, tf.int32), times), tf.uint16)
    return tf.tile(x, times)


def flatten(x: Any) -> Any:
    return tf.reshape(x, (-1,))


def batch_flatten(x: Any) -> Any:
    first, *rest = dims(x)
    return tf.reshape(x, [first, count(rest)])


def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
    return tf.pad(x, pairs, constant_values=number(value, x.dtype))


def reverse(x: Any, axes: Any) -> Any:
    return tf.reverse(x, np.atleast_1d(axes).astype(np.int32))


def one_hot(indices: Any, num_classes: Any, dtype: Any = None) -> Any:
    if indices.dtype is not tf.int32:
        whole = tf.cast(indices, tf.int64)
        if indices.dtype.is_floating:  # 1.5 is no class
            whole = tf.where(tf.cast(whole, indices.dtype) == indices, whole, -1)
        indices = whole
    depth = num_classes if num_classes.__class__ is int else one_size(num_classes)
    return tf.one_hot(indices, depth, dtype=config.floatx() if dtype is None else dtype)


# --- picking ----------------------------------------------------------------------------------

# On a GPU TensorFlow takes zeros for what is out of range.
_CHECKS = not tf.config.list_physical_devices("GPU")
_INDICES = frozenset({tf.int16, tf.int32, tf.int64})


def gather(reference: Any, indices: Any) -> Any:
    if reference.__class__ is EAGER and indices.__class__ is EAGER and _CHECKS:
        try:
            return tf.gather(reference, indices)
        except REFUSED:
            pass
    if indices.dtype not in _INDICES:
        indices = tf.cast(indices, tf.int64)
    with cleared():
        return _take(reference, indices, 0)


def _take(x: Any, indices: Any, axis: int) -> Any:
    if not _CHECKS:
        rows = tf.cast(dims(x)[axis], indices.dtype)
        valid = tf.logical_and(indices >= 0, indices < rows)
        outside = tf.boolean_mask(indices, tf.logical_not(valid))
        text = ["indices =", outside, "is not in [0,", rows]
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(valid), text)]):
            indices = tf.identity(indices)
    if axis == 0 and x.shape[0] is None and recorded(x):
        # Along a later axis the gradient is a tensor: slices of unknown extent would be made
        # one with a warning.
        return tf.squeeze(tf.gather(tf.expand_dims(x, 0), indices, axis=1), 0)
    return tf.gather(x, indices, axis=axis)


def slice(x: Any, start: Any, size: Any) -> Any:
    return tf.slice(x, sizes(start), sizes(size))


def getitem(x: Any, key: Any) -> Any:
    position = next((i for i, part in enumerate(key) if getattr(part, "shape", ()) != ()), None)
    if position is None:
        return x[tuple(_plain(part) for part in key)]
    before, after = key[:position], key[position + 1 :]
    rest = x[tuple(_plain(p) for p in (*before, builtins.slice(None), *after))]
    # The axes that stand before the index tensor in what the other entries pick.
    axis = sum(p is None or isinstance(p, builtins.slice) for p in before)
    if any(p is Ellipsis for p in before):
        taken = sum(p is not None and p is not Ellipsis for p in key)
        axis += x.shape.rank - taken
    length = dims(rest)[axis]
    indices = tf.cast(key[position], tf.int64)
    from_end = indices + tf.cast(length, tf.int64)
    indices = tf.where(tf.logical_and(indices < 0, from_end >= 0), from_end, indices)
    return _take(rest, indices, axis)


def _plain(part: Any) -> Any:
    """An entry of a basic index as TensorFlow takes it: ints, and scalars of int32."""
    if isinstance(part, builtins.slice):
        return builtins.slice(*(_plain(p) for p in (part.start, part.stop, part.step)))
    return part if part is None or part is Ellipsis else one_size(part)
