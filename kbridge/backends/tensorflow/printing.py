"""Printing values on TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from kbridge.symbolic.printing import printer


def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Any:
    show = printer(message, summarize)
    if tf.executing_eagerly():
        show(x.numpy())
        return tf.identity(x)
    # Not tf.print, which words numbers in its own way and is not seen by sys.stdout.
    with tf.control_dependencies([tf.numpy_function(show, [x], [])]):
        return tf.identity(x)
