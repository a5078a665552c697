"""Derivatives of pooling, and of its adjoints."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.autodiff import rule


def _pool_adjoint(K: Any, h: Any, y: Any, g: Any, x: Any, *how: Any) -> Any:
    if how[-1] == "avg":
        return getattr(K, f"pool{len(x.shape) - 2}d")(h, *how)
    return K.pool_pick(h, x, *how[:-1])


for _name in ("pool2d", "pool3d"):
    rule(_name, lambda K, g, y, x, *how: K.pool_adjoint(g, x, *how))
rule("pool_adjoint", _pool_adjoint, None)
rule("pool_pick", lambda K, g, y, values, x, *how: K.pool_adjoint(g, x, *how, "max"), None)
