"""Keeping what was not chosen out of gradients: nan there must not come through.

A branch of ``choose`` that is not taken gets the derivative 0; on the way back through the branch
0 may still become nan (the derivative of ``log`` at 0). So wherever the derivative leaves the
nodes that serve one branch only, it is chosen once more. These nodes have a :class:`Guard`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from kbridge.symbolic.gradients import differentiable_inputs
from kbridge.symbolic.tensor import Tensor


class Branch:
    """One branch of one choice, inside the branch that the choice itself belongs to."""

    __slots__ = ("depth", "outer")

    outer: Any

    def __init__(self, outer: Any) -> None:
        self.outer = outer
        self.depth: int = 1 if outer is None else outer.depth + 1


B = TypeVar("B", bound=Branch)


def common(a: B | None, b: B | None) -> B | None:
    """The innermost branch around both."""
    while a is not b:
        if a is None or b is None:
            return None
        if a.depth >= b.depth:
            a = a.outer
        else:
            b = b.outer
    return a


class Guard(Branch):
    """A branch with what chooses it."""

    __slots__ = ("choice", "first", "taken")

    outer: Guard | None

    def __init__(self, choice: Tensor, first: bool, outer: Guard | None) -> None:
        super().__init__(outer)
        self.choice = choice
        self.first = first
        self.taken: Any = None

    def passed(self, K: Any, g: Tensor, x: Tensor) -> Tensor:
        """``g`` where this branch is taken, and all around it; else zeros like ``x``."""
        zeros = K.zeros_like(x)
        if self.outer is None:
            parts = (g, zeros) if self.first else (zeros, g)
            return K.choose(self.choice.args[0], *parts)  # type: ignore[no-any-return]
        # From the outside in, each condition joined to the one before.
        missing = []
        guard: Guard | None = self
        while guard is not None and guard.taken is None:
            missing.append(guard)
            guard = guard.outer
        taken = None if guard is None else guard.taken
        for inner in reversed(missing):
            condition = inner.choice.args[0]
            own = condition if inner.first else K.logical_not(condition)
            taken = inner.taken = own if taken is None else K.logical_and(taken, own)
        return K.choose(taken, g, zeros)  # type: ignore[no-any-return]


class Guards:
    """The guard of each node between the sources and the loss; None: it serves other nodes too."""

    def __init__(self, nodes: Sequence[Tensor], sources: Collection[Tensor]) -> None:
        """``nodes`` are given with users before inputs."""
        self.found: dict[Tensor, Guard | None] = {}
        uses: dict[Tensor, Guard | None] = {}
        for node in nodes:
            guard = None if node in sources else uses.pop(node, None)
            self.found[node] = guard
            for x, inside in _uses(node, guard):
                uses[x] = common(uses[x], inside) if x in uses else inside

    def leave(self, K: Any, y: Tensor, x: Tensor, g: Tensor) -> Tensor:
        """What passes from ``y`` to its operand ``x``: masked where it leaves a branch."""
        mine, other = self.found[y], self.found[x]
        if mine is None or mine is other or (other is not None and other.choice is y):
            return g  # the rule of a choice masks what enters its branches
        return mine.passed(K, g, x)


def _uses(node: Tensor, guard: Guard | None) -> list[tuple[Tensor, Guard | None]]:
    """The operands of a node, each with the guard that this use gives it."""
    if not is_choice(node):
        return [(x, guard) for x in differentiable_inputs(node)]
    _, x, y = node.args
    if x is y:
        return [(x, guard)]
    return [(x, Guard(node, True, guard)), (y, Guard(node, False, guard))]


def is_choice(node: Tensor) -> bool:
    """Whether a node is one branch or the other as a whole."""
    return node.op is not None and node.op.name == "choose" and node.host is None
