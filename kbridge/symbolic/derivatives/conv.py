"""Derivatives of convolutions, and of their adjoints."""

from __future__ import annotations

from typing import Any

from kbridge.symbolic.autodiff import rule

# A convolution is linear in its input and in its kernel; with the adjoints it makes a set that is
# closed under derivatives. A transposed convolution is such an adjoint under a name of its own.


def convolve(K: Any, x: Any, kernel: Any, *how: Any) -> Any:
    """The convolution for the rank of ``x``; the last of ``how`` says whether it is depthwise."""
    name = "depthwise_conv2d" if how[-1] else f"conv{len(x.shape) - 2}d"
    return getattr(K, name)(x, kernel, *how[:-1])


for _name, _depthwise in (
    ("conv1d", False),
    ("conv2d", False),
    ("conv3d", False),
    ("depthwise_conv2d", True),
):
    rule(
        _name,
        lambda K, g, y, x, kernel, *how, d=_depthwise: K.conv_input_adjoint(g, x, kernel, *how, d),
        lambda K, g, y, x, kernel, *how, d=_depthwise: K.conv_kernel_adjoint(g, x, kernel, *how, d),
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
rule(
    "conv2d_transpose",
    lambda K, g, y, x, kernel, shape, *how: K.conv2d(g, kernel, *how),
    lambda K, g, y, x, kernel, shape, *how: K.conv_kernel_adjoint(x, g, kernel, *how),
)
rule(
    "conv3d_transpose",
    lambda K, g, y, x, kernel, shape, *how: K.conv3d(g, kernel, *how),
    lambda K, g, y, x, kernel, shape, *how: K.conv_kernel_adjoint(x, g, kernel, *how, 1),
)
