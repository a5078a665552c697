"""Shape rules of what picks parts of a tensor; see ``shapes`` for the conventions."""

from __future__ import annotations

import numpy as np

from kbridge.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    IndexRangeError,
    ShapeError,
    UnsupportedError,
)
from kbridge.symbolic import dtypes
from kbridge.symbolic.shapes import (
    Dim,
    Shape,
    _dimensions,
    dimension,
    normalize_axis,
    show,
)


def gather(reference: Shape, indices: Shape) -> Shape:
    """Return the shape of rows of ``reference``, one for each index."""
    if not reference:
        raise ShapeError("a scalar has no rows; the reference needs a rank of at least 1")
    return indices + reference[1:]


def one_hot(shape: Shape, n: object, axis: object = -1) -> Shape:
    """Return ``shape`` with a new axis of ``n`` classes."""
    at = normalize_axis(axis, len(shape) + 1)
    return (*shape[:at], dimension(n, "the number of classes"), *shape[at:])


def slice_(shape: Shape, start: object, size: object) -> Shape:
    """Return the shape of ``K.slice``: on each axis ``size`` elements from ``start``.

    A size of -1 takes the rest of the axis. The part must lie inside the tensor.
    """
    starts = _dimensions(start, "the entries of start")
    sizes = _dimensions(size, "the entries of size", -1)
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise ArgumentError(
            f"start and size need an entry for each of the {len(shape)} axes of {shape}, "
            f"got {show(start)} and {show(size)}"
        )
    result: list[Dim] = []
    for axis, (whole, begin, length) in enumerate(zip(shape, starts, sizes, strict=True)):
        least = (begin or 0) + max(length or 0, 0)
        if whole is not None and least > whole:
            raise ShapeError(
                f"the part from {begin} of size {length} reaches past axis {axis} of {shape}, "
                f"which has {whole} elements"
            )
        rest = None if whole is None or begin is None else whole - begin
        result.append(rest if length == -1 else length)
    return tuple(result)


def getitem(shape: Shape, key: object) -> Shape:
    """Return the shape of ``x[key]``, by NumPy's rules.

    An entry is an integer, a slice, None (a new axis), ``...``, or an integer tensor: a scalar
    picks like an integer, and one of higher rank puts its own axes where the indexed one was.
    """
    entries = key if isinstance(key, tuple) else (key,)
    rank = len(shape)
    dots = sum([entry is Ellipsis for entry in entries])
    used = len(entries) - dots - sum([entry is None for entry in entries])
    if dots > 1:
        raise ArgumentError(f"an index can hold '...' once, got it {dots} times")
    if used > rank:
        raise AxisError(f"{used} indices are too many for {shape} of rank {rank}")
    result: list[Dim] = []
    axis = 0
    picks: list[int] = []  # where in the key an integer or tensor stands
    tensor_at = None
    for position, entry in enumerate(entries):
        if entry is None:
            result.append(1)
        elif entry is Ellipsis:
            result.extend(shape[axis : axis + rank - used])
            axis += rank - used
        elif isinstance(entry, slice):
            result.append(_sliced(shape[axis], entry))
            axis += 1
        else:
            picked = _picked(shape, axis, entry)
            if picked and tensor_at is not None:
                raise UnsupportedError("one index tensor at a time: index again with the other")
            if picked:
                tensor_at = len(result)
            picks.append(position)
            result.extend(picked)
            axis += 1
    if tensor_at and picks[-1] - picks[0] >= len(picks):
        raise UnsupportedError(
            "an index tensor and an integer with other entries between them (NumPy would move the "
            "axis to the front): index in two steps, first with the integer"
        )
    return (*result, *shape[axis:])


def _picked(shape: Shape, axis: int, entry: object) -> Shape:
    """Return the axes that take the place of ``axis`` when it is indexed with ``entry``."""
    if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
        size = shape[axis]
        if size is not None and not -size <= entry < size:
            raise IndexRangeError(
                f"index {entry} is out of range for axis {axis} of {shape}, which has {size} "
                f"elements"
            )
        return ()
    if isinstance(entry, np.ndarray) and entry.ndim == 0 and entry.dtype.kind in "iu":
        return _picked(shape, axis, int(entry))
    picked = None if isinstance(entry, (bool, np.generic)) else getattr(entry, "shape", None)
    if picked is None:
        raise ArgumentTypeError(
            f"an index must be an integer, a slice, None, ... or an integer tensor, "
            f"got {show(entry)} of type {type(entry).__name__}"
        )
    dtype = dtypes.normalize(getattr(entry, "dtype", "int32"))
    if dtype == "bool":
        raise UnsupportedError(
            "a mask as index: the result's size would depend on data; "
            "multiply by the mask, or use K.switch"
        )
    if dtype not in dtypes.INTEGERS:
        raise ArgumentTypeError(f"an index tensor must be of an integer dtype, got {dtype}")
    return tuple(picked)


def _sliced(size: Dim, part: slice) -> Dim:
    """Return how many of ``size`` elements ``part`` takes; None where run time decides."""
    if part.start is None and part.stop is None and part.step is None:
        return size
    bounds = [
        bound if bound is None else dimension(bound, "the bounds of a slice", -(2**63))
        for bound in (part.start, part.stop, part.step)
    ]
    if bounds[2] == 0:
        raise ArgumentError("the step of a slice cannot be 0")
    if size is None or bounds.count(None) > (part.start, part.stop, part.step).count(None):
        return None
    return len(range(*slice(*bounds).indices(size)))
