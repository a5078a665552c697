"""Two nodes of a plan that the engine computes by one function, such as ``x - a * b``.

The inner result is never made, which saves a pass over memory: on PyTorch an update by gradient
descent takes half the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kbridge.symbolic.tensor import Tensor

if TYPE_CHECKING:
    from kbridge.symbolic.plan import Writer

#: Where the inner operation may stand.
_PLACES = {"add": (1, 0), "subtract": (1,), "bias_add": (0,)}


class Fused:
    """A node that is computed from the arguments of another one and its own."""

    def __init__(self, function: Any, args: Sequence[Any]) -> None:
        self.function = function
        self.args = args
        self.inputs = [arg for arg in args if isinstance(arg, Tensor)]


def find(writer: Writer, nodes: Sequence[Tensor], outputs: Iterable[Tensor]) -> bool:
    """Note what is fused with an operand that nothing else reads; return whether anything is."""
    known = {outer for outer, _ in writer.engine.fusions}
    if not any(node.op is not None and node.op.name in known for node in nodes):
        return False
    uses = Counter(writer.resolve(parent) for node in nodes for parent in writer.parents(node))
    uses.update(outputs)
    taken: set[Tensor] = set()
    for node in nodes:
        if node.op is None or node.op.name not in known or node in taken or node.host is not None:
            continue
        for place in _PLACES[node.op.name]:
            inner = node.args[place]
            inner = writer.resolve(inner) if isinstance(inner, Tensor) else inner
            if not isinstance(inner, Tensor) or inner.op is None or uses[inner] != 1:
                continue
            fuse = writer.engine.fusions.get((node.op.name, inner.op.name))
            if fuse is None or inner in writer.fused or _is_given(writer, inner):
                continue
            args = [node.args[1 - place], *inner.args]
            args = [writer.resolve(arg) if isinstance(arg, Tensor) else arg for arg in args]
            function = fuse(node, *args)
            if function is not None:
                writer.fused[node] = Fused(function, args)
                taken.add(inner)
                break
    return bool(writer.fused)


def _is_given(writer: Writer, node: Tensor) -> bool:
    """Whether a node's value does not come from its operands alone."""
    return node in writer.inputs or node in writer.values or node in writer.through


def write(writer: Writer, node: Tensor) -> None:
    """Write the line of a node that is fused with an operand."""
    fused: Fused = writer.fused[node]
    function = writer.constant(fused.function)
    args = ", ".join(writer.argument(arg, False) for arg in fused.args)
    writer.line(f"{writer.result_name(node)} = {function}({args})")
