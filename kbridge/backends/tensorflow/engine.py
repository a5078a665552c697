"""TensorFlow as an engine: one tf.function per plan, variables in ``tf.Variable``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
import tensorflow as tf

from kbridge.api.declare import Operation
from kbridge.backends.engine import Engine
from kbridge.backends.tensorflow import sparse as matrices
from kbridge.backends.tensorflow.control import graph_loop
from kbridge.backends.tensorflow.eager import ENTRIES
from kbridge.backends.tensorflow.failures import cleared
from kbridge.backends.tensorflow.support import (
    EAGER,
    VARIABLE,
    Build,
    building,
    is_native,
    truth,
)
from kbridge.errors import ShapeError, SymbolicError
from kbridge.symbolic import dtypes

_VALUES = (tf.Tensor, tf.SparseTensor)
_DTYPES = {name: tf.as_dtype(name) for name in dtypes.DTYPES}


def _all_are(tensors: Any, kind: Any) -> bool:
    """Whether a list holds tensors of one class; TensorFlow itself refuses mixed dtypes."""
    if tensors.__class__ not in (list, tuple) or not tensors:
        return False
    for tensor in tensors:  # noqa: SIM110  # all() takes four times as long
        if tensor.__class__ is not kind:
            return False
    return True


class TensorFlowEngine(Engine):
    """What is built inside a user's tf.function is part of it, and sees variables as they are then.

    Constants and variables are made outside of it, so that they outlive it.
    """

    name = "tensorflow"
    title = "TensorFlow"
    tensor_class = EAGER
    autodiff = "tape"
    split = staticmethod(tf.split)
    sparse = matrices
    guard_names = MappingProxyType({"alike": _all_are})
    #: jit_compile: compile by XLA, for each size anew.
    options = MappingProxyType({"jit_compile": False, "device": None})

    def __init__(self) -> None:
        super().__init__()
        self.plan_names.update(
            from_host=self.from_host,
            tracing=lambda on: False,
            track=lambda tensor: tensor,
            differentiate=_differentiate,
        )

    # --- values -----------------------------------------------------------------------------------

    is_native = staticmethod(is_native)

    def taken(self, native: Any) -> Any:
        return native if isinstance(native, tf.Tensor) else tf.convert_to_tensor(native)

    def shape(self, native: Any) -> tuple[int | None, ...]:
        try:
            return tuple(native.shape)
        except ValueError as error:
            raise ShapeError(
                f"{native!r:.80} has no known rank; give it one with tensor.set_shape([None, ...])"
            ) from error

    def from_numpy(self, array: Any, dtype: str) -> Any:
        if tf.executing_eagerly():
            return tf.constant(array, _DTYPES[dtype])
        with tf.init_scope():
            return tf.constant(array, _DTYPES[dtype])

    def to_numpy(self, native: Any) -> Any:
        if isinstance(native, np.ndarray):
            return np.array(native)  # sizes on the host
        try:
            return np.asarray(native.numpy())  # of rank 0 it is a scalar
        except (AttributeError, NotImplementedError) as error:
            raise SymbolicError(
                "inside a tf.function there are no values, so K.eval, K.get_value and the results "
                "of K.function cannot be had there. Use the K functions on tensors themselves, or "
                "compute the value before."
            ) from error

    def constant(self, value: Any, dtype: str) -> Any:
        if isinstance(value, np.ndarray):
            return self.from_numpy(value, dtype)
        # A variable stays one, so that its later values are seen; Keras's own holds one.
        return value if isinstance(value, (tf.Tensor, tf.Variable)) else value.value

    def from_host(self, value: Any, dtype: str) -> Any:
        if isinstance(value, tf.Tensor):
            return tf.cast(value, dtype)
        return tf.constant(np.asarray(value), dtype)

    def cast(self, native: Any, dtype: str) -> Any:
        return tf.cast(native, dtype)

    # --- variables --------------------------------------------------------------------------------

    def storage(self, array: Any, dtype: str, name: str) -> Any:
        if tf.executing_eagerly():
            return tf.Variable(array, dtype=dtype, shape=array.shape)
        # tf.function takes over what tf.Variable makes, and refuses it after the first trace.
        with tf.init_scope():
            return VARIABLE(array, dtype=dtype, shape=array.shape)

    def read(self, storage: Any) -> Any:
        return storage.read_value()

    def set_value(self, variable: Any, array: Any) -> None:
        with tf.init_scope():
            variable.storage.assign(tf.constant(array, variable.dtype))

    # --- functions --------------------------------------------------------------------------------

    def feed(self, value: Any, tensor: Any, name: str) -> Any:
        fed = super().feed(value, tensor, name)
        return fed if fed.__class__ is EAGER else self.taken(fed)

    def compile(
        self,
        plan: Any,
        feeds: Sequence[Any],
        count: int,
        targets: Sequence[tuple[Any, bool]],
        options: dict[str, Any],
    ) -> Callable[[list[Any]], list[Any]]:
        device = self.device(options["device"])
        targets = [variable for variable, _ in targets]
        return Compiled(plan, feeds, count, targets, bool(options["jit_compile"]), device)

    def device(self, given: Any) -> str | None:
        """The option ``device``, in any of TensorFlow's spellings, as its full name."""
        if given is None:
            return None
        name = str(given).upper().removeprefix("/").removeprefix("DEVICE:")
        kind, _, number = name.partition(":")
        name = f"/device:{kind}:{number or 0}"
        known = [device.name for device in tf.config.list_logical_devices()]
        if name not in known:
            raise self.no_device(given, known)
        return name

    def run_now(self, plan: Any, variables: list[Any], keys: list[int]) -> list[Any]:
        def run(*values: Any) -> list[Any]:
            return [_tensor(result) for result in plan.run((), values, keys)]

        # In a graph alone TensorFlow differentiates with respect to any tensor, at any order.
        compiled = tf.function(run, autograph=False) if plan.differentiates else run
        with cleared():
            return compiled(*variables)

    @contextmanager
    def no_gradients(self) -> Iterator[None]:
        if tf.executing_eagerly():
            with tf.init_scope():  # which pauses a GradientTape
                yield
        else:
            yield

    def host_primitive(self, name: str, backend: Any) -> Callable[..., Any]:
        on_host, native = super().host_primitive(name, backend), backend.native[name]

        def sized(*args: Any) -> Any:
            return native(*map(_dynamic, args)) if _holds_tensor(args) else on_host(*args)

        return sized

    # --- branches and loops -----------------------------------------------------------------------

    def choose(self, condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        return tf.cond(truth(condition), lambda: _tensor(first()), lambda: _tensor(second()))

    unstack = staticmethod(tf.unstack)
    stack = staticmethod(tf.stack)

    def loop(
        self,
        step: Callable[..., Any],
        states: list[Any],
        sequences: list[Any],
        reverse: bool,
        specs: Any = None,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        if tf.executing_eagerly():
            return super().loop(step, states, sequences, reverse, specs)
        return graph_loop(step, states, sequences, reverse, specs)

    # --- random -----------------------------------------------------------------------------------

    def draw_key(self, seed: int, position: Any) -> Any:
        within = (int(seed) + 2**63) % 2**64 - 2**63
        position, *steps = position if type(position) is tuple else (position,)
        key = tf.stack([tf.constant(within, tf.int64), tf.cast(position, tf.int64)])
        for step in steps:
            key = tf.random.fold_in(key, step)
        return key

    def in_graph(self) -> bool:
        return not tf.executing_eagerly()

    def graph_position(self, seed: int) -> Any:
        return tf.random.uniform((), maxval=2**63 - 1, dtype=tf.int64, seed=seed)

    # --- dispatch ---------------------------------------------------------------------------------

    def entry(self, op: Operation, native: Callable[..., Any]) -> Callable[..., Any]:
        return ENTRIES.get(op.name, native)

    def dtype_guards(self, op: Operation, names: Sequence[str]) -> list[str]:
        return []  # TensorFlow itself refuses operands that differ

    def float_guard(self, name: str) -> str:
        return "True"  # TensorFlow itself refuses a number that would change the dtype

    def as_tf(self, native: Any, dtype: Any) -> Any:
        return tf.convert_to_tensor(native, dtype)


class Compiled:
    """A plan as one graph: reads the variables, computes all, then gives variables their values.

    The graph is built once for all sizes. A second one may serve feeds without elements, where
    the first holds an operation that they would need treated apart.
    """

    def __init__(
        self,
        plan: Any,
        feeds: Sequence[Any],
        count: int,
        targets: Sequence[Any],
        jit_compile: bool,
        device: str | None,
    ) -> None:
        self.jit_compile = jit_compile or None  # None: TensorFlow's choice
        self.device = device
        self.plan = plan
        self.count = count
        self.targets = targets
        self.feeds = feeds
        self.sparse = any(feed.sparse for feed in feeds)
        self.signature = [spec for feed in feeds for spec in matrices.signature(feed)]
        self.given = len(self.signature)
        if plan.draws:
            self.signature.append(tf.TensorSpec((len(plan.draws),), tf.int64))
        self.first = self.built(empty=False)
        self.second: Any = None

    def built(self, empty: bool) -> Any:
        """The graph, its function, and the variables and constants that it reads."""
        graph = Build(self.plan.differentiates, empty)
        with tf.init_scope(), cleared(), building(graph):
            # Calls go to what is inside of tf.function, which takes as long as some ten operations
            # to check its arguments. It is kept since its graph lives no longer.
            function = tf.function(
                self.body,
                input_signature=self.signature,
                autograph=False,
                jit_compile=self.jit_compile,
            )
            concrete = function.get_concrete_function()
        try:
            return graph, concrete.inference_fn.call_flat, concrete.captured_inputs, function
        except AttributeError:  # not documented names
            return graph, concrete, (), function

    def body(self, *args: Any) -> list[Any]:
        """What a graph holds."""
        if self.device is None:
            return self.computed(*args)
        with tf.device(self.device):
            return self.computed(*args)

    def computed(self, *args: Any) -> list[Any]:
        """The outputs; the variables get their new values after all has been computed."""
        keys = tf.unstack(args[self.given]) if self.plan.draws else ()
        values = [variable.storage.read_value() for variable in self.plan.variables]
        given = matrices.joined(self.feeds, args[: self.given])
        results = self.plan.run(given, values, keys)
        results = [_tensor(result) for result in results]
        outputs, updates = results[: self.count], results[self.count :]
        updates = [
            tf.ensure_shape(value, variable.shape)
            for value, variable in zip(updates, self.targets, strict=True)
        ]
        # If anything fails, no variable has changed.
        with tf.control_dependencies([*outputs, *updates]):
            for variable, value in zip(self.targets, updates, strict=True):
                variable.storage.assign(value, read_value=False)
        return outputs

    def __call__(self, natives: list[Any]) -> list[Any]:
        if self.sparse:
            natives = matrices.parts(natives)
        graph, call, captured, _ = self.first
        if graph.sensitive and any(0 in native.shape.as_list() for native in natives):
            self.second = self.second or self.built(empty=True)
            _, call, captured, _ = self.second
        draws = self.plan.draws
        if draws:
            keys = tf.constant([next(draw.stream) for draw in draws], tf.int64)
            natives = [*natives, keys]
        with cleared():
            return list(call(*natives, *captured) or ())


def _tensor(value: Any) -> Any:
    return value if isinstance(value, _VALUES) else tf.convert_to_tensor(value)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensor, value))
    return isinstance(value, tf.Tensor)


def _dynamic(value: Any) -> Any:
    """Sizes beside a tensor as tensors, integers in int32."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_dynamic, value))
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return tf.constant(array, tf.int32 if array.dtype.kind in "iu" else None)
    return value


def _differentiate(loss: Any, sources: Any, higher: bool, again: bool) -> list[Any]:
    found = tf.gradients(loss, list(sources), unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [_dense(gradient, x) for gradient, x in zip(found, sources, strict=True)]


def _dense(gradient: Any, x: Any) -> Any:
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.math.unsorted_segment_sum(gradient.values, gradient.indices, tf.shape(x)[0])
