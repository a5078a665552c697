"""A backend for kbridge: compiled functions are ONNX models, run by ONNX Runtime.

>>> import kbridge
>>> K = kbridge.load_backend("onnx")
>>> x = K.placeholder((None, 2))
>>> f = K.function([x], [K.sum(x, axis=1)])
>>> f.export("sums.onnx")

Named by its entry point ``onnx`` or its module path ``kbridge_onnx``.
"""

from kbridge.backends.kit import install
from kbridge_onnx import (
    adjoint,
    control,
    conv,
    creation,
    elementwise,
    graph,
    linalg,
    nn,
    pooling,
    random,
    reduction,
    shaping,
    sparse,
)
from kbridge_onnx.engine import OnnxEngine

install(
    globals(),
    OnnxEngine(),
    [
        adjoint,
        control,
        conv,
        creation,
        elementwise,
        linalg,
        nn,
        pooling,
        random,
        reduction,
        shaping,
        sparse,
    ],
    base={name: graph.NUMPY[name] for name in ("ctc_search", "ctc_trim")},
)
