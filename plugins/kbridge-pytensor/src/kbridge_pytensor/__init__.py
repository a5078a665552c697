"""PyTensor as a backend of kbridge: ``KERAS_BACKEND=pytensor``.

A flat module with a graph of its own. What it defines is here; what kbridge composes of it
(losses, dropout, rnn, resizing, ...) is on ``kbridge.load_backend("pytensor")``.
"""

from __future__ import annotations

from kbridge_pytensor import (  # noqa: F401  # each fills the contract
    control,
    conv,
    creation,
    elementwise,
    function,
    graph,
    linalg,
    nn,
    random,
    reduction,
    shaping,
)
from kbridge_pytensor.engine import contract, engine

ENGINE = engine

globals().update(contract.functions)
__all__ = [*contract.functions, "ENGINE"]
