"""Derivatives of products.

A product of tensors of any rank is a product of matrices once axes are folded together: each
rule folds, multiplies, and unfolds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from kbridge.symbolic import shapes
from kbridge.symbolic.autodiff import rule, shrink

Axes = Sequence[int]


def folded(K: Any, x: Any, *groups: Axes) -> Any:
    """``x`` with each group of axes made one; an empty group gives an axis of size 1."""
    order = [axis for group in groups for axis in group]
    if order != sorted(order):
        x, groups = K.permute_dimensions(x, order), _counted(groups)
    if all(len(group) == 1 for group in groups):
        return x
    return K.reshape(x, _sizes(K, x, groups))


def unfolded(K: Any, result: Any, like: Any, order: Axes) -> Any:
    """``result``, whose axes are those of ``like`` in the given ``order``, in its shape."""
    if len(result.shape) != len(order):
        result = K.reshape(result, _sizes(K, like, [[axis] for axis in order]))
    if list(order) == sorted(order):
        return result
    return K.permute_dimensions(result, [order.index(axis) for axis in range(len(order))])


def _counted(groups: Sequence[Axes]) -> tuple[Axes, ...]:
    """The groups after the axes have been put in their order."""
    ends = [sum(len(group) for group in groups[: i + 1]) for i in range(len(groups))]
    return tuple(range(end - len(group), end) for end, group in zip(ends, groups, strict=True))


def _sizes(K: Any, x: Any, groups: Sequence[Axes]) -> list[Any]:
    """The size of each group of axes; one that only the run knows is -1, several are tensors."""
    sizes = [[x.shape[axis] for axis in group] for group in groups]
    known = [None if None in part else prod(part) for part in sizes]
    if known.count(None) == 1 and 0 not in known:
        return [-1 if size is None else size for size in known]
    if None not in known:
        return known
    run = K.shape(x)
    return [
        K.prod(K.stack([run[axis] for axis in group])) if size is None else size
        for size, group in zip(known, groups, strict=True)
    ]


# --- dot -----------------------------------------------------------------------------------------


def _dot_axes(x: Any, y: Any) -> tuple[int, Axes, Axes, Axes]:
    """The contracted axis of y; the other axes of x and of y, and where these are in the result."""
    own, contracted = range(len(x.shape) - 1), max(len(y.shape) - 2, 0)
    others = [axis for axis in range(len(y.shape)) if axis != contracted]
    return contracted, own, others, range(len(own), len(own) + len(others))


def _dot_x(K: Any, g: Any, z: Any, x: Any, y: Any) -> Any:
    if not x.shape or not y.shape:
        return shrink(K, g * y, x, (x, y))
    if len(y.shape) == 2:
        return K.dot(g, K.transpose(y))
    contracted, own, others, right = _dot_axes(x, y)
    product = K.dot(folded(K, g, own, right), folded(K, y, others, [contracted]))
    return unfolded(K, product, x, [*own, len(own)])


def _dot_y(K: Any, g: Any, z: Any, x: Any, y: Any) -> Any:
    if not x.shape or not y.shape:
        return shrink(K, g * x, y, (x, y))
    contracted, own, others, right = _dot_axes(x, y)
    product = K.dot(folded(K, x, [len(own)], own), folded(K, g, own, right))
    return unfolded(K, product, y, [contracted, *others])


rule("dot", _dot_x, _dot_y)

# --- batch_dot -----------------------------------------------------------------------------------


def _batch_axes(x: Any, y: Any, axes: Any) -> tuple[int, int, list[int], list[int], Axes, Axes]:
    """The contracted axes, the others of x and y, and where those are in the result."""
    a, b = shapes.batch_dot_axes(x.shape, y.shape, axes)
    own = [axis for axis in range(1, len(x.shape)) if axis != a]
    others = [axis for axis in range(1, len(y.shape)) if axis != b]
    # Two matrices leave no axis but the batch; the result then has one of size 1.
    left = range(1, 1 + (len(own) or not others))
    return a, b, own, others, left, range(left.stop, left.stop + len(others))


def _batch_dot_x(K: Any, g: Any, z: Any, x: Any, y: Any, axes: Any) -> Any:
    a, b, own, others, left, right = _batch_axes(x, y, axes)
    product = K.matmul(folded(K, g, [0], left, right), folded(K, y, [0], others, [b]))
    return unfolded(K, product, x, [0, *own, a])


def _batch_dot_y(K: Any, g: Any, z: Any, x: Any, y: Any, axes: Any) -> Any:
    a, b, own, others, left, right = _batch_axes(x, y, axes)
    product = K.matmul(folded(K, x, [0], [a], own), folded(K, g, [0], left, right))
    return unfolded(K, product, y, [0, b, *others])


rule("batch_dot", _batch_dot_x, _batch_dot_y)

# --- matmul and transpose ------------------------------------------------------------------------


def _turned(K: Any, x: Any) -> Any:
    """The last two axes exchanged."""
    rank = len(x.shape)
    return K.permute_dimensions(x, [*range(rank - 2), rank - 1, rank - 2])


def _as_matrices(K: Any, g: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """A vector is a row on the left, and a column on the right."""
    if len(y.shape) == 1:
        g, y = g[..., None], y[:, None]
    if len(x.shape) == 1:
        g, x = g[..., None, :], x[None, :]
    return g, x, y


def _matmul_x(K: Any, g: Any, z: Any, x: Any, y: Any) -> Any:
    wide, _, matrices = _as_matrices(K, g, x, y)
    product = K.matmul(wide, _turned(K, matrices))
    return product if len(product.shape) == len(x.shape) == 2 else K.sum_like(product, x)


def _matmul_y(K: Any, g: Any, z: Any, x: Any, y: Any) -> Any:
    wide, matrices, _ = _as_matrices(K, g, x, y)
    product = K.matmul(_turned(K, matrices), wide)
    if len(y.shape) == 1:
        product = K.squeeze(product, -1)
    return product if len(product.shape) == len(y.shape) < 3 else K.sum_like(product, y)


rule("matmul", _matmul_x, _matmul_y)
rule("transpose", lambda K, g, y, x: K.transpose(g))
