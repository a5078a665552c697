"""Sparse matrices: where they come from, which operations take them, and what the others say.

A sparse Tensor is a Tensor whose ``sparse`` is True; its native value is a sparse matrix of the
engine's own (``backends/<engine>/sparse.py``). Only the operations in :data:`TAKES` take one, and
:func:`take` refuses it to all others. SciPy matrices are the form in which values come in, and
SciPy is imported when the first one is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kbridge import config
from kbridge.api.declare import OPERATIONS, Operation, lifted
from kbridge.errors import (
    ArgumentTypeError,
    DTypeError,
    FeedError,
    MissingDependencyError,
    MissingOperationError,
    ShapeError,
    UnsupportedError,
)
from kbridge.symbolic import dtypes
from kbridge.symbolic.tensor import Tensor, Variable

if TYPE_CHECKING:
    from kbridge.binding import Backend

F = TypeVar("F", bound=Callable[..., Any])

#: What SciPy has on every platform, and every engine multiplies.
DTYPES = ("float32", "float64")

#: By the name of an operation, what it does where an operand is sparse.
TAKES: dict[str, Callable[..., Any]] = {}


def takes(name: str) -> Callable[[F], F]:
    """Declare what the operation ``name`` does where an operand is sparse; it is given ``K``."""

    def declare(function: F) -> F:
        TAKES[name] = function
        return function

    return declare


def take(backend: Backend, op: Operation, args: tuple[Any, ...]) -> Any:
    """Carry out an operation of which an operand is sparse, if it takes such an operand."""
    function = TAKES.get(op.name)
    if function is None:
        raise UnsupportedError(
            "it takes no sparse tensors: K.dot and K.concatenate do. Make the operand dense with "
            "K.to_dense(tensor)"
        )
    return function(backend, *args)


# --- what is sparse ------------------------------------------------------------------------------


def is_scipy(value: Any) -> bool:
    """Whether ``value`` is a sparse matrix or array of SciPy, which need not be installed."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(value))


def is_sparse(engine: Any, value: Any) -> bool:
    """Whether ``value`` is a sparse Tensor, a sparse matrix of the engine's, or one of SciPy's."""
    if isinstance(value, Tensor):
        return value.sparse
    return is_native(engine, value) or is_scipy(value)


def is_native(engine: Any, value: Any) -> bool:
    """Whether ``value`` is a sparse matrix of the engine's own."""
    return engine.sparse is not None and bool(engine.sparse.is_matrix(value))


def marked(value: Any) -> Any:
    """``value``, the result of an operation, as a sparse one."""
    if isinstance(value, Tensor):
        value.sparse = True
    return value


def checked_dtype(dtype: str) -> str:
    """``dtype``, if a sparse tensor may have it."""
    if dtype not in DTYPES:
        raise DTypeError(
            f"a sparse tensor is of {' or '.join(DTYPES)}, not {dtype}; for other dtypes make it "
            f"dense with K.to_dense(tensor)"
        )
    return dtype


def check_placeholder(backend: Backend, shape: Any, dtype: str) -> None:
    """Raise unless there may be a sparse placeholder of this kind, and values to feed it."""
    if len(shape) != 2:
        raise ShapeError(
            f"K.placeholder: a sparse placeholder is a matrix, of rank 2; got the shape {shape}. "
            f"Make it dense, or keep the other axes in one."
        )
    checked_dtype(dtype)
    of(backend)
    scipy()


def of(backend: Backend) -> Any:
    """What the engine has of sparse matrices."""
    found = backend.engine.sparse
    if found is None:
        raise MissingOperationError(
            f"the backend {backend.name!r} has no sparse tensors. Use dense ones: sparse=False, "
            f"and matrix.toarray(). Its authors can give its engine the attribute sparse."
        )
    return found


# --- SciPy ---------------------------------------------------------------------------------------


