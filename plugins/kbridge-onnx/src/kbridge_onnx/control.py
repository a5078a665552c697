"""Branches, loops and printing in ONNX: ``If`` and ``Loop`` with sub-graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import helper

from kbridge.errors import UnsupportedError
from kbridge.symbolic import dtypes
from kbridge.symbolic.printing import printer
from kbridge_onnx import graph
from kbridge_onnx.graph import (
    Value,
    as_value,
    current,
    declared,
    dims,
    emit,
    known,
    moved,
    primitive,
    reshaped,
    to,
)
from kbridge_onnx.shaping import reverse as turned


@primitive
def choose(condition: Any, x: Any, y: Any) -> Any:
    return branch(condition, lambda: x, lambda: y)


def branch(condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """One of two results, of which only the chosen is computed."""
    if not isinstance(condition, Value):
        return first() if condition else second()
    parts, results = [], []
    for run in (first, second):
        with current().subgraph() as nodes:
            result = emit("Identity", run())  # a sub-graph returns a result of its own
        results.append(result)
        parts.append(helper.make_graph(nodes, "branch", [], [_open(result)]))
    shapes = zip(results[0].shape, results[1].shape, strict=True)
    chosen = current().new(results[0].dtype, tuple(a if a == b else None for a, b in shapes))
    test = reshaped(to(condition, "bool"), [])
    node = helper.make_node(
        "If", [test.name], [chosen.name], then_branch=parts[0], else_branch=parts[1]
    )
    current().nodes.append(node)
    return chosen


def _open(value: Value) -> Any:
    """The declaration of a result whose sizes the run tells."""
    return helper.make_tensor_value_info(
        value.name, graph.element(value.dtype), (None,) * value.ndim
    )


def looped(
    step: Callable[..., Any], states: Sequence[Any], sequences: Sequence[Any], reverse: bool
) -> tuple[list[Any], list[Any]]:
    """``Engine.loop`` as a Loop node, which gathers the elements of each step."""
    states = [as_value(s) for s in states]
    count = dims(sequences[0])[0]
    if count == 0:
        with current().subgraph():  # for the shapes of the outputs alone
            zeros = [as_value(np.zeros(known(s)[1:], dtypes.to_numpy(s.dtype))) for s in sequences]
            _, outputs = step(as_value(0), states, zeros)
        return states, [np.zeros((0, *known(o)), dtypes.to_numpy(o.dtype)) for o in outputs]
    shapes: list[Any] = [s.shape for s in states]
    while True:
        made = _body(step, states, shapes, sequences, count, reverse)
        nodes, inputs, new, outputs = made
        found = [
            tuple(a if a == b else None for a, b in zip(s, n.shape, strict=True))
            for s, n in zip(shapes, new, strict=True)
        ]
        if found == shapes:
            break
        shapes = found  # a state whose size changes: once more, with that left open
    on = as_value(np.array(True))
    body = helper.make_graph(
        nodes,
        "step",
        [declared(v) for v in inputs],
        [declared(Value(inputs[1].name + "_on", "bool", ())), *map(declared, (*new, *outputs))],
    )
    last = [current().new(s.dtype, shape) for s, shape in zip(states, shapes, strict=True)]
    steps = count if isinstance(count, int) else None
    rows = [current().new(o.dtype, (steps, *o.shape)) for o in outputs]
    trips = as_value(count)
    node = helper.make_node(
        "Loop",
        [trips.name, on.name, *(s.name for s in states)],
        [v.name for v in (*last, *rows)],
        body=body,
    )
    current().nodes.append(node)
    if reverse:  # outputs stay where their elements are
        rows = [turned(row, 0) for row in rows]
    return last, rows


def _body(
    step: Callable[..., Any],
    states: Sequence[Any],
    shapes: Sequence[Any],
    sequences: Sequence[Any],
    count: Any,
    reverse: bool,
) -> Any:
    scope = current()
    with scope.subgraph() as nodes:
        t, on = scope.new("int64", ()), scope.new("bool", ())
        own = [scope.new(s.dtype, shape) for s, shape in zip(states, shapes, strict=True)]
        at = count - 1 - t if reverse else t
        elements = [emit("Gather", s, at, axis=0) for s in sequences]
        new, outputs = step(at, own, elements)
        nodes.append(helper.make_node("Identity", [on.name], [on.name + "_on"]))
        new, outputs = ([emit("Identity", v) for v in values] for values in (new, outputs))
    return nodes, [t, on, *own], new, outputs


def running(step: Callable[..., Any], xs: Sequence[Any], axis: int, start: Any) -> Any:
    """``h[t] = step(h[t - 1], [x[t] for x in xs])`` along an axis, from ``start``."""
    rank = xs[0].ndim
    axis %= rank
    turn = [axis, *(a for a in range(rank) if a != axis)]
    rows = [moved(as_value(x), turn) for x in xs]
    first = as_value(graph.expanded(to(start, xs[0].dtype), dims(rows[0])[1:]))

    def both(t: Any, states: Any, elements: Any) -> Any:
        now = step(states[0], elements)
        return [now], [now]

    _, (found,) = looped(both, [first], rows, False)
    return moved(as_value(found), [turn.index(a) for a in range(rank)])


@primitive
def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Any:
    """Printed after the run."""
    if current().depth:
        raise UnsupportedError(
            "K.print_tensor: ONNX cannot print inside a loop or a branch. Take the tensor as an "
            "output of the function."
        )
    current().printed.append((x, printer(message, summarize)))
    return x
