"""How far a result may lie from the exact one: the only place with such numbers.

Errors are measured relative to the largest magnitude in the expected array, and to 1 where that
is less: the cases' operands are of order 1, so a result that is small by cancellation carries
the rounding of its operands.
"""

from __future__ import annotations

#: The distance from 1 to the next number of a dtype.
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}

#: In units of EPSILON. The engines' exp, log, tanh, ... are right to 1-4 units in the last place
#: and compositions chain up to a dozen of them: 64 leaves room, and is 7.6e-6 in float32, inside
#: the 1e-5 that the contract asks for. In the half dtypes most engines compute in float32 and
#: round each primitive's result once; a chain of up to a dozen roundings stays within 8 units.
UNITS = {"float64": 64, "float32": 64, "float16": 8, "bfloat16": 8}

#: Factor for long sums of products (convolutions, variances), which engines order differently.
LOOSE = 8

#: Of central differences with the step below: their own error, h^2 f'''/6, dominates.
NUMERIC_GRADIENT = 1e-6
#: The cube root of float64's epsilon, where truncation and rounding are of one size.
STEP = 6e-6

#: Between two float64 gradients that are both exact up to rounding, through longer chains.
GRADIENT_UNITS = 4096


def tolerance(dtype: str, loose: bool = False) -> float:
    """The largest relative error allowed of a result of ``dtype``; integers are exact."""
    units = UNITS.get(dtype)
    if units is None:
        return 0.0
    return EPSILON[dtype] * units * (LOOSE if loose else 1)


def gradient_tolerance() -> float:
    """The same between the gradients of two backends."""
    return EPSILON["float64"] * GRADIENT_UNITS
