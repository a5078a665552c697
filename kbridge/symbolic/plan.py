"""From a graph to one flat Python function over the engine's native functions.

:func:`generate` takes the Tensors that are given and those that are wanted, orders the nodes
between them and writes one line per node, so that running the result costs no more than a
hand-written program. It is the same tool for ``K.function``, for ``K.eval``, for the part that
an engine differentiates, and for the bodies of loops. Nothing here recurses over the graph.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from kbridge.errors import GraphError
from kbridge.symbolic import (
    plan_branches,
    plan_fusions,
    plan_gradients,
    plan_loops,
    plan_splits,
    sections,
)
from kbridge.symbolic.tensor import Constant, Draw, Placeholder, Tensor, Variable

if TYPE_CHECKING:
    from kbridge.binding import Backend

_EXPRESSIONS = (type(None), bool, int, str)


class Plan:
    """A generated function with what it reads.

    ``run(feeds, variables, keys)`` takes the values of ``inputs``, of ``variables`` and one
    stream position for each of ``draws``, and returns the list of the outputs' values.
    """

    def __init__(
        self,
        run: Callable[..., list[Any]],
        source: str,
        variables: list[Variable],
        draws: list[Draw],
        differentiates: bool,
        wide: bool,
    ) -> None:
        self.run = run
        self.source = source
        self.variables = variables
        self.draws = draws
        #: Whether it holds a gradient that the engine computes.
        self.differentiates = differentiates
        #: Whether a 64-bit dtype occurs.
        self.wide = wide

    def keys(self) -> list[int]:
        """The next position in the stream of each draw."""
        return [next(draw.stream) for draw in self.draws]


def generate(
    backend: Backend,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    *,
    values: dict[Tensor, Any] | None = None,
    host_draws: bool = False,
    draws: dict[Draw, int] | None = None,
) -> Plan:
    """Write and compile the function from ``inputs`` to ``outputs``.

    ``values`` gives Tensors a fixed Python value (the learning phase): branches of
    ``K.switch`` that it decides are left out. With ``host_draws`` random tensors are drawn by
    NumPy, the same numbers on every engine. ``draws`` shares stream positions with an
    enclosing plan.
    """
    writer = Writer(backend, inputs, values or {}, host_draws, draws)
    return writer.write(outputs)


def _pass_through(backend: Backend, fed: Any, computed: Any) -> Any:
    """The value fed, with the derivative of the value that it replaces."""
    native = backend.native
    return native["add"](fed, native["subtract"](computed, native["stop_gradient"](computed)))


class Writer:
    """Writes one function; holds what is known while it does."""

    def __init__(
        self,
        backend: Backend,
        inputs: Sequence[Tensor],
        values: dict[Tensor, Any],
        host_draws: bool,
        draws: dict[Draw, int] | None = None,
        hosted: Iterable[Tensor] = (),
    ) -> None:
        self.backend = backend
        self.engine = backend.engine
        self.inputs: Sequence[Tensor] = inputs
        self.values = values
        self.host_draws = host_draws
        self.names: dict[Tensor, str] = {}
        #: Values that are NumPy integers when the function runs.
        self.hosted: set[Tensor] = set(hosted)
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {
            "pass_through": functools.partial(_pass_through, backend),
            **self.engine.plan_names,
        }
        self.variables: list[Variable] = []
        self.draws: dict[Draw, int] = {} if draws is None else draws
        self.counter = itertools.count()
        self.constants: dict[int, str] = {}
        #: Fed tensors that a gradient passes through, with what stands for the value fed.
        self.through: dict[Tensor, Tensor] = {}
        #: Whether the function is a part of another, which may differentiate it.
        self.nested = False
        #: What is needed of each loop.
        self.loops: dict[Tensor, plan_loops.Live] = {}
        #: The choices of which a branch is computed only where it is taken.
        self.branches: dict[Tensor, plan_branches.Choice] = {}
        #: The nodes that are computed together with one of their operands.
        self.fused: dict[Tensor, plan_fusions.Fused] = {}
        #: The slices that are pieces of one split, with their places.
        self.splits: dict[Tensor, tuple[plan_splits.Split, int]] = {}
        #: Whether an engine's tape records what is being written.
        self.recording = False
        #: Names of values that the step being written is the last to read.
        self.dying: list[str] = []
        self.wide = False
        self.differentiates = False

    # --- order ------------------------------------------------------------------------------

    def resolve(self, tensor: Tensor) -> Tensor:
        """Follow switches that a fixed value decides to the branch that is taken."""
        while (
            tensor.op is not None
            and tensor.op.name == "choose"
            and tensor not in self.names
            and isinstance(tensor.args[0], Tensor)
            and tensor.args[0] in self.values
            and all(isinstance(branch, Tensor) for branch in tensor.args[1:])
            and tensor.args[1].dtype == tensor.args[2].dtype
        ):
            tensor = tensor.args[1 if self.values[tensor.args[0]] else 2]
        return tensor

    def order(
        self,
        roots: Iterable[Tensor],
        ready: set[Tensor],
        parents: Callable[[Tensor], Sequence[Tensor]] | None = None,
    ) -> list[Tensor]:
        """The nodes that ``roots`` need and that are not ``ready``, inputs before users."""
        done = set(ready)
        ordered: list[Tensor] = []
        stack = [(self.resolve(root), False) for root in roots]
        stack.reverse()
        while stack:
            node, expanded = stack.pop()
            if node in done:
                continue
            if expanded:
                done.add(node)
                ordered.append(node)
                continue
            stack.append((node, True))
            for parent in reversed((parents or self.parents)(node)):
                parent = self.resolve(parent)
                if parent not in done:
                    stack.append((parent, False))
        return ordered

    def parents(self, node: Tensor) -> Sequence[Tensor]:
        """What must be there before ``node``."""
        if not self.loops and not self.branches and not self.fused:
            return node.inputs
        found = self.loops.get(node) or self.branches.get(node) or self.fused.get(node)
        return node.inputs if found is None else found.inputs

    # --- writing ----------------------------------------------------------------------------

    def write(self, outputs: Sequence[Tensor]) -> Plan:
        """Write everything that ``outputs`` need, and compile it."""
        outputs = [self.resolve(output) for output in outputs]
        nodes = self.ordered(outputs)
        given = [self.bind_input(self.through.get(t, t)) for t in self.inputs]
        self.check_fed(nodes)
        gradients = [n for n in nodes if n.op is not None and n.op.name == "gradients"]
        if gradients:
            plan_gradients.write(self, gradients, nodes, outputs)
        else:
            for node in self.with_last_uses(nodes, outputs):
                self.step(node)
        reads = [
            (given, "feeds"),
            ([self.names[v] for v in self.variables], "variables"),
            (self.keys(), "keys"),
        ]
        results = [self.argument(output, False) for output in outputs]
        source = sections.compile_run(reads, self.lines, results, self.namespace)
        return Plan(
            self.namespace["run"],
            source,
            self.variables,
            list(self.draws),
            bool(gradients) or self.differentiates,
            self.wide,
        )

    def ordered(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        """The nodes of the plan, once it is known what of loops and branches it needs."""
        nodes = self.order(outputs, set(self.inputs))
        kinds = {n.op.name for n in nodes if n.op is not None}
        again = False
        if "loop" in kinds:
            plan_loops.find(self, outputs, set(self.inputs))
            again = True
        if not self.through:
            self.through = plan_gradients.fed_on_the_way(self, outputs)
            again = again or bool(self.through)
        # An engine that differentiates functions gets the region of a gradient as a part.
        within = "gradients" not in kinds or self.engine.autodiff != "functional"
        if "choose" in kinds and within and not self.through:
            nodes = self.order(outputs, self.given()) if again else nodes
            again = plan_branches.find(self, nodes, outputs)
        nodes = self.order(outputs, self.given()) if again else nodes
        if self.engine.split is not None:
            plan_splits.find(self, nodes)
        fused = self.engine.fusions and plan_fusions.find(self, nodes, outputs)
        return self.order(outputs, self.given()) if fused else nodes

    def given(self) -> set[Tensor]:
        """The inputs that need not be computed."""
        return set(self.inputs) - set(self.through)

    def check_fed(self, nodes: list[Tensor]) -> None:
        missing = [
            n
            for n in nodes
            if isinstance(n, Placeholder) and n not in self.values and n.default is None
        ]
        if missing:
            raise GraphError(
                f"the outputs depend on {len(missing)} placeholder(s) that the inputs do not "
                f"give: {', '.join(repr(p) for p in missing[:5])}. Add them to the inputs of "
                f"K.function, and feed a value for each."
            )

    def bind_input(self, tensor: Tensor) -> str:
        name = f"a{next(self.counter)}"
        self.names[tensor] = name
        self.note(tensor)
        return name

    def note(self, tensor: Tensor) -> None:
        if tensor.dtype in ("float64", "int64", "uint64"):
            self.wide = True

    def new_name(self, node: Tensor | None = None) -> str:
        """A fresh local name, for ``node`` if given."""
        name = f"t{next(self.counter)}"
        if node is not None:
            self.names[node] = name
        return name

    def result_name(self, node: Tensor) -> str:
        """The name for the result of a step: one whose value dies in it, else a fresh one."""
        if not self.dying:
            return self.new_name(node)
        name = self.names[node] = self.dying.pop()
        return name

    def part(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Callable[..., list[Any]]:
        """A plan of its own inside this one: it shares values, draws and keys."""
        hosted = self.hosted.intersection(inputs)
        inner = Writer(self.backend, inputs, self.values, self.host_draws, self.draws, hosted)
        inner.nested = True
        inner.loops = dict(self.loops)
        inner.through = {t: fed for t, fed in self.through.items() if fed in inputs}
        plan = inner.write(outputs)
        self.wide = self.wide or plan.wide
        self.differentiates = self.differentiates or plan.differentiates
        return plan.run

    def keys(self) -> list[str]:
        """The names of the stream positions of the draws so far."""
        return [f"k{i}" for i in self.draws.values()]

    @staticmethod
    def tuples(groups: Iterable[Iterable[str]]) -> str:
        """Source of arguments that are tuples of names."""
        return ", ".join(f"({''.join(f'{name}, ' for name in names)})" for names in groups)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def with_last_uses(self, nodes: list[Tensor], outputs: Sequence[Tensor]) -> Iterable[Tensor]:
        """Yield each node with the names that its step may take over or must free.

        A value that nothing later reads gives its name to the result, so that the old value is
        gone once the new one is there.
        """
        keep = {*outputs, *self.inputs, *self.through}
        last: dict[Tensor, int] = {}
        for position, node in enumerate(nodes):
            for parent in self.parents(node):
                last[self.resolve(parent)] = position
        for position, node in enumerate(nodes):
            for parent in self.parents(node):
                parent = self.resolve(parent)
                if last[parent] == position and parent.op is not None and parent not in keep:
                    last[parent] = -1  # named once, though it may be an operand twice
                    self.dying.append(self.names[parent])
            yield node
            if self.dying:
                self.line(f"del {', '.join(self.dying)}")
                self.dying.clear()

    def step(self, node: Tensor) -> None:
        """Write the line that computes ``node``."""
        self.compute(node)
        if node in self.through:
            fed, own = self.names[self.through[node]], self.names[node]
            self.line(f"{own} = pass_through({fed}, {own})")

    def compute(self, node: Tensor) -> None:
        """Write the line that computes ``node`` from its inputs."""
        self.note(node)
        if node in self.values:
            self.names[node] = self.constant(self.fixed(node))
        elif isinstance(node, Variable):
            self.names[node] = f"v{next(self.counter)}"
            self.variables.append(node)
        elif isinstance(node, Constant):
            self.names[node] = self.constant(self.engine.constant(node.value, node.dtype))
        elif isinstance(node, Placeholder):
            value = np.asarray(node.default, node.dtype)
            self.names[node] = self.constant(self.engine.constant(value, node.dtype))
        else:
            self.call(node)

    def fixed(self, node: Tensor) -> Any:
        return self.engine.constant(np.asarray(self.values[node], node.dtype), node.dtype)

    def call(self, node: Tensor) -> None:
        op = node.op
        assert op is not None
        if op.name == "item":
            source = self.names[node.args[0]]
            self.line(f"{self.result_name(node)} = {source}[{node.args[1]}]")
            return
        if op.name == "loop":
            plan_loops.write(self, node)
            return
        if node in self.branches:
            plan_branches.write(self, node)
            return
        if node in self.fused:
            plan_fusions.write(self, node)
            return
        if node in self.splits:
            plan_splits.write(self, node)
            return
        hosted = node.host is not None and op.name not in ("shape", "size")
        function = f"h_{op.name}" if hosted else f"f_{op.name}"
        special = op.plain or self.special(node, hosted)  # plain: what K.lift made an operation
        if special is not None:
            function = self.constant(special)
        elif function not in self.namespace:
            self.namespace[function] = (
                self.engine.host_primitive(op.name, self.backend)
                if hosted
                else self.backend.native[op.name]
            )
        if node.host is not None:
            self.hosted.add(node)
        arguments = [
            self.argument(arg, hosted or index in op.host_indices)
            for index, arg in enumerate(node.args)
        ]
        if op.random:
            self.draw(node, arguments)
            if self.host_draws:
                function = self.host_draw(op.name, node.dtype)
        self.line(f"{self.result_name(node)} = {function}({', '.join(arguments)})")

    def special(self, node: Tensor, hosted: bool) -> Any:
        """A shorter function than the primitive that serves the operands of this node."""
        assert node.op is not None
        primitive = self.backend.native.get(node.op.name)
        choose = None if hosted else self.engine.in_plans.get(primitive)
        if choose is None:
            return None
        return choose(*(self.resolve(a) if isinstance(a, Tensor) else a for a in node.args))

    def draw(self, node: Tensor, arguments: list[str]) -> None:
        """Replace the seed by what the engine makes of seed and stream position."""
        assert node.op is not None
        assert isinstance(node, Draw)
        position = self.draws.setdefault(node, len(self.draws))
        seed = node.op.parameters.index("seed")
        maker = "host_key" if self.host_draws else "draw_key"
        # Not as a literal: the source of equal graphs is to be equal, and compiled once.
        arguments[seed] = f"{maker}({self.constant(node.seed)}, k{position})"

    def host_draw(self, name: str, dtype: str) -> str:
        function, label = self.backend.host_function(name), f"d_{name}_{dtype}"
        engine = self.engine

        def drawn(*args: Any) -> Any:
            plain = [engine.to_numpy(a) if engine.is_native(a) else a for a in args]
            return engine.from_numpy(np.asarray(function(*plain)), dtype)

        self.namespace[label] = drawn
        return label

    # --- arguments --------------------------------------------------------------------------

    def argument(self, value: Any, host: bool) -> str:
        """Python source for an argument; ``host``: sizes on the host may stay there."""
        if isinstance(value, Tensor):
            value = self.resolve(value)
            if host and isinstance(value, Constant) and isinstance(value.value, np.ndarray):
                return self.constant(value.value)
            name = self.names[value]
            if value in self.hosted and not host:
                return f"from_host({name}, {value.dtype!r})"
            return name
        if isinstance(value, _EXPRESSIONS) or (type(value) is float and isfinite(value)):
            return repr(value)
        if type(value) is tuple or type(value) is list:
            if all(type(item) in (int, type(None), bool, str) for item in value):
                return repr(value)
            parts = ", ".join(self.argument(item, host) for item in value)
            if type(value) is list:
                return f"[{parts}]"
            return f"({parts},)" if value else "()"
        if type(value) is slice:
            start, stop, step = (
                self.argument(part, host) for part in (value.start, value.stop, value.step)
            )
            return f"slice({start}, {stop}, {step})"
        return self.constant(value)

    def constant(self, value: Any) -> str:
        name = self.constants.get(id(value))
        if name is None:
            name = f"c{next(self.counter)}"
            self.constants[id(value)] = name
            self.namespace[name] = value
        return name
