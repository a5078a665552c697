"""What an engine tells kbridge: the hooks behind the graph, one class per engine.

An :class:`Engine` converts values, keeps variables, compiles plans and differentiates. The
K functions themselves are the native primitives in the backend's topic modules. Hooks marked
*required* have no default: a class, two conversions, a cast and a stack.
"""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from kbridge.api.declare import Operation
from kbridge.errors import ArgumentError, FeedError, UnsupportedError
from kbridge.symbolic import dtypes, record
from kbridge.symbolic.draws import host_key

Shape = tuple[int | None, ...]

#: What NumPy warns of where the other engines give inf, nan or 0.
_WARNING = frozenset({"divide", "floor_divide", "mod", "pow", "log", "exp", "cast"})

#: The storage of a variable.
storage_of = operator.attrgetter("storage")

_DENSE = "which is sparse; feed matrix.toarray(), or make the placeholder with sparse=True"


class Engine:
    """Base of all engines."""

    #: The engine's name, and how it is written in messages.
    name = "engine"
    title = "Engine"
    #: The exact class of a native tensor, for the dispatchers' fast path. *Required*.
    tensor_class: type = object
    #: Subclasses that the fast path takes as well; others go through the slow path.
    subclasses: tuple[type, ...] = ()
    #: Whether NumPy arrays are this engine's native tensors.
    arrays_are_native = False
    #: Whether kbridge's graph records; False for a module that brings a graph of its own.
    has_graph = True
    #: The module of the engine's sparse matrices, None where it has none. Beside the primitives of
    #: api/sparse.py it has ``is_matrix(value)``; ``from_scipy(matrix, dtype)``, of a CSR matrix of
    #: that dtype in canonical form, and ``to_scipy(native)``; and ``store(native, storage=None)``,
    #: the storage of a variable, new or with its value replaced.
    sparse: Any = None
    #: Whether it compiles only what has a shape that follows from shapes. What is ``uncompiled``
    #: then runs after the compiled part of a function, by :meth:`run_after`.
    fixed_shapes = False
    #: Who differentiates: "graph" (kbridge's own), "tape" or "functional" (the engine).
    autodiff = "graph"
    #: Whether what :meth:`entry` gives may return ``()``, for the slow path to take over.
    declines = False
    #: Names that the guards of :meth:`dtype_guards` use.
    guard_names: Mapping[str, Any] = MappingProxyType({})
    #: By primitive, a function of its recorded arguments: it returns what plans call in its place,
    #: where ranks and dtypes allow that, else None.
    in_plans: Mapping[Callable[..., Any], Callable[..., Any]] = MappingProxyType({})
    #: By the names of an operation ("add", "subtract", "bias_add") and of one whose result it
    #: takes: a function of the outer node, its other operand and the arguments of the inner one. It
    #: returns what plans call with that operand and these arguments in place of both, else None.
    fusions: Mapping[tuple[str, str], Callable[..., Any]] = MappingProxyType({})
    #: ``split(native, sizes, axis)``: the pieces of a tensor; plans call it for slices that divide
    #: it; None where its derivative is no better than that of the slices.
    split: Callable[..., Sequence[Any]] | None = None
    #: Names that the source of :meth:`quick_feed` uses.
    feed_names: Mapping[str, Any] = MappingProxyType({})

    def __init__(self) -> None:
        self.guard_names = {"dtype_of": self.dtype, **self.guard_names}
        #: Names that generated plans use.
        self.plan_names: dict[str, Any] = {
            "from_host": lambda value, dtype: self.from_numpy(np.asarray(value), dtype),
            "host_key": host_key,
            "draw_key": self.draw_key,
        }
        self.feed_names = {"from_feed": self.from_feed}

    # --- values -----------------------------------------------------------------------------------

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
        """A native tensor of ``dtype`` that shares no memory with ``array``. *Required*."""
        raise NotImplementedError

    def to_numpy(self, native: Any) -> Any:
        """A NumPy array that the caller may keep and change. *Required*."""
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

    def no_device(self, device: Any, known: Sequence[Any]) -> ArgumentError:
        """The error for an option ``device`` that is none of those ``known``."""
        return ArgumentError(
            f"K.function: {self.title} has no device {device!r} here; it has "
            f"{', '.join(map(repr, map(str, known)))}."
        )

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
            shown = _DENSE if hasattr(value, "toarray") else f"{value!r:.80}"
            raise FeedError(
                f"{name}: the value fed for {tensor!r} cannot become an array of "
                f"{tensor.dtype}: {type(value).__name__} {shown}"
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

    def quick_feed(self, dtype: str) -> tuple[str, str]:
        """Source for :meth:`from_feed` of a NumPy array ``{}``: a test, and an expression.

        They are used where class, dtype and shape are right; where the test fails, :meth:`feed` is
        called. "{}" alone takes the array as it is.
        """
        return "", f"from_feed({{}}, {dtype!r})"

    def hand_out(self, results: list[Any]) -> list[Any]:
        """:meth:`to_numpy` of all results of a function; it takes the list for good."""
        return [self.to_numpy(result) for result in results]

    def hand_over(self, results: list[Any]) -> list[Any]:
        """:meth:`hand_out` of results whose memory nothing else holds."""
        return self.hand_out(results)

    def cast(self, native: Any, dtype: str) -> Any:
        """``native`` with another dtype. *Required*."""
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
            keys = [next(draw.stream) for draw in draws] if draws else ()
            results = run(natives, list(map(storage_of, variables)), keys)
            if not targets:
                return results
            for (variable, copy), value in zip(targets, results[count:], strict=True):
                self.assign(variable, value, copy)
            return results[:count]

        return program

    def jit(self, plan: Any, feeds: Sequence[Any], options: dict[str, Any]) -> Callable[..., Any]:
        """The plan's ``run``, compiled if the engine compiles."""
        return plan.run

    def export(self, compiled: Any, path: str | os.PathLike[str]) -> None:
        """Save what :meth:`compile` returned as a file, for ``Function.export``."""
        raise UnsupportedError(
            f"{self.title} has no file format for functions. The backend 'onnx' exports them; in a "
            f"checkout of kbridge, install it with: pip install plugins/kbridge-onnx"
        )

    def run_now(self, plan: Any, variables: list[Any], keys: list[int]) -> list[Any]:
        """Run a plan without feeds once, for ``K.eval``."""
        return plan.run((), variables, keys)

    def run_after(self, plan: Any, feeds: Sequence[Any]) -> list[Any]:
        """Run a plan without variables once, after the compiled part of a function."""
        return plan.run(feeds, (), plan.keys())

    def run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run a native function now, on the slow path."""
        return function(*args)

    def run_wide(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run a native function on 64-bit operands, or for a 64-bit result."""
        return function(*args)

    # --- branches and loops -----------------------------------------------------------------------

    def choose(self, condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        """``first()`` where the native scalar ``condition`` is not 0, else ``second()``."""
        return first() if condition else second()

    def loop(
        self,
        step: Callable[..., Any],
        states: list[Any],
        sequences: list[Any],
        reverse: bool,
        specs: Any = None,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Repeat ``step(t, states, elements) -> (states, outputs)`` over the sequences' first axis.

        Returns the last states and the outputs, stacked where their elements stand. ``reverse``
        begins at the end. A plan gives as ``specs`` the shapes of the states, and the shapes and
        dtypes of the outputs. The default is a Python loop.
        """
        return self.unrolled_loop(step, states, sequences, reverse, specs)

    def unrolled_loop(
        self,
        step: Callable[..., Any],
        states: list[Any],
        sequences: list[Any],
        reverse: bool,
        specs: Any = None,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """A loop in Python, with the same arguments."""
        parts = list(zip(*map(self.unstack, sequences), strict=True))
        rows: list[Any] = [None] * len(parts)
        for t in reversed(range(len(parts))) if reverse else range(len(parts)):
            states, rows[t] = step(t, states, parts[t])
        if rows:
            return states, [self.stack(column) for column in zip(*rows, strict=True)]
        # Without a step the outputs are empty; a step on zeros tells their shapes.
        zeros = [self._stand_in(self.shape(s)[1:], self.dtype(s), 0) for s in sequences]
        _, outputs = step(0, states, zeros)
        return states, [self.stack([output])[:0] for output in outputs]

    def unstack(self, native: Any) -> Sequence[Any]:
        """The native tensors along the first axis."""
        return [native[t, ...] for t in range(native.shape[0])]

    def stack(self, natives: Sequence[Any]) -> Any:
        """Native tensors along a new first axis. *Required*."""
        raise NotImplementedError

    @contextlib.contextmanager
    def no_gradients(self) -> Iterator[None]:
        """A scope in which the engine records nothing for its autodiff."""
        yield

    def host_primitive(self, name: str, backend: Any) -> Callable[..., Any]:
        """The function for shape arithmetic on NumPy integers."""
        function: Callable[..., Any] = backend.host_function(name)
        return np.errstate(all="ignore")(function) if name in _WARNING else function

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

    def draw_key(self, seed: int, position: Any) -> Any:
        """What this engine's random primitives take as ``seed`` inside a compiled function.

        In a loop ``position`` is a tuple: the position, and the number of each loop's step.
        """
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
        """Conditions on the operands' dtypes under which the native primitive is right.

        Elsewhere the slow path promotes them first. The default asks :meth:`dtype`; for speed, ask
        the native tensors themselves.
        """
        guards = []
        if op.floating:
            guards.append(f"'float' in dtype_of({names[0]})")
        elif op.numeric:
            guards.append(f"dtype_of({names[0]}) != 'bool'")
        first, *others = [n for n in names if op.parameters.index(n) in op.promoted] or [""]
        return guards + [f"dtype_of({name}) == dtype_of({first})" for name in others]

    def float_guard(self, name: str) -> str:
        """A condition that the native tensor ``name`` is of a float dtype.

        With it the native primitive is called at once where Python numbers stand beside such a
        tensor; "" leaves those to the slow path.
        """
        return ""

    # --- protocols --------------------------------------------------------------------------------

    def before_checks(self) -> None:
        """What ``kbridge check`` calls first: settings for thousands of programs that run once."""

    def as_tf(self, native: Any, dtype: Any) -> Any:
        """A native tensor as TensorFlow takes it."""
        import tensorflow as tf

        return tf.convert_to_tensor(self.to_numpy(native), dtype)
