"""The TensorFlow backend."""

from kbridge.backends.kit import install
from kbridge.backends.tensorflow import (
    conv,
    creation,
    elementwise,
    interop,
    linalg,
    nn,
    random,
    reduction,
    shaping,
)
from kbridge.backends.tensorflow.engine import TensorFlowEngine

interop.install(
    install(
        globals(),
        TensorFlowEngine(),
        [conv, creation, elementwise, linalg, nn, random, reduction, shaping],
    )
)
