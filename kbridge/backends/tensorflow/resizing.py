"""Resizing on TensorFlow."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from kbridge.backends.tensorflow.support import EAGER, dims, recorded

_NEAREST = frozenset({tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32})


def enlarge(x: Any, factors: Any) -> Any:
    images = x.__class__ is EAGER and len(factors) == 4 and factors[0] == factors[3] == 1
    if images and x.dtype in _NEAREST and 0 not in x.shape.as_list() and not recorded(x):
        size = (x.shape[1] * factors[1], x.shape[2] * factors[2])
        return tf.raw_ops.ResizeNearestNeighbor(images=x, size=size)
    # What can be differentiated at any order.
    result = tf.identity(x)
    for axis in reversed(range(len(factors))):
        if factors[axis] > 1:
            sizes = dims(result)
            times = [1] * (len(sizes) + 1)
            times[axis + 1] = factors[axis]
            sizes[axis] *= factors[axis]
            result = tf.reshape(tf.tile(tf.expand_dims(result, axis + 1), times), sizes)
    return result


def interpolate(x: Any, factors: Any, first: int, half_pixel_centers: bool) -> Any:
    if x.dtype is tf.float64:  # which TensorFlow rounds to float32
        rows, columns = (
            _weights(x.shape[axis], factor, half_pixel_centers)
            for axis, factor in enumerate(factors, first)
        )
        how = "ab,nbdc,ed->naec" if first == 1 else "ab,ncbd,ed->ncae"
        return tf.einsum(how, rows, x, columns)
    wide = x if x.dtype is tf.float32 else tf.cast(x, tf.float32)
    if first == 2:
        wide = tf.transpose(wide, (0, 2, 3, 1))
    result = _linear(wide, factors, half_pixel_centers)
    if first == 2:
        result = tf.transpose(result, (0, 3, 1, 2))
    return result if x.dtype is tf.float32 else tf.cast(result, x.dtype)


def _linear(x: Any, factors: Any, half_pixel_centers: bool) -> Any:
    size = (x.shape[1] * factors[0], x.shape[2] * factors[1])
    how = {"half_pixel_centers": half_pixel_centers}
    if not recorded(x):
        return tf.raw_ops.ResizeBilinear(images=x, size=size, **how)

    # TensorFlow has no second derivative of it. Each of the two is the other one's derivative.
    @tf.custom_gradient
    def forward(x: Any) -> Any:
        return tf.raw_ops.ResizeBilinear(images=x, size=size, **how), backward

    @tf.custom_gradient
    def backward(g: Any) -> Any:
        return tf.raw_ops.ResizeBilinearGrad(grads=g, original_image=x, **how), forward

    return forward(x)


@functools.lru_cache(64)
def _weights(size: int, factor: int, half_pixel_centers: bool) -> Any:
    """The matrix by which an axis of ``size`` becomes one of ``size * factor``."""
    places = np.arange(size * factor) / factor
    if half_pixel_centers:
        places += 0.5 / factor - 0.5
    low = np.floor(places).astype(int)
    rows = np.arange(size * factor)
    result = np.zeros((size * factor, size))
    np.add.at(result, (rows, np.clip(low, 0, size - 1)), 1.0 - (places - low))
    np.add.at(result, (rows, np.clip(low + 1, 0, size - 1)), places - low)
    return result
