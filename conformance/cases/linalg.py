"""Products of matrices and tensors."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np

from kbridge.conformance.oracles import axes_of
from kbridge.conformance.records import case, record
from kbridge.conformance.samples import ints, normal, values

FLOATS = "float16 bfloat16 float64"


def _dot(x: Any, y: Any) -> Any:
    """The sum of products over the last axis of x and the second-to-last, or only one, of y."""
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    names = [chr(ord("a") + i) for i in range(x.ndim + y.ndim)]
    left, right = names[: x.ndim], names[x.ndim :]
    shared = right.pop(-2 if y.ndim > 1 else -1)
    out = "".join(left[:-1] + right)
    whole = "".join(names[x.ndim :])
    return np.einsum(f"{''.join(left[:-1])}{shared},{whole}->{out}", x, y)


record(
    "dot",
    _dot,
    case(normal(2, 3), normal(3, 4)),
    case(normal(4, 5, 3), normal(3, 2)),
    case(normal(2, 3), normal(4, 3, 5)),
    case(normal(1, 2, 3), normal(2, 3, 2)),
    case(normal(3), normal(3)),
    case(normal(2, 3), normal(3)),
    case(normal(3), normal(3, 2)),
    case(normal(), normal(2, 2)),
    case(normal(0, 3), normal(3, 2)),
    case(normal(2, 0), normal(0, 3)).without("gradient"),
    case(normal(1, 1), normal(1, 1)),
    case(ints(2, 3), ints(3, 4)),
    result="common",
    dtypes=f"{FLOATS} int32 int64",
)


def _batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """Sample by sample the sum of products over the two axes, by :mod:`math`."""
    if axes is None:
        axes = (x.ndim - 1, y.ndim - 1 if y.ndim == 2 else y.ndim - 2)
    pair = axes if isinstance(axes, (list, tuple)) else (axes, axes)
    (a,), (b,) = axes_of(pair[0], x.ndim), axes_of(pair[1], y.ndim)
    x, y = np.moveaxis(x, a, -1), np.moveaxis(y, b, -1)
    result = np.zeros((*x.shape[:-1], *y.shape[1:-1]), x.dtype)
    for i in np.ndindex(x.shape[:-1]):
        for j in np.ndindex(y.shape[1:-1]):
            products = map(operator.mul, x[i].tolist(), y[(i[0], *j)].tolist())
            total = math.fsum(products) if x.dtype.kind == "f" else sum(products)
            result[(*i, *j)] = total
    return result.reshape(-1, 1) if result.ndim == 1 else result


record(
    "batch_dot",
    _batch_dot,
    case(normal(2, 3), normal(2, 3)),
    case(normal(2, 3), normal(2, 3), axes=1),
    case(normal(2, 3), normal(2, 3), axes=(-1, -1)),
    case(normal(2, 3, 1), normal(2, 4, 3), axes=(1, 2)),
    case(normal(2, 4, 3), normal(2, 3, 5)),
    case(normal(2, 3), normal(2, 4, 3), axes=(1, 2)),
    case(normal(2, 3, 4), normal(2, 4), axes=[2, 1]),
    case(normal(2, 3, 4), normal(2, 3), axes=1),
    case(normal(2, 2, 3), normal(2, 3, 2, 2), axes=(2, 1)),
    case(normal(2, 2, 3), normal(2, 2, 3, 2), axes=(-1, -2)),
    case(normal(1, 1, 1), normal(1, 1, 1), axes=(2, 1)),
    case(normal(0, 2, 3), normal(0, 3, 2)),
    case(ints(2, 3), ints(2, 3), axes=1),
    result="common",
    dtypes=f"{FLOATS} int32",
)


def _l2_normalize(x: Any, axis: Any = None) -> Any:
    """Each element over the length of its line, which counts as at least 1e-6."""
    axes = axes_of(axis, x.ndim)
    result = np.zeros(x.shape)
    kept = [range(1) if i in axes else range(size) for i, size in enumerate(x.shape)]
    for index in itertools.product(*kept):
        place = tuple(slice(None) if i in axes else at for i, at in enumerate(index))
        length = math.hypot(*x[place].reshape(-1).tolist())
        result[place] = x[place] / max(length, 1e-6)
    return result


record(
    "l2_normalize",
    _l2_normalize,
    case(normal(2, 3)),
    case(normal(2, 3), axis=1),
    case(normal(2, 3), axis=-2),
    case(normal(2, 3, 2), axis=(1, 2)),
    case(normal(4), axis=0),
    case(normal(0, 3), axis=1),
    case(normal(1, 1), axis=-1).without("gradient"),
    case(values([[0.0, 0.0], [3.0, 4.0]]), axis=1).named("zero").without("gradient"),
    dtypes="float64",
)
record(
    "transpose",
    lambda x: np.einsum(x, list(range(x.ndim)), list(range(x.ndim))[::-1]),
    case(normal(2, 3)),
    case(normal(2, 3, 4)),
    case(normal(4)),
    case(normal()),
    case(normal(0, 2)),
    case(normal(1, 3)),
    case(ints(2, 3)),
    dtypes=f"{FLOATS} int32 bool",
    exact=True,
)


def _matmul(x: Any, y: Any) -> Any:
    """Matrices in the last two axes; a vector gets an axis for the time being."""
    left = x[None] if x.ndim == 1 else x
    right = y[:, None] if y.ndim == 1 else y
    result = np.einsum("...ij,...jk->...ik", left, right)
    result = result[..., 0] if y.ndim == 1 else result
    return np.squeeze(result, -1 if y.ndim == 1 else -2) if x.ndim == 1 else result


record(
    "matmul",
    _matmul,
    case(normal(2, 3), normal(3, 4)),
    case(normal(2, 2, 3), normal(3, 4)),
    case(normal(2, 3), normal(2, 3, 4)),
    case(normal(1, 2, 3), normal(4, 3, 2)),
    case(normal(3), normal(3, 2)),
    case(normal(2, 3), normal(3)),
    case(normal(0, 3), normal(3, 2)),
    call=lambda K, x, y: x @ y,
    eager=False,
    result="common",
    dtypes="float16 float64 int32",
)
