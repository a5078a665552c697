"""Shape rules against what NumPy (for windows: PyTorch) really gives, known and unknown sizes.

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
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from kbridge import errors
from kbridge.symbolic import conv_shapes, shapes

Shape = tuple[int | None, ...]

some = settings(max_examples=150, deadline=None)
few = settings(max_examples=40, deadline=None)

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
        ((0, 3), (0, -1), r"-1 in \(0, -1\) cannot be inferred: another size is 0"),
        ((None, 3), (0, -1), "cannot be inferred"),
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


# --- parts -----------------------------------------------------------------------------------


@some
@given(st.data(), SHAPES.filter(len), SHAPES)
def test_gather_is_that_of_numpy(data: st.DataObject, reference: Any, indices: Any) -> None:
    assume(reference[0] > 0)
    agree(data, shapes.gather, lambda x, i: x[i], reference, indices)


@some
@given(st.data(), SHAPES, SIZES)
def test_one_hot_has_an_axis_of_classes(data: st.DataObject, shape: Any, n: int) -> None:
    assume(n)
    agree(data, lambda x: shapes.one_hot(x, n), lambda x: np.eye(n)[x], shape)
    agree(
        data,
        lambda x: shapes.one_hot(x, n, 0),
        lambda x: np.moveaxis(np.eye(n)[x], -1, 0),
        shape,
    )


def test_gather_and_one_hot_faults() -> None:
    with pytest.raises(errors.ShapeError, match="a scalar has no rows"):
        shapes.gather((), (2,))
    with pytest.raises(errors.ArgumentError, match="the number of classes must be at least 0"):
        shapes.one_hot((2,), -1)
    assert shapes.one_hot((2,), symbolic()) == (2, None)


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
    agree(data, lambda x: shapes.slice_(x, start, np.array(size, int)), lambda x: x[key], shape)


def test_slice_of_unknown_bounds() -> None:
    assert shapes.slice_((5, 6), (symbolic(), 1), (-1, symbolic())) == (None, None)
    assert shapes.slice_((5, None), (symbolic(), 1), (2, -1)) == (2, None)
    assert shapes.slice_((5,), 1, 2) == (2,)


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
        shapes.slice_((2, 4), start, size)


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
            shapes.getitem(shape, key)
        return
    if key_faults(key) > 1:
        with pytest.raises((errors.ArgumentError, errors.UnsupportedError)):
            shapes.getitem(shape, key)
        return
    try:
        agree(data, lambda x: shapes.getitem(x, key), lambda x: x[key], shape)
    except errors.UnsupportedError:
        plain = tuple(0 if isinstance(e, np.ndarray) and e.ndim else e for e in key)
        in_place = shapes.getitem(shape, plain)
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
    assert shapes.getitem(shape, key) == expected


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
        shapes.getitem((2, 3), key)


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


# --- windows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "n", "expected"),
    [
        (2, 3, (2, 2, 2)),
        ((1,), 1, (1,)),
        ([1, 2], 2, (1, 2)),
        (np.array([3, 4]), 2, (3, 4)),
        (np.int64(2), 2, (2, 2)),
    ],
)
def test_tuple_of(value: Any, n: int, expected: tuple[int, ...]) -> None:
    assert conv_shapes.tuple_of(value, n, "strides") == expected


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ((1, 2, 3), errors.ArgumentError, r"^strides must be one integer or 2 of them, got \(1, 2"),
        (0, errors.ArgumentError, "^strides must be positive, got 0$"),
        ((1, -1), errors.ArgumentError, "^strides must be positive"),
        (1.0, errors.ArgumentTypeError, "^strides must be an integer, got 1.0"),
        ((1, True), errors.ArgumentTypeError, "^strides must be an integer, got True"),
        (None, errors.ArgumentTypeError, "^strides must be an integer, got None"),
    ],
)
def test_tuple_of_faults(value: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        conv_shapes.tuple_of(value, 2, "strides")


def test_check_padding() -> None:
    assert conv_shapes.check_padding("same") == "same"
    assert conv_shapes.check_padding("causal", causal=True) == "causal"
    with pytest.raises(errors.ArgumentError) as caught:
        conv_shapes.check_padding("full")
    assert str(caught.value) == 'padding must be "valid" or "same", got \'full\''
    with pytest.raises(errors.ArgumentError, match='"valid", "same" or "causal", got None'):
        conv_shapes.check_padding(None, causal=True)


def test_channel_axis() -> None:
    assert conv_shapes.channel_axis(4, "channels_last") == 3
    assert conv_shapes.channel_axis(4, "channels_first") == 1
    with pytest.raises(errors.ArgumentError) as caught:
        conv_shapes.channel_axis(4, "tf")
    assert str(caught.value) == (
        'data_format must be "channels_last" or "channels_first", got \'tf\''
    )


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "expected"),
    [
        (5, 3, 1, 1, (1, 1)),
        (2, 3, 2, 1, (0, 1)),
        (1, 3, 2, 1, (1, 1)),
        (5, 2, 1, 1, (0, 1)),
        (6, 3, 2, 1, (0, 1)),
        (4, 1, 2, 1, (0, 0)),
        (5, 3, 1, 2, (2, 2)),
    ],
)
def test_same_padding_puts_the_odd_one_after(
    size: int, kernel: int, stride: int, dilation: int, expected: tuple[int, int]
) -> None:
    assert conv_shapes.same_padding(size, kernel, stride, dilation) == expected


class Windows:
    """A drawn convolution or pooling, computed by PyTorch; all is channels first."""

    def __init__(self, data: st.DataObject, causal: bool = True) -> None:
        draw = data.draw
        self.n = n = draw(st.integers(1, 3))
        several = st.tuples(*[st.integers(1, 3)] * n)
        self.batch, self.channels, self.filters = draw(st.tuples(*[st.integers(1, 2)] * 3))
        self.spatial = draw(st.tuples(*[st.integers(1, 7 if n < 3 else 4)] * n))
        self.kernel, self.strides, self.dilation = draw(several), draw(several), (1,) * n
        if draw(st.booleans()):
            self.strides, self.dilation = self.dilation, self.strides
        rules = ["valid", "same", *(["causal"] if n == 1 and causal else [])]
        self.padding = draw(st.sampled_from(rules))

    def padded(self, fill: float = 0.0) -> Any:
        """Return an input padded by hand, so that "valid" is left."""
        torch = pytest.importorskip("torch")
        pairs: list[int] = []
        axes = zip(self.spatial, self.kernel, self.strides, self.dilation, strict=True)
        for size, kernel, stride, dilation in axes:
            pair = (0, 0)
            if self.padding == "same":
                pair = conv_shapes.same_padding(size, kernel, stride, dilation)
            elif self.padding == "causal":
                pair = ((kernel - 1) * dilation, 0)
            pairs = [*pair, *pairs]  # PyTorch counts from the last axis
        x = torch.zeros((self.batch, self.channels, *self.spatial))
        return torch.nn.functional.pad(x, pairs, value=fill)

    def conv(self, kernel: tuple[int, ...], groups: int = 1) -> tuple[int, ...]:
        """Return the shape of PyTorch's convolution; ``kernel`` is in its own layout."""
        torch = pytest.importorskip("torch")
        run = getattr(torch.nn.functional, f"conv{self.n}d")
        w = torch.zeros(kernel)
        args = {"stride": self.strides, "dilation": self.dilation, "groups": groups}
        return tuple(run(self.padded(), w, **args).shape)

    def check(
        self,
        data: st.DataObject,
        rule: Callable[..., Shape],
        truth: Callable[[], tuple[int, ...]],
        *others: tuple[int, ...],
    ) -> None:
        """Check the rule, called with (data_format, x, *others), in both data formats."""
        first = (self.batch, self.channels, *self.spatial)
        last = (self.batch, *self.spatial, self.channels)
        try:
            out = truth()
        except RuntimeError:  # a window larger than the input
            with pytest.raises(errors.ShapeError, match="does not fit on a spatial axis"):
                rule("channels_first", first, *others)
            return
        for data_format, x, expected in (
            ("channels_first", first, out),
            ("channels_last", last, (out[0], *out[2:], out[1])),
        ):
            assert rule(data_format, x, *others) == expected
            static = rule(data_format, *[hide(data, shape) for shape in (x, *others)])
            assert fits(static, expected), f"{static} for {expected}"


