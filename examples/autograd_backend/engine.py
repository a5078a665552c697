"""What kbridge asks of Autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from autograd import numpy as anp
from autograd.core import make_vjp
from autograd.extend import Box
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import getval

from kbridge.backends.kit import Engine
from kbridge.symbolic.dtypes import to_numpy


class AutogradEngine(Engine):
    """Tensors are NumPy's arrays, or boxes around them while Autograd traces a function."""

    name = "autograd"
    title = "Autograd"
    tensor_class = np.ndarray
    subclasses = (ArrayBox,)
    arrays_are_native = True
    autodiff = "functional"

    def __init__(self) -> None:
        super().__init__()
        self.plan_names["differentiate"] = differentiate

    def is_native(self, value: Any) -> bool:
        return isinstance(value, (np.ndarray, ArrayBox))

    def from_numpy(self, array: Any, dtype: str) -> Any:
        return np.array(array, to_numpy(dtype))

    def to_numpy(self, native: Any) -> Any:
        return np.array(getval(native))

    def cast(self, native: Any, dtype: str) -> Any:
        return native if native.dtype == to_numpy(dtype) else native.astype(to_numpy(dtype))

    def stack(self, natives: Sequence[Any]) -> Any:
        return anp.stack(natives)

    def jit(self, plan: Any, feeds: Sequence[Any], options: dict[str, Any]) -> Callable[..., Any]:
        return np.errstate(all="ignore")(plan.run)  # 1 / 0 is inf, as on the other engines


def differentiate(part: Any, sources: Any, captured: Any, keys: Any) -> tuple[Any, Any, Any]:
    """The loss of a part of a plan, its other results, and the gradients of the loss's sum."""
    others: list[Any] = []

    def function(given: Any) -> Any:
        given = [given[i] for i in range(len(sources))]
        loss, *rest = part((*given, *captured), (), keys)
        others[:] = [_outside(value, given[0]) for value in rest]
        return loss

    pull, loss = make_vjp(function, tuple(sources))
    return loss, others, pull(np.ones(loss.shape, loss.dtype))


def _outside(value: Any, source: Any) -> Any:
    """What a value is outside of the function that ``source`` is traced through."""
    inside = isinstance(value, Box) and value._trace == source._trace
    return value._value if inside else value
