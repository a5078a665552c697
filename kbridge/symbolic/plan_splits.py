"""Slices that divide a tensor among them, as the gates of a recurrent step do: one split.

The derivative of each slice is a tensor padded with zeros to the size of the whole; that of a split
is one concatenation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbridge.symbolic.tensor import Tensor

if TYPE_CHECKING:
    from kbridge.symbolic.plan import Writer

_WHOLE = slice(None)


class Split:
    """One tensor cut along an axis, in pieces that are read by several nodes."""

    def __init__(self, whole: Tensor, axis: int, sizes: list[int]) -> None:
        self.whole = whole
        self.axis = axis
        self.sizes = sizes
        #: What the plan calls the pieces: as they are while an engine's tape is off, and on it.
        self.names: dict[bool, str] = {}
        #: How many nodes are still to be written.
        self.left = 0


def find(writer: Writer, nodes: Sequence[Tensor]) -> None:
    """Note the slices that together are their operand, each with its place in the split."""
    cuts: dict[tuple[Tensor, int], dict[tuple[int, int], list[Tensor]]] = {}
    for node in nodes:
        if node.op is None or node.op.name != "getitem" or node.host is not None:
            continue
        cut = _cut(node)
        if cut is not None and node not in writer.inputs and node not in writer.through:
            axis, start, stop = cut
            whole = writer.resolve(node.args[0])
            cuts.setdefault((whole, axis), {}).setdefault((start, stop), []).append(node)
    for (whole, axis), pieces in cuts.items():
        ends = sorted(pieces)
        starts = [0, *(stop for _, stop in ends)]
        if len(ends) < 2 or [*(start for start, _ in ends), whole.shape[axis]] != starts:
            continue  # they overlap, or leave something out
        split = Split(whole, axis, [stop - start for start, stop in ends])
        for place, end in enumerate(ends):
            for node in pieces[end]:
                writer.splits[node] = split, place
                split.left += 1


def _cut(node: Tensor) -> tuple[int, int, int] | None:
    """Axis, start and stop of a slice along one axis, whose size is known."""
    whole, key = node.args
    if not isinstance(whole, Tensor) or any(not _is_plain(part) for part in key):
        return None
    if Ellipsis in key:
        place = key.index(Ellipsis)
        rest = len(whole.shape) - len(key) + 1
        key = (*key[:place], *(_WHOLE,) * rest, *key[place + 1 :])
    cut = [axis for axis, part in enumerate(key) if part != _WHOLE]
    if len(cut) != 1 or whole.shape[cut[0]] is None:
        return None
    start, stop, _ = key[cut[0]].indices(whole.shape[cut[0]])
    return (cut[0], start, stop) if start < stop else None


def _is_plain(part: object) -> bool:
    if part is Ellipsis:
        return True
    if not isinstance(part, slice) or part.step not in (None, 1):
        return False
    return all(end is None or type(end) is int for end in (part.start, part.stop))


def write(writer: Writer, node: Tensor) -> None:
    """Write the line of a piece, and before the first one that of the split."""
    split, place = writer.splits[node]
    name = split.names.get(writer.recording)
    if name is None:
        name = split.names[writer.recording] = writer.new_name()
        writer.namespace["split"] = writer.engine.split
        whole = writer.names[split.whole]
        writer.line(f"{name} = split({whole}, {split.sizes}, {split.axis})")
    writer.line(f"{writer.new_name(node)} = {name}[{place}]")
    split.left -= 1
    if not split.left:
        writer.line(f"del {', '.join(split.names.values())}")
