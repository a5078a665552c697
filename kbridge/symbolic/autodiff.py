"""Gradients as a graph of K operations, for engines without an autodiff of their own.

:func:`derivatives` goes back from the loss over the nodes between it and the sources. What a
node passes on to each operand is its operation's *rule*; the rules are in
:mod:`kbridge.symbolic.derivatives`, one line for most operations. They use K operations that
have rules themselves, so that a gradient can be differentiated again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kbridge.api.declare import OPERATIONS, Operation
from kbridge.errors import UnsupportedError
from kbridge.symbolic import scopes
from kbridge.symbolic.gradients import connected, is_result_of_loop, topological
from kbridge.symbolic.guards import Guards, is_choice
from kbridge.symbolic.loop_gradients import through_loop
from kbridge.symbolic.tensor import Tensor

if TYPE_CHECKING:
    from kbridge.binding import Backend

#: Called as ``rule(K, g, y, *args)``: the derivative ``g`` of the loss by the result ``y``, and
#: the operation's arguments. Returns the derivative by one operand.
Rule = Callable[..., Any]

_RULES: dict[str, tuple[Rule | None, ...]] = {}


def rule(name: str, *by_operand: Rule | None) -> None:
    """State the rule of an operation for each operand; None where the derivative is zero.

    What a rule returns for an operand that was broadcast is summed to its shape. The rule of an
    operation on a list of tensors returns a list.
    """
    if name in _RULES:
        raise ValueError(f"the operation {name!r} has a rule already")
    _RULES[name] = by_operand


def derivatives(backend: Backend, loss: Tensor, sources: Sequence[Tensor]) -> list[Tensor]:
    """The derivative of the sum of ``loss`` by each of ``sources``, which all lead to it.

    A source on another one's way to the loss keeps its whole derivative, and passes it on.
    """
    importlib.import_module("kbridge.symbolic.derivatives")
    K: Any = backend
    with scopes.symbolic_scope():
        found = backwards(K, {loss: K.ones_like(loss)}, set(sources))
        return [found[s] if s in found else K.zeros_like(s) for s in sources]


def backwards(
    K: Any, given: dict[Tensor, Tensor], sources: Collection[Tensor], ends: Collection[Tensor] = ()
) -> dict[Tensor, Tensor]:
    """The derivatives by ``sources`` of what the derivatives by other tensors are ``given`` of.

    Nothing is passed on beyond ``ends``.
    """
    useful = connected(given, sources, ends)
    nodes = [node for node in reversed(topological(given, ends)) if node in useful]
    guards = Guards([*nodes, *ends], sources) if any(map(is_choice, nodes)) else None
    found = dict(given)
    #: The derivatives by each loop's results, which go through the loop together.
    by_results: dict[Tensor, dict[int, Tensor]] = {}
    for node in nodes:
        if node in by_results:
            parts = through_loop(K, node, by_results.pop(node), useful)
        elif node not in found:
            continue  # its derivative is zero
        else:
            total = found[node] if node in sources else found.pop(node)
            if node.op is None:
                continue
            if is_result_of_loop(node):
                loop, index = node.args
                results = by_results.setdefault(loop, {})
                results[index] = K.add(results[index], total) if index in results else total
                continue
            parts = _passed_on(K, node.op, node, total, useful)
        for x, part in parts:
            kept = part if guards is None else guards.leave(K, node, x, part)
            found[x] = K.add(found[x], kept) if x in found else kept
    return found


def _passed_on(
    K: Any, op: Operation, y: Tensor, g: Tensor, useful: set[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The operands of ``y`` that are on the way, each with what reaches it through ``y``."""
    rules = _RULES.get(op.name) if OPERATIONS.get(op.name) is op else None
    if rules is None:
        yield from _through_composition(K, op, y, g, useful)
    elif op.listed:
        (by_list,), (index,) = rules, op.operand_indices
        for x, part in zip(y.args[index], by_list(K, g, y, *y.args), strict=True):  # type: ignore[misc]
            if x in useful:
                yield x, part
    else:
        operands = [y.args[index] for index in op.operand_indices]
        for x, by_operand in zip(operands, rules, strict=True):
            if by_operand is not None and isinstance(x, Tensor) and x in useful:
                part = by_operand(K, g, y, *y.args)
                yield x, shrink(K, part, x, operands) if _broadcasts(op) else part


def _through_composition(
    K: Any, op: Operation, y: Tensor, g: Tensor, useful: set[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Differentiate what a native function replaces."""
    if op.composition is None:
        raise UnsupportedError(
            f"K.gradients: {y!r} cannot be differentiated on the backend {K.name!r}, since there "
            f"is no rule for the operation {op.name!r}. Keep it off the way from the variables "
            f"to the loss with K.stop_gradient, or use a backend whose engine differentiates."
        )
    operands = {x for x in y.inputs if x in useful}
    found = backwards(K, {op.composition(K, *y.args): g}, operands, operands)
    yield from ((x, found[x]) for x in dict.fromkeys(y.inputs) if x in operands and x in found)


# --- broadcasting undone -------------------------------------------------------------------------


def _broadcasts(op: Operation) -> bool:
    """Whether operands broadcast: the default rule for shapes, and that of ``where``."""
    return op.name == "where" or (op.shape is None and len(op.operand_indices) > 1)


def shrink(K: Any, g: Tensor, x: Tensor, operands: Sequence[Any]) -> Tensor:
    """``g`` summed over the axes on which ``x``, one of ``operands``, was broadcast."""
    rank, extra = len(x.shape), len(g.shape) - len(x.shape)
    ones = []
    for axis in range(-rank, 0):
        if x.shape[axis] == 1 and g.shape[axis] != 1:
            ones.append(axis)
        elif x.shape[axis] is None and not _decides(x, axis, operands):
            return K.sum_like(g, x)  # type: ignore[no-any-return]
    if ones:
        g = K.sum(g, axis=tuple(ones), keepdims=True)
    return K.sum(g, axis=tuple(range(extra))) if extra else g


def _decides(x: Tensor, axis: int, operands: Sequence[Any]) -> bool:
    """Whether a size of the result is surely that of ``x``: the other operands have 1 there."""
    others = (getattr(other, "shape", ()) for other in operands if other is not x)
    return all(len(shape) < -axis or shape[axis] == 1 for shape in others)
