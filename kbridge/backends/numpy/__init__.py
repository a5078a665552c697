"""The NumPy backend: the reference, plain and readable."""

from kbridge.backends.kit import install
from kbridge.backends.numpy import (
    adjoint,
    conv,
    creation,
    elementwise,
    linalg,
    nn,
    random,
    reduction,
    shaping,
)
from kbridge.backends.numpy.engine import NumPyEngine

install(
    globals(),
    NumPyEngine(),
    [adjoint, conv, creation, elementwise, linalg, nn, random, reduction, shaping],
)
