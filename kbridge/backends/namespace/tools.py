"""What the topics share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def public(table: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """The primitives among the local names of a topic's function."""
    return {n: f for n, f in table.items() if n not in ("xp", "engine") and not n.startswith("_")}


def cast(x: Any, dtype: Any) -> Any:
    """``x`` in a NumPy dtype."""
    return x if x.dtype == dtype else x.astype(dtype)


def is_half(x: Any) -> bool:
    """Whether ``x`` is of a 16-bit float, which is added up in 32 bits."""
    return x.dtype.itemsize == 2 and x.dtype.kind not in "iu"


def wide(x: Any) -> Any:
    """``x`` in a dtype to add up in."""
    return x.astype(np.dtype("float32")) if is_half(x) else x


def inverse(index: Any, size: int) -> Any:
    """Where each of ``size`` elements stands in a host array of positions: an index, by rows.

    What is not there, or less often than others, is ``index.size`` there, the place of a zero.
    """
    flat = index.ravel()
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat, minlength=size)[:size]
    most = max(int(counts.max()) if size else 0, 1)
    rows = np.full((size, most), flat.size)
    inside = np.arange(most) < counts[:, None]
    rows[inside] = order[: counts.sum()]  # both go row by row, since the order is stable
    return rows


def summed(xp: Any, engine: Any, g: Any, rows: Any, axis: int) -> Any:
    """The elements of ``g`` along ``axis`` summed over the rows that :func:`inverse` gives."""
    shape = (*g.shape[:axis], 1, *g.shape[axis + 1 :])
    padded = xp.concatenate([g, xp.zeros(shape, g.dtype)], axis)
    at = (slice(None),) * axis
    picked = padded[(*at, engine.from_numpy(rows, "int64"))]
    return picked[(*at, slice(None), 0)] if rows.shape[1] == 1 else xp.sum(picked, axis=axis + 1)
