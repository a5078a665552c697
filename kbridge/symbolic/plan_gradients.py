"""Gradients inside a plan, by the engine's own autodiff.

An engine differentiates in one of two ways. A *tape* engine (PyTorch, TensorFlow's graph)
records what it computes; the plan switches recording on and off and asks for the gradients. A
*functional* engine (JAX) differentiates a function; the nodes between the sources and the loss
become a plan of their own, and values in it that are needed elsewhere come back beside the
loss, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kbridge.errors import GraphError
from kbridge.symbolic.tensor import Constant, Placeholder, Tensor

if TYPE_CHECKING:
    from kbridge.symbolic.plan import Writer


def write(
    writer: Writer, gradients: list[Tensor], nodes: list[Tensor], outputs: Sequence[Tensor]
) -> None:
    """Write the steps of a plan that holds gradients."""
    if writer.engine.autodiff == "tape":
        # Gradients first, so that what follows from them runs outside the traced region.
        nodes = writer.order([*gradients, *outputs], writer.given())
        _write_taped(writer, gradients, nodes, outputs)
    elif writer.engine.autodiff == "functional":
        _Functional(writer, outputs).write(gradients)
    else:
        raise GraphError(f"the engine {writer.engine.name!r} brings no autodiff of its own")


def fed_on_the_way(writer: Writer, outputs: Sequence[Tensor]) -> dict[Tensor, Tensor]:
    """The fed results that lie on the way of a gradient, each with a stand-in for its feed.

    They keep the value fed and pass the derivative on, as they do where the gradient is a graph.
    """
    fed = [t for t in writer.inputs if t.op is not None]
    if not fed:
        return {}
    gradients = [n for n in writer.order(outputs, set()) if n.op and n.op.name == "gradients"]
    between: set[Tensor] = set()
    for gradient in gradients:
        loss, sources = _ends(writer, gradient)
        between |= _region(writer, loss, sources) - set(sources)
    return {t: Placeholder(t.backend, t.shape, t.dtype) for t in fed if t in between}


def _region(writer: Writer, loss: Tensor, sources: Iterable[Tensor]) -> set[Tensor]:
    """The nodes on any way from ``sources`` to ``loss``, both ends included."""
    reached = set(sources)
    for node in writer.order([loss], set()):
        if node not in reached and any(writer.resolve(p) in reached for p in writer.parents(node)):
            reached.add(node)
    return reached


def _ends(writer: Writer, gradient: Tensor) -> tuple[Tensor, list[Tensor]]:
    loss, *sources = (writer.resolve(t) for t in gradient.inputs)
    return loss, sources


# --- tape -------------------------------------------------------------------------------------


def _write_taped(
    writer: Writer, gradients: list[Tensor], nodes: list[Tensor], outputs: Sequence[Tensor]
) -> None:
    regions = {g: _region(writer, *_ends(writer, g)) for g in gradients}
    sources = {x for g in gradients for x in _ends(writer, g)[1]}
    traced: set[Tensor] = sources.union(*regions.values())
    for tensor in writer.inputs:
        if tensor in sources:
            writer.line(f"{writer.names[tensor]} = track({writer.names[tensor]})")
    outer, writer.lines = writer.lines, []
    pending = list(gradients)
    writer.recording = writer.nested
    for node in writer.with_last_uses(nodes, outputs):
        if not writer.recording and pending and node in traced:
            writer.line("tracing(True)")
            writer.recording = True
        if node not in regions:
            writer.step(node)
            if node in sources:
                writer.line(f"{writer.names[node]} = track({writer.names[node]})")
            continue
        pending.remove(node)
        loss, given = _ends(writer, node)
        higher = writer.nested or any(node in regions[g] for g in gradients if g is not node)
        again = higher or any(regions[node] & regions[g] for g in pending)
        names = ", ".join(writer.names[x] for x in given)
        name = writer.new_name(node)
        writer.line(f"{name} = differentiate({writer.names[loss]}, ({names},), {higher}, {again})")
        if not pending and not writer.nested:
            writer.line("tracing(False)")
            writer.recording = False
    if not writer.nested and "untrack" in writer.namespace:
        for output in dict.fromkeys(outputs):
            if output in traced:
                writer.line(f"{writer.names[output]} = untrack({writer.names[output]})")
    body, writer.lines = writer.lines, outer
    writer.line(f"before = tracing({writer.nested})")
    writer.line("try:")
    for text in body:
        writer.line(f"    {text}")
    writer.line("finally:")
    writer.line("    tracing(before)")


# --- functional -------------------------------------------------------------------------------


class _Functional:
    """Writes a plan for an engine that differentiates functions."""

    def __init__(self, writer: Writer, outputs: Sequence[Tensor]) -> None:
        self.writer = writer
        self.outputs = outputs
        self.ready: set[Tensor] = writer.given()
        self.regions: dict[Tensor, set[Tensor]] = {}
        needed = writer.order(outputs, self.ready, self.parents)
        self.needed = set(needed)
        self.users: dict[Tensor, list[Tensor]] = {}
        for node in needed:
            for parent in self.parents(node):
                self.users.setdefault(parent, []).append(node)

    def parents(self, node: Tensor) -> list[Tensor]:
        """What must be there before ``node``: of a gradient, all but the differentiated part."""
        resolve = self.writer.resolve
        if node.op is None or node.op.name != "gradients":
            return [resolve(p) for p in self.writer.parents(node)]
        _loss, sources = _ends(self.writer, node)
        region = self.region(node)
        inner = region - set(sources)
        captured = (resolve(p) for n in inner for p in self.writer.parents(n))
        return list(dict.fromkeys([*sources, *(p for p in captured if p not in region)]))

    def region(self, gradient: Tensor) -> set[Tensor]:
        if gradient not in self.regions:
            self.regions[gradient] = _region(self.writer, *_ends(self.writer, gradient))
        return self.regions[gradient]

    def write(self, gradients: list[Tensor]) -> None:
        # The last first: a gradient that only another needs is computed inside that one.
        first = [g for g in reversed(gradients) if g in self.needed]
        for node in self.writer.order([*first, *self.outputs], self.ready, self.parents):
            if node in self.ready:
                continue
            if node.op is not None and node.op.name == "gradients":
                self.gradient(node)
            else:
                self.writer.step(node)
            self.ready.add(node)

    def gradient(self, gradient: Tensor) -> None:
        loss, sources = _ends(self.writer, gradient)
        found: dict[Tensor, str] = {}
        remaining = list(dict.fromkeys(sources))
        while remaining:
            # A source on another source's way to the loss gets a pass of its own: as an
            # argument of the same function it would cut that way.
            late = {
                s
                for s in remaining
                if s.op is not None
                and s in _region(self.writer, s, (r for r in remaining if r is not s))
            }
            group = [s for s in remaining if s not in late]
            found.update(self.differentiate(loss, group))
            remaining = [s for s in remaining if s in late]
        name = self.writer.new_name(gradient)
        self.writer.line(f"{name} = ({', '.join(found[s] for s in sources)},)")

    def differentiate(self, loss: Tensor, sources: list[Tensor]) -> dict[Tensor, str]:
        """One pass of the engine; return the source text of each gradient."""
        writer = self.writer
        region = _region(writer, loss, sources)
        inner = [n for n in writer.order([loss], set()) if n in region and n not in sources]
        captured = [
            p
            for p in dict.fromkeys(writer.resolve(p) for n in inner for p in writer.parents(n))
            if p not in region and not isinstance(p, Constant)
        ]
        beside = [
            n
            for n in inner
            if n is not loss
            and n in self.needed
            and n not in self.ready
            and n.host is None
            and n.op is not None
            and n.op.name != "gradients"
            and (n in self.outputs or any(user not in region for user in self.users.get(n, ())))
        ]
        captured += [writer.through[n] for n in inner if n in writer.through]
        part = writer.constant(writer.part([*sources, *captured], [loss, *beside]))
        value, extra, result = (writer.new_name() for _ in range(3))
        groups = [
            [writer.names[s] for s in sources],
            [writer.names[c] for c in captured],
            writer.keys(),
        ]
        writer.line(f"{value}, {extra}, {result} = differentiate({part}, {writer.tuples(groups)})")
        if loss not in self.ready:
            writer.names[loss] = value
            self.ready.add(loss)
        for position, node in enumerate(beside):
            writer.line(f"{writer.new_name(node)} = {extra}[{position}]")
            self.ready.add(node)
        return {s: f"{result}[{position}]" for position, s in enumerate(sources)}
