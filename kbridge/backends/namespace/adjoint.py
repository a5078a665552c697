"""What the graph's own autodiff needs: elements go back by an index computed on the host."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.backends.namespace.tools import cast, inverse, public, summed, wide
from kbridge.backends.numpy import shaping as host


def primitives(xp: Any, engine: Any) -> dict[str, Callable[..., Any]]:
    def _sum(x: Any, axis: Any) -> Any:
        return cast(xp.sum(wide(x), axis=axis), x.dtype)

    def broadcast_like(x: Any, like: Any) -> Any:
        return xp.broadcast_to(x, like.shape)

    def sum_like(x: Any, like: Any) -> Any:
        shape = like.shape
        if x.shape == shape:
            return x
        extra = x.ndim - len(shape)
        ones = (a + extra for a, size in enumerate(shape) if size == 1 != x.shape[a + extra])
        return xp.reshape(_sum(x, (*range(extra), *ones)), shape)

    def reshape_like(x: Any, like: Any) -> Any:
        return xp.reshape(x, like.shape)

    def _back(g: Any, shape: Any, picked: Callable[[Any], Any]) -> Any:
        """Zeros of a shape with ``g`` added where ``picked`` takes elements from."""
        places = picked(np.arange(math.prod(shape)).reshape(shape))
        rows = inverse(np.asarray(places), math.prod(shape))
        flat = xp.reshape(wide(g), (-1,)) if places.size else xp.zeros((0,), g.dtype)
        return cast(xp.reshape(summed(xp, engine, flat, rows, 0), shape), g.dtype)

    def getitem_adjoint(g: Any, x: Any, key: Any) -> Any:
        return _back(g, x.shape, lambda places: host.getitem(places, key))

    def slice_adjoint(g: Any, x: Any, start: Any, size: Any) -> Any:
        return _back(g, x.shape, lambda places: host.slice(places, start, size))

    def gather_adjoint(g: Any, reference: Any, indices: Any) -> Any:
        at = engine.to_numpy(indices).astype(np.int64).ravel()
        shape = (at.size, *reference.shape[1:])
        rows = inverse(at, reference.shape[0])
        return cast(summed(xp, engine, xp.reshape(wide(g), shape), rows, 0), g.dtype)

    def repeat_elements_adjoint(g: Any, x: Any, rep: int, axis: int) -> Any:
        axis = axis % x.ndim
        parts = (*x.shape[: axis + 1], int(rep), *x.shape[axis + 1 :])
        return _sum(xp.reshape(g, parts), axis + 1)

    def tile_adjoint(g: Any, x: Any, n: Any) -> Any:
        times = np.atleast_1d(n).tolist()
        rank = max(x.ndim, len(times))
        times = [1] * (rank - len(times)) + times
        sizes = (1,) * (rank - x.ndim) + tuple(x.shape)
        pairs = [size for pair in zip(times, sizes, strict=True) for size in pair]
        return xp.reshape(_sum(xp.reshape(g, pairs), tuple(range(0, 2 * rank, 2))), x.shape)

    def recurrence(a: Any, b: Any, axis: int) -> Any:
        steps, factors = xp.moveaxis(b, axis, 0), xp.moveaxis(a, axis, 0)
        if not b.shape[axis]:
            return b
        found = [steps[0]]
        for t in range(1, b.shape[axis]):
            found.append(factors[t] * found[-1] + steps[t])
        return xp.moveaxis(xp.stack(found), 0, axis)

    return public(locals())
