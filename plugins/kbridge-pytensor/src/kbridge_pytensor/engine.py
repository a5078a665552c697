"""What kbridge must know of PyTensor, and the contract that the topics' functions follow.

The tensors are PyTensor's own variables. Those that K functions return are of the subclasses
below, whose operators are K functions: PyTensor's operators promote by NumPy's rules.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.gradient import disconnected_grad
from pytensor.graph.basic import Variable as Node
from pytensor.link.vm import VMLinker
from pytensor.tensor.sharedvar import TensorSharedVariable
from pytensor.tensor.type import TensorType
from pytensor.tensor.variable import TensorConstant, TensorVariable

from kbridge.backends.contract import Contract
from kbridge.backends.flat import FlatEngine
from kbridge.errors import ArgumentTypeError, SymbolicError, UnsupportedError
from kbridge.symbolic.dtypes import FLOATS, to_numpy
from kbridge.symbolic.evaluate import array_function
from kbridge_pytensor.sizes import known_size


def numpy_dtype(dtype: str) -> Any:
    """The NumPy dtype, of those that PyTensor has."""
    if dtype == "bfloat16":
        raise UnsupportedError("PyTensor has no bfloat16; use float16 or float32")
    return to_numpy(dtype)


# --- tensors -------------------------------------------------------------------------------------


class _Operators:
    """The operators of the contract; a value where one is asked for."""

    __array_ufunc__ = None  # NumPy's arrays and scalars leave operators to the tensor
    name: str | None
    type: Any

    def __str__(self) -> str:
        return self.name or super().__str__()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self)!r} {self.type.shape} {self.type.dtype}>"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(contract.functions["eval"](self), dtype)

    @property
    def shape(self) -> Any:
        """PyTensor's symbolic shape; where all sizes are known, their numbers can be read of it."""
        sizes = self.type.shape
        return pt.shape(self) if None in sizes else _Sizes.of(sizes)

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        if session is not None:
            raise ArgumentTypeError(
                f"tensor.eval: expected a session of kbridge, got {session!r:.80}; PyTensor has no "
                f"sessions, so leave it out."
            )
        if not feed_dict:
            return contract.functions["eval"](self)
        return contract.functions["function"](list(feed_dict), [self])(list(feed_dict.values()))[0]

    def _refused(self, *args: Any, **kwargs: Any) -> Any:
        raise SymbolicError(
            f"{self!r} is symbolic: it has no truth value, length or elements, and is no size, "
            f"before it is evaluated. Use K.switch, K.any, K.int_shape, K.map_fn, or K.eval(x)."
        )

    __bool__ = __len__ = __iter__ = __contains__ = __index__ = _refused

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return array_function(func, args, kwargs)


def _operator(name: str, reflected: bool) -> Any:
    def run(self: Any, *others: Any) -> Any:
        operands = (*others, self) if reflected else (self, *others)
        return contract.functions[name](*operands)

    return run


_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "mod",
    "pow": "pow",
    "matmul": "matmul",
    "and": "logical_and",
    "or": "logical_or",
    "xor": "logical_xor",
}
_OTHERS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "neg": "negative",
    "invert": "logical_not",
    "abs": "abs",
    "getitem": "getitem",
}
for _method, _name in {**_BINARY, **_OTHERS}.items():
    setattr(_Operators, f"__{_method}__", _operator(_name, False))
for _method, _name in _BINARY.items():
    setattr(_Operators, f"__r{_method}__", _operator(_name, True))


class Tensor(_Operators, TensorVariable):
    """What a K function returns."""


class Constant(_Operators, TensorConstant):
    """A tensor of fixed value."""


class Variable(_Operators, TensorSharedVariable):
    """What ``K.variable`` returns."""


class _Sizes(TensorConstant):
    """Known sizes: a constant for PyTensor, numbers for who takes it apart."""

    @classmethod
    def of(cls, sizes: Any) -> Any:
        return cls(TensorType("int64", shape=(len(sizes),)), np.array(sizes, np.int64))

    def __iter__(self) -> Any:
        return iter(self.data.tolist())

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, key: Any) -> Any:
        return int(self.data[key]) if isinstance(key, int) else super().__getitem__(key)


_OWN = {TensorVariable: Tensor, TensorConstant: Constant}


