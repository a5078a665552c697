"""Shape rules: from static shapes and static arguments to the result's static shape.

A shape is a tuple of sizes, ``None`` where a size is known only at run time; ranks are always
known. A rule never guesses: each size it returns is right for every run, or ``None``. Faults
raise with a message that the caller prefixes with the operation's name. Windows (convolution,
pooling) are in ``conv_shapes``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from kbridge.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    ShapeError,
    UnsupportedError,
)

Dim: TypeAlias = int | None
Shape: TypeAlias = tuple[Dim, ...]


# --- arguments -------------------------------------------------------------------------------


def show(value: object) -> str:
    """Return ``value`` for a message, shortened to a line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def integer(value: object, what: str) -> int:
    """Return a Python, NumPy or rank-0 array integer as an ``int``; a bool is none."""
    if type(value) is int:
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
        return int(value)
    raise ArgumentTypeError(
        f"{what} must be an integer, got {show(value)} of type {type(value).__name__}"
    )


def dimension(value: object, what: str, least: int = 0) -> Dim:
    """Return a size: an integer of at least ``least``, or None for None and symbolic scalars."""
    if type(value) is not int:
        if value is None:
            return None
        if not isinstance(value, (np.ndarray, np.generic)) and getattr(value, "shape", None) == ():
            return None
        value = integer(value, what)
    if value < least:
        raise ArgumentError(f"{what} must be at least {least}, got {value}")
    return value


def _dimensions(value: object, what: str, least: int = 0) -> Shape:
    """Return the sizes in an integer, a sequence, an array, or a tensor of rank 0 or 1."""
    if isinstance(value, (tuple, list)):
        return tuple([dimension(entry, what, least) for entry in value])
    if value is None or isinstance(value, (str, bytes)):
        raise ArgumentTypeError(f"{what} must be integers, got {show(value)}")
    shape: Any = getattr(value, "shape", ())
    if isinstance(value, np.ndarray):
        if value.ndim > 1:
            raise ArgumentTypeError(f"{what} must be a flat sequence, got {show(value)}")
        return tuple([dimension(entry, what, least) for entry in value.reshape(-1).tolist()])
    if len(shape) == 1:
        if shape[0] is None:
            raise UnsupportedError(
                f"{what} came as a tensor of unknown length, which leaves the rank unknown; "
                f"give a tuple (its entries may be tensors)"
            )
        return (None,) * int(shape[0])
    if isinstance(value, Iterable) and not hasattr(value, "shape"):
        return tuple([dimension(entry, what, least) for entry in value])
    return (dimension(value, what, least),)


def shape_argument(value: object, minus_one: bool = False) -> Shape:
    """Return a ``shape=`` argument as a tuple; what is known only at run time becomes None.

    It may be one integer, a list, a tuple, a NumPy array of integers, or a symbolic vector, with
    integers, None and symbolic scalars as entries; -1 is an entry where ``minus_one`` allows it.
    """
    return _dimensions(value, "a shape's sizes", -1 if minus_one else 0)


def normalize_axis(axis: object, rank: int) -> int:
    """Return ``axis`` counted from the front; it must be an integer from -rank to rank - 1."""
    if type(axis) is not int:
        axis = integer(axis, "an axis")
    if -rank <= axis < rank:
        return axis if axis >= 0 else axis + rank
    if rank == 0:
        raise AxisError(f"axis {axis} does not exist: a tensor of rank 0 has no axes")
    raise AxisError(f"axis {axis} is out of range for rank {rank}: use {-rank} to {rank - 1}")