@some
@given(st.data())
def test_conv_is_that_of_torch(data: st.DataObject) -> None:
    w = Windows(data)
    w.check(
        data,
        lambda fmt, x, k: conv_shapes.conv(x, k, w.strides, w.padding, fmt, w.dilation, w.n),
        lambda: w.conv((w.filters, w.channels, *w.kernel)),
        (*w.kernel, w.channels, w.filters),
    )


@some
@given(st.data())
def test_depthwise_and_separable_conv_are_those_of_torch(data: st.DataObject) -> None:
    w = Windows(data)
    grouped = (w.channels * w.filters, 1, *w.kernel)
    depthwise = (*w.kernel, w.channels, w.filters)

    def rule(fmt: str, x: Shape, k: Shape) -> Shape:
        return conv_shapes.depthwise_conv(x, k, w.strides, w.padding, fmt, w.dilation)

    w.check(data, rule, lambda: w.conv(grouped, groups=w.channels), depthwise)

    def separable(fmt: str, x: Shape, k: Shape, p: Shape) -> Shape:
        return conv_shapes.separable_conv(x, k, p, w.strides, w.padding, fmt, w.dilation)

    def truth() -> tuple[int, ...]:
        out = w.conv(grouped, groups=w.channels)
        return (out[0], 5, *out[2:])

    w.check(data, separable, truth, depthwise, (*[1] * w.n, w.channels * w.filters, 5))


