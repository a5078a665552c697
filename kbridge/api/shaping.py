"""Functions that change the shape, pick or arrange elements."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike, as_axis, as_data_format, as_dtype, check_dims, known_sizes
from kbridge.symbolic import index_shapes, shapes


def _first(tensors: Any) -> Any:
    return [tensor.shape for tensor in tensors]


@operation(
    "x",
    shape=lambda x, shape: shapes.reshape(x.shape, known_sizes(shape)),
    host_arguments="shape",
    resolve={"shape": check_dims},
    host=True,
)
def reshape(x: TensorLike, shape: Any) -> Any:
    """The elements of ``x``, in the same order, in another shape.

    ``shape`` is a tuple, whose sizes may be integers or scalar tensors such as ``K.shape(x)[0]``,
    or a vector of such; one size may be -1, and follows from the others. Beside a size of 0, as
    that of an empty batch, it follows from those that are not 0. Another number of elements raises
    ShapeError.

    >>> K.eval(K.reshape(K.constant([1.0, 2.0, 3.0, 4.0]), (2, -1))).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """


@operation("x", shape=lambda x, pattern: shapes.permute(x.shape, pattern))
def permute_dimensions(x: TensorLike, pattern: Any) -> Any:
    """``x`` with its axes in the order of ``pattern``, which names each axis once.

    An axis that is missing or named twice raises AxisError.

    >>> K.int_shape(K.permute_dimensions(K.placeholder((None, 5, 3)), (0, 2, 1)))
    (None, 3, 5)
    """


@operation(
    "tensors*",
    shape=lambda tensors, axis: shapes.concatenate(_first(tensors), axis),
    resolve={"axis": as_axis},
    host=True,
)
def concatenate(tensors: Any, axis: int = -1) -> Any:
    """The tensors of a list, joined along ``axis``; mixed dtypes are promoted.

    The sizes on the other axes must be equal; else ShapeError is raised. Sparse tensors alone give
    a sparse one, beside dense tensors they become dense.

    >>> K.eval(K.concatenate([K.constant([[1.0], [2.0]]), K.constant([[3.0], [4.0]])])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """


@operation(
    "x*",
    shape=lambda x, axis: shapes.stack(_first(x), axis),
    resolve={"axis": as_axis},
    host=True,
)
def stack(x: Any, axis: int = 0) -> Any:
    """The tensors of a list, of one shape, stacked along a new ``axis``; mixed dtypes are promoted.

    Shapes that differ raise ShapeError, and an empty list ArgumentError.

    >>> K.eval(K.stack([K.constant([1.0, 2.0]), K.constant([3.0, 4.0])])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """


@operation(
    "x",
    shape=lambda x, rep, axis: shapes.repeat_elements(x.shape, known_sizes(rep), axis),
    host_arguments="rep",
    resolve={"axis": as_axis},
    host=True,
)
def repeat_elements(x: TensorLike, rep: Any, axis: int) -> Any:
    """Each element along ``axis`` repeated ``rep`` times in a row, as ``np.repeat``.

    (a, b, c) with ``axis=1`` becomes (a, b * rep, c). ``K.tile`` repeats the whole instead.

    >>> K.eval(K.repeat_elements(K.constant([[1.0, 2.0]]), 2, axis=1)).tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    """


@operation("x", shape=lambda x, n: shapes.repeat(x.shape, known_sizes(n)), host_arguments="n")
def repeat(x: TensorLike, n: Any) -> Any:
    """A matrix (samples, dim) repeated ``n`` times on a new axis: (samples, n, dim).

    A tensor of another rank raises ShapeError.

    >>> K.eval(K.repeat(K.constant([[1.0, 2.0]]), 2)).tolist()
    [[[1.0, 2.0], [1.0, 2.0]]]
    """


@operation(
    "x", shape=lambda x, n: shapes.tile(x.shape, known_sizes(n)), host_arguments="n", host=True
)
def tile(x: TensorLike, n: Any) -> Any:
    """``x`` laid side by side ``n[i]`` times along axis ``i``, as ``np.tile``.

    ``n`` has an integer per axis, or is a vector of them; one integer is for the last axis.

    >>> K.eval(K.tile(K.constant([[1.0, 2.0]]), (2, 2))).tolist()
    [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    """


@operation("x", shape=lambda x: shapes.flatten(x.shape), host=True)
def flatten(x: TensorLike) -> Any:
    """The elements of ``x`` as one vector.

    >>> K.eval(K.flatten(K.constant([[1.0, 2.0], [3.0, 4.0]]))).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """


@operation("x", shape=lambda x: shapes.batch_flatten(x.shape))
def batch_flatten(x: TensorLike) -> Any:
    """``x`` as a matrix: the first axis is kept, the others become one.

    >>> K.int_shape(K.batch_flatten(K.placeholder((None, 4, 5))))
    (None, 20)
    """


@operation(
    "x",
    shape=lambda x, axis: shapes.expand_dims(x.shape, axis),
    resolve={"axis": as_axis},
    host=True,
)
def expand_dims(x: TensorLike, axis: int = -1) -> Any:
    """``x`` with a new axis of size 1, which is ``axis`` of the result.

    >>> K.int_shape(K.expand_dims(K.placeholder((None, 5)), 1))
    (None, 1, 5)
    """


@operation(
    "x", shape=lambda x, axis: shapes.squeeze(x.shape, axis), resolve={"axis": as_axis}, host=True
)
def squeeze(x: TensorLike, axis: int) -> Any:
    """``x`` without ``axis``, which must have size 1; any other size raises ShapeError.

    >>> K.int_shape(K.squeeze(K.placeholder((None, 1, 5)), 1))
    (None, 5)
    """


@operation("x", shape=lambda x, pairs, value: shapes.pad(x.shape, pairs), public=False)
def pad(x: TensorLike, pairs: Any, value: float = 0.0) -> Any:
    """``x`` with a (before, after) pair of constant elements on each axis."""


@composite
def temporal_padding(K: Any, x: TensorLike, padding: Any = (1, 1)) -> Any:
    """Zeros before and after the middle axis of a tensor (samples, steps, dim).

    ``padding`` is a pair (before, after), or one integer for both. A tensor of another rank raises
    ShapeError.

    >>> K.eval(K.temporal_padding(K.constant([[[7.0]]]), (1, 2))).tolist()
    [[[0.0], [7.0], [0.0], [0.0]]]
    """
    (pair,) = shapes.padding_pairs(padding, 1)
    _need_rank(K, x, 3)
    return K.pad(x, ((0, 0), pair, (0, 0)))


@composite
def spatial_2d_padding(
    K: Any, x: TensorLike, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around the two spatial axes of a tensor of rank 4.

    ``padding`` is a pair (before, after) for each spatial axis, an integer for each, or one for
    all. ``data_format`` tells where the channels are; None is the configured one. A tensor of
    another rank raises ShapeError.

    >>> K.int_shape(K.spatial_2d_padding(K.ones((1, 4, 4, 3)), ((1, 2), (0, 3)), "channels_last"))
    (1, 7, 7, 3)
    """
    _need_rank(K, x, 4)
    return K.pad(x, _around(shapes.padding_pairs(padding, 2), data_format))


@composite
def spatial_3d_padding(
    K: Any, x: TensorLike, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around the three spatial axes of a tensor of rank 5.

    ``padding`` is a pair (before, after) for each spatial axis, an integer for each, or one for
    all. ``data_format`` tells where the channels are; None is the configured one. A tensor of
    another rank raises ShapeError.

    >>> K.int_shape(K.spatial_3d_padding(K.ones((1, 3, 4, 4, 4)), (1, 2, 3), "channels_first"))
    (1, 3, 6, 8, 10)
    """
    _need_rank(K, x, 5)
    return K.pad(x, _around(shapes.padding_pairs(padding, 3), data_format))


def _need_rank(K: Any, x: Any, rank: int) -> None:
    from kbridge.errors import ShapeError

    if K.ndim(x) != rank:
        raise ShapeError(f"padding needs a tensor of rank {rank}, got the shape {K.int_shape(x)}")


def _around(pairs: Any, data_format: str | None) -> Any:
    none = ((0, 0),)
    if as_data_format(data_format) == "channels_last":
        return (*none, *pairs, *none)
    return (*none, *none, *pairs)


@operation(
    "reference indices",
    shape=lambda reference, indices: index_shapes.gather(reference.shape, indices.shape),
    dtype=lambda reference, indices: reference.dtype,
    differentiable="reference",
    host=True,
)
def gather(reference: TensorLike, indices: TensorLike) -> Any:
    """The rows of ``reference`` at ``indices``, with the dtype of ``reference``.

    ``indices`` of the shape (a, b) pick from (rows, c) the result (a, b, c). An index less than 0
    or past the last row raises IndexRangeError, which names the index and the range; only under a
    user's own ``jax.jit`` no check is possible.

    >>> rows = K.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> K.eval(K.gather(rows, K.constant([2, 0], dtype="int32"))).tolist()
    [[5.0, 6.0], [1.0, 2.0]]
    """


@operation(
    "indices",
    shape=lambda indices, n, dtype: index_shapes.one_hot(
        indices.shape, shapes.dimension(known_sizes(n), "num_classes")
    ),
    dtype=lambda indices, num_classes, dtype: dtype,
    host_arguments="num_classes",
    resolve={"dtype": as_dtype},
    differentiable=False,
)
def one_hot(indices: TensorLike, num_classes: Any, dtype: Any = None) -> Any:
    """A new last axis of ``num_classes``, 1 at the index and 0 elsewhere, in floatx.

    An index outside ``[0, num_classes)`` gives zeros only. It is not differentiable.

    >>> K.eval(K.one_hot(K.constant([1, 0, 5], dtype="int32"), 2)).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """


@operation(
    "x", shape=lambda x, axes: shapes.reverse(x.shape, axes), resolve={"axes": as_axis}, host=True
)
def reverse(x: TensorLike, axes: Any) -> Any:
    """``x`` with the order along ``axes``, an integer or a list of them, turned round.

    >>> K.eval(K.reverse(K.constant([[1.0, 2.0], [3.0, 4.0]]), axes=1)).tolist()
    [[2.0, 1.0], [4.0, 3.0]]
    """


@operation(
    "x",
    shape=lambda x, start, size: index_shapes.slice_(
        x.shape, known_sizes(start), known_sizes(size)
    ),
    host_arguments="start size",
    host=True,
)
def slice(x: TensorLike, start: Any, size: Any) -> Any:
    """The block of ``x`` that begins at ``start`` and has ``size`` elements on each axis.

    Both have an integer per axis, or are vectors of them; a size of -1 takes the rest of the axis.
    A block that reaches past the end raises ShapeError.

    >>> K.eval(K.slice(K.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (0, 1), (-1, 2))).tolist()
    [[2.0, 3.0], [5.0, 6.0]]
    """


@composite
def pattern_broadcast(K: Any, x: TensorLike, broadcastable: Any) -> Any:
    """``x`` itself, after a check that it has size 1 on each axis marked in ``broadcastable``.

    ``broadcastable`` has a truth value for each axis of ``x``, as in Theano, where an axis had to
    be marked to broadcast. Here every axis of size 1 does. A size that only the run knows passes;
    one known not to be 1 raises ShapeError, another number of entries ArgumentError.

    >>> K.int_shape(K.pattern_broadcast(K.placeholder((None, 1, 3)), (False, True, False)))
    (None, 1, 3)
    """
    from kbridge.errors import ArgumentError, ArgumentTypeError, ShapeError

    if not hasattr(broadcastable, "__len__") or isinstance(broadcastable, str):
        raise ArgumentTypeError(
            f"broadcastable must be a list of truth values, got {broadcastable!r:.80}"
        )
    marks, shape = tuple(map(bool, broadcastable)), K.int_shape(x)
    if len(marks) != len(shape):
        raise ArgumentError(
            f"broadcastable must have an entry for each of the {len(shape)} axes of {shape}, got "
            f"{marks}"
        )
    for axis, (mark, size) in enumerate(zip(marks, shape, strict=True)):
        if mark and size not in (1, None):
            raise ShapeError(
                f"axis {axis} of {shape} cannot broadcast: its size is {size}, and broadcastable "
                f"{marks} asks for 1"
            )
    return K.identity(x)
