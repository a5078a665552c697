"""The derivative of every differentiable primitive, by topic, as rules of symbolic/autodiff.py.

A rule gets ``K``, the derivative ``g`` of the loss by the result ``y``, ``y``, and the operation's
arguments.
"""

from kbridge.symbolic.derivatives import (
    adjoint,
    control,
    conv,
    elementwise,
    linalg,
    nn,
    pooling,
    printing,
    reduction,
    shaping,
    sparse,
)

__all__ = [
    "adjoint",
    "control",
    "conv",
    "elementwise",
    "linalg",
    "nn",
    "pooling",
    "printing",
    "reduction",
    "shaping",
    "sparse",
]
