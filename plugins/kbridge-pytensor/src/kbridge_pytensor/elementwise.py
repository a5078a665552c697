"""Element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad
from pytensor.graph.basic import Constant
from pytensor.scalar.basic import Cast, get_scalar_type
from pytensor.tensor.elemwise import Elemwise

from kbridge_pytensor.engine import contract, numpy_dtype

for _name, _function in {
    "add": pt.add,
    "subtract": pt.sub,
    "multiply": pt.mul,
    "divide": pt.true_div,
    "negative": pt.neg,
    "exp": pt.exp,
    "log": pt.log,
    "sin": pt.sin,
    "cos": pt.cos,
    "equal": pt.eq,
    "not_equal": pt.neq,
    "less": pt.lt,
    "less_equal": pt.le,
    "greater": pt.gt,
    "greater_equal": pt.ge,
    "floor_divide": pt.int_div,
    "mod": pt.mod,
}.items():
    contract(_function, _name)


def truth(x: Any) -> Any:
    """Whether each element is not 0."""
    return x if x.type.dtype == "bool" else pt.neq(x, 0)


def is_float(x: Any) -> bool:
    return str(x.type.dtype).startswith("float")


@contract
def logical_and(x: Any, y: Any) -> Any:
    return pt.and_(truth(x), truth(y))


@contract
def logical_or(x: Any, y: Any) -> Any:
    return pt.or_(truth(x), truth(y))


@contract
def logical_xor(x: Any, y: Any) -> Any:
    return pt.xor(truth(x), truth(y))


@contract
def logical_not(x: Any) -> Any:
    return pt.invert(truth(x))


@contract
def where(condition: Any, x: Any, y: Any) -> Any:
    return pt.switch(truth(condition), x, y)


@contract
def abs(x: Any) -> Any:
    return x if x.type.dtype == "bool" else pt.abs(x)


@contract
def square(x: Any) -> Any:
    return x * x


@contract
def sqrt(x: Any) -> Any:
    """With the slope 0 below 0, where PyTensor's is nan."""
    return pt.switch(pt.lt(x, 0), pt.zeros_like(x), pt.sqrt(pt.switch(pt.lt(x, 0), 1, x)))


@contract
def pow(x: Any, a: Any) -> Any:
    if isinstance(a, Constant) and a.data.all():
        return pt.pow(x, a)
    # With the slope 0 of x ** 0, where PyTensor's is nan at 0.
    return pt.pow(pt.switch(pt.eq(a, 0), pt.ones_like(x), x), a)


@contract
def round(x: Any) -> Any:
    return pt.round(x, mode="half_to_even") if is_float(x) else x


@contract
def sign(x: Any) -> Any:
    return x if x.type.dtype == "bool" else pt.sign(x)


def _picked(x: Any, y: Any, first: Any, plain: Any) -> Any:
    """Between equal floats the derivative is shared; PyTensor gives it to the first."""
    if not is_float(x):
        return plain(x, y)
    return pt.switch(first(x, y), x, pt.switch(first(y, x), y, x * 0.5 + y * 0.5))


@contract
def maximum(x: Any, y: Any) -> Any:
    return _picked(x, y, pt.gt, pt.maximum)


@contract
def minimum(x: Any, y: Any) -> Any:
    return _picked(x, y, pt.lt, pt.minimum)


@contract
def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    # The upper bound first: where the bounds cross, the lower one wins. At a bound the slope is 1.
    below = x if max_value is None else pt.switch(pt.gt(x, max_value), max_value, x)
    return below if min_value is None else pt.switch(pt.lt(below, min_value), min_value, below)


class _Whole(Cast):
    """A cast to integers, by NumPy where Python runs: PyTensor's refuses what is out of range."""

    def __init__(self, dtype: str) -> None:
        super().__init__(get_scalar_type(dtype), name=f"to_{dtype}")
        self.nfunc_spec = (dtype, 1, 1)  # NumPy's function for whole arrays

    def impl(self, x: Any) -> Any:
        return np.asarray(x).astype(self.ctor)


@contract
def cast(x: Any, dtype: str) -> Any:
    if dtype == "bool":
        return truth(x)
    if "int" in dtype and x.type.dtype not in ("bool", dtype):
        return Elemwise(_Whole(dtype))(x)
    return pt.cast(x, numpy_dtype(dtype))


@contract
def identity(x: Any, name: str | None = None) -> Any:
    result = pt.tensor_copy(x)
    result.name = name
    return result


@contract
def stop_gradient(variables: Any) -> Any:
    return disconnected_grad(variables)
