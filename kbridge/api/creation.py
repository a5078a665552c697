"""Variables, constants and tensors of fixed content."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbridge.api.declare import composite, graph_function, operation
from kbridge.api.rules import TensorLike, as_dtype, check_dims, known_sizes
from kbridge.errors import ArgumentError, ArgumentTypeError
from kbridge.symbolic import dtypes, scopes, shapes
from kbridge.symbolic import sparse as matrices
from kbridge.symbolic.tensor import Constant, Placeholder, Tensor, Variable


@graph_function
def variable(
    K: Any, value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None
) -> Any:
    """A variable that begins with a copy of ``value``: a tensor that updates change.

    ``value`` is a number, an array, a list or a tensor, which is evaluated. ``dtype`` is floatx by
    default, whatever the dtype of ``value``. The name, ``variable_1`` and so on by default, is
    prefixed by the name scopes that are open. ``constraint`` is kept as the attribute of that name,
    for optimizers. The native storage is ``.value``. A value that holds no numbers raises
    ArgumentTypeError.

    A SciPy sparse matrix, or another sparse ``value``, makes a sparse variable, of float32 or
    float64. ``K.set_value`` gives it another matrix of its shape; there are no updates of it and no
    gradients by it. SciPy is in the extra ``kbridge[sparse]``.

    >>> v = K.variable([[1, 2], [3, 4]], name="weights")
    >>> K.dtype(v), str(v), K.eval(v).tolist()
    ('float32', 'weights', [[1.0, 2.0], [3.0, 4.0]])
    """
    dtype = as_dtype(dtype)
    if matrices.is_sparse(K.engine, value):
        storage, sizes = matrices.stored(K, value, dtype)
        name = scopes.scoped(name or f"variable_{K.session.uid('variable')}")
        made = matrices.marked(Variable(K, storage, sizes, dtype, name, constraint))
        made.trainable = False
    else:
        array = K.evaluate(value) if isinstance(value, Tensor) else K.engine.as_array(value, dtype)
        if array is None:
            raise ArgumentTypeError(
                f"K.variable: value must be an array or a number, not {value!r}"
            )
        array, sizes = np.array(array, dtypes.to_numpy(dtype)), array.shape
        name = scopes.scoped(name or f"variable_{K.session.uid('variable')}")
        storage = K.engine.storage(array, dtype, name)
        made = Variable(K, storage, sizes, dtype, name, constraint)
    made._keras_shape = sizes
    made._uses_learning_phase = False
    return made


@graph_function
def constant(
    K: Any, value: Any, dtype: Any = None, shape: Any = None, name: str | None = None
) -> Any:
    """A tensor of fixed ``value``, a copy of a number, an array or a list.

    ``dtype`` is floatx by default, whatever the dtype of ``value``. With ``shape`` one number fills
    it, and more are reshaped to it; another number of them raises ShapeError.

    >>> K.eval(K.constant(0.5, shape=(2, 2))).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    dtype = as_dtype(dtype)
    array = np.array(K.engine.as_array(value, dtype), dtypes.to_numpy(dtype))
    if shape is not None:
        sizes: Any = shapes.shape_argument(check_dims(shape))
        if array.size == 1:
            array = np.full(sizes, array.reshape(()))
        else:
            shapes.reshape(array.shape, sizes)
            array = array.reshape(sizes)
    made = Constant(K, array, array.shape, dtype)
    if name is not None:
        made.name = name
    return made


@graph_function
def placeholder(
    K: Any,
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
) -> Any:
    """A tensor whose value is fed to ``K.function`` at each call.

    ``shape`` may hold None for sizes that differ from call to call; ``ndim`` stands for that many
    of them, where no shape is given. ``dtype`` is floatx by default. Neither ``shape`` nor ``ndim``
    raises ArgumentError.

    With ``sparse`` it is a matrix of float32 or float64, fed as a SciPy sparse matrix in any
    format; a dense array is converted. ``K.dot``, ``K.concatenate``, ``K.cast`` and ``K.to_dense``
    take sparse tensors, other operations raise UnsupportedError. Functions return them as dense
    arrays, and the gradients by them are None.

    >>> K.int_shape(K.placeholder((None, 4))), K.int_shape(K.placeholder(ndim=2))
    ((None, 4), (None, None))
    """
    if shape is None and ndim is None:
        raise ArgumentError("K.placeholder: give shape= (with None for unknown sizes) or ndim=.")
    sizes = (None,) * int(ndim) if shape is None else shapes.shape_argument(shape)  # type: ignore[arg-type]
    name = scopes.scoped(name or f"placeholder_{K.session.uid('placeholder')}")
    if sparse:
        matrices.check_placeholder(K, sizes, as_dtype(dtype))
    made = Placeholder(K, sizes, as_dtype(dtype), name, sparse)
    made._keras_shape = sizes  # type: ignore[attr-defined]
    made._uses_learning_phase = False  # type: ignore[attr-defined]
    return made


