"""Shape rules of everything but indexing and windows, against what NumPy really gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from shape_checks import SHAPES, SIZES, Shape, agree, fits, hide, some, symbolic

from kbridge import errors
from kbridge.symbolic import shapes

# --- arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "rank", "expected"),
    [(0, 1, 0), (-1, 3, 2), (np.int64(1), 2, 1), (np.array(-2), 2, 0), (np.uint8(1), 2, 1)],
)
def test_normalize_axis(axis: Any, rank: int, expected: int) -> None:
    result = shapes.normalize_axis(axis, rank)
    assert result == expected
    assert type(result) is int


@pytest.mark.parametrize(
    ("axis", "rank", "text"),
    [
        (2, 2, "axis 2 is out of range for rank 2: use -2 to 1"),
        (-3, 2, "axis -3 is out of range for rank 2: use -2 to 1"),
        (0, 0, "axis 0 does not exist: a tensor of rank 0 has no axes"),
    ],
)
def test_an_axis_out_of_range(axis: int, rank: int, text: str) -> None:
    with pytest.raises(errors.AxisError) as caught:
        shapes.normalize_axis(axis, rank)
    assert str(caught.value) == text


@pytest.mark.parametrize("axis", [True, np.True_, 1.0, "1", None, np.array([0]), np.array(True)])
def test_an_axis_that_is_no_integer(axis: Any) -> None:
    with pytest.raises(
        errors.ArgumentTypeError, match=r"an axis must be an integer, got .* of type"
    ):
        shapes.normalize_axis(axis, 3)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (None, (0, 1, 2)),
        ([], ()),
        ((), ()),
        (1, (1,)),
        ([-1, 0], (2, 0)),
        (np.array([0, 1]), (0, 1)),
        ((np.int32(2),), (2,)),
    ],
)
def test_normalize_axes(axis: Any, expected: tuple[int, ...]) -> None:
    assert shapes.normalize_axes(axis, 3) == expected


def test_an_axis_given_twice() -> None:
    with pytest.raises(errors.AxisError) as caught:
        shapes.normalize_axes([0, -2], 2)
    assert str(caught.value) == "axis 0 is given twice in [0, -2]; name each axis once"


@pytest.mark.parametrize("axes", [[True], [0.0], ["a"], [[0]]])
def test_axes_that_are_no_integers(axes: Any) -> None:
    with pytest.raises(errors.ArgumentTypeError):
        shapes.normalize_axes(axes, 2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, (3,)),
        ((), ()),
        ([2, None], (2, None)),
        ((np.int64(2), 3), (2, 3)),
        (np.array([2, 3]), (2, 3)),
        (np.array(4), (4,)),
        (np.int32(4), (4,)),
        ((symbolic(), 3), (None, 3)),
        (symbolic((2,)), (None, None)),
        (symbolic(), (None,)),
        (range(2, 4), (2, 3)),
    ],
)
def test_shape_argument(value: Any, expected: Shape) -> None:
    result = shapes.shape_argument(value)
    assert result == expected
    assert all(type(size) in (int, type(None)) for size in result)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ((2, -1), errors.ArgumentError, "a shape's sizes must be at least 0, got -1"),
        ((2, 1.0), errors.ArgumentTypeError, "must be an integer, got 1.0 of type float"),
        ((2, True), errors.ArgumentTypeError, "must be an integer, got True of type bool"),
        (np.array([1.0]), errors.ArgumentTypeError, "must be an integer, got 1.0"),
        (np.array([[1]]), errors.ArgumentTypeError, "flat"),
        (None, errors.ArgumentTypeError, "must be integers, got None"),
        ("12", errors.ArgumentTypeError, "must be integers, got '12'"),
        (((1, 2),), errors.ArgumentTypeError, "must be an integer, got"),
        (symbolic((None,)), errors.UnsupportedError, "unknown length"),
        (symbolic((2, 2)), errors.ArgumentTypeError, "must be an integer"),
    ],
)
def test_shape_argument_faults(value: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        shapes.shape_argument(value)


def test_shape_argument_takes_minus_one_where_asked() -> None:
    assert shapes.shape_argument((-1, 2), minus_one=True) == (-1, 2)
    with pytest.raises(errors.ArgumentError, match="at least -1, got -2"):
        shapes.shape_argument((-2, 2), minus_one=True)


@pytest.mark.parametrize(
    ("padding", "rank", "expected"),
    [
        (2, 1, ((2, 2),)),
        (np.int64(1), 2, ((1, 1), (1, 1))),
        ((1, 2), 1, ((1, 2),)),
        (((1, 2),), 1, ((1, 2),)),
        ((3,), 1, ((3, 3),)),
        ((1, 2), 2, ((1, 1), (2, 2))),
        ([[1, 2], (3, 4)], 2, ((1, 2), (3, 4))),
        (((1, 2), 5), 2, ((1, 2), (5, 5))),
        ((1, 2, 3), 3, ((1, 1), (2, 2), (3, 3))),
        (np.array([[1, 2], [3, 4]]), 2, ((1, 2), (3, 4))),
        (((0, 0),) * 3, 3, ((0, 0),) * 3),
    ],
)
def test_padding_pairs(padding: Any, rank: int, expected: Any) -> None:
    assert shapes.padding_pairs(padding, rank) == expected


@pytest.mark.parametrize(
    ("padding", "rank", "text"),
    [
        ((1, 2, 3), 2, r"padding \(1, 2, 3\) does not fit 2 spatial axes: give one integer"),
        (-1, 2, "padding must be at least 0, got -1"),
        ((-1, 0), 1, "padding must be at least 0"),
        (((1, 2, 3), (1, 2)), 2, r"must be \(before, after\), got \(1, 2, 3\)"),
        (None, 2, "does not fit"),
    ],
)
def test_padding_faults(padding: Any, rank: int, text: str) -> None:
    with pytest.raises(errors.ArgumentError, match=text):
        shapes.padding_pairs(padding, rank)


@pytest.mark.parametrize("padding", [1.5, "same", (1.0, 2), True])
def test_padding_of_another_type(padding: Any) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="padding must be an integer"):
        shapes.padding_pairs(padding, 2)


# --- element by element ----------------------------------------------------------------------


@some
@given(st.data(), SHAPES, SHAPES)
def test_broadcast_is_that_of_numpy(data: st.DataObject, a: Any, b: Any) -> None:
    agree(data, shapes.broadcast, np.add, a, b)


@some
@given(st.data(), SHAPES)
def test_broadcast_of_shapes_that_fit(data: st.DataObject, a: tuple[int, ...]) -> None:
    parts = [
        tuple(data.draw(st.sampled_from([size, 1])) for size in a)[data.draw(st.integers(0, 4)) :]
        for _ in range(3)
    ]
    agree(data, shapes.broadcast_all, lambda *xs: sum(xs[1:], xs[0]), *parts)
    agree(data, shapes.where, np.where, *parts)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((None,), (1,), (None,)),
        ((None,), (3,), (3,)),
        ((None,), (0,), (0,)),
        ((None, 1), (None, 4), (None, 4)),
        ((2, None), (None, None), (2, None)),
        ((), (None,), (None,)),
    ],
)
def test_broadcast_of_unknown_sizes(a: Shape, b: Shape, expected: Shape) -> None:
    assert shapes.broadcast(a, b) == shapes.broadcast(b, a) == expected


def test_broadcast_of_nothing() -> None:
    assert shapes.broadcast_all() == ()


def test_what_cannot_broadcast() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        shapes.broadcast((2, 3), (4,))
    assert str(caught.value) == (
        "cannot broadcast (2, 3) with (4,): axis -1 is 3 and 4; sizes must be equal or 1"
    )
    with pytest.raises(errors.ShapeError, match=r"\(4, 1\) with \(2, 3, 1\): axis -2 is 4 and 3"):
        shapes.broadcast((4, 1), (2, 3, 1))


# --- along axes ------------------------------------------------------------------------------

AXES = st.none() | st.integers(-4, 3) | st.lists(st.integers(-4, 3), max_size=3)


@some
@given(st.data(), SHAPES, AXES, st.booleans())
def test_reduce_is_that_of_numpy(data: st.DataObject, shape: Any, axis: Any, keep: bool) -> None:
    assume(shape or not isinstance(axis, int))  # NumPy lets a scalar have an axis 0
    for form in (axis, tuple(axis) if isinstance(axis, list) else axis):
        agree(
            data,
            lambda x, form=form: shapes.reduce(x, form, keep),
            lambda x: np.sum(x, tuple(axis) if isinstance(axis, list) else axis, keepdims=keep),
            shape,
        )


@some
@given(st.data(), SHAPES, st.integers(-4, 3))
def test_rules_along_one_axis(data: st.DataObject, shape: Any, axis: int) -> None:
    agree(data, lambda x: shapes.reverse(x, axis), lambda x: np.flip(x, axis), shape)
    assume(shape)  # NumPy lets a scalar have an axis 0
    agree(data, lambda x: shapes.cumulate(x, axis), lambda x: np.cumsum(x, axis), shape)
    agree(data, lambda x: shapes.arg_reduce(x, axis), lambda x: np.argmax(x, axis), shape)


def test_argmax_of_an_empty_axis() -> None:
    with pytest.raises(errors.ShapeError, match=r"axis 1 of \(2, 0\) is empty"):
        shapes.arg_reduce((2, 0), -1)


@pytest.mark.parametrize("rule", [shapes.cumulate, shapes.arg_reduce])
def test_one_axis_is_one_integer(rule: Any) -> None:
    for axis in (None, [0]):
        with pytest.raises(errors.ArgumentTypeError, match="an axis must be an integer"):
            rule((2, 3), axis)


# --- products --------------------------------------------------------------------------------


@some
@given(st.data(), SHAPES, SHAPES)
def test_dot_is_that_of_numpy(data: st.DataObject, x: Any, y: Any) -> None:
    agree(data, shapes.dot, np.dot, x, y)


@some
@given(st.data(), SHAPES, SHAPES, SIZES)
def test_dot_of_shapes_that_fit(data: st.DataObject, x: Any, y: Any, inner: int) -> None:
    at = max(len(y) - 1, 0)
    agree(data, shapes.dot, np.dot, (*x, inner), (*y[:at], inner, *y[at:]))


@some
@given(st.data(), SHAPES, SHAPES, SIZES)
def test_matmul_is_that_of_numpy(data: st.DataObject, x: Any, y: Any, inner: int) -> None:
    agree(data, shapes.matmul, np.matmul, x, y)
    at = max(len(y) - 1, 0)
    agree(data, shapes.matmul, np.matmul, (*x, inner), (*y[:at], inner, *y[at:]))


def test_products_say_which_sizes_differ() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        shapes.dot((2, 3), (4, 5))
    assert str(caught.value) == (
        "cannot multiply (2, 3) by (4, 5) over the axes (-1, -2): 3 != 4; "
        "the contracted sizes must be equal"
    )
    with pytest.raises(errors.ShapeError, match=r"use \* with a scalar"):
        shapes.matmul((), (2, 2))


def numpy_batch_dot(x: Any, y: Any, x_axis: int, y_axis: int) -> Any:
    """Return batch_dot sample by sample."""
    rows = [np.tensordot(a, b, (x_axis - 1, y_axis - 1)) for a, b in zip(x, y, strict=True)]
    result = np.stack(rows)
    return result if result.ndim > 1 else result[:, None]


@some
@given(st.data(), st.integers(1, 3), SIZES)
def test_batch_dot_is_a_product_per_sample(data: st.DataObject, batch: int, inner: int) -> None:
    x, y = data.draw(SHAPES.filter(len)), data.draw(SHAPES.filter(len))
    i, j = data.draw(st.integers(0, len(x) - 1)), data.draw(st.integers(0, len(y) - 1))
    x, y = (batch, *x[:i], inner, *x[i + 1 :]), (batch, *y[:j], inner, *y[j + 1 :])
    i, j = i + 1, j + 1
    for axes in ((i, j), [i - len(x), j - len(y)], np.array([i, j])):
        assert shapes.batch_dot_axes(x, y, axes) == (i, j)
        agree(
            data,
            lambda a, b, axes=axes: shapes.batch_dot(a, b, axes),
            lambda a, b: numpy_batch_dot(a, b, i, j),
            x,
            y,
        )


@pytest.mark.parametrize(
    ("x", "y", "axes", "expected"),
    [
        ((2, 2), (2, 2), 1, (2, 1)),
        ((2, 2), (2, 2), (1, 1), (2, 1)),
        ((2, 2), (2, 2), (-1, -1), (2, 1)),
        ((2, 2), (2, 2), None, (2, 1)),
        ((100, 20), (100, 30, 20), (1, 2), (100, 30)),
        ((32, 20, 1), (32, 30, 20), (1, 2), (32, 1, 30)),
        ((32, 4, 20), (32, 20, 5), None, (32, 4, 5)),
        ((32, 4, 20), (32, 20), None, (32, 4)),
        ((None, 4), (None, 4), 1, (None, 1)),
        ((None, 4), (7, 4), 1, (7, 1)),
        ((7, 4), (None, None), 1, (7, 1)),
    ],
)
def test_batch_dot_of_the_documentation(x: Shape, y: Shape, axes: Any, expected: Shape) -> None:
    assert shapes.batch_dot(x, y, axes) == expected


@pytest.mark.parametrize(
    ("x", "y", "axes", "error", "text"),
    [
        ((2, 2), (2, 2), 0, errors.AxisError, "cannot contract axis 0, which is the batch"),
        ((2, 2), (2, 2), (1, -2), errors.AxisError, "axis 0"),
        ((2, 2), (2, 2), 2, errors.AxisError, "axis 2 is out of range for rank 2"),
        ((7, 3), (7, 4), None, errors.ShapeError, r"\(7, 3\).*\(7, 4\).*\(1, 1\): 3 != 4"),
        ((7, 3), (8, 3), None, errors.ShapeError, r"batch sizes of \(7, 3\) and \(8, 3\).*7 != 8"),
        ((1, 3), (8, 3), None, errors.ShapeError, "1 != 8"),
        ((7,), (7, 4), None, errors.ShapeError, "need a batch axis and one more"),
        ((7, 3), (7, 3), (1, [1]), errors.ArgumentError, "axes must be None, one integer or two"),
        ((7, 3), (7, 3), (1, 1, 1), errors.ArgumentError, "axes must be None, one integer or two"),
        ((7, 3), (7, 3), 1.0, errors.ArgumentTypeError, "must be an integer"),
    ],
)
def test_batch_dot_faults(x: Shape, y: Shape, axes: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        shapes.batch_dot(x, y, axes)


# --- new arrangements ------------------------------------------------------------------------


@some
@given(st.data(), SHAPES)
def test_rearrangements_without_arguments(data: st.DataObject, shape: Any) -> None:
    agree(data, shapes.transpose, np.transpose, shape)
    agree(data, shapes.flatten, np.ravel, shape)
    pattern = data.draw(st.permutations(range(len(shape))))
    signed = [axis - len(shape) * data.draw(st.booleans()) for axis in pattern]
    agree(
        data,
        lambda x: shapes.permute(x, signed),
        lambda x: np.transpose(x, pattern),
        shape,
    )
    assume(shape)
    rows = np.zeros(shape[1:]).size
    agree(data, shapes.batch_flatten, lambda x: x.reshape(shape[0], rows), shape)


def test_permute_faults() -> None:
    with pytest.raises(errors.AxisError, match=r"\(0, 1\) has 2 axes, but \(2, 3, 4\) has 3"):
        shapes.permute((2, 3, 4), (0, 1))
    with pytest.raises(errors.AxisError, match="twice"):
        shapes.permute((2, 3), (0, 0))
    with pytest.raises(errors.ShapeError, match="no batch axis"):
        shapes.batch_flatten(())


@settings(max_examples=400, deadline=None)
@given(st.data(), SHAPES, st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 12]), max_size=4))
@example(None, (2, 0), [0, -1])
@example(None, (), [])
def test_reshape_is_that_of_numpy(data: Any, shape: Any, target: list[int]) -> None:
    assume(not {0, -1} <= set(target))  # which NumPy refuses, and TensorFlow does not
    if data is not None:
        agree(data, lambda x: shapes.reshape(x, target), lambda x: x.reshape(target), shape)


@some
@given(st.data(), SHAPES.filter(len))
def test_reshape_to_a_shape_that_fits(data: st.DataObject, shape: tuple[int, ...]) -> None:
    target = list(shape[::-1])
    assert shapes.reshape(shape, target) == tuple(target)
    known = hide(data, shape)
    assert fits(shapes.reshape(known, target), tuple(target))
    partial = [symbolic() if size is None else size for size in hide(data, tuple(target))]
    assert fits(shapes.reshape(known, partial), tuple(target))
    free = data.draw(st.integers(0, len(target) - 1))
    assume(0 not in target[:free] + target[free + 1 :])
    partial[free] = -1
    assert fits(shapes.reshape(known, tuple(partial)), tuple(target))


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((2, 6), (-1, 3), (4, 3)),
        ((None, 6), (-1, 3), (None, 3)),
        ((None, 6), (None, 3), (None, 3)),
        ((2, 6), (None, 3), (4, 3)),
        ((2, 6), (None, -1), (None, None)),
        ((2, 6), (-1, symbolic()), (None, None)),
        ((2, 6), symbolic((3,)), (None, None, None)),
        ((None, 0), (0, 5), (0, 5)),
        ((0, 3, 4), (0, -1), (0, 12)),
        ((0, 3), (-1, 0), (3, 0)),
        ((None, 3), (0, -1), (0, None)),
        ((2,), np.array([1, 2]), (1, 2)),
        ((6,), 6, (6,)),
        ((1,), (), ()),
    ],
)
def test_reshape_infers(shape: Shape, target: Any, expected: Shape) -> None:
    assert shapes.reshape(shape, target) == expected


@pytest.mark.parametrize(
    ("shape", "target", "text"),
    [
        (
            (2, 3),
            (4, 2),
            r"^cannot reshape \(2, 3\) to \(4, 2\): "
            r"the numbers of elements, 6 and 8, must be equal$",
        ),
        ((2, 3), (4, -1), r"6 and a multiple of 4"),
        ((None, 6), (4, 2), r"a multiple of 6 and 8"),
        ((2, 3), (-1, -1), r"only one size can be -1, got \(-1, -1\)"),
        ((0, 3), (0, 2, -1), r"-1 in \(0, 2, -1\) cannot be inferred from \(0, 3\)"),
        ((2, 3), (symbolic(), 0), "6 and a multiple of 0"),
        ((2, 3), (-2, 3), "at least -1, got -2"),
    ],
)
def test_reshape_faults(shape: Shape, target: Any, text: str) -> None:
    with pytest.raises(errors.ArgumentError, match=text):
        shapes.reshape(shape, target)


@some
@given(st.data(), SHAPES, st.integers(-5, 4))
def test_expand_dims_is_that_of_numpy(data: st.DataObject, shape: Any, axis: int) -> None:
    agree(data, lambda x: shapes.expand_dims(x, axis), lambda x: np.expand_dims(x, axis), shape)


@some
@given(
    st.data(),
    st.lists(st.integers(1, 2), max_size=4).map(tuple),
    st.integers(-4, 3) | st.lists(st.integers(-4, 3), max_size=2).map(tuple),
)
def test_squeeze_is_that_of_numpy(data: st.DataObject, shape: Any, axis: Any) -> None:
    assume(shape or not isinstance(axis, int))  # NumPy lets a scalar have an axis 0
    agree(data, lambda x: shapes.squeeze(x, axis), lambda x: np.squeeze(x, axis), shape)


def test_squeeze_faults() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        shapes.squeeze((2, 3), 1)
    assert str(caught.value) == (
        "axis 1 of (2, 3) has size 3; only an axis of size 1 can be removed"
    )
    with pytest.raises(errors.ArgumentTypeError, match="got None"):
        shapes.squeeze((1,), None)


# --- repeats and joins -----------------------------------------------------------------------


@some
@given(st.data(), SHAPES.filter(len), st.integers(0, 3), st.integers(-4, 3))
def test_repeat_elements_is_that_of_numpy(
    data: st.DataObject, shape: Any, rep: int, axis: int
) -> None:
    agree(
        data,
        lambda x: shapes.repeat_elements(x, np.int64(rep), axis),
        lambda x: np.repeat(x, rep, axis),
        shape,
    )


@some
@given(st.data(), SHAPES, st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=5))
def test_tile_is_that_of_numpy(data: st.DataObject, shape: Any, n: Any) -> None:
    agree(data, lambda x: shapes.tile(x, n), lambda x: np.tile(x, n), shape)


def test_repeats_of_unknown_number() -> None:
    assert shapes.repeat((None, 3), 2) == (None, 2, 3)
    assert shapes.repeat((5, 3), symbolic()) == (5, None, 3)
    assert shapes.repeat_elements((2, 0), None, 1) == (2, 0)
    assert shapes.tile((2, 3), symbolic((2,))) == (None, None)
    assert shapes.tile((2, 3), (symbolic(), 2)) == (None, 6)


def test_repeat_faults() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        shapes.repeat((2, 3, 4), 2)
    assert str(caught.value) == "expected a matrix (batch, features), got (2, 3, 4) of rank 3"
    with pytest.raises(errors.ArgumentError, match="rep must be at least 0, got -1"):
        shapes.repeat_elements((2,), -1, 0)
    with pytest.raises(errors.ArgumentTypeError, match=r"n must be an integer, got 1\.5"):
        shapes.repeat((2, 3), 1.5)


@some
@given(st.data(), SHAPES, st.integers(1, 3), st.integers(-4, 3), st.booleans())
def test_joins_are_those_of_numpy(
    data: st.DataObject, shape: Any, n: int, axis: int, spoil: bool
) -> None:
    several = [list(shape) for _ in range(n)]
    if shape and -len(shape) <= axis < len(shape):
        for one in several:
            one[axis] = data.draw(SIZES)
    if spoil:
        several[-1] = list(data.draw(SHAPES))
    parts = [tuple(one) for one in several]
    agree(
        data,
        lambda *xs: shapes.concatenate(xs, axis),
        lambda *xs: np.concatenate(xs, axis),
        *parts,
    )
    agree(data, lambda *xs: shapes.stack(xs, axis), lambda *xs: np.stack(xs, axis), *parts)


def test_joins_learn_from_each_other() -> None:
    assert shapes.concatenate([(None, 3), (2, 4), (2, None)], 1) == (2, None)
    assert shapes.concatenate([(None, 3), (2, 4)]) == (2, 7)
    assert shapes.stack([(None, 3), (2, None)], -1) == (2, 3, 2)
    assert shapes.stack([(), ()]) == (2,)


@pytest.mark.parametrize(
    ("rule", "parts", "text"),
    [
        (
            shapes.concatenate,
            [(2, 3), (4, 3)],
            r"^\(2, 3\) and \(4, 3\) do not fit: axis 0 is 2 and 4; sizes must be equal except on "
            r"axis 1$",
        ),
        (shapes.concatenate, [(None, 3), (2, 3), (4, 3)], "axis 0 is 2 and 4"),
        (shapes.concatenate, [(2, 3), (3,)], r"the ranks of \(2, 3\) and \(3,\) differ"),
        (shapes.concatenate, [], "at least one tensor"),
        (shapes.concatenate, [(), ()], "a tensor of rank 0 has no axes"),
        (shapes.stack, [(2, 3), (2, 4)], "axis 1 is 3 and 4; sizes must be equal$"),
        (shapes.stack, [], "at least one tensor"),
    ],
)
def test_join_faults(rule: Any, parts: Any, text: str) -> None:
    with pytest.raises(errors.ArgumentError, match=text):
        rule(parts)


@some
@given(st.data(), SHAPES)
def test_pad_is_that_of_numpy(data: st.DataObject, shape: Any) -> None:
    pairs = tuple((data.draw(SIZES), data.draw(SIZES)) for _ in shape)
    agree(data, lambda x: shapes.pad(x, pairs), lambda x: np.pad(x, pairs) if pairs else x, shape)


def test_pad_faults() -> None:
    with pytest.raises(errors.ArgumentError, match=r"2 pairs are needed for \(2, 3\)"):
        shapes.pad((2, 3), ((1, 1),))
    with pytest.raises(errors.ArgumentError, match="at least 0"):
        shapes.pad((2,), ((1, -1),))


def test_resize() -> None:
    assert shapes.resize((2, 3, None, 5), (2, 3), (1, 2)) == (2, 6, None, 5)
    assert shapes.resize((2, 3, 4, 5), 2, -1) == (2, 3, 4, 10)
    with pytest.raises(errors.ArgumentError, match="a factor must be at least 1, got 0"):
        shapes.resize((2, 3), (0,), (1,))
    with pytest.raises(errors.ArgumentError, match="1 factors are needed"):
        shapes.resize((2, 3), (2, 2), (1,))
    with pytest.raises(errors.ArgumentTypeError, match="a factor must be an integer"):
        shapes.resize((2, 3), (1.5,), (1,))
