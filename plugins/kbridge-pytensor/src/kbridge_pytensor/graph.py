"""Placeholders, variables, functions, values and gradients, by PyTensor's own."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant as NodeConstant
from pytensor.graph.traversal import ancestors
from pytensor.link.vm import VMLinker
from pytensor.tensor.type import TensorType

from kbridge.api.rules import as_dtype, check_dims
from kbridge.errors import ArgumentError, ArgumentTypeError, GraphError, KBridgeError, ShapeError
from kbridge.symbolic import dtypes, record, scopes, shapes
from kbridge.symbolic import sparse as matrices
from kbridge.symbolic.function import Update
from kbridge_pytensor.engine import Tensor, Variable, compiled, contract, engine, numpy_dtype, own
from kbridge_pytensor.sizes import is_of_sizes

#: For values that are computed once: compiling takes longest.
_ONCE = Mode(linker=VMLinker(c_thunks=False), optimizer="fast_compile")


def _uid(kind: str) -> str:
    return f"{kind}_{next(_numbers)}"


_numbers = iter(range(1, 2**62))


def _marked(made: Any, sizes: Any) -> Any:
    made._keras_shape = sizes
    made._uses_learning_phase = False
    return made


@contract.own
def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
) -> Any:
    if shape is None and ndim is None:
        raise ArgumentError("K.placeholder: give shape= (with None for unknown sizes) or ndim=.")
    sizes = (None,) * int(ndim) if shape is None else shapes.shape_argument(shape)  # type: ignore[arg-type]
    if sparse:
        matrices.check_placeholder(contract, sizes, as_dtype(dtype))  # type: ignore[arg-type]
    made = own(pt.tensor(dtype=str(numpy_dtype(as_dtype(dtype))), shape=sizes))
    made.name = scopes.scoped(name or _uid("placeholder"))
    made._is_placeholder = True
    return _marked(made, sizes)


@contract.own
def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    if value is None:
        raise ArgumentTypeError(f"K.variable: value must be an array or a number, not {value!r}")
    if matrices.is_scipy(value):
        matrices.of(contract)  # type: ignore[arg-type]  # which it has not
    array = np.array(_array(value, as_dtype(dtype)), order="C")
    name = scopes.scoped(name or _uid("variable"))
    made = Variable(TensorType(array.dtype, shape=array.shape), array, True, name=name)
    made.constraint = constraint
    made.trainable = True
    return _marked(made, array.shape)


def _array(value: Any, dtype: str) -> Any:
    """A tensor's or anything's value in a dtype."""
    wanted = numpy_dtype(dtype)
    if engine.is_native(value):
        return evaluated(value).astype(wanted)
    return record.as_array(value, dtype)


@contract.own
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    array = _array(value, as_dtype(dtype))
    if shape is not None:
        sizes: Any = shapes.shape_argument(check_dims(shape))
        if array.size != 1:
            shapes.reshape(array.shape, sizes)
        array = np.full(sizes, array.reshape(())) if array.size == 1 else array.reshape(sizes)
    made = engine.from_numpy(array, as_dtype(dtype))
    made.name = name
    return made


# --- what a tensor is ----------------------------------------------------------------------------


@contract.own
def int_shape(x: Any) -> Any:
    return engine.shape(x) if engine.is_native(x) else np.shape(x)


@contract.own
def dtype(x: Any) -> str:
    return engine.dtype(x) if engine.is_native(x) else dtypes.normalize(np.asarray(x).dtype)


@contract.own
def is_tensor(x: Any) -> bool:
    return engine.is_native(x)


@contract.own
def is_symbolic(x: Any) -> bool:
    return engine.is_native(x)


@contract.own
def is_variable(x: Any) -> bool:
    return isinstance(x, Variable)


@contract.own
def is_placeholder(x: Any) -> bool:
    return isinstance(x, Tensor) and hasattr(x, "_is_placeholder")


# --- values --------------------------------------------------------------------------------------


def _open(outputs: Any, fed: Any = ()) -> Any:
    """An input of ``outputs`` that nothing gives a value, or None."""
    for node in ancestors(outputs, blockers=list(fed) or None):
        fixed = isinstance(node, (NodeConstant, SharedVariable)) or node is engine.phase
        if node.owner is None and not fixed and node not in fed:
            return node
    return None


#: What PyTensor raises where sizes do not fit.
FAILURES = (ValueError, AssertionError, ZeroDivisionError)


def misfit(error: Exception, name: str) -> Exception:
    """The contract's error for what PyTensor has raised at the run of ``name``."""
    if isinstance(error, KBridgeError):
        return error
    text = str(error).partition("\n")[0]
    if "negative integer powers" in text:
        return ArgumentError(
            "K.pow: an integer to a negative power is no integer; cast the base with "
            "K.cast(x, K.floatx())."
        )
    return ShapeError(f"{name}: sizes do not fit at the run: {text}")


