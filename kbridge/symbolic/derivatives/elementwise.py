"""Derivatives of the operators and of the functions of each element."""

from __future__ import annotations

import math
from typing import Any

from kbridge.symbolic.autodiff import rule

# --- operators -----------------------------------------------------------------------------------

rule("add", lambda K, g, z, x, y: g, lambda K, g, z, x, y: g)
rule("subtract", lambda K, g, z, x, y: g, lambda K, g, z, x, y: -g)
rule("multiply", lambda K, g, z, x, y: g * y, lambda K, g, z, x, y: g * x)
rule("divide", lambda K, g, z, x, y: g / y, lambda K, g, z, x, y: -(g * z) / y)
rule("mod", lambda K, g, z, x, y: g, lambda K, g, z, x, y: -g * K.floor_divide(x, y))
rule("negative", lambda K, g, y, x: -g)
rule(
    "where",
    None,
    lambda K, g, z, condition, x, y: K.where(condition, g, 0.0),
    lambda K, g, z, condition, x, y: K.where(condition, 0.0, g),
)


def _pow_base(K: Any, g: Any, y: Any, x: Any, a: Any) -> Any:
    """``a * x ** (a - 1)``, which is 0 for ``a`` = 0 also where ``x`` is 0."""
    if isinstance(a, (int, float)):
        if a in (0, 1, 2):
            return K.zeros_like(g) if a == 0 else g if a == 1 else g * (x * 2.0)
        return g * (K.pow(x, a - 1.0) * float(a))
    return g * (a * K.pow(x, K.where(K.equal(a, 0.0), 1.0, a - 1.0)))


def _pow_exponent(K: Any, g: Any, y: Any, x: Any, a: Any) -> Any:
    """``y * log(x)``; 0 where ``x`` is not positive and the logarithm does not exist."""
    if isinstance(x, (int, float)):
        return g * (y * math.log(x)) if x > 0 else K.zeros_like(g)
    return g * (y * K.log(K.where(K.greater(x, 0.0), x, 1.0)))


rule("pow", _pow_base, _pow_exponent)

# --- larger and smaller --------------------------------------------------------------------------


def _winner(wins: str, first: bool) -> Any:
    """All to the operand that is the result, half where both are."""

    def passed_on(K: Any, g: Any, z: Any, x: Any, y: Any) -> Any:
        mine, other = (x, y) if first else (y, x)
        return K.where(getattr(K, wins)(mine, other), g, K.where(K.equal(x, y), g * 0.5, 0.0))

    return passed_on


rule("maximum", _winner("greater", True), _winner("greater", False))
rule("minimum", _winner("less", True), _winner("less", False))


def _clipped(K: Any, g: Any, y: Any, x: Any, low: Any, high: Any) -> Any:
    """All that lies inside the bounds or on them passes."""
    if low is not None:
        g = K.where(K.greater_equal(x, low), g, 0.0)
    return g if high is None else K.where(K.less_equal(x, high), g, 0.0)


def _lower_bound(K: Any, g: Any, y: Any, x: Any, low: Any, high: Any) -> Any:
    return K.where(K.less(x if high is None else K.minimum(x, high), low), g, 0.0)


def _upper_bound(K: Any, g: Any, y: Any, x: Any, low: Any, high: Any) -> Any:
    # Where the bounds cross, the lower one is the result.
    g = K.where(K.greater(x, high), g, 0.0)
    return g if low is None else K.where(K.greater_equal(high, low), g, 0.0)


rule("clip", _clipped, _lower_bound, _upper_bound)

# --- functions -----------------------------------------------------------------------------------


def _sqrt(K: Any, g: Any, y: Any, x: Any) -> Any:
    """0 for a negative element; the divisor is masked too, for derivatives of this one."""
    negative = K.less(x, 0.0)
    return K.where(negative, 0.0, g * 0.5 / K.where(negative, 1.0, y))


rule("square", lambda K, g, y, x: g * (x * 2.0))
rule("abs", lambda K, g, y, x: g * K.sign(x))
rule("sign", None)
rule("sqrt", _sqrt)
rule("exp", lambda K, g, y, x: g * y)
rule("log", lambda K, g, y, x: g / x)
rule("sin", lambda K, g, y, x: g * K.cos(x))
rule("cos", lambda K, g, y, x: -g * K.sin(x))
rule("cast", lambda K, g, y, x, dtype: K.cast(g, x.dtype))
rule("identity", lambda K, g, y, x, name: g)
