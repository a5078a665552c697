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


def random_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    return tf.random.stateless_normal(sizes(shape), _key(seed), mean, stddev, dtype)


def random_uniform(shape: Any, minval: float, maxval: float, dtype: str, seed: Any) -> Any:
    if not is_float(dtype):
        used = dtype if dtype in _WHOLE else "int64"
        bounds = int(minval), int(maxval)
        drawn = tf.random.stateless_uniform(sizes(shape), _key(seed), *bounds, used)
        return tf.cast(drawn, dtype)
    values = tf.random.stateless_uniform(sizes(shape), _key(seed), minval, maxval, dtype)
    if maxval <= minval:
        return values
    # Rounding may reach the upper end, which is not part of the range.
    scalar = to_numpy(dtype).type
    return tf.minimum(values, tf.constant(np.nextafter(scalar(maxval), scalar(minval)), dtype))


def truncated_normal(shape: Any, mean: float, stddev: float, dtype: str, seed: Any) -> Any:
    return tf.random.stateless_truncated_normal(sizes(shape), _key(seed), mean, stddev, dtype)