@some
@given(st.data())
def test_pool_is_that_of_torch(data: st.DataObject) -> None:
    torch = pytest.importorskip("torch")
    w = Windows(data, causal=False)
    w.dilation = (1,) * w.n
    run = getattr(torch.nn.functional, f"max_pool{w.n}d")
    w.check(
        data,
        lambda fmt, x: conv_shapes.pool(x, w.kernel, w.strides, w.padding, fmt, w.n),
        lambda: tuple(run(w.padded(), w.kernel, w.strides).shape),
    )


@some
@given(st.data())
def test_conv_transpose_undoes_a_conv_of_torch(data: st.DataObject) -> None:
    w = Windows(data, causal=False)
    try:
        small = w.conv((w.filters, w.channels, *w.kernel))
    except RuntimeError:
        return
    kernel = (*w.kernel, w.channels, w.filters)  # (spatial, out, in) of the transposed one
    large = (w.batch, w.channels, *w.spatial)
    for fmt in ("channels_first", "channels_last"):
        if fmt == "channels_last":
            small, large = (
                (small[0], *small[2:], small[1]),
                (large[0], *large[2:], large[1]),
            )
        rest = w.strides, w.padding, fmt, w.dilation, w.n
        assert conv_shapes.conv_transpose(small, kernel, large, *rest) == large
        static = conv_shapes.conv_transpose(
            hide(data, small), hide(data, kernel), hide(data, large), *rest
        )
        assert fits(static, large)


@some
@given(st.data())
def test_local_conv_has_a_kernel_per_window(data: st.DataObject) -> None:
    w = Windows(data, causal=False)
    w.padding, w.dilation = "valid", (1,) * w.n
    try:
        out = w.conv((w.filters, w.channels, *w.kernel))
    except RuntimeError:
        return
    elements = int(np.prod(w.kernel)) * w.channels
    kernel = (int(np.prod(out[2:])), elements, w.filters)
    for given_shape in (None, out[2:]):
        w.check(
            data,
            lambda fmt, x, k, given_shape=given_shape: conv_shapes.local_conv(
                x, k, w.kernel, w.strides, fmt, given_shape
            ),
            lambda: out,
            kernel,
        )


def test_local_conv_fills_in_what_is_unknown() -> None:
    x = (None, None, 2)
    assert conv_shapes.local_conv(x, (4, 6, 5), 3, 1, "channels_last") == (None, 4, 5)
    x2 = (None, None, None, 2)
    wanted = (None, 2, 3, 5)
    assert conv_shapes.local_conv(x2, (6, 8, 5), 2, 1, "channels_last", (2, 3)) == wanted


@few
@given(st.data(), st.lists(st.integers(1, 3), min_size=2, max_size=5).map(tuple))
def test_bias_add_is_an_addition_that_keeps_the_shape(data: st.DataObject, x: Any) -> None:
    for fmt in ("channels_last", "channels_first"):
        channels = x[conv_shapes.channel_axis(len(x), fmt)]
        spatial = x[1:-1] if fmt == "channels_last" else x[2:]
        full = tuple(data.draw(st.sampled_from([1, size])) for size in (*spatial, channels))
        for bias in ((channels,), full) if len(x) > 2 else ((channels,),):
            assert conv_shapes.bias_add(x, bias, fmt) == x
            assert fits(conv_shapes.bias_add(hide(data, x), hide(data, bias), fmt), x)


