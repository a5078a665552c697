"""Derivatives of convolution and pooling, and of their adjoints."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.autodiff import rule

# A convolution is linear in its input and in its kernel; with the adjoints it makes a set that is
# closed under derivatives.


def convolve(K: Any, x: Any, kernel: Any, *how: Any) -> Any:
    """The convolution for the rank of ``x``."""
    return getattr(K, f"conv{len(x.shape) - 2}d")(x, kernel, *how)


rule(
    "conv2d",
    lambda K, g, y, x, kernel, *how: K.conv_input_adjoint(g, x, kernel, *how),
    lambda K, g, y, x, kernel, *how: K.conv_kernel_adjoint(g, x, kernel, *how),
)
rule(
    "conv_input_adjoint",
    lambda K, h, y, g, x, kernel, *how: convolve(K, h, kernel, *how),
    None,
    lambda K, h, y, g, x, kernel, *how: K.conv_kernel_adjoint(g, h, kernel, *how),
)
rule(
    "conv_kernel_adjoint",
    lambda K, h, y, g, x, kernel, *how: convolve(K, x, h, *how),
    lambda K, h, y, g, x, kernel, *how: K.conv_input_adjoint(g, x, h, *how),
    None,
)


def _pool_adjoint(K: Any, h: Any, y: Any, g: Any, x: Any, *how: Any) -> Any:
    if how[-1] == "avg":
        return getattr(K, f"pool{len(x.shape) - 2}d")(h, *how)
    return K.pool_pick(h, x, *how[:-1])


rule("pool2d", lambda K, g, y, x, *how: K.pool_adjoint(g, x, *how))
rule("pool_adjoint", _pool_adjoint, None)
rule("pool_pick", lambda K, g, y, values, x, *how: K.pool_adjoint(g, x, *how, "max"), None)
