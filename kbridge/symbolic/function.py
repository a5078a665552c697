"""``K.function``: a compiled function from fed values to outputs and updates."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kbridge.errors import (
    ArgumentError,
    ArgumentTypeError,
    FeedError,
    GraphError,
    KBridgeError,
    UnsupportedError,
)
from kbridge.symbolic import calls, dependencies, sparse, structure, uncompiled
from kbridge.symbolic.plan import generate
from kbridge.symbolic.tensor import Placeholder, Tensor, Variable

if TYPE_CHECKING:
    from kbridge.binding import Backend

#: Operations whose result may share its memory with an operand.
_VIEWS = frozenset(
    (
        *("update", "identity", "reshape", "getitem", "transpose", "permute_dimensions", "squeeze"),
        *("expand_dims", "flatten", "batch_flatten", "cast", "stop_gradient", "print_tensor"),
        *("loop", "choose", "slice", "reverse", "item", "clip", "tile", "repeat_elements", "round"),
        *("sign", "pool2d", "pool3d", "ctc_trim", "broadcast_like", "sum_like", "reshape_like"),
    )
)


class Update(tuple[Any, Any]):
    """A pair (variable, new value): what ``K.update`` returns and ``updates=`` takes."""

    __slots__ = ()


class Program:
    """Outputs and updates of given feeds, compiled once per learning phase.

    Branches that the phase decides are left out of the compiled program, instead of being
    chosen at each call.
    """

    def __init__(
        self,
        backend: Backend,
        feeds: Sequence[Tensor],
        outputs: Sequence[Tensor],
        updates: Sequence[tuple[Variable, Tensor]],
        options: dict[str, Any],
    ) -> None:
        self.backend = backend
        self.feeds = feeds
        self.outputs = outputs
        self.updates = updates
        self.options = options
        #: All that a run computes.
        values = [value for _, value in updates]
        self.wanted = [*outputs, *values]
        self.rest = uncompiled.find(backend, feeds, outputs, values)
        #: What the compiled function returns.
        self.fetched = outputs if self.rest is None else self.rest.before
        self.compiled: dict[int, Any] = {}
        self.plans = {0: self.plan(0)}  # at once, so that a graph that cannot run is an error here

    def plan(self, phase: int) -> Any:
        fetched = [*self.fetched, *(value for _, value in self.updates)]
        return generate(self.backend, self.feeds, fetched, values=self.values(phase))

    def values(self, phase: int) -> dict[Tensor, Any]:
        """The Tensors with a fixed value."""
        return {self.backend.phase_placeholder: phase}

    def run(self, natives: list[Any], phase: int) -> list[Any]:
        """The native outputs; variables are changed once all has been computed."""
        compiled = self.compiled.get(phase)
        if compiled is None:
            compiled = self.compile(phase)
        try:
            if self.updates:
                with self.backend.session.lock:
                    return compiled(natives)  # type: ignore[no-any-return]
            return compiled(natives)  # type: ignore[no-any-return]
        except KBridgeError as error:
            if str(error).startswith("K."):
                raise
            raise self.diagnosed(error, natives, phase) from error.__cause__
        except Exception as error:
            clear = self.diagnosed(error, natives, phase)
            if clear is error:
                raise
            raise clear from error

    def diagnosed(self, error: Exception, natives: list[Any], phase: int) -> Exception:
        """The contract's error for what an engine reported, if the operands' shapes explain it."""
        from kbridge.symbolic.diagnose import fault

        feeds = dict(zip(self.feeds, natives, strict=True))
        return fault(self.backend, feeds, self.wanted, self.values(phase)) or error

    def compile(self, phase: int) -> Any:
        with self.backend.session.lock:
            if phase not in self.compiled:
                plan = self.plans.pop(phase, None) or self.plan(phase)
                shared = _shared([value for _, value in self.updates], self.feeds)
                targets = [(v, copy) for (v, _), copy in zip(self.updates, shared, strict=True)]
                compiled = self.backend.engine.compile(
                    plan, self.feeds, len(self.fetched), targets, self.options
                )
                if self.rest is not None:
                    compiled = self.rest.behind(compiled, self.values(phase), self.updates)
                self.compiled[phase] = compiled
            return self.compiled[phase]


class Function:
    """A callable over NumPy arrays; ``K.function`` makes it."""

    def __init__(
        self,
        backend: Backend,
        inputs: Any,
        outputs: Any,
        updates: Any = None,
        name: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.backend = backend
        self.name = name or "function"
        single = isinstance(inputs, Tensor)
        if single:
            inputs = [inputs]
        flat = self._check_inputs(structure.flatten(inputs))
        #: Where the learning phase stands among the inputs, if it does.
        phase = next((i for i, t in enumerate(flat) if is_phase(t)), None)
        self._feeds = [t for i, t in enumerate(flat) if i != phase]
        self._read = calls.reader(
            backend.engine,
            flat,
            phase,
            listed=type(inputs) in (list, tuple) and all(map(structure.is_leaf, inputs)),
            flatten=functools.partial(_in_order, inputs, single, self.name),
            feed=functools.partial(sparse.feed, backend, name=self.name),
        )
        self._pack = calls.packer(outputs)
        fetched = self._check_outputs(structure.flatten(outputs))
        pairs = self._check_updates(updates or ())
        brought = dependencies.of([*fetched, *(value for _, value in pairs)])
        if brought:  # where both give a variable a value, the update given explicitly counts
            explicit = {variable for variable, _ in pairs}
            pairs += [p for p in self._check_updates(brought) if p[0] not in explicit]
        options = backend.engine.check_options(options or {}, self.name)
        #: Whether each output is a metric, or brings updates: these are computed after the updates.
        self._late = [
            bool(t.__dict__.get("_is_metric") or (brought and dependencies.of([t])))
            for t in fetched
        ]
        early = [t for t, late in zip(fetched, self._late, strict=True) if not late]
        after = [t for t, late in zip(fetched, self._late, strict=True) if late]
        self._program = Program(backend, self._feeds, early, pairs, options)
        new = not after and _are_new(early, [value for _, value in pairs], self._feeds)
        self._hand_out = backend.engine.hand_over if new else backend.engine.hand_out
        #: Metrics need variables alone; what brings updates may need feeds as well.
        self._fed_late = bool(brought) or any(t.fed for t in after)
        feeds = self._feeds if self._fed_late else ()
        self._metrics = Program(backend, feeds, after, (), options) if after else None

    # --- checking what is given ---------------------------------------------------------------

    def _check_inputs(self, inputs: list[Any]) -> list[Any]:
        seen: set[int] = set()
        for position, tensor in enumerate(inputs):
            if is_phase(tensor):
                continue
            if not isinstance(tensor, Tensor):
                raise ArgumentTypeError(
                    f"K.function: input {position} must be a placeholder or another symbolic "
                    f"tensor, not {type(tensor).__name__}: {tensor!r:.80}"
                )
            if id(tensor) in seen:
                raise FeedError(
                    f"K.function: {tensor!r} is given twice in inputs, so it would be fed twice. "
                    f"List each tensor once."
                )
            seen.add(id(tensor))
        return inputs

    def _check_outputs(self, outputs: list[Any]) -> list[Tensor]:
        for position, tensor in enumerate(outputs):
            if tensor is None:
                raise GraphError(
                    f"K.function: output {position} is None. K.gradients gives None where there "
                    f"is no differentiable path from the variable to the loss (K.argmax, "
                    f"K.round, comparisons and K.stop_gradient cut it)."
                )
        return [sparse.densified(self.backend, self.backend.as_tensor(t)) for t in outputs]

    def _check_updates(self, updates: Any) -> list[tuple[Variable, Tensor]]:
        pairs: dict[Variable, Tensor] = {}
        for position, pair in enumerate([updates] if isinstance(updates, Update) else updates):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ArgumentTypeError(
                    f"K.function: update {position} must be a (variable, new value) pair or the "
                    f"result of K.update, not {pair!r:.80}"
                )
            variable, value = pair
            if not isinstance(variable, Variable):
                raise ArgumentTypeError(
                    f"K.function: update {position} changes {variable!r:.80}, which is no "
                    f"variable. Make one with K.variable(value)."
                )
            if value is None:
                raise GraphError(f"K.function: the new value of {variable!r} is None.")
            pairs.pop(variable, None)  # of several updates of one variable the last counts
            pairs[variable] = self.backend.new_value(variable, value)
        return list(pairs.items())

    # --- calling --------------------------------------------------------------------------------

    def __call__(self, *values: Any) -> Any:
        """Feed ``values`` (one list in the structure of the inputs) and return the outputs."""
        natives, phase = self._read(values)
        results = self._program.run(natives, phase)
        if self._metrics is not None:
            found = self._metrics.run(natives if self._fed_late else [], phase)
            early, after = iter(results), iter(found)
            results = [next(after if late else early) for late in self._late]
        return self._pack(self._hand_out(results))

    def export(self, path: str | os.PathLike[str], phase: int = 0) -> None:
        """Save the function, at a learning phase, as a file of the engine's that runs without it.

        Not every engine has such a format: others raise UnsupportedError, and so does a function
        that the engine runs in more than one piece (with metrics, or with ``K.ctc_decode``).
        """
        if not isinstance(phase, (int, np.integer)) or phase not in (0, 1):
            raise ArgumentError(
                f"phase must be 0, for a model that predicts, or 1, for training; got {phase!r}"
            )
        if self._metrics is not None or self._program.rest is not None:
            raise UnsupportedError(
                f"{self!r} cannot be exported, since it runs in two parts. Leave out the metrics, "
                f"what is made inside K.control_dependencies, and what follows from K.ctc_decode."
            )
        self.backend.engine.export(self._program.compile(phase), path)

    def __repr__(self) -> str:
        return (
            f"<K.function {self.name!r} on {self.backend.name}: {len(self._feeds)} feeds, "
            f"{len(self._late)} outputs, {len(self._program.updates)} updates>"
        )


def _in_order(inputs: Any, single: bool, name: str, values: tuple[Any, ...]) -> list[Any]:
    """The values of a call in the order of the inputs; ``single``: one may come without a list."""
    if single and len(values) == 1:
        (value,) = values
        return list(value) if isinstance(value, (list, tuple)) and len(value) == 1 else [value]
    given = values[0] if len(values) == 1 else list(values)
    return structure.flatten_like(inputs, given, name)


def is_phase(tensor: Any) -> bool:
    """The learning phase: its placeholder, or the int that stands for it once it is set."""
    if isinstance(tensor, Placeholder):
        return tensor.default is not None
    return isinstance(tensor, (bool, int, np.integer))


def _are_new(outputs: Sequence[Tensor], values: Sequence[Tensor], feeds: Sequence[Tensor]) -> bool:
    """Whether nothing but the caller will hold the memory of any output."""
    # A function that a user has lifted may keep what it returns.
    made = all(t.op is not None and not t.op.plain and t.op.name not in _VIEWS for t in outputs)
    return made and not any(_shared([*values, *outputs], feeds)[len(values) :])


def _shared(values: Sequence[Tensor], feeds: Sequence[Tensor]) -> list[bool]:
    """Whether each new value may share memory, so that a variable must get a copy of it.

    With what is fed, with a tensor that outlives the call, or with another new value.
    """
    results = []
    taken: set[Tensor] = set()
    for value in values:
        roots = _roots(value, feeds)
        results.append(
            any(
                # Gradients may be one tensor: those of a + b with respect to a and b are.
                r in taken or r in feeds or r.op is None or r.op.name == "gradients"
                for r in roots
            )
        )
        taken |= roots
    return results


def _roots(value: Tensor, feeds: Sequence[Tensor]) -> set[Tensor]:
    """The tensors whose memory ``value`` may be a view of."""
    stack, seen, roots = [value], set(), set()
    while stack:
        tensor = stack.pop()
        if tensor.op is None or tensor.op.name not in _VIEWS or tensor in feeds:
            roots.add(tensor)
        elif tensor not in seen:
            seen.add(tensor)
            stack.extend(tensor.inputs)
    return roots
