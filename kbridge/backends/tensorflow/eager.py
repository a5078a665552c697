"""What the dispatchers call on tensors that have a value: the kernels at once.

TensorFlow's public functions look for other types to dispatch to, ask for ranks, and make a tensor
of each axis and size anew, which takes longer than most kernels on small tensors. What is not the
plain case here goes to the general primitive, or raises, and the slow path takes over.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kbridge.backends.tensorflow import elementwise, linalg, nn, reduction, shaping
from kbridge.backends.tensorflow.support import EAGER, no_tape

_SINGLE, _TRUTH = tf.float32, tf.bool
_Kernels = tf.raw_ops

if hasattr(EAGER, "_shape_tuple"):
    _sizes = EAGER._shape_tuple  # a tenth of the time of x.shape
else:

    def _sizes(x: Any) -> Any:
        return tuple(x.shape)


@functools.lru_cache(maxsize=4096, typed=True)  # 1.0 is no axis
def _ints(value: Any) -> Any:
    """An axis, or a tuple of axes or sizes, as a tensor."""
    with tf.init_scope():  # the same one is used outside of the graph that is built now
        return tf.constant(value, tf.int32)


def _one_or_more(axis: Any) -> Any:
    return _ints(axis if axis.__class__ is int else tuple(axis))


def _unary(kernel: Callable[..., Any], name: str = "x") -> Callable[[Any], Any]:
    scope: dict[str, Any] = {"kernel": kernel}
    exec(f"def run(x): return kernel({name}=x)", scope)
    run: Callable[[Any], Any] = scope["run"]
    return run


def _binary(kernel: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: kernel(x=x, y=y)


def _extreme(kernel: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, y: Any) -> Any:
        if x.__class__ is EAGER is y.__class__ and no_tape():
            return kernel(x, y)
        return general(x, y)

    return run


def _reduced(
    kernel: Callable[..., Any], general: Callable[..., Any], dtype: Any = _SINGLE
) -> Callable[..., Any]:
    """A reduction along given axes of a tensor that has elements."""

    def run(x: Any, axis: Any, keepdims: Any) -> Any:
        if axis is None or x.dtype is not dtype or 0 in _sizes(x):
            return general(x, axis, keepdims)
        return kernel(input=x, axis=_one_or_more(axis), keep_dims=keepdims)

    return run


def _truths(kernel: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, axis: Any, keepdims: Any) -> Any:
        if x.dtype is not _TRUTH:
            return general(x, axis, keepdims)
        axes = _ints(tuple(range(x.ndim))) if axis is None else _one_or_more(axis)
        return kernel(input=x, axis=axes, keep_dims=keepdims)

    return run


def _reshape(x: Any, shape: Any) -> Any:
    try:
        return _Kernels.Reshape(tensor=x, shape=_ints(tuple(shape)))
    except TypeError:  # a size is a tensor
        return shaping.reshape(x, shape)


def _batch_flatten(x: Any) -> Any:
    sizes = _sizes(x)
    if not sizes:
        return shaping.batch_flatten(x)
    return _Kernels.Reshape(tensor=x, shape=_ints((sizes[0], math.prod(sizes[1:]))))


def _cumsum(x: Any, axis: Any) -> Any:
    return (
        _Kernels.Cumsum(x=x, axis=_ints(axis)) if x.dtype is _SINGLE else reduction.cumsum(x, axis)
    )


def _permute_dimensions(x: Any, pattern: Any) -> Any:
    return _Kernels.Transpose(x=x, perm=_ints(tuple(pattern)))


def _transpose(x: Any) -> Any:
    return _Kernels.Transpose(x=x, perm=_ints(tuple(range(x.ndim))[::-1]))


def _expand_dims(x: Any, axis: Any) -> Any:
    return _Kernels.ExpandDims(input=x, axis=_ints(axis))


def _batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    left, right = _sizes(x), _sizes(y)
    if axes is None and x.dtype is _SINGLE and len(left) == 3 == len(right) and left[0] == right[0]:
        return _Kernels.BatchMatMulV2(x=x, y=y)
    return linalg.batch_dot(x, y, axes)


def _relu(x: Any, alpha: Any, max_value: Any, threshold: Any) -> Any:
    plain = alpha.__class__ is float and not alpha and max_value is None and not threshold
    if plain and x.dtype is _SINGLE:
        return tf.nn.relu(x)
    return nn.relu(x, alpha, max_value, threshold)


def _softmax(x: Any, axis: Any) -> Any:
    if axis == -1 and x.dtype is _SINGLE and x.ndim > 1:
        return _Kernels.Softmax(logits=x)
    return nn.softmax(x, axis)


#: By the operation's name.
ENTRIES: dict[str, Callable[..., Any]] = {
    "abs": _unary(_Kernels.Abs),
    "sign": _unary(_Kernels.Sign),
    "exp": _unary(_Kernels.Exp),
    "log": _unary(_Kernels.Log),
    "sigmoid": _unary(_Kernels.Sigmoid),
    "tanh": tf.tanh,  # these are the kernels' own
    "square": tf.square,
    "negative": _unary(_Kernels.Neg),
    "equal": _binary(_Kernels.Equal),
    "not_equal": _binary(_Kernels.NotEqual),
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "maximum": _extreme(tf.maximum, elementwise.maximum),
    "minimum": _extreme(tf.minimum, elementwise.minimum),
    "sum": _reduced(_Kernels.Sum, reduction.sum),
    "prod": _reduced(_Kernels.Prod, reduction.prod),
    "mean": _reduced(_Kernels.Mean, reduction.mean),
    "max": _reduced(_Kernels.Max, reduction.max),
    "min": _reduced(_Kernels.Min, reduction.min),
    "cumsum": _cumsum,
    "any": _truths(_Kernels.Any, reduction.any),
    "all": _truths(_Kernels.All, reduction.all),
    "batch_dot": _batch_dot,
    "relu": _relu,
    "softmax": _softmax,
    "reshape": _reshape,
    "batch_flatten": _batch_flatten,
    "permute_dimensions": _permute_dimensions,
    "transpose": _transpose,
    "expand_dims": _expand_dims,
}
