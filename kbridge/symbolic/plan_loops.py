"""Loops inside a plan: a part for the step, and the engine's own way to repeat it.

Only what is asked for is computed: a result that nothing reads is not stacked, and a state or an
operand that serves only such results is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kbridge.symbolic.gradients import is_result_of_loop
from kbridge.symbolic.loops import Body, merged
from kbridge.symbolic.tensor import Constant, Tensor

if TYPE_CHECKING:
    from kbridge.symbolic.plan import Writer


class Live:
    """The parts of a loop that the wanted results need."""

    def __init__(self, writer: Writer, node: Tensor, wanted: Iterable[int]) -> None:
        self.body: Body = node.args[0]
        body, count = self.body, len(self.body.states)
        self.wanted = sorted(wanted)
        places = {t: i for i, t in enumerate(body.inputs)}
        captured: dict[Tensor, None] = {}
        used = {i for i in self.wanted if i < count}
        waiting = [body.states[i] for i in used]
        waiting += [body.results[i] for i in self.wanted]
        seen: set[Tensor] = set()
        while waiting:
            part = writer.resolve(waiting.pop())
            if part in seen:
                continue
            seen.add(part)
            if part in places:
                place = places[part]
                used.add(place)
                if place < count:
                    waiting.append(body.new_states[place])
            elif part in body.inside:
                waiting.extend(part.inputs)
            elif not isinstance(part, Constant):
                captured[part] = None
        self.states = [i for i in range(count) if i in used]
        # At least one element, which tells the number of steps.
        self.elements = [i for i in range(count, len(body.inputs)) if i in used] or [count]
        self.outputs = [i for i in self.wanted if i >= count]
        self.captured = list(captured)
        self.inputs = [writer.resolve(node.inputs[i]) for i in (*self.states, *self.elements)]
        self.inputs += self.captured


def find(writer: Writer, outputs: Sequence[Tensor], ready: set[Tensor]) -> None:
    """Note what ``outputs`` need of each loop that is not noted yet."""
    wanted: dict[Tensor, set[int]] = {}
    waiting, seen = list(outputs), set(ready)
    while waiting:
        node = writer.resolve(waiting.pop())
        if node in seen:
            continue
        seen.add(node)
        if not is_result_of_loop(node):
            waiting.extend(node.inputs)
        elif node.args[0] not in writer.loops:
            source, index = node.args
            wanted.setdefault(source, set()).add(index)
            waiting.extend(Live(writer, source, wanted[source]).inputs)
        else:
            waiting.extend(writer.loops[node.args[0]].inputs)
    writer.loops.update((n, Live(writer, n, indices)) for n, indices in wanted.items())


def write(writer: Writer, node: Tensor) -> None:
    """Write the line that runs a loop."""
    live: Live = writer.loops[node]
    body = live.body
    inputs = [body.inputs[i] for i in (*live.states, *live.elements)]
    results = [body.new_states[i] for i in live.states] + [body.results[i] for i in live.outputs]
    run = writer.part([*inputs, *live.captured], results)
    # Numbers drawn on the host cannot come from inside an engine's loop.
    unrolled = body.draws and writer.host_draws
    repeated = _Repeated(writer.engine, run, live, unrolled)
    groups = [
        [writer.argument(node.inputs[i], False) for i in live.states],
        [writer.argument(node.inputs[i], False) for i in live.elements],
        [writer.names[t] for t in live.captured],
        writer.keys(),
    ]
    name = writer.result_name(node)
    writer.line(f"{name} = {writer.constant(repeated)}({writer.tuples(groups)})")


class _Repeated:
    """A loop over native tensors; its results stand at the places of all of the loop's results."""

    def __init__(
        self, engine: Any, run: Callable[..., list[Any]], live: Live, unrolled: bool
    ) -> None:
        self.engine = engine
        self.run = run
        self.unrolled = unrolled
        body = live.body
        self.reverse = body.reverse
        self.count = len(live.states)
        self.places = [*live.states, *live.outputs]
        self.size = len(body.results)
        states = ((body.states[i], body.new_states[i]) for i in live.states)
        self.states = [merged(a.shape, b.shape) for a, b in states]
        self.outputs = [(body.results[i].shape, body.results[i].dtype) for i in live.outputs]

    def __call__(self, states: Any, sequences: Any, captured: Any, keys: Any) -> list[Any]:
        run, count = self.run, self.count

        def step(t: Any, states: Sequence[Any], elements: Sequence[Any]) -> Any:
            own = keys and [(*k, t) if type(k) is tuple else (k, t) for k in keys]
            results = run((*states, *elements, *captured), (), own)
            return (results[:count], results[count:]) if len(results) > count else (results, ())

        specs = self.states, self.outputs
        loop = self.engine.unrolled_loop if self.unrolled else self.engine.loop
        final, outputs = loop(step, list(states), list(sequences), self.reverse, specs)
        results: list[Any] = [None] * self.size
        for place, value in zip(self.places, (*final, *outputs), strict=True):
            results[place] = value
        return results
