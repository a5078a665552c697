"""Shapes and picking on NumPy."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from kbridge import config
from kbridge.errors import IndexRangeError
from kbridge.symbolic.dtypes import to_numpy
from kbridge.symbolic.host import host_ints

reshape = np.reshape
permute_dimensions = np.transpose
expand_dims = np.expand_dims
squeeze = np.squeeze
repeat_elements = np.repeat
tile = np.tile
reverse = np.flip
stack = np.stack


def shape(x: Any) -> Any:
    return host_ints(x.shape)


def size(x: Any, name: str | None = None) -> Any:
    return host_ints(x.size)


def concatenate(tensors: Any, axis: int = -1) -> Any:
    return np.concatenate(tensors, axis)


def repeat(x: Any, n: int) -> Any:
    return np.repeat(x[:, None], n, axis=1)


def flatten(x: Any) -> Any:
    return np.reshape(x, -1)


def batch_flatten(x: Any) -> Any:
    return np.reshape(x, (x.shape[0], int(np.prod(x.shape[1:]))))


def pad(x: Any, pairs: Any, value: float = 0.0) -> Any:
    return np.pad(x, pairs, constant_values=value)


def gather(reference: Any, indices: Any) -> Any:
    indices = np.asarray(indices).astype(np.int64, copy=False)
    rows = reference.shape[0]
    outside = (indices < 0) | (indices >= rows)
    if outside.any():
        raise IndexRangeError(
            f"K.gather: the index {indices[outside].flat[0]} is outside the valid range [0, "
            f"{rows}) of a reference of shape {reference.shape}."
        )
    return reference[indices]


def one_hot(indices: Any, num_classes: int) -> Any:
    rows = np.asarray(indices)[..., None] == np.arange(num_classes)
    return rows.astype(to_numpy(config.floatx()))


def slice(x: Any, start: Any, size: Any) -> Any:
    start, size = np.atleast_1d(start).tolist(), np.atleast_1d(size).tolist()
    return x[
        tuple(
            builtins.slice(begin, None if count == -1 else begin + count)
            for begin, count in zip(start, size, strict=True)
        )
    ]


def getitem(x: Any, key: Any) -> Any:
    return x[tuple(_plain(part) for part in key)]


def _plain(part: Any) -> Any:
    """Sizes on the host as ints, so that they do not turn a basic index into a fancy one."""
    if isinstance(part, builtins.slice):
        return builtins.slice(*(_plain(p) for p in (part.start, part.stop, part.step)))
    return int(part) if isinstance(part, np.ndarray) and part.ndim == 0 else part
