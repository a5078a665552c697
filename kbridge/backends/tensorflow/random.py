"""Random numbers on TensorFlow; ``seed`` is a pair of integers, see ``Engine.draw_key``."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from kbridge.backends.tensorflow.support import sizes
from kbridge.symbolic.dtypes import is_float, to_numpy

_WHOLE = ("int32", "int64")


def _key(seed: Any) -> Any:
    """The pair of integers that TensorFlow wants; a user's own may be a scalar."""
    return seed if seed.shape.rank else tf.stack([seed, tf.zeros_like(seed)])


def _wide(dtype: str) -> str:
    """The dtype to draw in: TensorFlow's half-precision numbers have few digits and no tails."""
    return "float64" if dtype == "float64" else "float32"


def random_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    key, used = _key(seed), _wide(dtype)
    return tf.cast(tf.random.stateless_normal(sizes(shape), key, mean, stddev, used), dtype)


def random_uniform(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> Any:
    if not is_float(dtype):
        used = dtype if dtype in _WHOLE else "int64"
        bounds = int(minval), int(maxval)
        drawn = tf.random.stateless_uniform(sizes(shape), _key(seed), *bounds, used)
        return tf.cast(drawn, dtype)
    ends = float(minval), float(maxval)
    drawn = tf.random.stateless_uniform(sizes(shape), _key(seed), *ends, _wide(dtype))
    values = tf.cast(drawn, dtype)
    if maxval <= minval:
        return values
    # Rounding may reach the upper end, which is not part of the range.
    scalar = to_numpy(dtype).type
    return tf.minimum(values, tf.constant(np.nextafter(scalar(maxval), scalar(minval)), dtype))


def truncated_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    key, used = _key(seed), _wide(dtype)
    values = tf.random.stateless_truncated_normal(sizes(shape), key, mean, stddev, used)
    return tf.cast(values, dtype)
