"""Loops in the graph: a step that is traced once into a sub-graph, and the node that repeats it.

A loop carries *states* from step to step, takes one *element* of each sequence at each step and
stacks what the step gives out. What the step reads from outside (variables, other tensors) is
*captured*: computed once, before the loop. A random tensor made in the step is drawn anew at
each one.

An engine runs a loop through :meth:`Engine.loop`; K.rnn, K.map_fn and the folds are written on
:func:`loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kbridge.api.declare import OPERATIONS, Operation
from kbridge.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from kbridge.symbolic import dtypes, record, sparse
from kbridge.symbolic.gradients import connections, topological
from kbridge.symbolic.tensor import Constant, Draw, Placeholder, Tensor, draw_count

if TYPE_CHECKING:
    from kbridge.binding import Backend

#: Called with the states and the elements of one step; returns the new states and the outputs.
Step = Callable[[list[Any], list[Any]], tuple[Sequence[Any], Sequence[Any]]]

Spec = tuple[tuple[int | None, ...], str]


def _declared(body: Any) -> Any:
    """A loop as a whole; items of it are its results."""


#: The operation of a loop's node, whose one argument is the :class:`Body`.
LOOP = Operation(_declared, operands="", public=False)
LOOP.name = "loop"


class Body:
    """One step of a loop: the graph from placeholders to its results.

    The results of the loop are, in this order, the last states, the stacked ``outputs``, and the
    stacked states that each step began with, which a gradient needs.
    """

    def __init__(
        self,
        states: Sequence[Tensor],
        elements: Sequence[Tensor],
        new_states: Sequence[Tensor],
        outputs: Sequence[Tensor],
        reverse: bool,
        since: int,
    ) -> None:
        self.states = list(states)
        self.elements = list(elements)
        self.new_states = list(new_states)
        self.outputs = [*outputs, *states]
        self.reverse = reverse
        #: Random tensors made from this count on belong to the step.
        self.since = since
        self.inputs: list[Tensor] = [*self.states, *self.elements]
        self.results = [*self.new_states, *self.outputs]
        nodes = topological(self.results, self.inputs)
        #: What is computed at each step.
        self.inside: set[Tensor] = set(self.inputs)
        inside = self.inside
        for node in nodes:
            if self._drawn_here(node) or any(parent in inside for parent in node.inputs):
                inside.add(node)
        self.draws = any(_draws(node) for node in inside)
        read = [p for node in nodes if node in inside for p in node.inputs]
        self.captured = [
            t
            for t in dict.fromkeys([*read, *self.results])
            if t not in inside and not isinstance(t, Constant)
        ]

    def _drawn_here(self, node: Tensor) -> bool:
        if isinstance(node, Draw):
            return node.number >= self.since
        return node.op is LOOP and node.args[0].draws and node.args[0].since >= self.since

    @cached_property
    def routes(self) -> list[set[int]]:
        """For each result the inputs of the loop's node that a derivative can reach from it."""
        given = [*self.inputs, *self.captured]
        reached: dict[Tensor, set[int]] = {t: {i} for i, t in enumerate(given)}
        for node in topological(self.results, given):
            reached[node] = set().union(*(reached[p] for p in connections(node) if p in reached))
        found = [set(reached.get(result, ())) for result in self.results]
        carried = found[: len(self.states)]
        # The last state is the first one where there is no step, and depends on it in any case.
        for i, state in enumerate(self.states):
            if dtypes.is_float(state.dtype):
                carried[i].add(i)
            else:
                carried[i].clear()
        changed = True
        while changed:
            changed = False
            for route in found:
                wider = route.union(*(carried[i] for i in route if i < len(carried)))
                changed = changed or wider != route
                route |= wider
        return found


def _draws(node: Tensor) -> bool:
    return isinstance(node, Draw) or (node.op is LOOP and node.args[0].draws)


def make(K: Backend, body: Body, states: Sequence[Tensor], sequences: Sequence[Tensor]) -> Tensor:
    """The node that repeats ``body``."""
    inputs = (*states, *sequences, *body.captured)
    floats = (r.dtype for r in body.results if dtypes.is_float(r.dtype))
    dtype = next(floats, "int32")
    return Tensor(K, LOOP, (body,), inputs, (), dtype, any(t.fed for t in inputs))


def result(node: Tensor, index: int) -> Tensor:
    """One of the results of a loop's node."""
    body: Body = node.args[0]
    part = body.results[index]
    shape = part.shape
    if index < len(body.states):
        shape = merged(body.states[index].shape, part.shape)
    else:
        sequences = node.inputs[len(body.states) :][: len(body.elements)]
        shape = (length(node.backend, sequences), *shape)
    return Tensor(
        node.backend, OPERATIONS["item"], (node, index), (node,), shape, part.dtype, node.fed
    )


def length(K: Backend, sequences: Sequence[Any]) -> int | None:
    """The number of steps, if it is static; sequences that differ in it are an error."""
    shapes = [K.engine.shape(s) if K.engine.is_native(s) else s.shape for s in sequences]
    if () in shapes:
        raise ShapeError("a sequence must have at least one axis, got a scalar")
    sizes = {int(shape[0]) for shape in shapes if shape[0] is not None}
    if len(sizes) > 1:
        raise ShapeError(f"the sequences have different lengths: {sorted(sizes)}")
    return next(iter(sizes), None)


