"""TensorFlow's protocols: its operators beside Tensors, and K functions in a tf.function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.symbolic import record, scopes
from kbridge.symbolic.tensor import Tensor

# What TensorFlow's operators call, by the operation that a Tensor on the right records.
_OPERATORS = {
    "add": tf.__operators__.add,
    "subtract": tf.math.subtract,
    "multiply": tf.math.multiply,
    "divide": tf.math.truediv,
    "floor_divide": tf.math.floordiv,
    "mod": tf.math.floormod,
    "pow": tf.math.pow,
    "matmul": tf.linalg.matmul,
    "less": tf.math.less,
    "less_equal": tf.math.less_equal,
    "greater": tf.math.greater,
    "greater_equal": tf.math.greater_equal,
    "==": tf.__operators__.eq,
    "!=": tf.__operators__.ne,
}


def install(backend: Any) -> None:
    """Prepare what belongs to all of TensorFlow, and keep AutoGraph off the K functions.

    AutoGraph would rewrite their sources, which the generated ones do not have.
    """
    _defer_operators()
    marks = vars(tf.autograph.experimental.do_not_convert(lambda: None))
    for function in backend.operations.values():
        vars(function).update({k: v for k, v in marks.items() if k != "__wrapped__"})


_deferred = False


def _defer_operators() -> None:
    """Let a Tensor on the right of one of TensorFlow's operators decide.

    TensorFlow asks the reflected operator of the arithmetic ones only, and hides its errors.
    """
    global _deferred
    if _deferred:
        return
    _deferred = True
    try:
        from tensorflow.python.util.dispatch import register_dispatchable_type
    except ImportError:
        pass  # comparisons with TensorFlow's tensor on the left then ask for the eager scope
    else:
        register_dispatchable_type(Tensor)
    for name, function in _OPERATORS.items():
        tf.experimental.dispatch_for_api(function, {1: Tensor})(_deferring(name))


def _deferring(name: str) -> Callable[..., Any]:
    def deferring(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 2 or isinstance(args[0], Tensor) or scopes.mode() == "eager":
            return NotImplemented
        if name in ("==", "!="):
            return name == "!="  # Tensors are compared by identity
        return record.operate(args[1].backend, name, args[:2])

    return deferring