def own(variable: Any) -> Any:
    """A PyTensor variable with the contract's operators: the same object."""
    kind = _OWN.get(type(variable))
    if kind is not None:
        variable.__class__ = kind
    return variable


# --- the engine ----------------------------------------------------------------------------------


class PyTensorEngine(FlatEngine):
    """PyTensor variables as operands of the contract's rules."""

    tensor_class = Node
    #: What kbridge composes of this module's functions.
    composes = frozenset(
        (
            *("rnn", "map_fn", "foldl", "foldr", "switch", "in_train_phase", "learning_phase"),
            *("set_learning_phase", "learning_phase_scope", "clear_session", "count_params"),
            *("zeros", "ones", "batch_get_value", "ctc_batch_cost", "ctc_decode"),
            *("is_keras_tensor", "manual_variable_initialization"),
            *("is_sparse", "to_dense"),
        )
    )
    phase = own(pt.scalar("keras_learning_phase", dtype="bool"))

    def __init__(self) -> None:
        super().__init__("pytensor")
        self.title = "PyTensor"

    def is_native(self, value: Any) -> bool:
        return isinstance(value, Node)

    def shape(self, native: Any) -> Any:
        return tuple(native.type.shape)

    def dtype(self, native: Any) -> str:
        return str(native.type.dtype)

    def from_numpy(self, array: Any, dtype: str) -> Any:
        return own(pt.constant(np.array(array, numpy_dtype(dtype))))

    def to_numpy(self, native: Any) -> Any:
        return contract.functions["eval"](native)

    def known_sizes(self, native: Any) -> Any:
        if native.type.ndim == 0:
            return known_size(native)
        return tuple(known_size(plain_getitem(native, i)) for i in range(native.type.shape[0]))

    def finished(self, op: Any, operands: list[Any], value: Any, shape: Any, dtype: str) -> Any:
        """The result, cut from derivatives where the contract has none, with its static shape."""
        if not isinstance(value, Node):  # a list of results
            return value
        if str(value.type.dtype) != dtype:
            value = contract.native["cast"](value, dtype)
        if dtype not in FLOATS or not op.differentiable:
            floats = (str(x.type.dtype) in FLOATS for x in operands if isinstance(x, Node))
            value = disconnected_grad(value) if any(floats) else value
        found = value.type.shape
        if len(found) == len(shape) and any(
            s is None and w is not None for s, w in zip(found, shape, strict=True)
        ):
            value = pt.specify_shape(value, shape)
        return own(value)

    def before_checks(self) -> None:
        """No optimising, and Python instead of compiled code, unless PYTENSOR_FLAGS says more."""
        if not os.environ.get("PYTENSOR_FLAGS"):
            linker = VMLinker(c_thunks=False, allow_gc=False)
            pytensor.config.mode, pytensor.config.cxx = Mode(linker, optimizer=None), ""
            pytensor.config.traceback__limit = 0  # otherwise each node remembers where it was made

    def loop(
        self, step: Any, states: Any, sequences: Any, reverse: bool, specs: Any = None
    ) -> tuple[list[Any], list[Any]]:
        from kbridge_pytensor.loop import scan

        return scan(step, list(states), list(sequences), reverse)


def plain_getitem(x: Any, key: Any) -> Any:
    """PyTensor's own indexing."""
    return TensorVariable.__getitem__(x, key)


engine = PyTensorEngine()
contract = Contract(engine)


#: What Numba says of steps that run in Python, and of products: nobody can do anything about it.
_UNAVOIDABLE = (
    "Numba will use object mode to run (Host|_Draw|_Weighted)'s perform",
    r"np\.dot\(\) is faster on contiguous arrays",
    "'@' is faster on contiguous arrays",
)


def quiet(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A call without the warnings that nobody can do anything about."""
    with warnings.catch_warnings():
        for message in _UNAVOIDABLE:
            warnings.filterwarnings("ignore", message)
        return function(*args, **kwargs)


def compiled(inputs: Any, outputs: Any, **options: Any) -> Any:
    """A PyTensor function; what is not used among its inputs is left out."""
    run = quiet(pytensor.function, inputs, outputs, on_unused_input="ignore", **options)
    fresh = [True]

    def called(*arrays: Any) -> Any:
        # Numba compiles in the first call, and warns.
        return quiet(run, *arrays) if fresh and fresh.pop() else run(*arrays)

    return called