def merged(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The shape of a state: a size that only one step's shape tells is unknown."""
    return tuple(p if p == q else None for p, q in zip(a, b, strict=True))


# --- a loop of K functions -----------------------------------------------------------------------


def loop(
    K: Any, step: Step, states: Sequence[Any], sequences: Sequence[Any], reverse: bool = False
) -> tuple[list[Any], list[Any]]:
    """Repeat ``step`` over the first axis of ``sequences``: the last states, the stacked outputs.

    Recorded or run now, by the one rule. With ``reverse`` the last elements come first; outputs
    stay where their elements are.
    """
    for value in (*states, *sequences):
        if getattr(value, "sparse", False) or sparse.is_sparse(K.engine, value):
            raise UnsupportedError(
                "a loop carries and takes apart dense tensors alone, and one of its states or "
                "sequences is sparse. Make it dense with K.to_dense; the step may read a sparse one"
            )
    length(K, sequences)
    if not record.is_recorded(K, [*states, *sequences]):
        return _now(K, step, states, sequences, reverse)
    states = [K.as_tensor(state) for state in states]
    sequences = [K.as_tensor(sequence) for sequence in sequences]
    body = trace(K, step, states, sequences, reverse)
    node = make(K, body, states, sequences)
    results = [result(node, i) for i in range(len(body.results) - len(states))]
    return results[: len(states)], results[len(states) :]


def operand(K: Any, value: Any) -> Any:
    """A tensor as it is; anything else as one."""
    if isinstance(value, Tensor) or K.engine.is_native(value):
        return value
    if K.engine.arrays_are_native:
        return record.as_array(value)
    return K.as_tensor(value) if K.engine.has_graph else record.Now(K).operand(value)


def trace(
    K: Any, step: Step, states: Sequence[Tensor], sequences: Sequence[Tensor], reverse: bool
) -> Body:
    """``step`` as a graph."""
    since = draw_count()
    carried = [Placeholder(K, s.shape, s.dtype, "loop state") for s in states]
    elements = [Placeholder(K, s.shape[1:], s.dtype, "loop element") for s in sequences]
    new_states, outputs = step(list(carried), list(elements))
    new_states = [K.as_tensor(state) for state in new_states]
    check_states([(s.shape, s.dtype) for s in states], [(s.shape, s.dtype) for s in new_states])
    return Body(carried, elements, new_states, [K.as_tensor(o) for o in outputs], reverse, since)


def check_count(before: Sequence[Any], after: Sequence[Any]) -> None:
    """An error unless a step returns as many states as it is given."""
    if len(before) != len(after):
        raise ArgumentError(
            f"the step must return as many states as it is given: {len(before)}, got {len(after)}"
        )


def check_states(before: Sequence[Spec], after: Sequence[Spec]) -> None:
    """An error unless a step keeps the number, shapes and dtypes of the states."""
    check_count(before, after)
    for i, ((shape, dtype), (new_shape, new_dtype)) in enumerate(zip(before, after, strict=True)):
        if dtype != new_dtype:
            raise DTypeError(
                f"the step changes the dtype of state {i} from {dtype} to {new_dtype}; a loop "
                f"keeps it. Make the first state {new_dtype}, or cast the new one with K.cast"
            )
        if len(shape) != len(new_shape) or any(
            p != q and None not in (p, q) for p, q in zip(shape, new_shape, strict=True)
        ):
            raise ShapeError(
                f"the step changes the shape of state {i} from {shape} to {new_shape}; a loop "
                f"keeps it. Start with a state of the shape that the step returns"
            )


def unrolled(
    K: Any,
    step: Step,
    states: Sequence[Any],
    sequences: Sequence[Any],
    reverse: bool,
    count: int,
) -> tuple[list[Any], list[Any]]:
    """The same as :func:`loop`, as ``count`` steps one after the other in the graph itself."""
    kept: list[Any] = [None] * count
    for t in reversed(range(count)) if reverse else range(count):
        states, kept[t] = step(list(states), [sequence[t] for sequence in sequences])
    return list(states), [K.stack(list(parts)) for parts in zip(*kept, strict=True)]


def _now(
    K: Any, step: Step, states: Sequence[Any], sequences: Sequence[Any], reverse: bool
) -> tuple[list[Any], list[Any]]:
    """Run on native tensors; under an engine's own trace as that engine's loop."""
    way = record.Now(K)

    def native(t: Any, states: Sequence[Any], elements: Sequence[Any]) -> Any:
        new, outputs = step(list(states), list(elements))
        new, outputs = [way.operand(s) for s in new], [way.operand(o) for o in outputs]
        engine = K.engine
        specs = ([(engine.shape(v), engine.dtype(v)) for v in values] for values in (states, new))
        check_states(*specs)
        return new, outputs

    carried = [way.operand(state) for state in states]
    given = [way.operand(sequence) for sequence in sequences]
    final, outputs = K.engine.loop(native, carried, given, reverse)
    return list(final), list(outputs)
