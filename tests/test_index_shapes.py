"""Shape rules of what picks parts of a tensor, against what NumPy really gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from shape_checks import SHAPES, SIZES, Shape, agree, some, symbolic

from kbridge import errors
from kbridge.symbolic import index_shapes, shapes

# --- parts -----------------------------------------------------------------------------------


@some
@given(st.data(), SHAPES.filter(len), SHAPES)
def test_gather_is_that_of_numpy(data: st.DataObject, reference: Any, indices: Any) -> None:
    assume(reference[0] > 0)
    agree(data, index_shapes.gather, lambda x, i: x[i], reference, indices)


@some
@given(st.data(), SHAPES, SIZES)
def test_one_hot_has_an_axis_of_classes(data: st.DataObject, shape: Any, n: int) -> None:
    assume(n)
    agree(data, lambda x: index_shapes.one_hot(x, n), lambda x: np.eye(n)[x], shape)
    agree(
        data,
        lambda x: index_shapes.one_hot(x, n, 0),
        lambda x: np.moveaxis(np.eye(n)[x], -1, 0),
        shape,
    )


def test_gather_and_one_hot_faults() -> None:
    with pytest.raises(errors.ShapeError, match="a scalar has no rows"):
        index_shapes.gather((), (2,))
    with pytest.raises(errors.ArgumentError, match="the number of classes must be at least 0"):
        index_shapes.one_hot((2,), -1)
    assert index_shapes.one_hot((2,), symbolic()) == (2, None)


@some
@given(st.data(), SHAPES)
def test_slice_is_a_part(data: st.DataObject, shape: Any) -> None:
    start = [data.draw(st.integers(0, size)) for size in shape]
    size = [
        data.draw(st.integers(-1, whole - begin)) for whole, begin in zip(shape, start, strict=True)
    ]
    key = tuple(
        slice(begin, None if length == -1 else begin + length)
        for begin, length in zip(start, size, strict=True)
    )
    agree(
        data, lambda x: index_shapes.slice_(x, start, np.array(size, int)), lambda x: x[key], shape
    )


def test_slice_of_unknown_bounds() -> None:
    assert index_shapes.slice_((5, 6), (symbolic(), 1), (-1, symbolic())) == (None, None)
    assert index_shapes.slice_((5, None), (symbolic(), 1), (2, -1)) == (2, None)
    assert index_shapes.slice_((5,), 1, 2) == (2,)


@pytest.mark.parametrize(
    ("start", "size", "text"),
    [
        ((0, 3), (2, 2), r"the part from 3 of size 2 reaches past axis 1 of \(2, 4\), which has 4"),
        ((3, 0), (-1, 2), "the part from 3 of size -1 reaches past axis 0"),
        ((-1, 0), (1, 1), "the entries of start must be at least 0, got -1"),
        ((0, 0), (-2, 1), "the entries of size must be at least -1, got -2"),
        ((0,), (1,), r"an entry for each of the 2 axes of \(2, 4\), got \(0,\) and \(1,\)"),
    ],
)
def test_slice_faults(start: Any, size: Any, text: str) -> None:
    with pytest.raises(errors.ArgumentError, match=text):
        index_shapes.slice_((2, 4), start, size)


BOUNDS = st.none() | st.integers(-5, 5)
KEYS = st.lists(
    st.integers(-3, 2)
    | st.builds(slice, BOUNDS, BOUNDS, st.sampled_from([None, 1, 2, -1, -2]))
    | st.sampled_from([None, Ellipsis, Ellipsis, np.int64(0), np.array(1)])
    | st.lists(st.integers(0, 2), max_size=2).map(lambda s: np.zeros(s, int)),
    max_size=4,
).map(tuple)


def key_faults(key: tuple[Any, ...]) -> int:
    """Return how many index tensors of rank 1 or more the key holds."""
    return sum(isinstance(entry, np.ndarray) and entry.ndim > 0 for entry in key)


@settings(max_examples=600, deadline=None)
@given(st.data(), st.lists(st.integers(1, 4), max_size=4).map(tuple), KEYS)
@example(None, (2, 3, 4), (0, Ellipsis, np.zeros((2,), int)))
def test_getitem_is_that_of_numpy(data: Any, shape: Any, key: Any) -> None:
    if data is None:
        with pytest.raises(errors.UnsupportedError, match="in two steps"):
            index_shapes.getitem(shape, key)
        return
    if key_faults(key) > 1:
        with pytest.raises((errors.ArgumentError, errors.UnsupportedError)):
            index_shapes.getitem(shape, key)
        return
    try:
        agree(data, lambda x: index_shapes.getitem(x, key), lambda x: x[key], shape)
    except errors.UnsupportedError:
        plain = tuple(0 if isinstance(e, np.ndarray) and e.ndim else e for e in key)
        in_place = index_shapes.getitem(shape, plain)
        tensor = next(e for e in key if isinstance(e, np.ndarray) and e.ndim)
        moved = np.zeros(shape)[key].shape
        assert moved == tensor.shape + in_place, "NumPy does not move the axis: not refused"


@pytest.mark.parametrize(
    ("shape", "key", "expected"),
    [
        ((None, 3), 5, (3,)),
        ((None, 3), slice(None), (None, 3)),
        ((None, 3), slice(None, 2), (None, 3)),
        ((5, 3), slice(symbolic(), None), (None, 3)),
        ((5, 3), slice(0, symbolic()), (None, 3)),
        ((5, 3), slice(None, None, -1), (5, 3)),
        ((5, 3), slice(np.int64(1), np.array(3)), (2, 3)),
        ((5, 3), (symbolic(),), (3,)),
        ((5, 3), (Ellipsis, symbolic((None, 7))), (5, None, 7)),
        ((5, 3), (symbolic((2,)), slice(1)), (2, 1)),
        ((5, 3, 4), (symbolic((2,)), slice(None), 0), (2, 3)),
        ((5, 3, 4), (slice(None), symbolic((2,)), 0), (5, 2)),
        ((5, 3, 4), (0, symbolic((2,))), (2, 4)),
        ((), (None, Ellipsis), (1,)),
    ],
)
def test_getitem_of_symbolic_parts(shape: Shape, key: Any, expected: Shape) -> None:
    assert index_shapes.getitem(shape, key) == expected


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (2, errors.IndexRangeError, r"index 2 is out of range for axis 0 of \(2, 3\), which has 2"),
        ((0, -4), errors.IndexRangeError, "index -4 is out of range for axis 1"),
        ((0, 0, 0), errors.AxisError, r"3 indices are too many for \(2, 3\) of rank 2"),
        ((..., ...), errors.ArgumentError, "'...' once, got it 2 times"),
        (slice(0, 1, 0), errors.ArgumentError, "step of a slice cannot be 0"),
        (slice(0, 1.5), errors.ArgumentTypeError, "bounds of a slice must be an integer"),
        (True, errors.ArgumentTypeError, "got True of type bool"),
        (1.0, errors.ArgumentTypeError, "got 1.0 of type float"),
        ("a", errors.ArgumentTypeError, "an index must be an integer"),
        ([0, 1], errors.ArgumentTypeError, r"got \[0, 1\] of type list"),
        (symbolic((2,), "bool"), errors.UnsupportedError, "depend on data"),
        (np.array([True, False]), errors.UnsupportedError, "depend on data"),
        (symbolic((2,), "float32"), errors.ArgumentTypeError, "integer dtype, got float32"),
        ((symbolic((2,)), symbolic((2,))), errors.UnsupportedError, "one index tensor at a time"),
    ],
)
def test_getitem_faults(key: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        index_shapes.getitem((2, 3), key)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(3, (3, 3)), ((2, 3), (2, 3)), ([4], (4, 4)), ((symbolic(), 2), (None, 2))],
)
def test_eye(size: Any, expected: Shape) -> None:
    assert shapes.eye(size) == expected


def test_eye_faults() -> None:
    with pytest.raises(errors.ArgumentError, match=r"\(rows, columns\), got \(1, 2, 3\)"):
        shapes.eye((1, 2, 3))
    with pytest.raises(errors.ArgumentError, match="at least 0, got -1"):
        shapes.eye(-1)
