"""Derivatives of what changes the shape, picks or arranges elements."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic import shapes
from kbridge.symbolic.autodiff import rule


def _reshaped(K: Any, g: Any, y: Any, x: Any, *rest: Any) -> Any:
    return K.reshape_like(g, x)


for _name in ("reshape", "flatten", "batch_flatten", "expand_dims", "squeeze"):
    rule(_name, _reshaped)


def _permuted(K: Any, g: Any, y: Any, x: Any, pattern: Any) -> Any:
    axes = shapes.normalize_axes(pattern, len(x.shape))
    return K.permute_dimensions(g, [axes.index(axis) for axis in range(len(axes))])


def _split(K: Any, g: Any, y: Any, tensors: Any, axis: int) -> list[Any]:
    axis = shapes.normalize_axis(axis, len(y.shape))
    parts, start = [], 0
    for x in tensors:
        size = K.shape(x)[axis] if x.shape[axis] is None else x.shape[axis]
        parts.append(g[(slice(None),) * axis + (slice(start, start + size),)])
        start = start + size
    return parts


def _unstacked(K: Any, g: Any, y: Any, tensors: Any, axis: int) -> list[Any]:
    axis = shapes.normalize_axis(axis, len(y.shape))
    return [g[(slice(None),) * axis + (i,)] for i in range(len(tensors))]


def _cut(K: Any, g: Any, y: Any, x: Any, pairs: Any, value: float) -> Any:
    return g[tuple(slice(before, -after if after else None) for before, after in pairs)]


rule("permute_dimensions", _permuted)
rule("concatenate", _split)
rule("stack", _unstacked)
rule("pad", _cut)
rule("repeat", lambda K, g, y, x, n: K.sum(g, axis=1))
rule("repeat_elements", lambda K, g, y, x, rep, axis: K.repeat_elements_adjoint(g, x, rep, axis))
rule("tile", lambda K, g, y, x, n: K.tile_adjoint(g, x, n))
rule("reverse", lambda K, g, y, x, axes: K.reverse(g, axes))
rule("gather", lambda K, g, y, reference, indices: K.gather_adjoint(g, reference, indices), None)
rule("slice", lambda K, g, y, x, start, size: K.slice_adjoint(g, x, start, size))
rule("getitem", lambda K, g, y, x, key: K.getitem_adjoint(g, x, key))
