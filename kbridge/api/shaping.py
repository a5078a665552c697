"""Functions that change the shape, pick or arrange elements."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike, as_axis, as_data_format
from kbridge.symbolic import shapes


def _first(tensors: Any) -> Any:
    return [tensor.shape for tensor in tensors]


@operation(
    "x",
    shape=lambda x, shape: shapes.reshape(x.shape, _known(shape)),
    host_arguments="shape",
)
def reshape(x: TensorLike, shape: Any) -> Any:
    """The elements of ``x`` in another shape; one size may be -1."""


def _known(value: Any) -> Any:
    from kbridge.symbolic import host

    known = host.known(value)
    return value if known is None else known


@operation("x", shape=lambda x, pattern: shapes.permute(x.shape, pattern))
def permute_dimensions(x: TensorLike, pattern: Any) -> Any:
    """``x`` with its axes in the order of ``pattern``."""


@operation(
    "tensors*",
    shape=lambda tensors, axis: shapes.concatenate(_first(tensors), axis),
    resolve={"axis": as_axis},
    host=True,
)
def concatenate(tensors: Any, axis: int = -1) -> Any:
    """The tensors of a list, joined along ``axis``; mixed dtypes promote."""


@operation(
    "x*",
    shape=lambda x, axis: shapes.stack(_first(x), axis),
    resolve={"axis": as_axis},
    host=True,
)
def stack(x: Any, axis: int = 0) -> Any:
    """The tensors of a list, stacked along a new ``axis``; mixed dtypes promote."""


@operation(
    "x",
    shape=lambda x, rep, axis: shapes.repeat_elements(x.shape, rep, axis),
    host_arguments="rep",
    resolve={"axis": as_axis},
)
def repeat_elements(x: TensorLike, rep: Any, axis: int) -> Any:
    """Each element along ``axis`` repeated ``rep`` times, as ``np.repeat``."""


@operation("x", shape=lambda x, n: shapes.repeat(x.shape, n), host_arguments="n")
def repeat(x: TensorLike, n: Any) -> Any:
    """(samples, dim) repeated to (samples, n, dim)."""


@operation("x", shape=lambda x, n: shapes.tile(x.shape, _known(n)), host_arguments="n")
def tile(x: TensorLike, n: Any) -> Any:
    """``x`` tiled ``n[i]`` times along axis ``i``."""


@operation("x", shape=lambda x: shapes.flatten(x.shape))
def flatten(x: TensorLike) -> Any:
    """The elements of ``x`` as a vector."""


@operation("x", shape=lambda x: shapes.batch_flatten(x.shape))
def batch_flatten(x: TensorLike) -> Any:
    """``x`` as a matrix: the first axis is kept, the others become one."""


@operation("x", shape=lambda x, axis: shapes.expand_dims(x.shape, axis), resolve={"axis": as_axis})
def expand_dims(x: TensorLike, axis: int = -1) -> Any:
    """``x`` with a new axis of size 1."""


@operation("x", shape=lambda x, axis: shapes.squeeze(x.shape, axis), resolve={"axis": as_axis})
def squeeze(x: TensorLike, axis: int) -> Any:
    """``x`` without ``axis``, whose size must be 1."""


@operation("x", shape=lambda x, pairs, value: shapes.pad(x.shape, pairs), public=False)
def pad(x: TensorLike, pairs: Any, value: float = 0.0) -> Any:
    """``x`` with a (before, after) pair of constant elements on each axis."""


@composite
def temporal_padding(K: Any, x: TensorLike, padding: Any = (1, 1)) -> Any:
    """Zeros before and after the middle axis of a 3-D tensor."""
    (pair,) = shapes.padding_pairs(padding, 1)
    _need_rank(K, x, 3)
    return K.pad(x, ((0, 0), pair, (0, 0)))


@composite
def spatial_2d_padding(
    K: Any, x: TensorLike, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around the two spatial axes of a 4-D tensor."""
    _need_rank(K, x, 4)
    return K.pad(x, _around(shapes.padding_pairs(padding, 2), data_format))


@composite
def spatial_3d_padding(
    K: Any, x: TensorLike, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around the three spatial axes of a 5-D tensor."""
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
    shape=lambda reference, indices: shapes.gather(reference.shape, indices.shape),
    dtype=lambda reference, indices: reference.dtype,
)
def gather(reference: TensorLike, indices: TensorLike) -> Any:
    """The rows ``reference[indices]``; an index outside the rows is an error."""


@operation(
    "indices",
    shape=lambda indices, num_classes: shapes.one_hot(indices.shape, num_classes),
    dtype=lambda indices, num_classes: as_floatx(),
    differentiable=False,
)
def one_hot(indices: TensorLike, num_classes: int) -> Any:
    """One-hot rows in floatx; all zero for an index outside ``[0, num_classes)``."""


def as_floatx() -> str:
    """The dtype of what is made without one."""
    from kbridge import config

    return config.floatx()


@operation("x", shape=lambda x, axes: shapes.reverse(x.shape, axes), resolve={"axes": as_axis})
def reverse(x: TensorLike, axes: Any) -> Any:
    """``x`` reversed along ``axes``."""


@operation(
    "x",
    shape=lambda x, start, size: shapes.slice_(x.shape, _known(start), _known(size)),
    host_arguments="start size",
)
def slice(x: TensorLike, start: Any, size: Any) -> Any:
    """The block of ``size`` elements from ``start`` on; a size of -1 takes the rest."""
