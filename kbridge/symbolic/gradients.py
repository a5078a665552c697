"""``K.gradients``: which paths exist, and who computes the derivative.

Whether a gradient exists is decided here, on the graph, by each operation's
``differentiable`` flag, so that ``None`` means the same on every engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kbridge.api.declare import OPERATIONS
from kbridge.errors import ArgumentTypeError
from kbridge.symbolic import dtypes
from kbridge.symbolic.tensor import Tensor

if TYPE_CHECKING:
    from kbridge.binding import Backend


def topological(roots: Iterable[Tensor], ends: Iterable[Tensor] = ()) -> list[Tensor]:
    """Everything upstream of ``roots`` up to ``ends``, inputs before users."""
    ordered: list[Tensor] = []
    done: set[Tensor] = set(ends)
    stack = [(root, False) for root in roots]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            ordered.append(node)
        elif node not in done:
            done.add(node)
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.inputs if parent not in done)
    return ordered


def differentiable_inputs(node: Tensor) -> Sequence[Tensor]:
    """The inputs through which a derivative passes."""
    op = node.op
    if op is None or not op.differentiable or not dtypes.is_float(node.dtype):
        return ()
    inputs: Iterable[Any] = node.inputs
    if op.differentiable_indices is not None:
        inputs = (node.args[index] for index in op.differentiable_indices)
    return [p for p in inputs if isinstance(p, Tensor) and dtypes.is_float(p.dtype)]


def is_result_of_loop(node: Tensor) -> bool:
    """Whether a node is one of the results of a loop."""
    return node.op is not None and node.op.name == "item" and _is_loop(node.args[0])


def _is_loop(node: Tensor) -> bool:
    return node.op is not None and node.op.name == "loop"


def connections(node: Tensor) -> Sequence[Tensor]:
    """The inputs that a derivative passes to; for a loop's result those of the loop."""
    if not is_result_of_loop(node):
        return differentiable_inputs(node)
    loop, index = node.args
    return [loop.inputs[i] for i in sorted(loop.args[0].routes[index])]


def connected(
    losses: Tensor | Collection[Tensor], sources: Iterable[Tensor], ends: Collection[Tensor] = ()
) -> set[Tensor]:
    """The nodes on a differentiable way from a source to one of ``losses``, both included.

    What lies upstream of ``ends`` is not looked at.
    """
    roots = [losses] if isinstance(losses, Tensor) else list(losses)
    reached = set(sources)
    for node in topological(roots, ends):
        if node not in reached and any(p in reached for p in connections(node)):
            reached.add(node)
    useful: set[Tensor] = set()
    stack = roots
    while stack:
        node = stack.pop()
        if node in reached and node not in useful:
            useful.add(node)
            if node not in ends:
                stack.extend(connections(node))
                if is_result_of_loop(node) and node not in sources:
                    useful.add(node.args[0])
    return useful


def gradients(backend: Backend, loss: Any, variables: Any) -> list[Tensor | None]:
    """The derivative of the sum of ``loss`` with respect to each of ``variables``."""
    losses = loss if isinstance(loss, (list, tuple)) else [loss]
    sources = list(variables) if isinstance(variables, (list, tuple)) else [variables]
    for kind, tensors in (("loss", losses), ("variables", sources)):
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise ArgumentTypeError(
                    f"K.gradients: {kind} must be symbolic tensors or variables, not "
                    f"{type(tensor).__name__}. For native tensors use the engine's own autodiff."
                )
    if not dtypes.is_float(losses[0].dtype):
        return [None] * len(sources)
    total = losses[0]
    for other in losses[1:]:
        total = backend.operations["sum"](total) + backend.operations["sum"](other)
    useful = connected(total, [s for s in sources if s.host is None])  # sizes have none
    found = list(dict.fromkeys(s for s in sources if s in useful))
    constant = _behind_gradients(total, set(sources) - useful)
    if not found and not constant:
        return [None] * len(sources)
    results: list[Tensor] = []
    if found and backend.engine.autodiff == "graph":
        from kbridge.symbolic.autodiff import derivatives

        results = derivatives(backend, total, found)
        for result in results:
            result.__dict__["_gradient_of"] = total
    elif found:
        results = _by_engine(backend, total, found)
    by_source = dict(zip(found, results, strict=True))
    by_source.update((s, backend.operations["zeros_like"](s)) for s in constant)
    return [by_source.get(s) for s in sources]


def _behind_gradients(loss: Tensor, sources: set[Tensor]) -> set[Tensor]:
    """The sources that only the losses lead to whose gradients ``loss`` was computed from.

    An engine that differentiates at once counts them as connected, with a derivative of 0 where
    the gradient does not vary with them; a gradient that is a graph does not hold them at all.
    """
    behind: set[Tensor] = set()
    waiting = [loss] if sources else []
    seen: set[Tensor] = set()
    origins: set[Tensor] = set()
    while waiting:
        for node in topological([waiting.pop()], seen):
            seen.add(node)
            origin = node.__dict__.get("_gradient_of")
            if origin is not None and origin not in origins:
                origins.add(origin)
                behind |= connected(origin, sources) & sources
                waiting.append(origin)
    return behind


def _by_engine(backend: Backend, loss: Tensor, sources: list[Tensor]) -> list[Tensor]:
    inputs = (loss, *sources)
    fed = any(t.fed for t in inputs)
    node = Tensor(backend, OPERATIONS["gradients"], inputs, inputs, (), loss.dtype, fed)
    item = OPERATIONS["item"]
    return [
        Tensor(backend, item, (node, i), (node,), s.shape, s.dtype, fed)
        for i, s in enumerate(sources)
    ]
