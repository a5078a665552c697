"""JAX as an engine: plans are compiled by ``jax.jit``, ``jax.vjp`` differentiates.

Three things are JAX's own. 64-bit dtypes exist only in its 64-bit mode, which is entered for
the plans and calls that hold one, never for the user's program. Inside a trace of the user's
(jit, grad, vmap) a variable is read as a constant, and nothing made here may become a tracer
that outlives it. Faults in data travel out of compiled code as an output (``checks.py``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kbridge.api.declare import Operation
from kbridge.backends.engine import Engine, Shape, storage_of
from kbridge.backends.jax import checks, control
from kbridge.backends.jax import sparse as matrices
from kbridge.backends.jax.staging import (
    Tracer,
    enable_x64,
    entry,
    strong,
    trace_state_clean,
)
from kbridge.errors import FeedError, GraphError, UnsupportedError
from kbridge.symbolic import dtypes

try:
    from jax._src.array import ArrayImpl
except ImportError:  # without a look at its home an array must be made, which starts the devices
    ArrayImpl = type(jnp.zeros(()))

_WORD = 0xFFFFFFFF


def _alike(tensors: Any, kind: Any) -> bool:
    """Whether a list holds arrays of exactly one class; their dtypes meet by JAX's own table."""
    if tensors.__class__ not in (list, tuple) or not tensors:
        return False
    for tensor in tensors:  # noqa: SIM110  # a generator costs more
        if tensor.__class__ is not kind:
            return False
    return True


def _concrete() -> contextlib.AbstractContextManager[Any]:
    """What is computed inside has a value, also while JAX traces a function of the user's."""
    return _OUTSIDE if trace_state_clean() else jax.ensure_compile_time_eval()


def _mode(wide: bool) -> contextlib.AbstractContextManager[Any]:
    """JAX's 64-bit mode, or the user's own."""
    return enable_x64(True) if wide else _OUTSIDE


def _on(device: Any) -> contextlib.AbstractContextManager[Any]:
    """Where what is nowhere in particular is computed; None: where JAX would."""
    return _OUTSIDE if device is None else jax.default_device(device)


_OUTSIDE = contextlib.nullcontext()


def _traced(plan: Any, kept: Sequence[Any], given: Sequence[Any]) -> Callable[..., Any]:
    """The plan as a function for ``jax.jit``; after the results it returns what was noted, if any.

    The storages in ``given`` are those that JAX gets for good.
    """
    where = {variable: i for i, variable in enumerate([*kept, *given])}
    order = [where[variable] for variable in plan.variables]

    def run(feeds: Any, kept: Any, given: Any = (), keys: Any = ()) -> Any:
        storages = [*kept, *given]
        inputs = {id(value) for value in (*feeds, *storages)}
        variables = [storages[i] for i in order]
        positions = [keys[i] for i in range(len(plan.draws))]
        results, notes = checks.collected(plan.run, feeds, variables, positions)
        # An input that is also a result gets memory of its own: what JAX is fed or given may be
        # the caller's.
        results = [jnp.array(r, copy=True) if id(r) in inputs else r for r in results]
        return [*results, notes] if notes.vectors else results

    return run


def _differentiate(part: Any, sources: Any, captured: Any, keys: Any) -> tuple[Any, Any, Any]:
    """The loss of a part of a plan, its other results, and the gradients of the loss's sum."""
    words: list[Any] = []

    def function(*sources: Any) -> Any:
        (loss, *others), notes = checks.collected(part, (*sources, *captured), (), keys)
        words[:] = notes.words
        return loss, (others, notes.vectors)

    loss, pull, (others, vectors) = jax.vjp(function, *sources, has_aux=True)
    checks.note(words, vectors)
    return loss, others, pull(jnp.ones(loss.shape, loss.dtype))


