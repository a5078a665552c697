"""``K.function``."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import Mode, get_mode, predefined_modes
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.ifelse import IfElse

from kbridge.errors import (
    ArgumentError,
    ArgumentTypeError,
    FeedError,
    GraphError,
    KBridgeError,
    ShapeError,
)
from kbridge.symbolic import structure
from kbridge.symbolic.function import Update
from kbridge_pytensor.engine import compiled, contract, engine
from kbridge_pytensor.graph import FAILURES, _need_variable, _open, misfit

#: Keyword arguments of ``pytensor.function`` that ``K.function`` passes on.
OPTIONS = ("mode", "profile", "allow_input_downcast")

#: Sizes that are 1: the numbers of an input and of its axis.
Ones = frozenset[tuple[int, int]]
NO_ONES: Ones = frozenset()

#: PyTensor's functions keep what they compute in themselves.
_one_at_a_time = threading.RLock()


class _Fed:
    """A tensor that is fed, as the checks of :meth:`Engine.feed_array` take it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.shape = engine.shape(tensor)
        self.dtype = engine.dtype(tensor)

    def __repr__(self) -> str:
        return repr(self.tensor)


class Function:
    """A callable over arrays. It is compiled once for each learning phase."""

    def __init__(
        self, inputs: Any, outputs: Any, updates: Any, name: str | None, options: dict[str, Any]
    ) -> None:
        self.name = name or "function"
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown:
            raise ArgumentError(
                f"K.function: invalid argument {unknown[0]!r} for {self.name!r} on PyTensor. "
                f"Options of this backend: {', '.join(OPTIONS)}."
            )
        if options.get("mode") is not None:
            _check_mode(options["mode"])
        self.options = options
        self.single = engine.is_native(inputs)
        self.inputs = [inputs] if self.single else inputs
        self.outputs = outputs
        flat = structure.flatten(self.inputs)
        for position, tensor in enumerate(flat):
            if not engine.is_native(tensor) and not isinstance(tensor, (bool, int, np.integer)):
                raise ArgumentTypeError(
                    f"K.function: input {position} must be a placeholder or another symbolic "
                    f"tensor, not {type(tensor).__name__}: {tensor!r:.80}"
                )
        self.phase = next((i for i, t in enumerate(flat) if _is_phase(t)), None)
        self.fed = [t for i, t in enumerate(flat) if i != self.phase]
        if len(set(self.fed)) < len(self.fed):
            twice = next(t for t in self.fed if self.fed.count(t) > 1)
            raise FeedError(
                f"K.function: {twice!r} is given twice in inputs; list each tensor once."
            )
        self.checks = [_Fed(tensor) for tensor in self.fed]
        fetched = self._fetched(structure.flatten(outputs))
        self.updates = self._updates(updates or ())
        #: Metrics are computed after the updates.
        self.late = [bool(getattr(t, "_is_metric", False)) for t in fetched]
        self.early = [t for t, late in zip(fetched, self.late, strict=True) if not late]
        self.after = [t for t, late in zip(fetched, self.late, strict=True) if late]
        missing = _open([*fetched, *(v for _, v in self.updates)], self.fed)
        if missing is not None:
            raise GraphError(
                f"K.function: an output or update needs {missing!r}, which is not fed. Add it to "
                f"the inputs of K.function."
            )
        #: By the learning phase, and the sizes of 1 that a program is for.
        self.programs: dict[tuple[int, Ones], Any] = {}
        #: The sizes of 1 with which the program for all sizes has failed.
        self.special: set[Ones] = set()

    def _fetched(self, outputs: list[Any]) -> list[Any]:
        for position, tensor in enumerate(outputs):
            if tensor is None:
                raise GraphError(
                    f"K.function: output {position} is None. K.gradients gives None where there "
                    f"is no differentiable path from the variable to the loss."
                )
        return [t if engine.is_native(t) else contract.operand(t) for t in outputs]

    def _updates(self, updates: Any) -> list[tuple[Any, Any]]:
        pairs: dict[Any, Any] = {}
        for position, pair in enumerate([updates] if isinstance(updates, Update) else updates):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ArgumentTypeError(
                    f"K.function: update {position} must be a (variable, new value) pair or the "
                    f"result of K.update, not {pair!r:.80}"
                )
            variable, value = pair
            _need_variable(variable, f"K.function: update {position}")
            if value is None:
                raise GraphError(f"K.function: the new value of {variable} is None.")
            pairs.pop(variable, None)  # of several updates of one variable the last counts
            pairs[variable] = self._new_value(variable, contract.operand(value))
        return list(pairs.items())

    @staticmethod
    def _new_value(variable: Any, value: Any) -> Any:
        wanted, found = variable._keras_shape, engine.shape(value)
        if len(found) != len(wanted) or any(
            s is not None and s != w for s, w in zip(found, wanted, strict=True)
        ):
            raise ShapeError(
                f"K.update: the variable {variable.name!r} has the shape {wanted}, its new value "
                f"{found}; an update keeps the shape."
            )
        value = contract.native["cast"](value, variable.type.dtype)
        return value if None not in found else pt.specify_shape(value, wanted)

    def _compiled(self, phase: int, ones: Ones) -> Any:
        """The function for one learning phase: in branches that it decides one is left."""
        given = {engine.phase: pt.constant(np.bool_(phase), dtype="bool")}
        inputs = []
        for position, tensor in enumerate(self.fed):
            sizes = [1 if (position, i) in ones else s for i, s in enumerate(tensor.type.shape)]
            fresh = tensor.type.clone(shape=sizes)()
            inputs.append(fresh)
            given[tensor] = fresh
        given |= self._decided(phase)
        options = {**self.options, "givens": given}
        # New values are results as others: as PyTensor's updates some would be written in place,
        # before another result fails.
        early = compiled(inputs, [*self.early, *(new for _, new in self.updates)], **options)
        after = compiled(inputs, self.after, **options) if self.after else None
        return early, after

    def _decided(self, phase: int) -> dict[Any, Any]:
        """The branches that a learning phase takes, by the results that they stand for."""
        found: dict[Any, Any] = {}
        made = [*self.early, *self.after, *(value for _, value in self.updates)]
        for node in io_toposort(self.fed, made):  # inner ones first
            if isinstance(node.op, IfElse) and node.inputs[0] is engine.phase:
                branches = node.inputs[1:] if phase else node.inputs[1 + len(node.outputs) :]
                found.update(zip(node.outputs, branches, strict=False))
        return found

    def __call__(self, *values: Any) -> Any:
        flat = self._flat(values)
        phase = 0 if self.phase is None else int(bool(np.all(flat.pop(self.phase))))
        # Numba compiles anew for arrays that are not contiguous, or cannot be written.
        arrays = [
            np.require(engine.feed_array(value, check, self.name), requirements="CW")
            for value, check in zip(flat, self.checks, strict=True)
        ]
        with _one_at_a_time:
            first, then = map(iter, self._run(phase, arrays))
        results = [next(then if late else first) for late in self.late]
        return structure.pack(self.outputs, [np.array(result) for result in results])

    def export(self, path: Any) -> None:
        engine.export(self, path)

    def _run(self, phase: int, arrays: list[Any]) -> tuple[Any, Any]:
        """What is computed before the updates and after them."""
        ones = self._ones(arrays) if self.special else NO_ONES
        ones = ones if ones in self.special else NO_ONES
        try:
            early, after = self._program(phase, ones)
            first = early(*arrays)
        except KBridgeError:
            raise
        except FAILURES as error:
            early, after, first = self._broadcast(phase, ones, arrays, error)
        for (variable, _), value in zip(self.updates, first[len(self.early) :], strict=True):
            variable.set_value(np.require(value, requirements="CW"), borrow=True)
        try:
            return first, after(*arrays) if after is not None else ()
        except FAILURES as error:
            raise misfit(error, self.name) from error

    def _program(self, phase: int, ones: Ones) -> Any:
        if (phase, ones) not in self.programs:
            self.programs[phase, ones] = self._compiled(phase, ones)
        return self.programs[phase, ones]

    def _broadcast(
        self, phase: int, ones: Ones, arrays: list[Any], error: Exception
    ) -> tuple[Any, Any, Any]:
        """A program that knows which of the sizes fed are 1: PyTensor broadcasts no others.

        PyTensor's gradients are right only for the sizes with which they were written.
        """
        found = self._ones(arrays)
        if isinstance(error, KBridgeError) or found == ones or self._has_gradients():
            raise misfit(error, self.name) from error
        try:
            early, after = self._program(phase, found)
            first = early(*arrays)
        except Exception:
            raise misfit(error, self.name) from error
        self.special.add(found)
        return early, after, first

    def _ones(self, arrays: list[Any]) -> Ones:
        """The sizes fed that are 1 where the placeholder leaves them open."""
        return frozenset(
            (position, axis)
            for position, (array, tensor) in enumerate(zip(arrays, self.fed, strict=True))
            for axis, size in enumerate(array.shape)
            if size == 1 and tensor.type.shape[axis] is None
        )

    def _has_gradients(self) -> bool:
        made = ancestors([*self.early, *self.after, *(value for _, value in self.updates)])
        return any(hasattr(x.tag, "kbridge_slope") for x in made)

    def _flat(self, values: Any) -> list[Any]:
        if self.single and len(values) == 1:
            (value,) = values
            return list(value) if isinstance(value, (list, tuple)) and len(value) == 1 else [value]
        given = values[0] if len(values) == 1 else list(values)
        return structure.flatten_like(self.inputs, given, self.name)


def _check_mode(mode: Any) -> None:
    try:
        known = isinstance(get_mode(mode), Mode)
    except ValueError:
        known = False
    if not known:
        raise ArgumentError(
            f"K.function: mode must be one of PyTensor's modes or its name, not {mode!r:.80}. "
            f"Names are {', '.join(predefined_modes)}."
        )


def _is_phase(tensor: Any) -> bool:
    return tensor is engine.phase or not engine.is_native(tensor)


@contract.own
def function(
    inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any
) -> Any:
    return Function(inputs, outputs, updates, name, kwargs)
