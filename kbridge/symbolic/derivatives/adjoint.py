"""Derivatives of the adjoints: each is linear, so its derivative is the operation it came from."""

from __future__ import annotations

from kbridge.symbolic.autodiff import rule

rule("broadcast_like", lambda K, g, y, x, like: K.sum_like(g, x), None)
rule("sum_like", lambda K, g, y, x, like: K.broadcast_like(g, x), None)
rule("reshape_like", lambda K, g, y, x, like: K.reshape_like(g, x), None)
rule("getitem_adjoint", lambda K, h, y, g, x, key: h[key], None)
rule("slice_adjoint", lambda K, h, y, g, x, start, size: K.slice(h, start, size), None)
rule("gather_adjoint", lambda K, h, y, g, x, indices: K.gather(h, indices), None, None)
rule(
    "repeat_elements_adjoint",
    lambda K, h, y, g, x, rep, axis: K.repeat_elements(h, rep, axis),
    None,
)
rule("tile_adjoint", lambda K, h, y, g, x, n: K.tile(h, n), None)