@operation(
    "",
    shape=lambda shape, value, dtype: shapes.shape_argument(known_sizes(shape)),
    dtype=lambda shape, value, dtype: dtype,
    host_arguments="shape",
    resolve={"dtype": as_dtype},
    public=False,
)
def full(shape: Any, value: float, dtype: Any) -> Any:
    """A tensor of one value."""


def _filled(K: Any, shape: Any, value: float, dtype: Any, name: str | None) -> Any:
    """A variable; where the shape holds tensors, a tensor."""
    dtype = as_dtype(dtype)
    if _holds_tensors(K, shape):
        return K.full(shape, value, dtype)
    sizes: Any = shapes.shape_argument(check_dims(shape))
    return K.variable(np.full(sizes, value, dtypes.to_numpy(dtype)), dtype, name)


def _holds_tensors(K: Any, shape: Any) -> bool:
    return any(map(K.is_tensor, shape if isinstance(shape, (list, tuple)) else [shape]))


@graph_function
def zeros(K: Any, shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros, of floatx by default.

    Where ``shape`` holds tensors, such as ``K.shape(x)[0]``, the result is a tensor and no
    variable. A None in it raises ArgumentError.

    >>> K.eval(K.zeros((2, 3))).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _filled(K, shape, 0, dtype, name)


@graph_function
def ones(K: Any, shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones, of floatx by default.

    Where ``shape`` holds tensors, such as ``K.shape(x)[0]``, the result is a tensor and no
    variable. A None in it raises ArgumentError.

    >>> K.eval(K.ones((2, 3))).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    return _filled(K, shape, 1, dtype, name)


@composite
def eye(K: Any, size: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable with ones on the diagonal and zeros elsewhere, of floatx by default.

    ``size`` is one integer for a square matrix, or (rows, columns). Where it holds tensors, such as
    ``K.shape(x)[0]``, the result is a tensor and no variable. Any other number of sizes, and a None
    among them, raise ArgumentError.

    >>> K.eval(K.eye((2, 3))).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    sizes: Any = shapes.eye(known_sizes(check_dims(size)))
    if _holds_tensors(K, size):
        several = isinstance(size, (list, tuple)) or K.ndim(size)
        rows, columns = (size[0], size[-1]) if several else (size, size)
        diagonal = K.equal(K.expand_dims(K.arange(rows), 1), K.arange(columns))
        return K.cast(diagonal, as_dtype(dtype))
    rows, columns = sizes
    return K.variable(np.eye(rows, columns), dtype, name)


@operation(
    "x",
    dtype=lambda x, value, dtype: dtype or x.dtype,
    differentiable=False,
    public=False,
    shape=lambda x, value, dtype: x.shape,
)
def full_like(x: TensorLike, value: float, dtype: Any = None) -> Any:
    """A tensor of one value with the shape of ``x``."""


@composite
def zeros_like(K: Any, x: TensorLike, dtype: Any = None, name: str | None = None) -> Any:
    """A tensor of zeros with the shape of ``x``, and its dtype where ``dtype`` is None.

    >>> K.eval(K.zeros_like(K.constant([[1.0, 2.0]]))).tolist()
    [[0.0, 0.0]]
    """
    return K.full_like(x, 0, None if dtype is None else as_dtype(dtype))


@composite
def ones_like(K: Any, x: TensorLike, dtype: Any = None, name: str | None = None) -> Any:
    """A tensor of ones with the shape of ``x``, and its dtype where ``dtype`` is None.

    >>> K.eval(K.ones_like(K.constant([[1.0, 2.0]]))).tolist()
    [[1.0, 1.0]]
    """
    return K.full_like(x, 1, None if dtype is None else as_dtype(dtype))


@operation(
    "",
    shape=lambda start, stop, step, dtype: _arange_shape(start, stop, step, dtype),
    dtype=lambda start, stop, step, dtype: dtype,
    host_arguments="start stop step",
    resolve={"dtype": as_dtype},
)
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Any:
    """The numbers from ``start`` up to ``stop``, which is left out, in steps; int32 by default.

    With one argument they begin at 0. All three may be scalar tensors; the length is then unknown
    before the run. A step of 0 raises ArgumentError, and so does a fractional start or step with an
    integer ``dtype``.

    >>> K.eval(K.arange(3)).tolist(), K.eval(K.arange(1, 6, 2)).tolist()
    ([0, 1, 2], [1, 3, 5])
    """


def _arange_shape(start: Any, stop: Any, step: Any, dtype: str) -> Any:
    parts = (0, start, step) if stop is None else (start, stop, step)
    if any(hasattr(p, "dtype") and not isinstance(p, (np.ndarray, np.generic)) for p in parts):
        return (None,)  # a tensor, of the graph or of an engine
    if step == 0:
        raise ArgumentError("step must not be 0")
    if not dtypes.is_float(dtype) and any(part != int(part) for part in (parts[0], step)):
        raise ArgumentError(
            f"the numbers from {parts[0]} in steps of {step} are no {dtype}; give dtype='float32'"
        )
    return np.arange(*parts).shape
