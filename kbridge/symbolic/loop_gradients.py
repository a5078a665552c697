"""The derivative of a loop: a loop that goes back over the steps.

It carries the derivatives by the states, and adds up those by what the step captured. At each step
it computes the step anew from the state that it began with, which the loop has stacked, and goes
back through it (backpropagation through time). It is a loop like any other, with a derivative of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kbridge.symbolic import loops
from kbridge.symbolic.tensor import Placeholder, Tensor


def through_loop(
    K: Any, node: Tensor, given: dict[int, Tensor], useful: set[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The loop's inputs among ``useful``, each with the derivative that reaches it.

    ``given`` has the derivatives by the loop's results, by their numbers.
    """
    from kbridge.symbolic.autodiff import backwards

    body: loops.Body = node.args[0]
    count, split = len(body.states), len(body.inputs)
    routes = set().union(*(body.routes[index] for index in given))
    wanted = [i for i in sorted(routes) if node.inputs[i] in useful or i < count]
    carried = [i for i in wanted if i < count]
    captured = [i for i in wanted if i >= split]
    # What stands in the loop back for the derivatives by the states, the captured and the outputs.
    by_state = {i: _stand_in(K, body.states[i]) for i in carried}
    by_captured = {i: _stand_in(K, node.inputs[i]) for i in captured}
    outputs = {i: g for i, g in given.items() if i >= count}
    by_output = {
        i: Placeholder(K, g.shape[1:], g.dtype, "loop gradient") for i, g in outputs.items()
    }
    roots: dict[Tensor, Tensor] = {}
    parts = [(body.new_states[i], g) for i, g in by_state.items()]
    parts += [(body.results[i], g) for i, g in by_output.items()]
    for root, g in parts:
        roots[root] = K.add(roots[root], g) if root in roots else g
    leaves = [*body.inputs, *body.captured]
    sources = {leaves[i] for i in wanted}
    found = backwards(K, roots, sources, set(leaves))
    before = [body.states[i] for i in carried]
    before = [found[x] if x in found else K.zeros_like(x) for x in before]
    added = [
        K.add(total, found[leaves[i]]) if leaves[i] in found else total
        for i, total in by_captured.items()
    ]
    by_element = [i for i in wanted if count <= i < split and leaves[i] in found]
    back = loops.Body(
        [*by_state.values(), *by_captured.values()],
        [*body.inputs, *by_output.values()],
        [*before, *added],
        [found[leaves[i]] for i in by_element],
        not body.reverse,
        body.since,
    )
    first = [given[i] if i in given else K.zeros_like(node.inputs[i]) for i in carried]
    first += [K.zeros_like(node.inputs[i]) for i in captured]
    history = [loops.result(node, len(body.results) - count + i) for i in range(count)]
    sequences = [*history, *node.inputs[count:split], *outputs.values()]
    gradient = loops.make(K, back, first, sequences)
    for position, i in enumerate([*carried, *captured, *by_element]):
        if node.inputs[i] in useful:
            yield node.inputs[i], loops.result(gradient, position)


def _stand_in(K: Any, x: Tensor) -> Placeholder:
    return Placeholder(K, x.shape, x.dtype, "loop gradient")
