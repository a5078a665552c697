"""What the topics share: sizes, truth, and where TensorFlow lacks a kernel or a gradient."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import tensorflow as tf

try:
    # Whether no GradientTape records; not a public name.
    from tensorflow.python.pywrap_tfe import TFE_Py_TapeSetIsEmpty as no_tape
except ImportError:  # every result is then made fit for a gradient

    def no_tape() -> bool:
        return False


try:
    # Their names are not public; a first tensor and variable, from which to take their classes,
    # would start the devices.
    from tensorflow.python.framework.ops import EagerTensor as EAGER
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable as VARIABLE
except ImportError:
    EAGER, VARIABLE = type(tf.constant(0)), type(tf.Variable(0))

#: All whose values need no graph, EAGER being the class of a tensor that has a value.
VALUES = frozenset({EAGER, float, int, bool, type(None)})
#: What TensorFlow raises, at once or while it builds a graph, for what it does not take.
REFUSED = (TypeError, ValueError, tf.errors.OpError)


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


def recorded(x: Any, y: Any = None) -> bool:
    """Whether a gradient may be asked of what is computed from ``x`` and ``y``."""
    if (x.__class__ in VALUES and y.__class__ in VALUES) or tf.executing_eagerly():
        return not no_tape()
    graph = build()
    return graph is None or graph.differentiates


_native: dict[type, bool] = {}


def is_native(value: Any) -> bool:
    """Whether ``value`` is a dense tensor or a variable, TensorFlow's own or one of Keras 3."""
    kind = value.__class__
    found = _native.get(kind)
    if found is None:  # tf.is_tensor may take as long as an operation
        sparse = (tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices)
        found = _native[kind] = tf.is_tensor(value) and not isinstance(value, sparse)
    return found


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


# --- kernels that are missing -----------------------------------------------------------------


def unary(function: Callable[[Any], Any], **kernels: str) -> Callable[[Any], Any]:
    """``function``, in the dtype that ``kernels`` names for one that TensorFlow lacks."""
    used = _used(kernels)

    def run(x: Any) -> Any:
        try:
            return function(x)
        except REFUSED as error:
            return _through(function, used, error, x)

    return run


def binary(function: Callable[[Any, Any], Any], **kernels: str) -> Callable[[Any, Any], Any]:
    """The same of two operands, of which one may be a number.

    A number before a tensor would get a dtype of its own in a graph.
    """
    used = _used(kernels)

    def run(x: Any, y: Any) -> Any:
        try:
            return function(x, y)
        except REFUSED as error:
            return _through(function, used, error, x, y)

    return run


def _used(kernels: dict[str, str]) -> dict[Any, Any]:
    return {tf.as_dtype(given): tf.as_dtype(used) for given, used in kernels.items()}


def _through(
    function: Callable[..., Any], kernels: dict[Any, Any], error: Exception, *operands: Any
) -> Any:
    """The result in another dtype, else the ``error`` by which TensorFlow refused this one."""
    tensors = [value for value in operands if is_native(value)]
    dtype = tensors[0].dtype if tensors else None
    used = kernels.get(dtype, None if is_native(operands[0]) else dtype)
    if used is None or any(tensor.dtype is not dtype for tensor in tensors):
        raise error
    result = function(*(tf.cast(like(value, tensors[0]), used) for value in operands))
    return result if result.dtype is tf.bool else tf.cast(result, dtype)
