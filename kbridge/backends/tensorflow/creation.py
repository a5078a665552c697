"""Fixed contents on TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from kbridge.backends.tensorflow.support import is_native, number, sizes
from kbridge.symbolic.dtypes import to_numpy


def full(shape: Any, value: float, dtype: str) -> Any:
    return tf.fill(sizes(shape), number(value, dtype))


def full_like(x: Any, value: float, dtype: str | None = None) -> Any:
    dtype = x.dtype if dtype is None else dtype
    if value == 0:
        return tf.zeros_like(x, dtype)
    return tf.ones_like(x, dtype) if value == 1 else tf.fill(tf.shape(x), number(value, dtype))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    parts: Any = (0, start, step) if stop is None else (start, stop, step)
    if not any(map(is_native, parts)):
        return tf.constant(np.arange(*parts).astype(to_numpy(dtype)))
    whole = all(p.dtype.is_integer if is_native(p) else p == int(p) for p in parts)
    used = tf.int64 if whole else tf.float64
    return tf.cast(tf.range(*(number(part, used) for part in parts)), dtype)
