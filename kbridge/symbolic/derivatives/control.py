"""Derivatives of choices: what was not chosen gets exactly 0, whatever ``g`` is."""

from __future__ import annotations

from kbridge.symbolic.autodiff import rule

rule(
    "choose",
    None,
    lambda K, g, z, condition, x, y: K.choose(condition, g, K.zeros_like(x)),
    lambda K, g, z, condition, x, y: K.choose(condition, K.zeros_like(y), g),
)
