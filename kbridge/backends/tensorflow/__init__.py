"""The TensorFlow backend."""

from kbridge.backends.kit import install
from kbridge.backends.tensorflow import (
    control,
    conv,
    creation,
    ctc,
    elementwise,
    interop,
    linalg,
    nn,
    pooling,
    printing,
    random,
    reduction,
    resizing,
    shaping,
    sparse,
)
from kbridge.backends.tensorflow.engine import TensorFlowEngine

interop.install(
    install(
        globals(),
        TensorFlowEngine(),
        [
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
            resizing,
            shaping,
            sparse,
        ],
    )
)
