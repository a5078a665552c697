"""Element by element in ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.errors import ArgumentError
from kbridge.symbolic import dtypes
from kbridge_onnx import graph
from kbridge_onnx.graph import dtype_of, emit, primitive, to, truth, wide, wider


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = name
    return primitive(function)


def _binary(name: str, op: str) -> Callable[..., Any]:
    return _named(name, lambda x, y: wide(op, x, y))


def _unary(name: str, op: str) -> Callable[..., Any]:
    return _named(name, lambda x: wide(op, x))


def _logical(name: str, op: str) -> Callable[..., Any]:
    return _named(name, lambda *xs: emit(op, *map(truth, xs)))


add, subtract = _binary("add", "Add"), _binary("subtract", "Sub")
multiply, divide = _binary("multiply", "Mul"), _binary("divide", "Div")
maximum, minimum = _binary("maximum", "Max"), _binary("minimum", "Min")
equal, greater, less = (
    _binary("equal", "Equal"),
    _binary("greater", "Greater"),
    _binary("less", "Less"),
)
greater_equal = _binary("greater_equal", "GreaterOrEqual")
less_equal = _binary("less_equal", "LessOrEqual")
negative, abs = _unary("negative", "Neg"), _unary("abs", "Abs")
exp, log, sin, cos = (_unary(n, n.capitalize()) for n in ("exp", "log", "sin", "cos"))
logical_and, logical_or = _logical("logical_and", "And"), _logical("logical_or", "Or")
logical_xor, logical_not = _logical("logical_xor", "Xor"), _logical("logical_not", "Not")


@primitive
def not_equal(x: Any, y: Any) -> Any:
    return emit("Not", wide("Equal", x, y))


def _divisible(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Integers of one dtype, and where a divisor was 0 or -1, for which 1 stands.

    By 0, and the least number by -1, the processor refuses to divide, which ends the process.
    """
    dtype = dtype_of(x, y)
    x, y = to(x, dtype), to(y, dtype)
    if not isinstance(y, graph.Value) and not np.isin(y, [0, -1]).any():
        return x, y, None
    special = emit("Or", wide("Equal", y, 0), wide("Equal", y, -1 if dtype[0] == "i" else 0))
    return x, wide_where(special, 1, y), special


@primitive
def mod(x: Any, y: Any) -> Any:
    if not dtypes.is_float(dtype_of(x, y)):
        x, y, _ = _divisible(x, y)
        return wide("Mod", x, y)
    rest = wide("Mod", x, y, fmod=1)  # with the sign of x
    return wide_where(_turned(rest, to(y, rest.dtype)), wide("Add", rest, y), rest)


def _turned(rest: Any, y: Any) -> Any:
    """Where the rest of a division towards 0 has not the sign of the divisor."""
    differ = emit("Xor", wide("Less", rest, 0), wide("Less", y, 0))
    return emit("And", differ, emit("Not", wide("Equal", rest, 0)))


@primitive
def floor_divide(x: Any, y: Any) -> Any:
    dtype = dtype_of(x, y)
    if not dtypes.is_float(dtype):
        x, divisor, special = _divisible(x, y)
        found = wide("Div", x, divisor)
        rest = wide("Sub", x, wide("Mul", found, divisor))
        found = wide("Sub", found, to(_turned(rest, divisor), dtype))
        return found if special is None else wide_where(special, wide("Mul", x, y), found)
    x, y = to(x, dtype), to(y, dtype)
    rest = wide("Mod", x, y, fmod=1)
    whole = wide("Round", wide("Div", wide("Sub", x, rest), y))
    whole = wide("Sub", whole, to(_turned(rest, y), dtype))
    return wide_where(wide("Equal", y, 0.0), wide("Div", x, y), whole)


def wide_where(condition: Any, x: Any, y: Any) -> Any:
    """``Where`` in the dtype of ``x`` and ``y``, of which one may be a number."""
    dtype = dtype_of(x, y)
    return to(emit("Where", condition, *(wider(to(v, dtype)) for v in (x, y))), dtype)


@primitive
def where(condition: Any, x: Any, y: Any) -> Any:
    return wide_where(truth(condition), x, y)


@primitive
def square(x: Any) -> Any:
    return wide("Mul", x, x)


@primitive
def round(x: Any) -> Any:
    return wide("Round", x) if dtypes.is_float(x.dtype) else x


@primitive
def sign(x: Any) -> Any:
    return x if x.dtype == "bool" else wide("Sign", x)


@primitive
def sqrt(x: Any) -> Any:
    return wide("Sqrt", wide("Max", x, 0.0))


@primitive
def pow(x: Any, a: Any) -> Any:
    fixed, dtype = not isinstance(a, graph.Value), dtype_of(x, a)
    if fixed and not dtypes.is_float(dtype) and np.min(a, initial=0) < 0:
        raise ArgumentError(
            "K.pow: an integer to a negative power is no integer; cast the base with "
            "K.cast(x, K.floatx())."
        )
    if fixed and np.ndim(a) == 0 and float(a) == 2:
        return wide("Mul", x, x)
    if "int" not in dtype:
        return wide("Pow", x, a)
    most = int(np.max(a, initial=0)) if fixed else np.iinfo(dtype).max
    return _whole_power(to(x, dtype), to(a, dtype), most.bit_length())


def _whole_power(x: Any, a: Any, bits: int) -> Any:
    """By the bits of the exponent: the runtime's own goes by floats, and has too few digits."""
    found = wide("Add", wide("Mul", x, 0), 1)
    for bit in range(bits):
        odd = wide("Equal", wide("Mod", a, 2), 1)
        found = wide("Mul", found, wide_where(odd, x, 1))
        if bit + 1 < bits:
            x, a = wide("Mul", x, x), wide("Div", a, 2)
    return found


@primitive
def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    below = x if max_value is None else wide("Min", x, max_value)
    return below if min_value is None else wide("Max", below, min_value)


@primitive
def cast(x: Any, dtype: str) -> Any:
    return to(x, dtype)


@primitive
def identity(x: Any, name: str | None = None) -> Any:
    return emit("Identity", x)


@primitive
def stop_gradient(variables: Any) -> Any:
    return variables


def log1p(x: Any) -> Any:
    """``log(1 + x)``, to the last digits where x is small (W. Kahan's correction)."""
    more = wide("Add", x, 1.0)
    exact = wide("Div", wide("Mul", wide("Log", more), x), wide("Sub", more, 1.0))
    return wide_where(wide("Equal", more, 1.0), x, exact)


def expm1(x: Any) -> Any:
    """``exp(x) - 1`` so, for x below some 700."""
    power = wide("Exp", x)
    less = wide("Sub", power, 1.0)
    exact = wide("Div", wide("Mul", less, x), wide("Log", power))
    exact = wide_where(wide("Equal", less, -1.0), less, exact)
    return wide_where(wide("Equal", power, 1.0), x, exact)
