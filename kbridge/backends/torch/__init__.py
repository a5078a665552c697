"""The PyTorch backend: eager primitives, gradients by PyTorch's own autograd."""

from kbridge.backends.kit import install
from kbridge.backends.torch import (
    conv,
    creation,
    elementwise,
    linalg,
    nn,
    random,
    reduction,
    shaping,
)
from kbridge.backends.torch.engine import TorchEngine

install(
    globals(),
    TorchEngine(),
    [conv, creation, elementwise, linalg, nn, random, reduction, shaping],
)
