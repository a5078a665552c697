"""What ``K.print_tensor`` prints, the same text on every engine."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.errors import ArgumentError, ArgumentTypeError


def as_summarize(summarize: Any) -> int:
    """A number of elements, -1 for all; 3 for None."""
    if summarize is None:
        return 3
    try:
        count = operator.index(summarize)
    except TypeError:
        raise ArgumentTypeError(
            f"summarize must be an integer or None, not {type(summarize).__name__}: "
            f"{summarize!r:.60}"
        ) from None
    if count < 1 and count != -1:
        raise ArgumentError(f"summarize must be at least 1, or -1 for all elements, got {count}")
    return count


def printer(message: Any, summarize: Any) -> Callable[[Any], None]:
    """A function that prints ``message`` and an array on standard output, as it is then."""
    head = str(message)
    if head and not head[-1].isspace():
        head += " "
    count = as_summarize(summarize)
    threshold, edge = (sys.maxsize, 1) if count == -1 else (0, count)

    def show(array: Any) -> None:
        last = head.rpartition("\n")[2]
        array = np.asarray(array)
        if array.dtype.kind == "V":  # bfloat16, which NumPy shows like integers
            array = array.astype(np.float32)
        text = np.array2string(
            array, max_line_width=sys.maxsize, threshold=threshold, edgeitems=edge, prefix=last
        )
        print(head + text, flush=True)

    return show
