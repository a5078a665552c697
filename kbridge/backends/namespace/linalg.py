"""Products; 16-bit floats are added up in 32 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kbridge.backends.namespace.tools import cast, public, wide
from kbridge.symbolic.shapes import batch_dot_axes


def primitives(xp: Any, engine: Any) -> dict[str, Callable[..., Any]]:
    def transpose(x: Any) -> Any:
        return xp.transpose(x)

    def matmul(x: Any, y: Any) -> Any:
        return cast(xp.matmul(wide(x), wide(y)), x.dtype)

    def dot(x: Any, y: Any) -> Any:
        if not x.ndim or not y.ndim:
            return xp.multiply(x, y)
        size = x.shape[-1]
        turned = xp.moveaxis(y, -2, 0) if y.ndim > 1 else y
        if turned.shape[0] != size:
            raise ValueError(x.shape, y.shape)
        kept, others = x.shape[:-1], turned.shape[1:]
        left = xp.reshape(x, (math.prod(kept), size))
        right = xp.reshape(turned, (size, math.prod(others)))
        return xp.reshape(matmul(left, right), kept + others)

    def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
        a, b = batch_dot_axes(x.shape, y.shape, axes)
        x_kept = [n for i, n in enumerate(x.shape) if i not in (0, a)]
        y_kept = [n for i, n in enumerate(y.shape) if i not in (0, b)]
        batch, size = x.shape[0], x.shape[a]
        if y.shape[0] != batch:
            raise ValueError(x.shape, y.shape)
        left = xp.reshape(xp.moveaxis(x, a, -1), (batch, math.prod(x_kept), size))
        right = xp.reshape(xp.moveaxis(y, b, 1), (batch, y.shape[b], math.prod(y_kept)))
        return xp.reshape(matmul(left, right), (batch, *(x_kept + y_kept or [1])))

    return public(locals())
