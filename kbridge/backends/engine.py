"""What an engine tells kbridge: the hooks behind the graph, one class per engine.

An :class:`Engine` converts values, keeps variables, compiles plans and differentiates. The
K functions themselves are the native primitives in the backend's topic modules. Hooks marked
*required* have no default.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from kbridge.api.declare import Operation
from kbridge.errors import ArgumentError, FeedError
from kbridge.symbolic import dtypes, record
from kbridge.symbolic.draws import host_key

Shape = tuple[int | None, ...]


class Engine:
    """Base of all engines."""

    #: The engine's name, and how it is written in messages.
    name = "engine"
    title = "Engine"
    #: The exact class of a native tensor, for the dispatchers' fast path. *Required.*
    tensor_class: type = object
    #: Subclasses that the fast path takes as well; others go through the slow path.
    subclasses: tuple[type, ...] = ()
    #: Whether NumPy arrays are this engine's native tensors.
    arrays_are_native = False
    #: Whether kbridge's graph records; False for a module that brings a graph of its own.
    has_graph = True
    #: Who differentiates: "graph" (kbridge's own), "tape" or "functional" (the engine).
    autodiff = "graph"
    #: Whether what :meth:`entry` gives may return ``()``, for the slow path to take over.
    declines = False
    #: Names that the guards of :meth:`dtype_guards` use.
    guard_names: Mapping[str, Any] = MappingProxyType({})

    def __init__(self) -> None:
        #: Names that generated plans use.
        self.plan_names: dict[str, Any] = {
            "from_host": lambda value, dtype: self.from_numpy(np.asarray(value), dtype),
            "host_key": host_key,
            "draw_key": self.draw_key,
        }

    # --- values: all required -------------------------------------------------------------------

    def is_native(self, value: Any) -> bool:
        """Whether ``value`` is one of the engine's tensors (subclasses and tracers too)."""
        return isinstance(value, self.tensor_class)

    def shape(self, native: Any) -> Shape:
        """The static shape."""
        return tuple(native.shape)

    def dtype(self, native: Any) -> str:
        """The dtype as a string."""
        return dtypes.normalize(native.dtype)

    def from_numpy(self, array: Any, dtype: str) -> Any:
        """A native tensor of ``dtype`` that shares no memory with ``array``. *Required.*."""
        raise NotImplementedError

    def to_numpy(self, native: Any) -> Any:
        """A NumPy array that the caller may keep and change. *Required.*."""
        raise NotImplementedError

    def as_array(self, value: Any, dtype: str | None = None) -> Any:
        """An array, a number, a list or a native tensor as a NumPy array."""
        return self.to_numpy(value) if self.is_native(value) else record.as_array(value, dtype)

    def constant(self, value: Any, dtype: str) -> Any:
        """A native tensor for a constant of the graph: a NumPy array or a native tensor."""
        return self.from_numpy(value, dtype) if isinstance(value, np.ndarray) else value

    def taken(self, native: Any) -> Any:
        """A native operand of a user's as the primitives take it."""
        return native

    # --- variables --------------------------------------------------------------------------------

    def storage(self, array: Any, dtype: str, name: str) -> Any:
        """The storage of a new variable."""
        return self.from_numpy(array, dtype)

    def read(self, storage: Any) -> Any:
        """The native tensor that a storage holds now."""
        return storage

    def assign(self, variable: Any, native: Any, copy: bool) -> None:
        """Give a variable the value that a function computed."""
        variable.storage = self.copy(native) if copy else native

    def set_value(self, variable: Any, array: Any) -> None:
        """Give a variable the value of a NumPy array."""
        variable.storage = self.from_numpy(array, variable.dtype)

    def copy(self, native: Any) -> Any:
        """The same values in memory of their own."""
        return native

    # --- functions --------------------------------------------------------------------------------

    #: Keyword arguments of ``K.function`` that the engine takes, with their defaults.
    options: Mapping[str, Any] = MappingProxyType({})

    def check_options(self, given: dict[str, Any], name: str) -> dict[str, Any]:
        """The options with their defaults; unknown ones are an error."""
        unknown = sorted(set(given) - set(self.options))
        if unknown:
            known = ", ".join(sorted(self.options)) or "none"
            raise ArgumentError(
                f"K.function: invalid argument {unknown[0]!r} for {name!r} on {self.title}. "
                f"Options of this backend: {known}."
            )
        return {**self.options, **given}

    def feed(self, value: Any, tensor: Any, name: str) -> Any:
        """``value`` as the native tensor fed for ``tensor``, its shape and dtype checked."""
        if self.is_native(value) and not isinstance(value, np.ndarray):
            self.check_feed(self.shape(value), tensor, name)
            return value if self.dtype(value) == tensor.dtype else self.cast(value, tensor.dtype)
        array = self.feed_array(value, tensor, name)
        return self.from_feed(array, tensor.dtype)

    def feed_array(self, value: Any, tensor: Any, name: str) -> Any:
        """``value`` as a NumPy array of the shape and dtype of ``tensor``."""
        if value is None:
            raise FeedError(f"{name}: no value (None) is fed for {tensor!r}. Feed an array.")
        wanted = dtypes.to_numpy(tensor.dtype)
        try:
            array = np.asarray(value)
            if array.dtype != wanted:
                array = array.astype(wanted)
        except (TypeError, ValueError) as error:
            raise FeedError(
                f"{name}: the value fed for {tensor!r} cannot become an array of "
                f"{tensor.dtype}: {type(value).__name__} {value!r:.80}"
            ) from error
        self.check_feed(array.shape, tensor, name)
        return array

    def check_feed(self, shape: Any, tensor: Any, name: str) -> None:
        """A FeedError unless ``shape`` fits the static shape of ``tensor``."""
        wanted = tensor.shape
        if len(shape) != len(wanted) or any(
            w is not None and w != s for w, s in zip(wanted, shape, strict=True)
        ):
            raise FeedError(
                f"{name}: the value fed for {tensor!r} has the shape {tuple(shape)}; expected "
                f"{wanted}{' (None: any size)' if None in wanted else ''}."
            )

    def from_feed(self, array: Any, dtype: str) -> Any:
        """A native tensor for a fed array; it may share its memory."""
        return self.from_numpy(array, dtype)

    def cast(self, native: Any, dtype: str) -> Any:
        """``native`` with another dtype. *Required.*."""
        raise NotImplementedError

    def compile(
        self,
        plan: Any,
        feeds: Sequence[Any],
        count: int,
        targets: Sequence[tuple[Any, bool]],
        options: dict[str, Any],
    ) -> Callable[[list[Any]], list[Any]]:
        """A function from fed tensors to ``count`` outputs that then changes ``targets``.

        The default runs the plan as it is; :meth:`jit` may compile it.
        """
        run = self.jit(plan, feeds, options)
        variables, draws = plan.variables, plan.draws

        def program(natives: list[Any]) -> list[Any]:
            values = [variable.storage for variable in variables]
            results = run(natives, values, [next(draw.stream) for draw in draws])
            for (variable, copy), value in zip(targets, results[count:], strict=True):
                self.assign(variable, value, copy)
            return results[:count]

        return program

    def jit(self, plan: Any, feeds: Sequence[Any], options: dict[str, Any]) -> Callable[..., Any]:
        """The plan's ``run``, compiled if the engine compiles."""
        return plan.run

    def run_now(self, plan: Any, variables: list[Any], keys: list[int]) -> list[Any]:
        """Run a plan without feeds once, for ``K.eval``."""
        return plan.run((), variables, keys)

    def run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run a native function now, on the slow path."""
        return function(*args)

    def run_wide(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run a native function on 64-bit operands, or for a 64-bit result."""
        return function(*args)

    @contextlib.contextmanager
    def no_gradients(self) -> Iterator[None]:
        """A scope in which the engine records nothing for its autodiff."""
        yield

    def host_primitive(self, name: str, backend: Any) -> Callable[..., Any]:
        """The function for shape arithmetic on NumPy integers."""
        return backend.host_function(name)

    def abstract(
        self, function: Callable[..., Any], specs: Sequence[tuple[Shape, str]]
    ) -> tuple[Shape, str]:
        """Shape and dtype of a native function's result, unknown sizes included.

        The default runs it on zeros, with two different sizes for what is unknown.
        """
        first, second = (
            function(*(self._stand_in(shape, dtype, size) for shape, dtype in specs))
            for size in (2, 3)
        )
        sizes = zip(self.shape(first), self.shape(second), strict=True)
        return tuple(a if a == b else None for a, b in sizes), self.dtype(first)

    def _stand_in(self, shape: Shape, dtype: str, size: int) -> Any:
        sizes = [size if n is None else n for n in shape]
        return self.from_numpy(np.zeros(sizes, dtypes.to_numpy(dtype)), dtype)

    # --- random -----------------------------------------------------------------------------------

    def draw_key(self, seed: int, position: int) -> Any:
        """What this engine's random primitives take as ``seed`` inside a compiled function."""
        return host_key(seed, position)

    def in_graph(self) -> bool:
        """Whether the engine builds a graph of its own now; :meth:`graph_position` then draws."""
        return False

    def graph_position(self, seed: int) -> Any:
        """A position in a stream that the engine's own graph takes anew at each of its runs."""
        raise NotImplementedError

    def check_draw(self) -> None:
        """Raise where a draw on the host would be frozen (under an engine's own trace)."""

    # --- dispatch ---------------------------------------------------------------------------------

    def entry(self, op: Operation, native: Callable[..., Any]) -> Callable[..., Any]:
        """What the dispatcher calls on native tensors: the primitive, or a guarded form of it."""
        return native

    def dtype_guards(self, op: Operation, names: Sequence[str]) -> list[str]:
        """Conditions on the operands' dtypes under which the native primitive is right."""
        return []

    def float_guard(self, name: str) -> str:
        """A condition that the native tensor ``name`` is of a float dtype.

        With it the native primitive is called at once where Python numbers stand beside such a
        tensor; "" leaves those to the slow path.
        """
        return ""

    # --- protocols --------------------------------------------------------------------------------

    def as_tf(self, native: Any, dtype: Any) -> Any:
        """A native tensor as TensorFlow takes it."""
        import tensorflow as tf

        return tf.convert_to_tensor(self.to_numpy(native), dtype)
