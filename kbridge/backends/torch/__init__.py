"""The PyTorch backend: eager primitives, gradients by PyTorch's own autograd."""

from kbridge.backends.kit import install
from kbridge.backends.torch import (
    control,
    conv,
    creation,
    ctc,
    elementwise,
    linalg,
    losses,
    nn,
    pooling,
    printing,
    random,
    reduction,
    resizing,
    shaping,
    sparse,
)
from kbridge.backends.torch.engine import TorchEngine

install(
    globals(),
    TorchEngine(),
    [
        control,
        conv,
        creation,
        ctc,
        elementwise,
        linalg,
        losses,
        nn,
        pooling,
        printing,
        random,
        reduction,
        resizing,
        shaping,
        sparse,
    ],
)
