"""Reductions; 16-bit floats are added up in 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.backends.namespace.tools import cast, public, wide

_INT32 = np.dtype("int32")


def _axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def primitives(xp: Any, engine: Any) -> dict[str, Callable[..., Any]]:
    def _plain(name: str) -> Callable[..., Any]:
        function = getattr(xp, name)

        def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return function(x, axis=_axis(axis), keepdims=keepdims)

        return reduce

    def _total(name: str) -> Callable[..., Any]:
        function = _plain(name)

        def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            dtype = _INT32 if x.dtype.kind == "b" else x.dtype
            return cast(
                function(cast(wide(x), dtype) if dtype == _INT32 else wide(x), axis, keepdims),
                dtype,
            )

        return reduce

    max, min, any, all = map(_plain, ("max", "min", "any", "all"))
    sum, prod = map(_total, ("sum", "prod"))

    def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return cast(xp.mean(wide(x), axis=_axis(axis), keepdims=keepdims), x.dtype)

    def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        apart = wide(x) - xp.mean(wide(x), axis=_axis(axis), keepdims=True)
        return cast(xp.mean(apart * apart, axis=_axis(axis), keepdims=keepdims), x.dtype)

    def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axis, x_wide = _axis(axis), wide(x)
        top = xp.max(x_wide, axis=axis, keepdims=True)
        top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
        total = xp.log(xp.sum(xp.exp(x_wide - top), axis=axis, keepdims=keepdims))
        return cast(total + xp.reshape(top, total.shape), x.dtype)

    def _running(name: str) -> Callable[..., Any]:
        function = getattr(xp, name)

        def run(x: Any, axis: int = 0) -> Any:
            dtype = _INT32 if x.dtype.kind == "b" else x.dtype
            return cast(function(cast(wide(x), dtype) if dtype == _INT32 else wide(x), axis), dtype)

        return run

    cumsum, cumprod = map(_running, ("cumsum", "cumprod"))

    def _place(name: str) -> Callable[..., Any]:
        function = getattr(xp, name)

        def find(x: Any, axis: int = -1) -> Any:
            return function(x, axis).astype(np.dtype("int64"))

        return find

    argmax, argmin = map(_place, ("argmax", "argmin"))
    return public(locals())
