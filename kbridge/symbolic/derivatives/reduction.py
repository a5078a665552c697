"""Derivatives of what combines elements along axes."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic import shapes
from kbridge.symbolic.autodiff import rule


def kept(K: Any, g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """``g`` of the shape of a reduction of ``x``, as it broadcasts to that of ``x``."""
    rank = len(x.shape)
    axes = shapes.normalize_axes(axis, rank)
    # A reduction of leading axes broadcasts by itself.
    if keepdims or all(a in axes for a in range(max(axes, default=-1) + 1)):
        return g
    return g[tuple(None if a in axes else slice(None) for a in range(rank))]


def count(K: Any, x: Any, axis: Any) -> Any:
    """How many elements are combined into one: a number, or a scalar of the dtype of ``x``."""
    sizes = [x.shape[a] for a in shapes.normalize_axes(axis, len(x.shape))]
    if None not in sizes:
        return float(shapes.count(tuple(sizes)) or 0)
    known = K.shape(x)
    parts = [known[a] for a in shapes.normalize_axes(axis, len(x.shape))]
    return K.cast(K.prod(K.stack(parts)), x.dtype)


def _sum(K: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return K.broadcast_like(kept(K, g, x, axis, keepdims), x)


def _mean(K: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return K.broadcast_like(kept(K, g / count(K, x, axis), x, axis, keepdims), x)


def _var(K: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    scale = kept(K, g * 2.0 / count(K, x, axis), x, axis, keepdims)
    return scale * (x - K.mean(x, axis=axis, keepdims=True))


def _extreme(K: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """An even share for each of those that tie."""
    ties = K.equal(x, kept(K, y, x, axis, keepdims))
    number = K.sum(K.cast(ties, x.dtype), axis=axis, keepdims=True)
    return K.where(ties, kept(K, g, x, axis, keepdims) / number, 0.0)


def _logsumexp(K: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    # exp(-inf - y) is 0 for any number y; -inf - -inf would be nan
    finite = K.where(K.equal(y, float("-inf")), 0.0, y)
    return kept(K, g, x, axis, keepdims) * K.exp(x - kept(K, finite, x, axis, keepdims))


rule("sum", _sum)
rule("mean", _mean)
rule("var", _var)
rule("max", _extreme)
rule("min", _extreme)
rule("logsumexp", _logsumexp)

# --- products: exact where elements are 0, so nothing is divided ---------------------------------


def before(K: Any, x: Any, axis: int, first: float) -> Any:
    """``x`` moved on by one along ``axis``, with ``first`` in front."""
    pairs = [(1 if a == axis else 0, 0) for a in range(len(x.shape))]
    return K.pad(x, pairs, first)[(slice(None),) * axis + (slice(None, -1),)]


def _earlier(K: Any, x: Any, axis: int) -> Any:
    """The product of all elements before each one."""
    return before(K, K.cumprod(x, axis), axis, 1.0)


def _others(K: Any, x: Any, axis: int) -> Any:
    """The product of all elements but each one."""
    later = K.reverse(_earlier(K, K.reverse(x, axis), axis), axis)
    return _earlier(K, x, axis) * later


def _prod(K: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    g = kept(K, g, x, axis, keepdims)
    axes = shapes.normalize_axes(axis, len(x.shape))
    if not axes:
        return g
    products = [x]
    for a in axes[:-1]:
        products.append(K.prod(products[-1], axis=a, keepdims=True))
    for product, a in zip(reversed(products), reversed(axes), strict=True):
        g = g * _others(K, product, a)
    return g


def carried_back(K: Any, g: Any, a: Any, axis: int) -> Any:
    """``c[t] = g[t] + a[t + 1] * c[t + 1]``: what reaches a recurrence's input at each step."""
    factors = before(K, K.reverse(a, axis), axis, 0.0)
    return K.reverse(K.recurrence(factors, K.reverse(g, axis), axis), axis)


def _cumsum(K: Any, g: Any, y: Any, x: Any, axis: int) -> Any:
    return K.reverse(K.cumsum(K.reverse(g, axis), axis), axis)


def _cumprod(K: Any, g: Any, y: Any, x: Any, axis: int) -> Any:
    axis = shapes.normalize_axis(axis, len(x.shape))
    return carried_back(K, g, x, axis) * _earlier(K, x, axis)


rule("prod", _prod)
rule("cumsum", _cumsum)
rule("cumprod", _cumprod)
rule(
    "recurrence",
    lambda K, g, y, a, b, axis: carried_back(K, g, a, axis) * before(K, y, axis, 0.0),
    lambda K, g, y, a, b, axis: carried_back(K, g, a, axis),
)