def scipy() -> Any:
    """The module ``scipy.sparse``."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise MissingDependencyError(
            'sparse tensors need SciPy. Install it with: pip install "kbridge[sparse]"'
        ) from error
    return scipy.sparse


def canonical(value: Any, dtype: str) -> Any:
    """A SciPy matrix as CSR with its elements in order, none twice; it may share memory."""
    if value.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"a sparse matrix must hold real numbers, not {value.dtype}")
    if len(value.shape) != 2:
        raise ShapeError(f"a sparse tensor is a matrix, of rank 2; got the shape {value.shape}")
    found = value.tocsr().astype(dtypes.to_numpy(dtype), copy=False)
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    return found


def as_scipy(backend: Backend, value: Any, dtype: str) -> Any:
    """A value in any form as a canonical CSR matrix."""
    native = of(backend)
    if isinstance(value, Tensor):
        value = backend.native_value(value)
    if is_native(backend.engine, value):
        value = native.to_scipy(value)
    if not is_scipy(value):
        array = backend.engine.as_array(value, dtype)
        if array.ndim != 2:
            raise ShapeError(f"a sparse tensor is a matrix, of rank 2; got the shape {array.shape}")
        value = scipy().csr_matrix(array)
    return canonical(value, dtype)


# --- values --------------------------------------------------------------------------------------


def natural_dtype(matrix: Any) -> str:
    """The dtype of a SciPy matrix as an operand: its own, or floatx where it cannot be that."""
    dtype = dtypes.normalize(matrix.dtype)
    if dtype not in DTYPES:
        dtype = config.floatx() if config.floatx() in DTYPES else DTYPES[0]
    return dtype


def native_operand(backend: Backend, value: Any) -> Any:
    """A sparse operand of an operation that runs now."""
    if not is_scipy(value):
        return value
    dtype = natural_dtype(value)
    return of(backend).from_scipy(canonical(value, dtype), dtype)


def value_of(backend: Backend, value: Any) -> Any:
    """A sparse matrix of the engine's own, or of SciPy's, as a NumPy array."""
    if is_scipy(value):
        return value.toarray()
    return backend.engine.to_numpy(backend.native["sparse_to_dense"](value))


def constant(backend: Backend, value: Any) -> Tensor:
    """A SciPy matrix, which is copied, or one of the engine's own as a sparse Tensor."""
    from kbridge.symbolic.record import Later

    engine = backend.engine
    native = native_operand(backend, value.copy() if is_scipy(value) else value)

    def sparse_constant() -> Any:
        return native

    rules = (lambda: engine.shape(native), lambda: engine.dtype(native))
    made: Tensor = marked(Later(backend).run(lifted(sparse_constant, 0, rules), ()))
    return made


def densified(backend: Backend, tensor: Any) -> Any:
    """A Tensor, recorded as a dense one if it is sparse."""
    if not isinstance(tensor, Tensor) or not tensor.sparse:
        return tensor
    from kbridge.symbolic.record import Later

    return Later(backend).run(OPERATIONS["sparse_to_dense"], (tensor,))


def stored(backend: Backend, value: Any, dtype: str) -> tuple[Any, tuple[int, int]]:
    """The storage of a variable that begins with a copy of ``value``, and its shape."""
    matrix = as_scipy(backend, value, checked_dtype(dtype)).copy()
    native = of(backend)
    return native.store(native.from_scipy(matrix, dtype)), matrix.shape


def new_value(backend: Backend, variable: Variable, value: Any) -> Any:
    """A value for the sparse ``variable`` as a native matrix of its shape and dtype."""
    matrix = as_scipy(backend, value, variable.dtype).copy()
    if matrix.shape != variable.shape:
        raise ShapeError(
            f"K.set_value: {variable!r} takes a value of shape {variable.shape}, got {matrix.shape}"
        )
    return of(backend).from_scipy(matrix, variable.dtype)


def assign(backend: Backend, variable: Variable, native: Any) -> None:
    """Give a sparse variable another matrix."""
    variable.storage = of(backend).store(native, variable.storage)


def check_update(variable: Variable, value: Any) -> None:
    """Raise where a sparse tensor takes part in an update."""
    if variable.sparse:
        raise UnsupportedError(
            f"K.update: the variable {variable.name!r} is sparse, and no function updates it. Give "
            f"it another matrix with K.set_value(variable, matrix)."
        )
    if value.sparse:
        raise UnsupportedError(
            f"K.update: the new value of the variable {variable.name!r} is sparse. Make it dense "
            f"with K.to_dense(tensor)."
        )


def feed(backend: Backend, value: Any, tensor: Tensor, name: str) -> Any:
    """``value`` as what is fed for ``tensor``, which may be sparse.

    A dense array is fed to a sparse tensor as the matrix of its elements that are not 0.
    """
    engine = backend.engine
    if not tensor.sparse:
        return engine.feed(value, tensor, name)
    native = of(backend)
    if is_native(engine, value):
        value = native.to_scipy(value)
    if not is_scipy(value):
        dense = engine.as_array(value) if engine.is_native(value) else value
        value = scipy().csr_matrix(engine.feed_array(dense, tensor, name))
    engine.check_feed(value.shape, tensor, name)
    if value.dtype.kind not in "biuf":
        raise FeedError(
            f"{name}: the value fed for {tensor!r} cannot become a matrix of {tensor.dtype}: it "
            f"holds {value.dtype}. Feed real numbers."
        )
    return native.from_scipy(canonical(value, tensor.dtype), tensor.dtype)
