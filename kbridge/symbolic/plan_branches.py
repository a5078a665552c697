"""Branches of a scalar K.switch inside a plan: what serves one branch alone is a part of its own.

Such a part is computed only where its branch is taken, so that neither its cost nor a nan in it (or
in its derivative) reaches the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kbridge.symbolic.guards import Branch, common, is_choice
from kbridge.symbolic.tensor import Constant, Tensor, Variable

if TYPE_CHECKING:
    from kbridge.symbolic.plan import Writer


class Choice:
    """A choice with the nodes of its branches taken out; what these read stands for them."""

    def __init__(self, condition: Tensor, captured: Sequence[list[Tensor]]) -> None:
        self.captured = captured
        self.inputs = [condition, *captured[0], *captured[1]]


def find(writer: Writer, nodes: Sequence[Tensor], outputs: Iterable[Tensor]) -> bool:
    """Note the choices of which a branch has nodes of its own; return whether there are any.

    ``nodes`` come with inputs before users.
    """
    choices: dict[Tensor, tuple[Branch, Branch]] = {}
    branch_of: dict[Tensor, Branch | None] = dict.fromkeys(outputs)
    for node in reversed(nodes):
        branch = branch_of.setdefault(node, None)
        uses: list[tuple[Tensor, Branch | None]]
        if is_choice(node) and node.args[1] is not node.args[2]:
            choices[node] = Branch(branch), Branch(branch)
            uses = list(
                zip(map(writer.resolve, node.inputs), (branch, *choices[node]), strict=True)
            )
        else:
            uses = [(writer.resolve(p), branch) for p in writer.parents(node)]
        for parent, use in uses:
            known = parent in branch_of
            branch_of[parent] = common(branch_of[parent], use) if known else use
    own: dict[Branch, set[Tensor]] = {}
    for node in nodes:
        branch = branch_of[node]
        if branch is not None and not isinstance(node, (Constant, Variable)):
            own.setdefault(_outermost(branch), set()).add(node)
    for node, branches in choices.items():
        inside = [own.get(branch, set()) for branch in branches]
        if any(inside) and branch_of[node] is None:
            captured = [
                _read(writer, end, part) for end, part in zip(node.args[1:], inside, strict=True)
            ]
            writer.branches[node] = Choice(writer.resolve(node.args[0]), captured)
    return bool(writer.branches)


def _outermost(branch: Branch) -> Branch:
    """The branch around this one that lies in no other."""
    while branch.outer is not None:
        branch = branch.outer
    return branch


def _read(writer: Writer, end: Tensor, inside: set[Tensor]) -> list[Tensor]:
    """What a branch takes from outside."""
    read = [writer.resolve(p) for node in inside for p in writer.parents(node)]
    found = dict.fromkeys([*read, writer.resolve(end)])
    return [t for t in found if t not in inside and not isinstance(t, Constant)]


def write(writer: Writer, node: Tensor) -> None:
    """Write the line that runs one branch or the other."""
    choice: Choice = writer.branches[node]
    runs, groups = [], []
    for end, captured in zip(node.args[1:], choice.captured, strict=True):
        runs.append(writer.part(captured, [end]))
        groups.append([writer.names[t] for t in captured])
        groups.append(writer.keys())
    chosen = writer.constant(_Chosen(writer.engine, *runs))
    condition = writer.argument(node.args[0], False)
    writer.line(f"{writer.result_name(node)} = {chosen}({condition}, {writer.tuples(groups)})")


class _Chosen:
    """A choice over native tensors."""

    def __init__(self, engine: Any, first: Callable[..., Any], second: Callable[..., Any]) -> None:
        self.engine = engine
        self.first = first
        self.second = second

    def __call__(
        self, condition: Any, first: Any, first_keys: Any, second: Any, second_keys: Any
    ) -> Any:
        return self.engine.choose(
            condition,
            lambda: self.first(first, (), first_keys)[0],
            lambda: self.second(second, (), second_keys)[0],
        )