LAST = "channels_last"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 4, 8), 1, "valid", LAST),
            r"^there are 3 channels, but the kernel \(3, 3, 4, 8\) is for 4 \(its axis -2\)$",
        ),
        (
            lambda: conv_shapes.conv((1, 2, 5, 3), (3, 3, 3, 8), 1, "valid", LAST),
            r"^a window of 3 does not fit on a spatial axis of 2 elements; use a smaller one",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), 2, "same", LAST, (1, 2)),
            r"^strides \(2, 2\) and dilation_rate \(1, 2\) cannot both be above 1",
        ),
        (
            lambda: conv_shapes.conv((5, 5, 3), (3, 3, 3, 8), 1, "same", LAST, 1, 2),
            r"^the input \(5, 5, 3\) has rank 3, expected 4: .*, and 2 spatial axes$",
        ),
        (
            lambda: conv_shapes.conv((5, 3), (3, 3, 3), 1, "same", LAST),
            r"has rank 2, expected 3, 4 or 5",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 8), 1, "same", LAST),
            r"^the kernel \(3, 3, 8\) has rank 3, expected 4: 2 spatial sizes",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 3), (0, 3, 8), 1, "same", LAST),
            r"^the kernel \(0, 3, 8\) is empty",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), 1, "causal", LAST),
            "padding must be",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), (1, 1, 1), "same", LAST),
            "strides must be one integer or 2 of them",
        ),
        (
            lambda: conv_shapes.conv((1, 5, 5, 3), (3, 3, 3, 8), 1, "same", None),
            "data_format must be",
        ),
        (
            lambda: conv_shapes.separable_conv((1, 5, 3), (3, 3, 2), (1, 5, 8), 1, "same", LAST),
            r"there are 6 channels, but the pointwise kernel \(1, 5, 8\) is for 5",
        ),
        (
            lambda: conv_shapes.separable_conv((1, 5, 3), (3, 3, 2), (2, 6, 8), 1, "same", LAST),
            "must have size 1 on its spatial axes",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 3), (3, 3, 8, 3), (1, 9, 9, 8), 2, "same", LAST
            ),
            r"^output_shape \(1, 9, 9, 8\) does not fit: .*\(5, 5\), but the input has \(4, 4\)$",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 3), (3, 3, 8, 3), (2, 8, 8, 8), 2, "same", LAST
            ),
            "the batch of output_shape",
        ),
        (
            lambda: conv_shapes.conv_transpose((1, 4, 4, 3), (3, 3, 8, 3), (8, 8), 2, "same", LAST),
            r"^output_shape \(8, 8\) has 2 sizes, expected 4",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 3), (3, 3, 8, 3), (1, 8, 8, 7), 2, "same", LAST
            ),
            r"there are 7 channels, but the kernel \(3, 3, 8, 3\) is for 8 \(its axis -2\)",
        ),
        (
            lambda: conv_shapes.conv_transpose(
                (1, 4, 4, 5), (3, 3, 8, 3), (1, 8, 8, 8), 2, "same", LAST
            ),
            r"there are 5 channels, but the kernel \(3, 3, 8, 3\) is for 3 \(its axis -1\)",
        ),
        (
            lambda: conv_shapes.pool((1, 2, 2, 3), 3, 1, "valid", LAST),
            "a window of 3 does not fit",
        ),
        (
            lambda: conv_shapes.pool((1, 2, 2, 3), 0, 1, "valid", LAST),
            "pool_size must be positive, got 0",
        ),
        (
            lambda: conv_shapes.local_conv((1, 6, 2), (5, 6, 4), 3, 1, LAST),
            r"the kernel \(5, 6, 4\) must have the shape .*, here \(4, 6, 4\)$",
        ),
        (
            lambda: conv_shapes.local_conv((1, 6, 2), (6, 4), 3, 1, LAST),
            r"the kernel \(6, 4\) must have the shape \(windows",
        ),
        (
            lambda: conv_shapes.local_conv((1, 6, 2), (4, 6, 4), 3, 1, LAST, (5,)),
            r"output_shape \(5,\) does not fit: the numbers of windows are \(4,\)",
        ),
        (
            lambda: conv_shapes.bias_add((1, 5, 3), (4,), LAST),
            r"the bias \(4,\) does not fit \(1, 5, 3\): 4 != 3 on axis 2",
        ),
        (
            lambda: conv_shapes.bias_add((1, 5, 3), (1,), LAST),
            "1 != 3 on axis 2",
        ),
        (
            lambda: conv_shapes.bias_add((1, 5, 6, 3), (5, 3), LAST),
            r"the bias \(5, 3\) has rank 2, expected 1 \(one per channel\) or 3",
        ),
        (
            lambda: conv_shapes.bias_add((3,), (3,), LAST),
            "needs a rank of at least 2",
        ),
    ],
)
def test_window_faults(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(errors.ArgumentError, match=text):
        call()


def test_causal_has_a_step_per_stride() -> None:
    for size in range(1, 8):
        for stride in (1, 2, 3):
            x, out = (1, size, 2), (1, -(-size // stride), 4)
            assert conv_shapes.conv(x, (3, 2, 4), stride, "causal", LAST) == out
