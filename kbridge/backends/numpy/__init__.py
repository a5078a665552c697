"""The NumPy backend: the reference, plain and readable."""

from kbridge.backends.kit import install
from kbridge.backends.numpy import (
    adjoint,
    control,
    conv,
    creation,
    ctc,
    elementwise,
    linalg,
    nn,
    pooling,
    printing,
    random,
    reduction,
    shaping,
    sparse,
)
from kbridge.backends.numpy.engine import NumPyEngine

install(
    globals(),
    NumPyEngine(),
    [
        adjoint,
        control,
        conv,
        creation,
        ctc,
        elementwise,
        linalg,
        nn,
        pooling,
        printing,
        random,
        reduction,
        shaping,
        sparse,
    ],
)