def evaluated(x: Any) -> Any:
    """The value of a tensor, a learning phase in it being 0."""
    if isinstance(x, Variable):
        return np.array(x.get_value())
    missing = _open([x])
    if missing is not None:
        raise GraphError(
            f"{x!r} depends on placeholders ({missing!r}), so it has no value by itself. Build "
            f"f = K.function([placeholder, ...], [tensor]) and call f([value, ...])."
        )
    run = x.tag.__dict__.get("kbridge_value")
    if run is None:
        run = compiled(
            [], x, givens={engine.phase: pt.constant(np.bool_(False), dtype="bool")}, mode=_ONCE
        )
        x.tag.kbridge_value = run
    try:
        return np.array(run())
    except FAILURES as error:
        raise misfit(error, "K.eval") from error


@contract.own
def eval(x: Any) -> Any:
    return evaluated(x) if engine.is_native(x) else np.array(record.as_array(x))


@contract.own
def get_value(x: Any) -> Any:
    return eval(x)


@contract.own
def set_value(x: Any, value: Any) -> None:
    batch_set_value([(x, value)])


@contract.own
def batch_set_value(tuples: Any) -> None:
    ready = []
    for x, value in tuples:
        _need_variable(x, "K.set_value")
        array = np.array(_array(value, x.type.dtype), order="C")  # as the compiled code takes it
        if array.shape != x._keras_shape:
            raise ShapeError(
                f"K.set_value: {x} takes a value of shape {x._keras_shape}, got {array.shape}"
            )
        ready.append((x, array))
    for x, array in ready:
        x.set_value(array, borrow=True)


def _need_variable(x: Any, where: str) -> None:
    if not isinstance(x, Variable):
        raise ArgumentTypeError(
            f"{where}: expected a variable, got {type(x).__name__} {x!r:.80}. Make one with "
            f"K.variable(value)."
        )


# --- updates and gradients -----------------------------------------------------------------------


@contract.own
def update(x: Any, new_x: Any) -> Any:
    _need_variable(x, "K.update")
    return Update((x, new_x))


@contract.own
def update_add(x: Any, increment: Any) -> Any:
    _need_variable(x, "K.update")
    return Update((x, x + increment))


@contract.own
def update_sub(x: Any, decrement: Any) -> Any:
    _need_variable(x, "K.update")
    return Update((x, x - decrement))


@contract.own
def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    _need_variable(x, "K.update")
    multiply, subtract = contract.functions["multiply"], contract.functions["subtract"]
    new = multiply(x, momentum) + multiply(value, subtract(1.0, momentum))
    return Update((x, new))


@contract.own
def gradients(loss: Any, variables: Any) -> Any:
    losses = loss if isinstance(loss, (list, tuple)) else [loss]
    sources = variables if isinstance(variables, (list, tuple)) else [variables]
    for what, parts in (("loss", losses), ("variables", sources)):
        for given in parts:
            if not engine.is_native(given):
                raise ArgumentTypeError(
                    f"K.gradients: {what} must be symbolic, not {type(given).__name__}: "
                    f"{given!r:.80}"
                )
    floats = [pt.sum(part) for part in losses if engine.dtype(part) in dtypes.FLOATS]
    wanted = [s for s in sources if engine.dtype(s) in dtypes.FLOATS and not is_of_sizes(s)]
    if not floats or not wanted:
        return [None] * len(sources)
    total = floats[0] if len(floats) == 1 else pt.add(*floats)
    wanted = list(dict.fromkeys(wanted))
    with _deep(total):
        found = pytensor.grad(
            total, wanted, disconnected_inputs="ignore", return_disconnected="none"
        )
    by_source = dict(zip(wanted, found, strict=True))
    return [_shaped(by_source.get(source), source) for source in sources]


@contextlib.contextmanager
def _deep(x: Any) -> Iterator[None]:
    """``pytensor.grad`` recurses over the graph, three calls for each node on the way."""
    with _recursion:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 4 * sum(1 for _ in ancestors([x])))
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


_recursion = threading.RLock()


def _shaped(slope: Any, source: Any) -> Any:
    """A gradient with the static shape and dtype of what it is by."""
    if slope is None or not engine.is_native(slope) or not hasattr(slope.type, "shape"):
        return None
    if slope.type.dtype != source.type.dtype:
        slope = pt.cast(slope, source.type.dtype)
    sizes = zip(slope.type.shape, source.type.shape, strict=True)
    if any(s is None and w is not None for s, w in sizes):
        slope = pt.specify_shape(slope, source.type.shape)
    slope.tag.kbridge_slope = True
    return own(slope)
