"""How far a result may lie from the exact one: the only place with such numbers.

Errors are measured relative to the largest magnitude in the expected array, and to 1 where that
is less: the cases' operands are of order 1, so a result that is small by cancellation carries
the rounding of its operands.
"""

from __future__ import annotations

#: The distance from 1 to the next number of a dtype.
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}

#: In units of EPSILON. The engines' exp, log, tanh, ... are right to 1-4 units in the last place,
#: and compositions chain up to a dozen of them; 16 is 1.9e-6 in float32, well inside the 1e-5 that
#: the contract asks for, and five times what is met. In the half dtypes the engines compute in
#: float32 and round each primitive's result once, to half a unit: what is met is below 1 unit.
UNITS = {"float64": 16, "float32": 16, "float16": 2, "bfloat16": 2}

#: Factor where cancellation or long sums enlarge the rounding, as of a variance far from 0.
LOOSE = 8

#: Of central differences with the step below: their own error, h^2 f'''/6, dominates.
NUMERIC_GRADIENT = 1e-7
#: The cube root of float64's epsilon, where truncation and rounding are of one size.
STEP = 6e-6

#: Between two float64 gradients that are both exact up to rounding, through longer chains.
GRADIENT_UNITS = 64


def tolerance(dtype: str, loose: bool = False) -> float:
    """The largest relative error allowed of a result of ``dtype``; integers are exact."""
    units = UNITS.get(dtype)
    if units is None:
        return 0.0
    return EPSILON[dtype] * units * (LOOSE if loose else 1)


def gradient_tolerance() -> float:
    """The same between the gradients of two backends."""
    return EPSILON["float64"] * GRADIENT_UNITS
