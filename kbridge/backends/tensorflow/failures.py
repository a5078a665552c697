"""What TensorFlow reports from a run, as kbridge's own errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from kbridge.errors import ArgumentError, IndexRangeError, KBridgeError, ShapeError

_INDEX = re.compile(r"indices\S* =[^\w-]*(-?\d+).*?is not in \[0,[^\w-]*(\d+)", re.DOTALL)
_SLICE = re.compile(r"slice index (-?\d+) of dimension (\d+) out of bounds")
# What a message has around its text: where it comes from, and from which of several nodes.
_NODE = re.compile(
    r"^\d+ root error\(s\) found\.$|^\(\d+\)\s*\w+:\s*|^\{\{function_node [^}]*\}\}\s*"
    r"|\s*\[Op:\w+\].*$|^\[\[.*\]\]$"
)
_FRAME = ("Graph execution error", "Detected at node", "File ", "<stdin>", "Stack trace")
_ASSERT = "assertion failed:"
_SHAPES = ("shape", "dimension", "size", "rank", "broadcast", "window")


def clear(error: Exception) -> KBridgeError:
    """The error for what TensorFlow found out at run time."""
    text = getattr(error, "message", None) or str(error)
    if found := _INDEX.search(text):
        index, rows = found.groups()
        return IndexRangeError(
            f"K.gather: the index {index} is outside the valid range [0, {rows})."
        )
    if found := _SLICE.search(text):
        index, axis = found.groups()
        return IndexRangeError(f"K.getitem: the index {index} is out of range on axis {axis}.")
    lines = [_NODE.sub("", line.strip()) for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith(_FRAME)]
    first = told[0] if told else text
    if first.startswith(_ASSERT):
        first = re.sub(r"[][]", "", first.removeprefix(_ASSERT)).strip()
    kind = ShapeError if any(word in first.lower() for word in _SHAPES) else ArgumentError
    return kind(f"TensorFlow cannot run this: {first}")


@contextmanager
def cleared() -> Iterator[None]:
    """A scope whose errors from TensorFlow's runtime come out as kbridge's."""
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        raise clear(error) from error
