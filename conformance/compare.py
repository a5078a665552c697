"""The one comparison: value, shape and dtype, with messages that say what was called."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.symbolic.dtypes import to_numpy


class Mismatch(AssertionError):
    """A result is not what the contract says."""


def compare(
    what: str,
    got: Any,
    want: Any,
    *,
    dtype: str | None = None,
    tolerance: float = 0.0,
    given: str = "",
) -> float:
    """Raise a Mismatch unless ``got`` equals ``want``; return the error as a part of the allowed.

    ``what`` names the call in messages, ``given`` its operands. ``dtype`` is the one that ``got``
    must have. nan matches nan, and an infinity the same infinity.
    """
    end = f" [{given}]" if given else ""
    got, want = np.asarray(got), np.asarray(want)
    if dtype is not None and got.dtype != to_numpy(dtype):
        raise Mismatch(f"{what}: dtype is {got.dtype}, should be {dtype}{end}")
    if got.shape != want.shape:
        raise Mismatch(f"{what}: shape is {got.shape}, should be {want.shape}{end}")
    if got.size == 0:
        return 0.0
    got_wide, want_wide = _wide(got), _wide(want)
    error, scale = _error(got_wide, want_wide)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    largest = float(error[worst])
    if not largest <= tolerance * scale:
        place = f" at {tuple(int(i) for i in worst)}" if got.ndim else ""
        raise Mismatch(
            f"{what}: value{place} is {got_wide[worst]!s}, should be {want_wide[worst]!s} "
            f"(error {largest:.3g}, allowed {tolerance * scale:.3g}){end}\n"
            f"got  {_short(got)}\nwant {_short(want_wide.astype(got.dtype))}"
        )
    return largest / (tolerance * scale) if tolerance else 0.0


def _wide(array: Any) -> Any:
    """Integers as they are, everything else as float64."""
    return array if array.dtype.kind in "iu" else array.astype(np.float64)


def _error(got: Any, want: Any) -> tuple[Any, float]:
    """The absolute differences, infinite where one side alone is not finite, and their scale."""
    if got.dtype.kind in "iu" and want.dtype.kind in "iu":
        return (got != want).astype(np.float64), 1.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    finite = np.isfinite(got) & np.isfinite(want)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(same, 0.0, np.where(finite, np.abs(got - want), np.inf))
    magnitudes = np.abs(want[np.isfinite(want)])
    return error, max(1.0, float(magnitudes.max())) if magnitudes.size else 1.0


def _short(array: Any) -> str:
    return np.array2string(np.asarray(array), precision=7, threshold=40).replace("\n", "\n     ")


def same(what: str, got: Any, want: Any, tolerance: float = 1e-5) -> float:
    """Raise a Mismatch unless a program's result equals ``want``; return the greatest part.

    An array is compared by value and shape with the number or nested list in ``want``, and by
    dtype too where an array stands there. Lists, tuples and dictionaries must have the same
    structure. A function in ``want`` must return True of what it gets. Everything else must be
    equal and of the same type.
    """
    if callable(want) and not isinstance(want, type):
        if want(got) is not True:
            text = (want.__doc__ or want.__name__).strip()
            raise Mismatch(f"{what}: {_kind(got)} is not {text}")
        return 0.0
    if isinstance(got, (np.ndarray, np.generic)):
        if not isinstance(want, (bool, int, float, list, np.ndarray, np.generic)):
            raise Mismatch(f"{what}: got {_kind(got)}, should be {want!r}")
        dtype = str(want.dtype) if isinstance(want, (np.ndarray, np.generic)) else None
        return compare(what, got, want, dtype=dtype, tolerance=tolerance)
    if type(got) is not type(want):
        raise Mismatch(f"{what}: got {_kind(got)}, should be {_kind(want)}")
    if isinstance(want, dict):
        if list(got) != list(want):
            raise Mismatch(f"{what}: the keys are {list(got)}, should be {list(want)}")
        return max((same(f"{what}[{k!r}]", got[k], want[k], tolerance) for k in want), default=0.0)
    if isinstance(want, (list, tuple)):
        if len(got) != len(want):
            raise Mismatch(f"{what}: has {len(got)} entries, should have {len(want)}: {got!r:.120}")
        pairs = enumerate(zip(got, want, strict=True))
        return max((same(f"{what}[{i}]", g, w, tolerance) for i, (g, w) in pairs), default=0.0)
    if isinstance(want, float):
        return compare(what, got, want, tolerance=tolerance)
    if got != want:
        raise Mismatch(f"{what}: is {got!r:.120}, should be {want!r:.120}")
    return 0.0


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.120}"
