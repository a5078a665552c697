"""The last part of a function, where shapes depend on data, on an engine that cannot compile it.

Such an engine (JAX) compiles what comes before an ``uncompiled`` operation; this operation and all
that follows from it run after that, node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kbridge.errors import UnsupportedError
from kbridge.symbolic.gradients import topological
from kbridge.symbolic.plan import generate
from kbridge.symbolic.tensor import Constant, Tensor

if TYPE_CHECKING:
    from kbridge.binding import Backend


def find(
    backend: Backend, feeds: Sequence[Tensor], outputs: Sequence[Tensor], updates: Sequence[Tensor]
) -> Rest | None:
    """What of ``outputs`` runs after the compiled part; None where all is compiled."""
    if not backend.engine.fixed_shapes:
        return None
    after: dict[Tensor, None] = {}
    for node in topological([*outputs, *updates], feeds):
        if node.op is not None and (node.op.uncompiled or any(p in after for p in node.inputs)):
            after[node] = None
    if not after:
        return None
    if any(t in after for t in updates) or any(t.op.name == "gradients" for t in after if t.op):
        raise UnsupportedError(
            f"K.function: an update or a gradient depends on data whose shape only the run tells "
            f"(K.ctc_decode), which {backend.engine.title} cannot compile. Take the decoded "
            f"labels as an output, and feed them to another function."
        )
    return Rest(backend, outputs, after)


class Rest:
    """What runs after the compiled part of a function."""

    def __init__(
        self, backend: Backend, outputs: Sequence[Tensor], after: dict[Tensor, None]
    ) -> None:
        self.backend = backend
        self.outputs = outputs
        self.wanted = [t for t in outputs if t in after]
        read = dict.fromkeys(p for node in after for p in node.inputs)
        self.inputs = [p for p in read if p not in after and not isinstance(p, Constant)]
        #: What the compiled part is to compute.
        self.before = [*(t for t in outputs if t not in after), *self.inputs]

    def behind(
        self,
        compiled: Callable[[list[Any]], list[Any]],
        values: dict[Tensor, Any],
        updates: Sequence[tuple[Any, Any]],
    ) -> Callable[[list[Any]], list[Any]]:
        """The whole function from its compiled part; ``values`` are those fixed in the plan."""
        plan = generate(self.backend, self.inputs, self.wanted, values=values)
        run, count = self.backend.engine.run_after, len(self.inputs)

        def program(natives: list[Any]) -> list[Any]:
            before = [variable.storage for variable, _ in updates]
            results = compiled(natives)
            found = dict(zip(self.before, results, strict=True))
            try:
                made = run(plan, results[len(results) - count :])
            except Exception:  # no variable changes if a call fails
                for (variable, _), storage in zip(updates, before, strict=True):
                    variable.storage = storage
                raise
            found.update(zip(self.wanted, made, strict=True))
            return [found[t] for t in self.outputs]

        return program