def normalize_axes(axis: object, rank: int) -> tuple[int, ...]:
    """Return axes counted from the front, in the given order: None is all, ``[]`` none."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, np.ndarray) and axis.ndim == 1:
        axis = axis.tolist()
    if not isinstance(axis, (tuple, list)):
        return (normalize_axis(axis, rank),)
    axes = tuple([normalize_axis(entry, rank) for entry in axis])
    if len(set(axes)) != len(axes):
        twice = next(entry for entry in axes if axes.count(entry) > 1)
        raise AxisError(f"axis {twice} is given twice in {show(axis)}; name each axis once")
    return axes


def padding_pairs(padding: object, spatial_rank: int) -> tuple[tuple[int, int], ...]:
    """Return (before, after) for each spatial axis.

    Accepted are one integer for all sides, an integer per axis for both its sides, and a pair
    per axis. With one axis, two integers are its pair.
    """
    if isinstance(padding, np.ndarray):
        padding = padding.tolist()
    if not isinstance(padding, (tuple, list)):
        sides = dimension(padding, "padding")
        if sides is not None:
            return ((sides, sides),) * spatial_rank
    elif spatial_rank == 1 and len(padding) == 2 and not isinstance(padding[0], (tuple, list)):
        return (_padding_pair(padding),)
    elif len(padding) == spatial_rank:
        return tuple([_padding_pair(entry) for entry in padding])
    raise ArgumentError(
        f"padding {show(padding)} does not fit {spatial_rank} spatial axes: give one integer, "
        f"an integer per axis, or a (before, after) pair per axis"
    )


def _padding_pair(entry: object) -> tuple[int, int]:
    """Return (before, after) from one integer or a pair of them."""
    pair = tuple(entry) if isinstance(entry, (tuple, list)) else (entry, entry)
    if len(pair) != 2:
        raise ArgumentError(f"padding of an axis must be (before, after), got {show(entry)}")
    before, after = integer(pair[0], "padding"), integer(pair[1], "padding")
    if before < 0 or after < 0:
        raise ArgumentError(f"padding must be at least 0, got {show(entry)}")
    return before, after


# --- element by element ----------------------------------------------------------------------


def differ(one: Shape, other: Shape) -> bool:
    """Return whether two shapes of one rank have different known sizes somewhere."""
    return any(a != b and a is not None and b is not None for a, b in zip(one, other, strict=True))


def broadcast(a: Shape, b: Shape) -> Shape:
    """Return the shape in which ``a`` and ``b`` meet: aligned at the end, equal sizes or 1."""
    if a == b or not b:
        return a
    if not a:
        return b
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    offset = len(longer) - len(shorter)
    if longer[offset:] == shorter:
        return longer
    sizes = list(longer[:offset])
    for one, other in zip(longer[offset:], shorter, strict=True):
        if one == other or other == 1:
            sizes.append(one)
        elif one == 1 or one is None:
            sizes.append(other)
        elif other is None:
            sizes.append(one)
        else:
            axis = len(sizes) - len(longer)
            raise ShapeError(
                f"cannot broadcast {a} with {b}: axis {axis} is {a[axis]} and {b[axis]}; "
                f"sizes must be equal or 1"
            )
    return tuple(sizes)


def broadcast_all(*shapes: Shape) -> Shape:
    """Return the shape in which all ``shapes`` meet."""
    result = shapes[0] if shapes else ()
    for shape in shapes[1:]:
        result = broadcast(result, shape)
    return result


def where(condition: Shape, a: Shape, b: Shape) -> Shape:
    """Return the shape of an element-wise choice: all three broadcast."""
    return broadcast(broadcast(condition, a), b)


# --- along axes ------------------------------------------------------------------------------


def reduce(shape: Shape, axis: object = None, keepdims: bool = False) -> Shape:
    """Return ``shape`` without the reduced axes, or with size 1 there if ``keepdims``."""
    if axis is None:
        return (1,) * len(shape) if keepdims else ()
    if type(axis) is int:
        one = normalize_axis(axis, len(shape))
        return shape[:one] + ((1,) if keepdims else ()) + shape[one + 1 :]
    axes = normalize_axes(axis, len(shape))
    if keepdims:
        return tuple([1 if at in axes else size for at, size in enumerate(shape)])
    return tuple([size for at, size in enumerate(shape) if at not in axes])


def cumulate(shape: Shape, axis: object = 0) -> Shape:
    """Return ``shape``, after a check of the one axis along which values run up."""
    normalize_axis(axis, len(shape))
    return shape


def arg_reduce(shape: Shape, axis: object = -1) -> Shape:
    """Return ``shape`` without the one searched axis, which must not be empty."""
    one = normalize_axis(axis, len(shape))
    if shape[one] == 0:
        raise ShapeError(f"axis {one} of {shape} is empty, so no element of it can be chosen")
    return shape[:one] + shape[one + 1 :]


def reverse(shape: Shape, axes: object) -> Shape:
    """Return ``shape``, after a check of the axes that are turned round."""
    normalize_axes(axes, len(shape))
    return shape


# --- products --------------------------------------------------------------------------------


def _must_match(x: Shape, y: Shape, x_axis: int, y_axis: int) -> None:
    """Raise unless the two contracted axes have one size, as far as it is known."""
    one, other = x[x_axis], y[y_axis]
    if one != other and one is not None and other is not None:
        raise ShapeError(
            f"cannot multiply {x} by {y} over the axes ({x_axis}, {y_axis}): {one} != {other}; "
            f"the contracted sizes must be equal"
        )


def dot(x: Shape, y: Shape) -> Shape:
    """Return the shape of ``K.dot``: the last axis of x with the second-to-last (or only) of y.

    The other axes of x come first, then those of y; nothing broadcasts. A scalar multiplies.
    """
    if not x or not y:
        return x or y
    _must_match(x, y, -1, -1 if len(y) == 1 else -2)
    return x[:-1] + y[:-2] + y[-1:] if len(y) > 1 else x[:-1]


def matmul(x: Shape, y: Shape) -> Shape:
    """Return the shape of ``x @ y``: matrices in the last two axes, the others broadcast."""
    if not x or not y:
        raise ShapeError(f"@ needs ranks of at least 1, got {x} and {y}; use * with a scalar")
    _must_match(x, y, -1, -1 if len(y) == 1 else -2)
    return broadcast(x[:-2], y[:-2]) + x[-2:-1] + (y[-1:] if len(y) > 1 else ())


def batch_dot_axes(x: Shape, y: Shape, axes: object = None) -> tuple[int, int]:
    """Return the pair of contracted axes of ``K.batch_dot``, counted from the front.

    None is the last axis of x with the last of a matrix y, else the second-to-last of y. One
    integer is for both. The first axis is the batch, and cannot be contracted.
    """
    if len(x) < 2 or len(y) < 2:
        raise ShapeError(
            f"both tensors need a batch axis and one more, got {x} and {y}; "
            f"add an axis with K.expand_dims"
        )
    if axes is None:
        axes = (-1, -1 if len(y) == 2 else -2)
    elif isinstance(axes, np.ndarray) and axes.ndim == 1:
        axes = axes.tolist()
    pair = tuple(axes) if isinstance(axes, (tuple, list)) else (axes, axes)
    if len(pair) != 2 or isinstance(pair[0], (tuple, list)) or isinstance(pair[1], (tuple, list)):
        raise ArgumentError(f"axes must be None, one integer or two, got {show(axes)}")
    result = normalize_axis(pair[0], len(x)), normalize_axis(pair[1], len(y))
    if 0 in result:
        raise AxisError(
            f"cannot contract axis 0, which is the batch: got axes {show(axes)} for {x} and {y}; "
            f"where there is no batch, add one with K.expand_dims(x, 0)"
        )
    return result


def batch_dot(x: Shape, y: Shape, axes: object = None) -> Shape:
    """Return the shape of ``K.batch_dot``: batch, the rest of x, the rest of y; at least rank 2."""
    x_axis, y_axis = batch_dot_axes(x, y, axes)
    if x[0] != y[0] and x[0] is not None and y[0] is not None:
        raise ShapeError(f"the batch sizes of {x} and {y} differ: {x[0]} != {y[0]}")
    _must_match(x, y, x_axis, y_axis)
    rest = x[1:x_axis] + x[x_axis + 1 :] + y[1:y_axis] + y[y_axis + 1 :]
    return (y[0] if x[0] is None else x[0], *(rest or (1,)))


# --- new arrangements of the same elements ---------------------------------------------------


def count(shape: Shape) -> Dim:
    """Return the number of elements, None if unknown; an empty axis makes it 0 in any case."""
    if None not in shape:
        return prod(shape)  # type: ignore[arg-type]
    return 0 if 0 in shape else None


def transpose(shape: Shape) -> Shape:
    """Return ``shape`` reversed."""
    return shape[::-1]


def permute(shape: Shape, pattern: object) -> Shape:
    """Return the sizes in the order of ``pattern``, which names each axis once."""
    axes = normalize_axes(() if pattern is None else pattern, len(shape))
    if len(axes) != len(shape):
        raise AxisError(
            f"pattern {show(pattern)} has {len(axes)} axes, but {shape} has {len(shape)}; "
            f"name each axis once"
        )
    return tuple([shape[axis] for axis in axes])


def reshape(shape: Shape, target: object) -> Shape:
    """Return ``target`` with what can be inferred filled in.

    One size may be -1 and follows from the others; sizes known only at run time are None. Where
    both element counts are known they must agree. Beside a size of 0 (an empty batch) -1 follows
    from the sizes that are not 0, as in TensorFlow.
    """
    sizes = shape_argument(target, minus_one=True)
    if sizes.count(-1) > 1:
        raise ArgumentError(f"only one size can be -1, got {show(target)}")
    total, known = count(shape), _known_product(sizes)
    open_at = [at for at, size in enumerate(sizes) if size is None or size == -1]
    if 0 in sizes and -1 in sizes and total == 0:
        return empty_reshape(shape, sizes)
    if total is None:
        fits = bool(open_at) or known % _known_product(shape) == 0
    elif not open_at or known == 0:
        fits = total == known
    else:
        fits = total % known == 0
        if fits and len(open_at) == 1:
            sizes = (*sizes[: open_at[0]], total // known, *sizes[open_at[0] + 1 :])
    if not fits:
        raise ShapeError(
            f"cannot reshape {shape} to {sizes}: the numbers of elements, "
            f"{_elements(shape)} and {_elements(sizes)}, must be equal"
        )
    return tuple([None if size == -1 else size for size in sizes])


def empty_reshape(shape: Shape, target: Shape) -> Shape:
    """Return ``target`` with its -1 inferred where both sides hold a 0."""
    given, wanted = (prod([size for size in s if size and size > 0]) for s in (shape, target))
    unknown = None in shape or None in target
    if not unknown and given % wanted:
        raise ShapeError(f"-1 in {show(target)} cannot be inferred from {shape}")
    rest = None if unknown else given // wanted
    return tuple([rest if size == -1 else size for size in target])


def _known_product(shape: Shape) -> int:
    """Return the product of the sizes that are known."""
    return prod([size for size in shape if size is not None and size != -1])


def _elements(shape: Shape) -> str:
    """Return how many elements ``shape`` has, in words."""
    known = _known_product(shape)
    return f"a multiple of {known}" if None in shape or -1 in shape else f"{known}"


def flatten(shape: Shape) -> Shape:
    """Return the shape of all elements in one row."""
    return (count(shape),)


def batch_flatten(shape: Shape) -> Shape:
    """Return the shape of a matrix: the first axis stays, the others become one."""
    if not shape:
        raise ShapeError("a scalar has no batch axis; a rank of at least 1 is needed")
    return (shape[0], count(shape[1:]))


def expand_dims(shape: Shape, axis: object = -1) -> Shape:
    """Return ``shape`` with a new axis of size 1 at ``axis`` of the result."""
    at = normalize_axis(axis, len(shape) + 1)
    return (*shape[:at], 1, *shape[at:])


def squeeze(shape: Shape, axis: object) -> Shape:
    """Return ``shape`` without the given axis (or axes), whose size must be 1."""
    if axis is None:
        raise ArgumentTypeError("axis must be an integer or several, got None")
    axes = normalize_axes(axis, len(shape))
    for one in axes:
        if shape[one] != 1 and shape[one] is not None:
            raise ShapeError(
                f"axis {one} of {shape} has size {shape[one]}; "
                f"only an axis of size 1 can be removed"
            )
    return tuple([size for at, size in enumerate(shape) if at not in axes])


# --- repeats and joins -----------------------------------------------------------------------


def _times(size: Dim, factor: Dim) -> Dim:
    """Return the product of two sizes; 0 whatever the other is."""
    if size == 0 or factor == 0:
        return 0
    return None if size is None or factor is None else size * factor


def repeat_elements(shape: Shape, rep: object, axis: object) -> Shape:
    """Return ``shape`` with each element along ``axis`` taken ``rep`` times."""
    at = normalize_axis(axis, len(shape))
    return (*shape[:at], _times(shape[at], dimension(rep, "rep")), *shape[at + 1 :])


def repeat(shape: Shape, n: object) -> Shape:
    """Return (batch, n, features) for a matrix."""
    if len(shape) != 2:
        raise ShapeError(f"expected a matrix (batch, features), got {shape} of rank {len(shape)}")
    return (shape[0], dimension(n, "n"), shape[1])


def tile(shape: Shape, n: object) -> Shape:
    """Return ``shape`` laid ``n`` times; the shorter of the two is filled with leading ones."""
    reps = _dimensions(n, "the entries of n")
    rank = max(len(shape), len(reps))
    sizes = (1,) * (rank - len(shape)) + shape
    reps = (1,) * (rank - len(reps)) + reps
    return tuple([_times(size, rep) for size, rep in zip(sizes, reps, strict=True)])


def resize(shape: Shape, factors: object, axes: object) -> Shape:
    """Return ``shape`` with each size on ``axes`` multiplied by its factor."""
    sizes = list(shape)
    positions = normalize_axes(axes, len(shape))
    scales = _dimensions(factors, "a factor", 1)
    if len(scales) != len(positions):
        raise ArgumentError(f"{len(positions)} factors are needed, got {show(factors)}")
    for at, factor in zip(positions, scales, strict=True):
        sizes[at] = _times(sizes[at], factor)
    return tuple(sizes)


def _merged(shapes: Sequence[Shape], skip: int | None) -> list[Dim]:
    """Return the sizes common to all ``shapes``, known if one knows them; axis ``skip`` is free."""
    first = shapes[0]
    sizes = list(first)
    for shape in shapes:
        if shape == first:
            continue
        if len(shape) != len(first):
            raise ShapeError(f"the ranks of {first} and {shape} differ; they must be equal")
        for at, size in enumerate(shape):
            if sizes[at] is None:
                sizes[at] = size
            elif size != sizes[at] and size is not None and at != skip:
                raise ShapeError(
                    f"{first} and {shape} do not fit: axis {at} is {sizes[at]} and {size}; sizes "
                    f"must be equal" + ("" if skip is None else f" except on axis {skip}")
                )
    return sizes


def concatenate(shapes: Sequence[Shape], axis: object = -1) -> Shape:
    """Return the shape of tensors laid end to end on ``axis``; the other sizes are equal."""
    if not shapes:
        raise ArgumentError("at least one tensor is needed")
    at = normalize_axis(axis, len(shapes[0]))
    sizes = _merged(shapes, at)
    total: Dim = 0
    for shape in shapes:
        size = shape[at]
        total = None if total is None or size is None else total + size
    sizes[at] = total
    return tuple(sizes)


def stack(shapes: Sequence[Shape], axis: object = 0) -> Shape:
    """Return the shape of equally shaped tensors side by side on a new axis."""
    if not shapes:
        raise ArgumentError("at least one tensor is needed")
    sizes = _merged(shapes, None)
    sizes.insert(normalize_axis(axis, len(sizes) + 1), len(shapes))
    return tuple(sizes)


def pad(shape: Shape, pairs: Sequence[tuple[int, int]]) -> Shape:
    """Return ``shape`` with (before, after) added to each axis."""
    if len(pairs) != len(shape):
        raise ArgumentError(f"{len(shape)} pairs are needed for {shape}, got {show(pairs)}")
    sizes: list[Dim] = []
    for size, entry in zip(shape, pairs, strict=True):
        before, after = _padding_pair(entry)
        sizes.append(None if size is None else size + before + after)
    return tuple(sizes)


# --- new tensors -----------------------------------------------------------------------------


def eye(size: object) -> Shape:
    """Return the shape of an identity matrix from one size, or from (rows, columns)."""
    sizes = shape_argument(size)
    if len(sizes) not in (1, 2):
        raise ArgumentError(f"size must be one integer or (rows, columns), got {show(size)}")
    return (sizes[0], sizes[-1])
