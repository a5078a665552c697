"""Loops as ``pytensor.scan``."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Constant
from pytensor.graph.replace import clone_replace, graph_replace
from pytensor.graph.traversal import io_toposort
from pytensor.link.vm import VMLinker

from kbridge_pytensor.engine import own

#: The numbers of the steps of the loops that are being traced. A draw inside takes them as
#: inputs, or ``scan`` would move it out of the loop.
steps: ContextVar[tuple[Any, ...]] = ContextVar("steps", default=())

#: How the steps are run where the function around them runs in Python: PyTensor would compile them
#: by C. Compiled functions take no more of it than the rewriting.
_STEPS = Mode(linker=VMLinker(use_cloop=False, c_thunks=False), optimizer="fast_run")
_BY_C = ("C", "CVM", "FAST_RUN")


def scan(
    step: Any, states: list[Any], sequences: list[Any], reverse: bool
) -> tuple[list[Any], list[Any]]:
    """Repeat ``step(t, states, elements)``: the last states, the outputs where they stand."""
    carried = [own(state.type()) for state in states]
    elements = [own(sequence.type.clone(shape=sequence.type.shape[1:])()) for sequence in sequences]
    number = pt.scalar(dtype="int64")
    token = steps.set((*steps.get(), number))
    try:
        new, outputs = step(number, list(carried), list(elements))
    finally:
        steps.reset(token)
    new = [n.astype(s.type.dtype) for n, s in zip(new, carried, strict=True)]
    results = [_typed(n, s.type) for n, s in zip(new, carried, strict=True)] + list(outputs)
    if any(sequence.type.shape[0] == 0 for sequence in sequences):
        none = [pt.constant(0, dtype=output.type.dtype) for output in outputs]
        sizes = [[0 if s is None else s for s in output.type.shape] for output in outputs]
        made = [pt.alloc(n, 0, *s) for n, s in zip(none, sizes, strict=True)]
        return [_tied(x, sequences) for x in states], [_tied(x, sequences) for x in made]
    given = [number, *elements, *carried]
    # What the step reads from outside is computed once, draws among it.
    captured = _captured(given, results)
    stand = [outer.type() for outer in captured]
    results = clone_replace(results, dict(zip(captured, stand, strict=True)), rebuild_strict=False)
    given += stand

    def body(*values: Any) -> Any:
        # Not clone_replace: it would clone what is captured too, and scan not know it.
        return graph_replace(results, dict(zip(given, values, strict=True)), strict=False)

    count = sequences[0].shape[0]
    found = pytensor.scan(
        body,
        sequences=[pt.arange(count, dtype="int64"), *sequences],
        outputs_info=[*states, *[None] * len(outputs)],
        non_sequences=captured,
        go_backwards=reverse,
        mode=None if pytensor.config.mode in _BY_C else _STEPS,
        return_list=True,
        return_updates=False,
    )
    rows, kept = found[: len(states)], found[len(states) :]
    # Without a step the last state is the first one.
    last = [
        own(pt.concatenate([pt.expand_dims(first, 0), row])[-1])
        for first, row in zip(states, rows, strict=True)
    ]
    return last, [own(_counted(row[::-1] if reverse else row, sequences)) for row in kept]


def _tied(x: Any, sequences: list[Any]) -> Any:
    """``x`` with a path to the sequences, of no elements, so that their gradient is zeros."""
    if "float" in x.type.dtype:
        for sequence in sequences:
            if "float" in sequence.type.dtype and sequence.type.shape[0] == 0:
                x = x + pt.cast(pt.sum(sequence), x.type.dtype)
    return own(x)


def _counted(rows: Any, sequences: list[Any]) -> Any:
    """Outputs with the static length that the sequences have."""
    counts = [s.type.shape[0] for s in sequences if s.type.shape[0] is not None]
    return pt.specify_shape(rows, (counts[0], *rows.type.shape[1:])) if counts else rows


def _captured(given: list[Any], results: list[Any]) -> list[Any]:
    """What ``results`` need that does not depend on ``given``, constants left out."""
    inside = set(given)
    read = list(results)
    for node in io_toposort(given, results):
        if inside.intersection(node.inputs):
            inside.update(node.outputs)
            read += node.inputs
    return [x for x in dict.fromkeys(read) if x not in inside and not isinstance(x, Constant)]


def _typed(value: Any, kind: Any) -> Any:
    """A new state with the static shape of the state that it takes the place of."""
    if value.type.shape == kind.shape:
        return value
    return pt.specify_shape(value, kind.shape)
