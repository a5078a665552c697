"""Shapes and picking; faults are told by the NumPy backend's own functions."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge import config
from kbridge.backends.namespace.tools import public
from kbridge.backends.numpy import shaping as host
from kbridge.symbolic.dtypes import to_numpy
from kbridge.symbolic.shapes import empty_reshape


def primitives(xp: Any, engine: Any) -> dict[str, Callable[..., Any]]:
    def reshape(x: Any, shape: Any) -> Any:
        sizes: Any = tuple(operator.index(n) for n in np.atleast_1d(shape).tolist())
        if -1 in sizes and 0 in sizes:
            sizes = empty_reshape(x.shape, sizes)
        return xp.reshape(x, sizes)

    def concatenate(tensors: Any, axis: int = -1) -> Any:
        if axis is None:
            raise TypeError(axis)
        return xp.concatenate(list(tensors), axis)

    def stack(x: Any, axis: int = 0) -> Any:
        return xp.stack(list(x), axis)

    def permute_dimensions(x: Any, pattern: Any) -> Any:
        return xp.transpose(x, tuple(int(i) for i in pattern))

    def repeat_elements(x: Any, rep: int, axis: int) -> Any:
        return xp.repeat(x, int(rep), axis % x.ndim)  # Autograd's derivative wants it so

    def repeat(x: Any, n: int) -> Any:
        samples, size = x.shape
        return xp.repeat(xp.reshape(x, (samples, 1, size)), int(n), 1)

    def tile(x: Any, n: Any) -> Any:
        times = [operator.index(i) for i in np.atleast_1d(n).tolist()]
        rank = max(x.ndim, len(times))
        times = [1] * (rank - len(times)) + times
        sizes = [1] * (rank - x.ndim) + list(x.shape)
        # A new axis before each, broadcast: that has a derivative in any namespace.
        wide = tuple(size for pair in zip(times, sizes, strict=True) for size in pair)
        narrow = tuple(n for size in sizes for n in (1, size))
        result = xp.broadcast_to(xp.reshape(x, narrow), wide)
        return xp.reshape(result, tuple(t * n for t, n in zip(times, sizes, strict=True)))

    def flatten(x: Any) -> Any:
        return xp.reshape(x, (-1,))

    def batch_flatten(x: Any) -> Any:
        return xp.reshape(x, (x.shape[0], math.prod(x.shape[1:])))

    def expand_dims(x: Any, axis: int = -1) -> Any:
        sizes, rank = x.shape, x.ndim + 1
        if not -rank <= axis < rank:
            raise IndexError(axis)
        axis %= rank
        return xp.reshape(x, (*sizes[:axis], 1, *sizes[axis:]))

    def squeeze(x: Any, axis: int) -> Any:
        if axis is None:
            raise TypeError(axis)
        if x.shape[axis] != 1:
            raise ValueError(x.shape, axis)
        return xp.reshape(x, tuple(n for i, n in enumerate(x.shape) if i != axis % x.ndim))

    def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
        for axis, (before, after) in enumerate(pairs):
            parts = [x]
            for at, count in ((0, before), (1, after)):
                if count:
                    shape = (*x.shape[:axis], int(count), *x.shape[axis + 1 :])
                    edge = engine.from_numpy(np.full(shape, value, x.dtype), engine.dtype(x))
                    parts.insert(at * len(parts), edge)
            x = xp.concatenate(parts, axis) if len(parts) > 1 else x
        return x

    def reverse(x: Any, axes: Any) -> Any:
        turned = builtins.slice(None, None, -1)
        for axis in [axes] if isinstance(axes, int) else axes:
            x.shape[axis]  # or it has no such axis
            x = x[(builtins.slice(None),) * (axis % x.ndim) + (turned,)]
        return x

    def gather(reference: Any, indices: Any) -> Any:
        at = engine.to_numpy(indices)
        if at.size and (at.min() < 0 or at.max() >= reference.shape[0]):
            host.gather(np.empty(reference.shape, "int8"), at)  # which says what is wrong
        return reference[engine.from_numpy(at, "int64")]

    def one_hot(indices: Any, num_classes: int, dtype: str | None = None) -> Any:
        if num_classes < 0:
            host.one_hot(np.zeros(0, int), num_classes)
        classes = engine.from_numpy(np.arange(num_classes), engine.dtype(indices))
        hot = xp.equal(xp.reshape(indices, (*indices.shape, 1)), classes)
        return hot.astype(to_numpy(dtype or config.floatx()))

    def slice(x: Any, start: Any, size: Any) -> Any:
        # Of an array without memory: NumPy's own checks and rules.
        host.slice(np.broadcast_to(np.int8(0), x.shape), start, size)
        parts = zip(np.atleast_1d(start).tolist(), np.atleast_1d(size).tolist(), strict=True)
        return x[tuple(builtins.slice(b, None if n == -1 else b + n) for b, n in parts)]

    def getitem(x: Any, key: Any) -> Any:
        return x[tuple(_part(part) for part in host.plain_key(key))]

    def _part(part: Any) -> Any:
        if isinstance(part, np.ndarray):
            return engine.from_numpy(part, "bool" if part.dtype == bool else "int64")
        return part

    return public(locals())
