"""The graph: functions, gradients, values, updates, shapes and names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.api.declare import composite, graph_function, operation
from kbridge.api.rules import TensorLike
from kbridge.errors import ArgumentTypeError, GraphError, NotATensorError
from kbridge.symbolic import dtypes, record, scopes, sparse
from kbridge.symbolic.function import Function, Update
from kbridge.symbolic.gradients import gradients as _gradients
from kbridge.symbolic.tensor import Placeholder, Tensor, Variable

# --- what a tensor is --------------------------------------------------------------------------


@operation("x", shape=lambda x: (len(x.shape),), dtype="int32", host=True, differentiable=False)
def shape(x: TensorLike) -> Any:
    """The shape of ``x`` as a vector of int32, whose entries may be used where K takes sizes.

    What only the run knows is found at the run; ``K.int_shape`` is what is known before. Of a
    native tensor it is integers on the host, where the shape is static.

    >>> x = K.placeholder((None, 6))
    >>> K.int_shape(K.reshape(x, (K.shape(x)[0], 2, 3)))
    (None, 2, 3)
    """


@operation("x", shape=lambda x, name: (), dtype="int32", host=True, differentiable=False)
def size(x: TensorLike, name: str | None = None) -> Any:
    """The number of elements of ``x``, an int32 scalar; ``K.count_params`` is a Python int.

    >>> K.eval(K.size(K.zeros((2, 3)))).tolist()
    6
    """


@graph_function
def int_shape(K: Any, x: TensorLike) -> Any:
    """The static shape of ``x``: a tuple with an int per axis, None where only the run knows it.

    >>> K.int_shape(K.placeholder((None, 3)))
    (None, 3)
    """
    if isinstance(x, Tensor):
        return _with_declared(x) if None in x.shape else tuple(x.shape)
    if K.engine.is_native(x) or sparse.is_native(K.engine, x):
        return K.engine.shape(x)
    return np.shape(x)


def _with_declared(x: Tensor) -> tuple[int | None, ...]:
    """The static shape of what a Keras layer returned; the layer may know more of it."""
    declared = x.__dict__.get("_keras_shape")
    if not isinstance(declared, (tuple, list)) or len(declared) != len(x.shape):
        return tuple(x.shape)
    return tuple(d if s is None else s for s, d in zip(x.shape, declared, strict=True))


@composite
def ndim(K: Any, x: TensorLike) -> int:
    """The number of axes of ``x``, an int.

    >>> K.ndim(K.placeholder((None, 3)))
    2
    """
    return len(K.int_shape(x))


@graph_function
def dtype(K: Any, x: TensorLike) -> str:
    """The dtype of ``x`` as a string, the same on every backend.

    >>> K.dtype(K.placeholder((2, 3), dtype="float64"))
    'float64'
    """
    if isinstance(x, Tensor):
        return x.dtype
    if K.engine.is_native(x) or sparse.is_sparse(K.engine, x):
        return K.engine.dtype(x)  # type: ignore[no-any-return]
    return dtypes.normalize(np.asarray(x).dtype)


@graph_function
def count_params(K: Any, x: TensorLike) -> int:
    """The number of elements of ``x`` as a Python int.

    A shape that is not fully known raises GraphError; ``K.size`` counts at the run.

    >>> K.count_params(K.zeros((2, 3)))
    6
    """
    sizes = K.int_shape(x)
    if None in sizes:
        raise GraphError(
            f"K.count_params: the shape {sizes} is not fully known; K.size(x) counts at run time."
        )
    return int(np.prod(sizes, dtype=np.int64))


@composite
def get_variable_shape(K: Any, x: TensorLike) -> Any:
    """The same as ``K.int_shape``, under its older name.

    >>> K.get_variable_shape(K.zeros((2, 3)))
    (2, 3)
    """
    return K.int_shape(x)


@graph_function
def is_tensor(K: Any, x: Any) -> bool:
    """Whether ``x`` is a symbolic or native tensor; a NumPy array is none on any backend.

    >>> K.is_tensor(K.zeros((2,))), K.is_tensor(np.zeros(2))
    (True, False)
    """
    if isinstance(x, Tensor):
        return True
    native = K.engine.is_native(x) or sparse.is_native(K.engine, x)
    return native and not isinstance(x, np.ndarray) and not sparse.is_scipy(x)


@graph_function
def is_variable(K: Any, x: Any) -> bool:
    """Whether ``x``, which may be anything, is a variable of kbridge.

    >>> v = K.variable(1.0)
    >>> K.is_variable(v), K.is_variable(v * 2.0), K.is_variable("v")
    (True, False, False)
    """
    return isinstance(x, Variable)


@graph_function
def is_placeholder(K: Any, x: Any) -> bool:
    """Whether ``x``, which may be anything, is a placeholder.

    >>> x = K.placeholder((2,))
    >>> K.is_placeholder(x), K.is_placeholder(x * 2.0)
    (True, False)
    """
    return isinstance(x, Placeholder)


@graph_function
def is_symbolic(K: Any, x: Any) -> bool:
    """Whether ``x``, which may be anything, is a tensor of kbridge's graph; a variable is one.

    >>> K.is_symbolic(K.placeholder((2,))), K.is_symbolic(np.zeros(2))
    (True, False)
    """
    return isinstance(x, Tensor)


@graph_function
def is_keras_tensor(K: Any, x: Any) -> bool:
    """Whether a Keras layer returned ``x``, which then has the attribute ``_keras_history``.

    So a placeholder or a variable is none. What is no tensor at all raises an error that is both a
    ValueError and a TypeError.

    >>> K.is_keras_tensor(K.placeholder((2,)))
    False
    """
    if not K.is_tensor(x):
        raise NotATensorError(
            f"K.is_keras_tensor: expected a symbolic tensor, got {type(x).__name__}: {x!r:.80}"
        )
    return hasattr(x, "_keras_history")


# --- values ------------------------------------------------------------------------------------


@graph_function
def eval(K: Any, x: TensorLike) -> Any:
    """The value of ``x`` now, as a NumPy array that the caller may change.

    Variables are read at their current value, draws are made anew, and a learning phase that was
    not set counts as 0. What depends on a placeholder has no value by itself: GraphError.

    >>> v = K.variable([1.0, 2.0])
    >>> K.eval(v * 2.0).tolist()
    [2.0, 4.0]
    """
    if isinstance(x, Tensor):
        return K.evaluate(x)
    if sparse.is_sparse(K.engine, x):
        return sparse.value_of(K, x)
    if K.engine.is_native(x):
        return K.engine.to_numpy(x)
    return np.array(record.as_array(x))


@graph_function
def get_value(K: Any, x: TensorLike) -> Any:
    """The value of a variable, or of any tensor that ``K.eval`` takes, as a NumPy array of its own.

    >>> K.get_value(K.variable([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return K.eval(x)


@graph_function
def batch_get_value(K: Any, ops: Any) -> list[Any]:
    """The values of a list of variables, as a list of NumPy arrays.

    >>> [value.tolist() for value in K.batch_get_value([K.variable(1.0), K.variable([2.0])])]
    [1.0, [2.0]]
    """
    return [K.eval(x) for x in ops]


@graph_function
def set_value(K: Any, x: Any, value: Any) -> None:
    """Give a variable another value, which is copied and cast to its dtype.

    Functions and tensors that exist already see it. Another shape raises ShapeError, and what is no
    variable ArgumentTypeError.

    >>> v = K.variable([1.0, 2.0])
    >>> K.set_value(v, [3, 4])
    >>> K.eval(v).tolist()
    [3.0, 4.0]
    """
    K.batch_set_value([(x, value)])


@graph_function
def batch_set_value(K: Any, tuples: Any) -> None:
    """Give the variables in a list of pairs ``(variable, value)`` their values: all, or none.

    The rules are those of ``K.set_value``.

    >>> v, w = K.variable(1.0), K.variable(2.0)
    >>> K.batch_set_value([(v, 3.0), (w, 4.0)])
    >>> K.eval(v).tolist(), K.eval(w).tolist()
    (3.0, 4.0)
    """
    ready = []
    for x, value in tuples:
        if not isinstance(x, Variable):
            raise ArgumentTypeError(
                f"K.set_value: expected a variable, got {type(x).__name__} {x!r:.80}"
            )
        if x.sparse:
            ready.append((x, sparse.new_value(K, x, value)))
            continue
        array = np.array(
            K.evaluate(value) if isinstance(value, Tensor) else K.engine.as_array(value, x.dtype),
            dtypes.to_numpy(x.dtype),
        )
        if array.shape != x.shape:
            from kbridge.errors import ShapeError

            raise ShapeError(
                f"K.set_value: {x!r} takes a value of shape {x.shape}, got {array.shape}"
            )
        ready.append((x, array))
    with K.session.lock:
        for x, array in ready:
            if x.sparse:
                sparse.assign(K, x, array)
            else:
                K.engine.set_value(x, array)


# --- functions, updates, gradients -----------------------------------------------------------


@graph_function
def function(
    K: Any,
    /,
    inputs: Any,
    outputs: Any,
    updates: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """A compiled function from the values of ``inputs`` to those of ``outputs``.

    ``inputs`` is a list of placeholders, of any other tensors, and of ``K.learning_phase()``; the
    function takes one list of values, each an array or native tensor that fits the shape and is
    cast to the dtype. It returns NumPy arrays, which the caller may change, in the structure of
    ``outputs``: a list, a tuple, a dict, or one tensor. One tensor as ``inputs`` is fed without a
    list.

    ``updates`` is a list of what ``K.update`` returns, or of pairs (variable, new value). All of
    them, and the outputs, are computed from the values before the call, then assigned together; of
    two for one variable the last counts, and if the call fails there are none. Random tensors are
    drawn anew at each call.

    ``kwargs`` are options of the engine; one that it lacks raises ArgumentError. The built-in
    engines take ``device``, where the function computes (as the engine writes it, ``"cpu"`` on
    each): what is fed goes there at each call, and a variable that the function updates stays
    there. PyTorch also takes ``compile``, True or options of ``torch.compile``; TensorFlow
    ``jit_compile``, for XLA; JAX ``donate``, which gives it the old buffers of the variables
    updated. All are off by default.

    An output that needs a placeholder which is not fed, or is None, raises GraphError here; a value
    that does not fit raises FeedError at the call.

    >>> x, total = K.placeholder((None, 2)), K.variable([0.0, 0.0])
    >>> f = K.function([x], [K.sum(x)], updates=[K.update_add(total, K.sum(x, axis=0))])
    >>> [out.tolist() for out in f([[[1.0, 2.0], [3.0, 4.0]]])], K.get_value(total).tolist()
    ([10.0], [4.0, 6.0])
    """
    return Function(K, inputs, outputs, updates, name, kwargs)


@graph_function
def gradients(K: Any, loss: TensorLike, variables: Any) -> Any:
    """The gradients of ``loss`` with respect to each of ``variables``, as a list of tensors.

    ``variables`` is one tensor or a list, not only of variables. The elements of ``loss``, which
    may be a list too, are added up. None stands where no differentiable path leads to the loss:
    comparisons, ``K.round``, ``K.argmax``, ``K.stop_gradient`` and casts to integers cut it on
    every backend. Gradients are tensors, and have gradients themselves.

    >>> x, unused = K.variable([1.0, 2.0]), K.variable(0.0)
    >>> dx, none = K.gradients(K.sum(K.square(x)), [x, unused])
    >>> K.eval(dx).tolist(), none
    ([2.0, 4.0], None)
    """
    return _gradients(K, loss, variables)


def _updated(K: Any, x: Any, value: Any) -> Any:
    """The pair (variable, new value); inside the eager scope also carried out."""
    if not isinstance(x, Variable):
        raise ArgumentTypeError(
            f"K.update: expected a variable, got {type(x).__name__} {x!r:.80}. Make one with "
            f"K.variable(value)."
        )
    if scopes.mode() == "eager":
        K.set_value(x, K.eval(value))
    return Update((x, value))


@graph_function
def update(K: Any, x: Any, new_x: TensorLike) -> Any:
    """The update that gives ``x``, a variable, the value of ``new_x``; ``K.function`` performs it.

    It returns a pair for ``updates=``, and changes nothing by itself except inside
    ``K.eager_scope()``. The value is cast to the dtype of ``x``; another shape raises ShapeError.

    >>> v = K.variable(1.0)
    >>> _ = K.function([], [], updates=[K.update(v, v * 3.0)])([])
    >>> K.get_value(v).tolist()
    3.0
    """
    return _updated(K, x, new_x)


@graph_function
def update_add(K: Any, x: Any, increment: TensorLike) -> Any:
    """The update of the variable ``x`` to ``x + increment``; see ``K.update``.

    >>> v = K.variable(1.0)
    >>> _ = K.function([], [], updates=[K.update_add(v, 2.0)])([])
    >>> K.get_value(v).tolist()
    3.0
    """
    return _updated(K, x, K.add(x, increment))


@graph_function
def update_sub(K: Any, x: Any, decrement: TensorLike) -> Any:
    """The update of the variable ``x`` to ``x - decrement``; see ``K.update``.

    >>> v = K.variable(3.0)
    >>> _ = K.function([], [], updates=[K.update_sub(v, 2.0)])([])
    >>> K.get_value(v).tolist()
    1.0
    """
    return _updated(K, x, K.subtract(x, decrement))


@graph_function
def moving_average_update(K: Any, x: Any, value: TensorLike, momentum: TensorLike) -> Any:
    """The update of the variable ``x`` to ``x * momentum + value * (1 - momentum)``.

    See ``K.update``. There is no correction of the first steps, in which the first value of ``x``
    still weighs much.

    >>> v = K.variable(8.0)
    >>> _ = K.function([], [], updates=[K.moving_average_update(v, 4.0, 0.75)])([])
    >>> K.get_value(v).tolist()
    7.0
    """
    kept = K.multiply(x, momentum)
    return _updated(K, x, K.add(kept, K.multiply(value, K.subtract(1.0, momentum))))


# --- names, scopes, sessions -------------------------------------------------------------------


@composite
def name_scope(K: Any, name: str | None) -> Any:
    """A context that prefixes the names of variables made inside with ``name/``; they nest.

    ``name`` None or empty adds nothing. A name given again before the outermost scope ends gets a
    number: ``block/weight``, then ``block/weight_1``.

    >>> with K.name_scope("block"):
    ...     v = K.variable(1.0, name="weight")
    >>> v.name
    'block/weight'
    """
    return scopes.name_scope(name)


@composite
def get_uid(K: Any, prefix: str = "") -> int:
    """The next number of ``prefix``, from 1, for names that differ.

    >>> K.get_uid("dense"), K.get_uid("dense")
    (1, 2)
    """
    return K.session.uid(prefix)  # type: ignore[no-any-return]


@composite
def reset_uids(K: Any) -> None:
    """Let the numbers of ``K.get_uid`` start again.

    >>> K.get_uid("dense"), K.reset_uids(), K.get_uid("dense")
    (1, None, 1)
    """
    K.session.uids.clear()


@graph_function
def clear_session(K: Any) -> None:
    """Reset the numbers of ``K.get_uid`` and the learning phase; forget what sessions compiled.

    Tensors, variables and functions stay valid: kbridge keeps no list of them, and their memory is
    free when nothing refers to them.

    >>> K.set_learning_phase(1)
    >>> K.clear_session()
    >>> K.is_tensor(K.learning_phase())
    True
    """
    K.session.clear()


@composite
def eager(K: Any, func: Callable[..., Any]) -> Any:
    """``func`` as a function inside which everything runs now; usable as a decorator.

    See ``K.eager_scope``.

    >>> double = K.eager(lambda x: x * 2.0)
    >>> K.is_symbolic(double(K.variable(3.0)))
    False
    """
    return scopes.inside(scopes.eager_scope, func)


@composite
def symbolic(K: Any, func: Callable[..., Any]) -> Any:
    """``func`` as a function inside which everything is recorded; usable as a decorator.

    See ``K.symbolic_scope``.

    >>> double = K.symbolic(lambda x: K.sum(x))
    >>> K.is_symbolic(double(np.ones(3)))
    True
    """
    return scopes.inside(scopes.symbolic_scope, func)


@composite
def eager_scope(K: Any) -> Any:
    """A context in which everything runs now on the engine, updates included.

    Results are native tensors. Scopes nest, and each thread has its own. What depends on a
    placeholder raises GraphError inside.

    >>> v = K.variable(1.0)
    >>> with K.eager_scope():
    ...     _ = K.update_add(v, 2.0)
    >>> K.get_value(v).tolist()
    3.0
    """
    return scopes.eager_scope()


@composite
def symbolic_scope(K: Any) -> Any:
    """A context in which everything is recorded; native tensors and arrays become constants.

    Scopes nest, and each thread has its own.

    >>> with K.symbolic_scope():
    ...     total = K.sum(np.ones(3))
    >>> K.is_symbolic(total), K.eval(total).tolist()
    (True, 3.0)
    """
    return scopes.symbolic_scope()


@composite
def backend(K: Any) -> str:
    """The name of the backend: that of the engine, or the module's path.

    >>> K.backend() in ("numpy", "tensorflow", "torch", "jax")
    True
    """
    return K.name  # type: ignore[no-any-return]
