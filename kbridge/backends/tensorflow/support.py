"""What the topics share: sizes, truth, and where TensorFlow lacks a kernel or a gradient."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import tensorflow as tf

try:
    from tensorflow.python.eager.record import could_possibly_record as _tape_records
except ImportError:  # not a public name: without it every result is made fit for a gradient

    def _tape_records() -> bool:
        return True


#: The class of a tensor that has a value.
EAGER = type(tf.constant(0))

class Build:
    """A graph that is being built for K.function."""

    def __init__(self, differentiates: bool, empty: bool) -> None:
        #: Whether gradients are asked of it.
        self.differentiates = differentiates
        #: Whether it is for feeds of which one is empty.
        self.empty = empty
        #: Whether it holds an operation that must know this.
        self.sensitive = False


_build: ContextVar[Build | None] = ContextVar("kbridge_tensorflow_build", default=None)
build = _build.get


@contextmanager
def building(graph: Build) -> Iterator[Build]:
    """A scope in which ``graph`` is built."""
    token = _build.set(graph)
    try:
        yield graph
    finally:
        _build.reset(token)


_VALUES = frozenset({EAGER, int, float, bool, type(None)})


def recorded(x: Any, y: Any = None) -> bool:
    """Whether a gradient may be asked of what is computed from ``x`` and ``y``."""
    if (x.__class__ in _VALUES and y.__class__ in _VALUES) or tf.executing_eagerly():
        return _tape_records()
    graph = build()
    return graph is None or graph.differentiates


def is_native(value: Any) -> bool:
    """Whether ``value`` is a dense tensor or a variable, TensorFlow's own or one of Keras 3."""
    return tf.is_tensor(value) and not isinstance(
        value, (tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices)
    )


def sizes(value: Any) -> Any:
    """Sizes in any form as a list of ints or, where one is a tensor, as a vector of int32."""
    if isinstance(value, (list, tuple)):
        if not any(map(is_native, value)):
            return [operator.index(item) for item in value]
        return tf.stack([tf.cast(item, tf.int32) for item in value])
    if is_native(value):
        return tf.reshape(tf.cast(value, tf.int32), [-1])
    return np.atleast_1d(value).tolist()


def size(value: Any) -> Any:
    """One size as an int, or as a scalar of int32."""
    return tf.cast(value, tf.int32) if is_native(value) else operator.index(value)


def dims(x: Any) -> list[Any]:
    """The sizes of ``x``: ints where they are static, else scalars."""
    static = x.shape.as_list()
    if None not in static:
        return static
    dynamic = tf.unstack(tf.shape(x))
    return [known if given is None else given for given, known in zip(static, dynamic, strict=True)]


def truth(x: Any) -> Any:
    """``x`` as bools: a number is true where it is not 0."""
    return x if getattr(x, "dtype", None) is tf.bool else tf.cast(x, tf.bool)


def number(value: Any, dtype: Any) -> Any:
    """A number (or tensor) in ``dtype``; tf.cast would round a number to float32 first."""
    if is_native(value):
        return tf.cast(value, dtype)
    return tf.constant(np.asarray(value).astype(tf.as_dtype(dtype).as_numpy_dtype))


def like(x: Any, other: Any) -> Any:
    """``x`` as a tensor; a number takes the dtype of the tensor ``other``."""
    return x if is_native(x) else tf.convert_to_tensor(x, other.dtype)


def through(function: Callable[..., Any], **table: str) -> Callable[..., Any]:
    """``function``, computed in the dtype that ``table`` names where TensorFlow has no kernel.

    It also takes a number before a tensor in a graph, where TensorFlow would give the number a
    dtype of its own. What succeeds at once pays for neither.
    """
    kernels = {tf.as_dtype(given): tf.as_dtype(used) for given, used in table.items()}

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        try:
            return function(*args)
        except (TypeError, ValueError, tf.errors.OpError):
            tensors = [a for a in args if is_native(a)]
            dtype = tensors[0].dtype if tensors else None
            used = kernels.get(dtype, None if is_native(args[0]) else dtype)
            if used is None or any(t.dtype is not dtype for t in tensors):
                raise
            result = function(*(_brought(a, dtype, used) for a in args))
            return result if result.dtype is tf.bool else tf.cast(result, dtype)

    return run


def _brought(value: Any, dtype: Any, used: Any) -> Any:
    if value is None:
        return None
    return tf.cast(value if is_native(value) else tf.convert_to_tensor(value, dtype), used)
