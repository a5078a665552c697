"""What the public documentation of the Keras backend API prints and decides, line by line.

Lines on ``rnn`` stand in ``recurrent``; all others of the list stand here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kbridge.conformance.records import program

DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool")


@program(
    (
        "float64",
        "example_var",
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
    ),
    covers="variable eval dtype",
)
def doc_variable(K: Any) -> Any:
    v = K.variable(np.array([[1, 2], [3, 4]]), dtype="float64", name="example_var")
    return K.dtype(v), str(v), K.eval(v), v.eval()


@program(((2, 4, 5), (2, 4, 5), (None, 4, 5), (None, 4, 5), (None,) * 3, (2, 4)))
def doc_placeholder(K: Any) -> Any:
    full, open_ = K.placeholder(shape=(2, 4, 5)), K.placeholder(shape=(None, 4, 5))
    return (
        full._keras_shape,
        K.int_shape(full),
        open_._keras_shape,
        K.int_shape(open_),
        K.int_shape(K.placeholder(ndim=3)),
        K.int_shape(K.placeholder((2, 4), ndim=3)),
    )


@program((np.array([2, 2], "int32"), np.array([2, 4, 5], "int32"), "int32"), covers="shape")
def doc_shape(K: Any) -> Any:
    v, p = K.variable(np.array([[1, 2], [3, 4]])), K.placeholder((2, 4, 5))
    session = K.get_session()
    return K.shape(v).eval(session=session), K.shape(p).eval(session=session), K.dtype(K.shape(v))


@program((2, (2, 2), np.array(4, "int32")), covers="ndim int_shape size")
def doc_ndim_int_shape_size(K: Any) -> Any:
    v = K.variable(np.array([[1, 2], [3, 4]]))
    return K.ndim(v), K.int_shape(v), K.eval(K.size(v))


@program(("float32", *DTYPES))
def doc_dtype_of_a_placeholder(K: Any) -> Any:
    return tuple(K.dtype(K.placeholder((2, 4), dtype=d)) for d in (None, *DTYPES))


@program((np.eye(3, dtype="float32"), np.eye(2, 3, dtype="float32")), covers="eye")
def doc_eye(K: Any) -> Any:
    return K.eval(K.eye(3)), K.eval(K.eye((2, 3)))


@program(np.array([[1.0, 0.0] * 3, [0.0, 1.0] * 3] * 2, "float32"), covers="tile")
def doc_tile(K: Any) -> Any:
    return K.eval(K.tile(K.eye(2), (2, 3)))


@program((True, True, True, False), covers="zeros ones eye")
def doc_zeros_ones_are_variables(K: Any) -> Any:
    x = K.placeholder((None, 4))
    made = K.zeros((3, 4)), K.ones((3, 4)), K.eye(3), K.zeros(K.shape(x))
    return tuple(K.is_variable(t) for t in made)


@program(
    (np.zeros((2, 3), "float32"), np.ones((2, 3), "float32"), "int32", "bool", "float64"),
    covers="zeros_like ones_like",
)
def doc_zeros_like(K: Any) -> Any:
    """Where no dtype is given it is that of ``x``, not floatx."""
    v = K.variable(np.random.random((2, 3)))
    whole, truth = K.variable([1], dtype="int32"), K.variable([1], dtype="bool")
    return (
        K.eval(K.zeros_like(v)),
        K.eval(K.ones_like(v)),
        K.dtype(K.ones_like(whole)),
        K.dtype(K.zeros_like(truth)),
        K.dtype(K.zeros_like(truth, dtype="float64")),
    )


@program(6, covers="count_params")
def doc_count_params(K: Any) -> Any:
    return K.count_params(K.zeros((2, 3)))


@program(("float16", "float32", (2, 3)), covers="cast")
def doc_cast(K: Any) -> Any:
    x = K.placeholder((2, 3), dtype="float32")
    y = K.cast(x, "float16")
    return K.dtype(y), K.dtype(x), K.int_shape(y)


@program(((2, 4), (32, 28, 4), (2, 4, 5)), covers="dot")
def doc_dot(K: Any) -> Any:
    pairs = (((2, 3), (3, 4)), ((32, 28, 3), (3, 4)), ((2, 3), (4, 3, 5)))
    return tuple(K.int_shape(K.dot(K.placeholder(a), K.placeholder(b))) for a, b in pairs)


@program(([[17.0], [53.0]], (32, 1, 30), (100, 30), (32, 1, 30), (100, 30)), covers="batch_dot")
def doc_batch_dot(K: Any) -> Any:
    x, y = K.variable([[1.0, 2.0], [3.0, 4.0]]), K.variable([[5.0, 6.0], [7.0, 8.0]])
    a = K.batch_dot(K.ones((32, 20, 1)), K.ones((32, 30, 20)), axes=(1, 2))
    b = K.batch_dot(K.ones((100, 20)), K.ones((100, 30, 20)), axes=(1, 2))
    values = K.eval(a).shape, K.eval(b).shape
    return (K.eval(K.batch_dot(x, y, axes=1)), K.int_shape(a), K.int_shape(b), *values)


@program(([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], (3, 2)), covers="transpose")
def doc_transpose(K: Any) -> Any:
    v = K.variable(np.array([[1, 2, 3], [4, 5, 6]]))
    return K.eval(K.transpose(v)), K.int_shape(K.transpose(K.placeholder((2, 3))))


@program((1, 2, 1), covers="get_uid reset_uids")
def doc_get_uid(K: Any) -> Any:
    first, second = K.get_uid("dense"), K.get_uid("dense")
    K.reset_uids()
    return first, second, K.get_uid("dense")


@program(
    (1e-07, 1e-05, "float32", "float16", "channels_last", "channels_first"),
    covers="epsilon set_epsilon floatx set_floatx image_data_format set_image_data_format",
)
def doc_settings(K: Any) -> Any:
    """The default epsilon is 1e-07."""
    before = K.epsilon(), K.floatx(), K.image_data_format()
    K.set_epsilon(1e-05)
    K.set_floatx("float16")
    K.set_image_data_format("channels_first")
    after = K.epsilon(), K.floatx(), K.image_data_format()
    return tuple(item for pair in zip(before, after, strict=True) for item in pair)


@program(np.array([1.0, 2.0], "float32"), covers="cast_to_floatx")
def doc_cast_to_floatx(K: Any) -> Any:
    return K.cast_to_floatx(np.array([1.0, 2.0], dtype="float64"))


@program((False, True, False, True), covers="is_sparse to_dense")
def doc_is_sparse(K: Any) -> Any:
    a, b = K.placeholder((2, 2), sparse=False), K.placeholder((2, 2), sparse=True)
    return K.is_sparse(a), K.is_sparse(b), K.is_sparse(K.to_dense(b)), K.to_dense(a) is a


@program(("ValueError", False, False, True), covers="is_keras_tensor")
def doc_is_keras_tensor(K: Any) -> Any:
    """A Keras tensor is what a layer returned: a placeholder is none."""
    output = K.placeholder((2, 4)) * 1.0
    output._keras_history = ("layer", 0, 0)
    try:
        refused = ""
        K.is_keras_tensor(np.ones(2))
    except ValueError:
        refused = "ValueError"
    found = (K.variable(1.0), K.placeholder((2, 4)), output)
    return (refused, *map(K.is_keras_tensor, found))


@program(
    ([1000.0 + math.log(2.0), -1000.0 + math.log(2.0)], [-2.0, -2.0, 0.0, 0.0, 2.0, 2.0]),
    covers="logsumexp round",
)
def doc_logsumexp_round(K: Any) -> Any:
    x = K.constant([[1000.0, 1000.0], [-1000.0, -1000.0]])
    halves = K.constant([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    return K.eval(K.logsumexp(x, axis=1)), K.eval(K.round(halves)) + 0.0


@program(((2, 6, 4), (None, 6, 4), (5, 2, 3), (None, 2, 3)), covers="repeat_elements repeat")
def doc_repeat(K: Any) -> Any:
    return (
        K.int_shape(K.repeat_elements(K.placeholder((2, 3, 4)), 2, axis=1)),
        K.int_shape(K.repeat_elements(K.placeholder((None, 3, 4)), 2, axis=1)),
        K.int_shape(K.repeat(K.placeholder((5, 3)), 2)),
        K.int_shape(K.repeat(K.placeholder((None, 3)), 2)),
    )


@program(np.array([0, 1, 2, 3], "int32"), covers="arange")
def doc_arange(K: Any) -> Any:
    return K.eval(K.arange(4))


@program((1, 1, "float32", 1), covers="clear_session")
def doc_clear_session(K: Any) -> Any:
    """Names start again; settings stay."""
    first = K.get_uid("dense")
    K.clear_session()
    second = K.get_uid("dense")
    K.clear_session()
    return first, second, K.floatx(), K.get_uid("dense")


# --- where the versions of the documentation disagree --------------------------------------------


@program(("bool", "bool", np.array(True), np.array([False, True])), covers="any all")
def doc_any_all_are_bool(K: Any) -> Any:
    x = K.constant([[0.0, 1.0], [0.0, 2.0]])
    return K.dtype(K.any(x)), K.dtype(K.all(x)), K.eval(K.any(x)), K.eval(K.all(x, axis=0))


@program(("float32", "float64"), covers="dtype")
def doc_dtype_of_a_variable(K: Any) -> Any:
    return K.dtype(K.variable(1.0)), K.dtype(K.zeros((1,), "float64"))


@program(([1.0 / math.sqrt(4.001)], [1.0 / math.sqrt(4.5)]), covers="batch_normalization")
def doc_batch_normalization(K: Any) -> Any:
    """The epsilon is inside the square root, and 0.001 by default."""
    x, mean, var = K.constant([[2.0]]), K.constant([1.0]), K.constant([4.0])
    plain = K.batch_normalization(x, mean, var, None, None)
    wide = K.batch_normalization(x, mean, var, None, None, epsilon=0.5)
    return K.eval(plain)[0], K.eval(wide)[0]


@program(([1.0, 1.0], [1.0, 1.0, 1.0]), covers="softmax")
def doc_softmax_has_an_axis(K: Any) -> Any:
    x = K.constant([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]])
    return K.eval(K.softmax(x)).sum(1), K.eval(K.softmax(x, axis=0)).sum(0)


@program(([0.0, 0.0, 2.0], [0.0, math.inf, 0.25]), covers="sqrt gradients")
def doc_sqrt_of_a_negative(K: Any) -> Any:
    """0, with gradient 0 below 0 and infinite at 0."""
    v = K.variable([-1.0, 0.0, 4.0])
    t = K.sqrt(v)
    return K.eval(t), K.eval(K.gradients(K.sum(t), v)[0])


@program(
    ((1, 4, 5, 1), (1, 4, 5, 1), (1, 4, 7, 1), (1, 5, 1), (1, 4, 4, 4, 1)),
    covers="spatial_2d_padding temporal_padding spatial_3d_padding",
)
def doc_paddings(K: Any) -> Any:
    """One integer, an integer per axis, or pairs."""
    image, row = K.placeholder((1, 2, 3, 1)), K.placeholder((1, 3, 1))
    volume = K.placeholder((1, 2, 2, 2, 1))
    return (
        K.int_shape(K.spatial_2d_padding(image, 1)),
        K.int_shape(K.spatial_2d_padding(image, ((1, 1), (1, 1)))),
        K.int_shape(K.spatial_2d_padding(image, (1, 2))),
        K.int_shape(K.temporal_padding(row, 1)),
        K.int_shape(K.spatial_3d_padding(volume, 1)),
    )
