"""Looking at values while a function runs."""

from __future__ import annotations

from kbridge.api.declare import operation
from kbridge.api.rules import TensorLike, same
from kbridge.symbolic.printing import as_summarize


@operation("x", shape=same, resolve={"message": str, "summarize": as_summarize})
def print_tensor(x: TensorLike, message: str = "", summarize: int = 3) -> TensorLike:
    """``x``, a new tensor of the same value, which prints ``message`` and the value when evaluated.

    It prints on standard output at each evaluation, in compiled functions too, wherever the
    returned tensor is used, and only there; a gradient passes through. Of each axis the first and
    the last ``summarize`` elements are shown, with -1 all of them.

    >>> x = K.print_tensor(K.constant([1.0, 2.0, 3.0, 4.0, 5.0]), "x is:", summarize=2)
    >>> K.eval(x * 2.0).tolist()
    x is: [1. 2. ... 4. 5.]
    [2.0, 4.0, 6.0, 8.0, 10.0]
    """