class JaxEngine(Engine):
    """Arrays are immutable, so that they may be shared between variables, plans and users."""

    name = "jax"
    title = "JAX"
    tensor_class = ArrayImpl
    autodiff = "functional"
    split = staticmethod(jax.lax.split)
    fixed_shapes = True
    sparse = matrices
    guard_names: Mapping[str, Any] = MappingProxyType({"alike": _alike})
    declines = True
    #: donate: give JAX the old buffers of the variables that a function updates. They are lost
    #: where such a call fails, or another one reads them at the same time.
    options: Mapping[str, Any] = MappingProxyType({"donate": False, "device": None})

    def __init__(self) -> None:
        super().__init__()
        self.plan_names["differentiate"] = _differentiate

    # --- values ---------------------------------------------------------------------------------

    def is_native(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def from_numpy(self, array: Any, dtype: str) -> Any:
        own = np.array(array, dtypes.to_numpy(dtype))  # JAX goes on to use the memory it is given
        with _concrete(), _mode(dtypes.is_64bit(dtype)):
            return jax.device_put(own)

    def to_numpy(self, native: Any) -> Any:
        try:
            return np.array(native)
        except jax.errors.TracerArrayConversionError as error:
            raise GraphError(
                f"{native!r:.80} has no value yet: JAX is tracing (jax.jit, grad or vmap). Ask "
                f"for values outside the traced function, or return the tensor from it."
            ) from error

    def constant(self, value: Any, dtype: str) -> Any:
        if isinstance(value, np.ndarray):
            return self.from_numpy(value, dtype)
        return strong(value)

    def taken(self, native: Any) -> Any:
        return strong(native)

    def cast(self, native: Any, dtype: str) -> Any:
        with _mode(dtypes.is_64bit(dtype) or dtypes.is_64bit(self.dtype(native))):
            return jax.lax.convert_element_type(native, dtypes.to_numpy(dtype))

    # --- functions ------------------------------------------------------------------------------

    def feed(self, value: Any, tensor: Any, name: str) -> Any:
        if isinstance(value, Tracer):
            raise FeedError(
                f"{name}: the value fed for {tensor!r} is a JAX tracer. K.function compiles by "
                f"itself and takes values; inside jax.jit, grad or vmap call the K functions on "
                f"the tracer instead."
            )
        fed = super().feed(value, tensor, name)
        return fed if isinstance(fed, np.ndarray) else strong(fed)

    def from_feed(self, array: Any, dtype: str) -> Any:
        return array  # jax.jit takes NumPy arrays faster than they become JAX's

    def quick_feed(self, dtype: str) -> tuple[str, str]:
        return "", "{}"

    def hand_out(self, results: list[Any]) -> list[Any]:
        try:
            return list(map(np.array, results))
        except jax.errors.TracerArrayConversionError:
            return super().hand_out(results)  # it says what to do

    def compile(
        self,
        plan: Any,
        feeds: Sequence[Any],
        count: int,
        targets: Sequence[tuple[Any, bool]],
        options: dict[str, Any],
    ) -> Callable[[list[Any]], list[Any]]:
        updated = {variable for variable, _ in targets} if options["donate"] else set()
        kept = [v for v in plan.variables if v not in updated]
        given = [v for v in plan.variables if v in updated]
        traced = _traced(plan, kept, given)
        draws, wide = plan.draws, plan.wide
        device = None if options["device"] is None else self.device(options["device"])
        flat = not given and not draws  # each container takes JAX its time
        if flat:
            fed = len(feeds)
            run = jax.jit(lambda *values: traced(values[:fed], values[fed:]))
        else:
            run = jax.jit(traced, donate_argnums=2 if given else ())

        def program(natives: list[Any]) -> list[Any]:
            operands: Sequence[Any] = [*natives, *map(storage_of, kept)]
            if not flat:
                keys = np.array([next(draw.stream) & _WORD for draw in draws], np.uint32)
                operands = natives, operands[len(natives) :], list(map(storage_of, given)), keys
            if wide or device is not None:
                with _concrete(), _mode(wide), _on(device):
                    results = run(*operands)
            else:
                results = run(*operands)
            if results and results[-1].__class__ is not ArrayImpl:
                if not trace_state_clean():  # a function of the user's is traced: leave it alone
                    with _concrete(), _mode(wide), _on(device):
                        results = run(*operands)
                if results[-1].__class__ is checks.Notes:
                    checks.read(results.pop())
            if not targets:
                return results
            for (variable, _), value in zip(targets, results[count:], strict=True):
                variable.storage = value
            return results[:count]

        return program

    def device(self, given: Any) -> Any:
        """The option ``device``: JAX's own object, or "cpu", "gpu:1"."""
        if isinstance(given, jax.Device):
            return given
        kind, _, number = str(given).partition(":")
        try:
            return jax.devices(kind)[int(number or 0)]
        except (RuntimeError, IndexError, ValueError) as error:
            known = [f"{device.platform}:{i}" for i, device in enumerate(jax.devices())]
            raise self.no_device(given, known) from error

    def run_now(self, plan: Any, variables: list[Any], keys: list[int]) -> list[Any]:
        with _concrete(), _mode(plan.wide):
            results, notes = checks.collected(plan.run, (), variables, keys)
            checks.read(notes)
        return results

    def run_after(self, plan: Any, feeds: Sequence[Any]) -> list[Any]:
        with _concrete(), _mode(plan.wide):
            results, notes = checks.collected(plan.run, feeds, (), plan.keys())
            checks.read(notes)
        return results

    def run_wide(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        with enable_x64(True):
            return function(*args)

    def abstract(
        self, function: Callable[..., Any], specs: Sequence[tuple[Shape, str]]
    ) -> tuple[Shape, str]:
        def result(size: int) -> Any:
            operands = [
                jax.ShapeDtypeStruct(
                    tuple(size if n is None else n for n in shape), dtypes.to_numpy(dtype)
                )
                for shape, dtype in specs
            ]
            with _mode(any(dtypes.is_64bit(dtype) for _, dtype in specs)):
                return jax.eval_shape(function, *operands)

        first, second = result(2), result(3)
        sizes = zip(first.shape, second.shape, strict=True)
        return tuple(a if a == b else None for a, b in sizes), self.dtype(first)

    # --- branches and loops ---------------------------------------------------------------------

    def choose(self, condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        if not isinstance(condition, Tracer):
            return first() if condition else second()
        return control.branch(condition, first, second)

    def stack(self, natives: Sequence[Any]) -> Any:
        return jnp.stack(natives)

    def loop(
        self,
        step: Callable[..., Any],
        states: list[Any],
        sequences: list[Any],
        reverse: bool,
        specs: Any = None,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        if trace_state_clean():  # compiling a loop that runs once takes longer than running it
            return super().loop(step, states, sequences, reverse, specs)
        return control.scan(step, states, sequences, reverse)

    # --- random ---------------------------------------------------------------------------------

    def draw_key(self, seed: int, position: Any) -> Any:
        key = jax.random.key(seed & 0x7FFFFFFF)
        if seed != seed & 0x7FFFFFFF:
            key = jax.random.fold_in(key, np.uint32(seed >> 31 & _WORD))
        if seed < 0:
            key = jax.random.fold_in(key, 1)
        for number in position if type(position) is tuple else (position,):
            key = jax.random.fold_in(key, number)
        return key

    def check_draw(self) -> None:
        if not trace_state_clean():
            raise UnsupportedError(
                "random numbers without a JAX key, inside a trace of JAX's (jax.jit, grad or "
                "vmap): they would be drawn once and then be the same at every call. Pass a key: "
                "K.random_normal(shape, seed=key), K.dropout(x, 0.5, seed=key), with key from "
                "jax.random.key and jax.random.split."
            )

    # --- dispatch -------------------------------------------------------------------------------

    def entry(self, op: Operation, native: Callable[..., Any]) -> Callable[..., Any]:
        # What takes more than operands is guarded where it is written, and what is a function of
        # this package looks at values.
        own = isinstance(native, FunctionType) and native.__module__.startswith(__package__)
        if own or op.listed or len(op.operand_indices) < len(op.parameters):
            return native
        return entry(op, native)

    def dtype_guards(self, op: Operation, names: Sequence[str]) -> list[str]:
        return []  # what is entered looks at dtypes itself

    def float_guard(self, name: str) -> str:
        return "True"  # what is entered looks at dtypes itself
