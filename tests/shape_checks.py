"""Checks of shape rules against what a library really gives, with known and unknown sizes.

Each property draws concrete shapes, asks the library for the truth, and checks that the rule
gives it, that it raises where the library does, and that with some sizes hidden as None the
answer is never wrong: every size is right or None.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from kbridge import errors

Shape = tuple[int | None, ...]

some = settings(max_examples=150, deadline=None, derandomize=True)
few = settings(max_examples=40, deadline=None, derandomize=True)

SIZES = st.integers(0, 4)
SHAPES = st.lists(SIZES, max_size=4).map(tuple)


def symbolic(shape: Shape = (), dtype: str = "int32") -> Any:
    """Return what stands for a symbolic tensor in a static argument."""
    return SimpleNamespace(shape=shape, dtype=dtype)


def hide(data: st.DataObject, shape: tuple[int, ...]) -> Shape:
    """Return ``shape`` with some sizes unknown."""
    return tuple(None if data.draw(st.booleans()) else size for size in shape)


def fits(static: Shape, real: tuple[int, ...]) -> bool:
    """Return whether a static shape allows for the real one."""
    return len(static) == len(real) and all(
        a is None or a == b for a, b in zip(static, real, strict=True)
    )


def agree(
    data: st.DataObject,
    rule: Callable[..., Shape],
    real: Callable[..., Any],
    *operands: tuple[int, ...],
    faults: Any = (ValueError, IndexError),
) -> None:
    """Check a rule on ``operands`` against the shape of ``real`` on arrays of these shapes."""
    arrays = [np.zeros(shape, "int8") for shape in operands]
    try:
        truth = real(*arrays).shape
    except faults:
        with pytest.raises(errors.ArgumentError):
            rule(*operands)
        return
    assert rule(*operands) == truth
    static = rule(*[hide(data, shape) for shape in operands])
    assert fits(static, truth), f"{static} for {truth}"
