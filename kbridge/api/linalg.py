"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import composite, operation
from kbridge.api.rules import TensorLike
from kbridge.symbolic import shapes


@operation("x y", promote="x y", shape=lambda x, y: shapes.dot(x.shape, y.shape))
def dot(x: TensorLike, y: TensorLike) -> Any:
    """Product of the last axis of ``x`` with the second-to-last (or only) one of ``y``: ``np.dot``.

    (a, b) by (b, c) gives (a, c), and (a, b) by (c, b, d) gives (a, c, d): the axes of ``x`` come
    first, nothing broadcasts. A scalar multiplies. The operands are promoted. Sizes that differ
    raise ShapeError. One of ``x`` and ``y`` may be sparse; the result is dense, and the gradient
    goes to the dense operand alone. (``matrix @ tensor`` of a SciPy matrix is SciPy's own, and
    takes the tensor's present value.)

    >>> K.eval(K.dot(K.constant([[1.0, 2.0]]), K.constant([[3.0], [4.0]]))).tolist()
    [[11.0]]
    >>> K.int_shape(K.dot(K.placeholder((None, 28, 3)), K.ones((3, 4))))
    (None, 28, 4)
    """


@operation(
    "x y",
    promote="x y",
    shape=lambda x, y, axes: shapes.batch_dot(x.shape, y.shape, axes),
)
def batch_dot(x: TensorLike, y: TensorLike, axes: Any = None) -> Any:
    """Product of two batches over one axis of each, sample by sample.

    ``axes`` names the axis of ``x`` and that of ``y``, or is one integer for both; by default it is
    the last of ``x`` with the last of ``y`` if that is a matrix, else with the second-to-last. The
    result has the batch, the other axes of ``x``, then those of ``y``; where none is left, a size
    of 1. The operands are promoted. Axis 0, and sizes or batches that differ, raise ShapeError.

    >>> x, y = K.constant([[1.0, 2.0], [3.0, 4.0]]), K.constant([[5.0, 6.0], [7.0, 8.0]])
    >>> K.eval(K.batch_dot(x, y, axes=1)).tolist()
    [[17.0], [53.0]]
    >>> K.int_shape(K.batch_dot(K.ones((32, 20, 1)), K.ones((32, 30, 20)), axes=(1, 2)))
    (32, 1, 30)
    """


@composite
def l2_normalize(K: Any, x: TensorLike, axis: Any = None) -> Any:
    """``x`` divided by its Euclidean norm along ``axis``: ``x / sqrt(max(sum(x ** 2), 1e-12))``.

    ``axis`` is an integer, a list of them, or None for the norm of all elements. The least norm is
    that of Keras 2 on TensorFlow; a zero vector stays zero.

    >>> K.eval(K.l2_normalize(K.constant([[0.0, 4.0], [0.0, 0.0]]), axis=1)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    norm = K.sqrt(K.maximum(K.sum(K.square(x), axis=axis, keepdims=True), 1e-12))
    return K.divide(x, norm)


@operation("x", shape=lambda x: shapes.transpose(x.shape))
def transpose(x: TensorLike) -> Any:
    """``x`` with its axes in reverse order; ``K.permute_dimensions`` takes any order.

    >>> K.eval(K.transpose(K.constant([[1.0, 2.0, 3.0]]))).tolist()
    [[1.0], [2.0], [3.0]]
    """
