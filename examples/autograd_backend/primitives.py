"""Primitives that Autograd's NumPy lacks, or has with another derivative than the contract's."""

from __future__ import annotations

from typing import Any

import numpy as np
from autograd import numpy as anp
from autograd.tracer import getval


def stop_gradient(variables: Any) -> Any:
    return getval(variables)


def where(condition: Any, x: Any, y: Any) -> Any:
    # Autograd has the derivative of anp.where for operands of one shape only.
    shape = np.broadcast_shapes(*map(np.shape, (condition, x, y)))
    return anp.where(condition, _broadcast(x, shape), _broadcast(y, shape))


def _broadcast(x: Any, shape: Any) -> Any:
    same = isinstance(x, (int, float)) or x.shape == shape
    return x if same else x * np.ones(shape, x.dtype)


def sqrt(x: Any) -> Any:
    # Flat below 0, where it is 0: no infinite slope may meet a 0.
    above = anp.where(x < 0, anp.ones_like(x), x)
    return anp.where(x < 0, anp.zeros_like(x), anp.sqrt(above))


def cumprod(x: Any, axis: int = 0) -> Any:
    if x.dtype.kind in "iub":  # without a derivative
        return np.cumprod(x, axis).astype("int32" if x.dtype.kind == "b" else x.dtype)
    steps = anp.moveaxis(x, axis, 0)
    found = [steps[0]] if len(steps) else []
    for step in steps[1:]:
        found.append(found[-1] * step)
    return anp.moveaxis(anp.stack(found), 0, axis) if found else x
