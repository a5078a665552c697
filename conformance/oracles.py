"""Closed forms for many operations at once, in plain Python: element by element, line by line.

They share nothing with a backend on purpose: loops and :mod:`math` instead of array functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def each(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """An array function from one of a Python number."""

    def oracle(x: Any, *rest: Any, **named: Any) -> Any:
        flat = [function(item, *rest, **named) for item in np.asarray(x).reshape(-1).tolist()]
        return _as(flat, np.shape(x), np.asarray(x).dtype)

    return oracle


def pairs(function: Callable[..., Any]) -> Callable[..., Any]:
    """An array function of several operands that broadcast, from one of Python numbers."""

    def oracle(*operands: Any) -> Any:
        shape = broadcast_shape(*(np.shape(operand) for operand in operands))
        flat = [
            function(*(_at(operand, index) for operand in operands))
            for index in itertools.product(*(range(size) for size in shape))
        ]
        kinds = [np.asarray(operand).dtype for operand in operands if operand is not None]
        return _as(flat, shape, np.result_type(*kinds))

    return oracle


def _as(flat: list[Any], shape: tuple[int, ...], empty_dtype: Any) -> Any:
    array = np.array(flat) if flat else np.zeros(0, empty_dtype)
    return array.reshape(shape)


def _at(operand: Any, index: tuple[int, ...]) -> Any:
    """The element of an operand that stands at a place of the broadcast result."""
    if operand is None:
        return None
    array = np.asarray(operand)
    own = index[len(index) - array.ndim :]
    place = tuple(0 if size == 1 else i for i, size in zip(own, array.shape, strict=True))
    return array[place].item()


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which shapes meet."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((s for s in sizes if s != 1), 1) for sizes in zip(*padded, strict=True))


def along(function: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    """A reduction ``(x, axis, keepdims)`` from a function of a list of Python numbers."""

    def oracle(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = np.asarray(x)
        axes = axes_of(axis, x.ndim)
        kept = [i for i in range(x.ndim) if i not in axes]
        flat = []
        for index in itertools.product(*(range(x.shape[i]) for i in kept)):
            place: list[Any] = [slice(None)] * x.ndim
            for axis_, position in zip(kept, index, strict=True):
                place[axis_] = position
            flat.append(function(x[tuple(place)].reshape(-1).tolist()))
        shape = [x.shape[i] for i in kept]
        if keepdims:
            shape = [1 if i in axes else x.shape[i] for i in range(x.ndim)]
        return _as(flat, tuple(shape), x.dtype)

    return oracle


def lines(function: Callable[[list[Any]], list[Any]], default: int = -1) -> Callable[..., Any]:
    """A function ``(x, axis)`` that works on each line along one axis, from one of a list."""

    def oracle(x: Any, axis: int = default) -> Any:
        x = np.asarray(x)
        result = np.zeros(x.shape, np.float64 if x.dtype.kind == "f" else np.int64)
        where = axis % x.ndim
        for index in itertools.product(*(range(s) for i, s in enumerate(x.shape) if i != where)):
            place: Any = (*index[:where], slice(None), *index[where:])
            result[place] = function(x[place].tolist())
        return result

    return oracle


def axes_of(axis: Any, rank: int) -> list[int]:
    """The axes meant, counted from the front."""
    if axis is None:
        return list(range(rank))
    listed = np.atleast_1d(axis).tolist()
    return [int(item) % rank for item in listed]


# --- numbers -----------------------------------------------------------------------------------


def exp(x: float) -> float:
    """``math.exp`` with infinity instead of an error."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """``math.log`` with IEEE's results where it raises."""
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def softmax(row: Sequence[float]) -> list[float]:
    """Powers of e over their sum, from the largest down."""
    powers = [exp(item - max(row)) for item in row]
    return [power / math.fsum(powers) for power in powers]


def logsumexp(row: Sequence[float]) -> float:
    """The logarithm of a sum of powers of e."""
    top = max(row)
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(exp(item - top) for item in row))


def mean(row: Sequence[float]) -> float:
    """The mean, nan of nothing."""
    return math.fsum(row) / len(row) if row else math.nan


def variance(row: Sequence[float]) -> float:
    """The mean of the squared distances from the mean."""
    middle = mean(row)
    return mean([(item - middle) ** 2 for item in row])


# --- windows that slide over the spatial axes -----------------------------------------------------


def channels_last(x: Any, data_format: Any) -> Any:
    """An input with its channels last."""
    return np.moveaxis(x, 1, -1) if data_format == "channels_first" else x


def in_format(x: Any, data_format: Any) -> Any:
    """A result with channels last in the data format asked for."""
    return np.moveaxis(x, -1, 1) if data_format == "channels_first" else x


def per_axis(value: Any, n: int) -> list[int]:
    """One number for each spatial axis."""
    return list(value) if isinstance(value, (list, tuple)) else [value] * n


def windows(sizes: Any, widths: Any, steps: Any, gaps: Any, padding: str) -> Any:
    """For each place of the result, the pairs (place in the window, place in the input).

    "same" pads as TensorFlow does: one result per stride, the odd element of padding after.
    """
    axes = []
    for size, width, step, gap in zip(sizes, widths, steps, gaps, strict=True):
        reach = (width - 1) * gap + 1
        if padding == "same":
            count = -(-size // step)
            before = max((count - 1) * step + reach - size, 0) // 2
        else:
            count, before = (size - reach) // step + 1, 0
        axes.append(
            [
                [
                    (k, i * step + k * gap - before)
                    for k in range(width)
                    if 0 <= i * step + k * gap - before < size
                ]
                for i in range(count)
            ]
        )
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        hits = itertools.product(*(axis[i] for axis, i in zip(axes, place, strict=True)))
        yield place, [(tuple(k for k, _ in hit), tuple(i for _, i in hit)) for hit in hits]


def window_counts(places: list[Any]) -> tuple[int, ...]:
    """How many windows there are on each axis."""
    return tuple(max(axis) + 1 for axis in zip(*(place for place, _ in places), strict=True))
