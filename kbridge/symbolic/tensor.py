"""The graph's values: :class:`Tensor`, :class:`Placeholder`, :class:`Constant`, :class:`Variable`.

A Tensor is one recorded operation with its arguments. There is no global graph: a Tensor
keeps what it was computed from alive, and nothing keeps the Tensor.

Invariants: a Tensor never changes after it is made (a Variable's storage does); equality and
hash are identity; ``shape`` is a static tuple with ``None`` for unknown sizes; any attribute
may be set on a Tensor by callers, and none is copied to results.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from kbridge.errors import SymbolicError
from kbridge.symbolic import dependencies

if TYPE_CHECKING:
    from kbridge.api.declare import Operation
    from kbridge.binding import Backend
    from kbridge.symbolic.host import Known

Shape = tuple[int | None, ...]

#: Calls ``operate(backend, operation name, arguments)``; set by :mod:`kbridge.symbolic.record`.
_operate: Any = None


class Tensor:
    """The symbolic result of an operation, evaluated by ``K.function`` or ``K.eval``."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "args",
        "backend",
        "dtype",
        "fed",
        "host",
        "inputs",
        "op",
        "shape",
    )

    #: Whether the value is a sparse matrix (see symbolic/sparse.py).
    sparse = False

    # NumPy arrays and scalars on the left of an operator leave it to the reflected one here.
    __array_ufunc__ = None
    __array_priority__ = 1000

    def __init__(
        self,
        backend: Backend,
        op: Operation | None,
        args: tuple[Any, ...],
        inputs: tuple[Tensor, ...],
        shape: Shape,
        dtype: str,
        fed: bool = False,
        host: Known | None = None,
    ) -> None:
        self.backend = backend
        self.op = op
        self.args = args
        self.inputs = inputs
        self.shape = shape
        self.dtype = dtype
        #: Whether a placeholder without a default lies upstream.
        self.fed = fed
        #: What is known of host integers (see symbolic/host.py); None for all other tensors.
        self.host = host
        if dependencies.used and op is not None:
            dependencies.mark(self)

    # --- naming ---------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The name given, or that of the operation."""
        given: str | None = self.__dict__.get("_name")
        return given if given is not None or self.op is None else self.op.name

    @name.setter
    def name(self, value: str | None) -> None:
        self.__dict__["_name"] = value

    @property
    def ndim(self) -> int:
        """The rank."""
        return len(self.shape)

    def get_shape(self) -> Shape:
        """The static shape, as TensorFlow 1 spells it."""
        return self.shape

    def __repr__(self) -> str:
        kind = type(self).__name__
        form = " sparse" if self.sparse else ""
        return f"<{kind} {self.name!r} shape={self.shape} dtype={self.dtype}{form}>"

    def __str__(self) -> str:
        return repr(self)

    # --- value ----------------------------------------------------------------------------

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value as a NumPy array, in TensorFlow 1's spelling.

        ``session`` is what ``K.get_session()`` returns, and taken from there if it is None.
        """
        if session is not None or feed_dict:
            from kbridge.symbolic.session import current

            chosen = current(self.backend, session, "tensor.eval")
            if feed_dict:
                return chosen.run(self, feed_dict)
        return self.backend.evaluate(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = np.asarray(self.backend.evaluate(self))
        return value if dtype is None else value.astype(dtype)

    def __float__(self) -> float:
        return float(self.backend.evaluate(self))

    def __int__(self) -> int:
        return int(self.backend.evaluate(self))

    # --- what a symbolic value cannot do --------------------------------------------------

    def _refuse(self, use: str, instead: str) -> NoReturn:
        raise SymbolicError(
            f"{self!r} has no value yet, so it cannot be used {use}. {instead} "
            f"K.eval(tensor) gives the value of a tensor that depends on no placeholder."
        )

    def __bool__(self) -> bool:
        self._refuse(
            "as a Python bool",
            "Use K.switch(condition, a, b) to choose by value, and 'is' or 'is None' to compare "
            "objects.",
        )

    def __len__(self) -> int:
        self._refuse("with len()", "Use K.int_shape(tensor)[0] or K.shape(tensor)[0].")

    def __iter__(self) -> Iterator[Any]:
        self._refuse("in a loop", "Use K.map_fn, or index it: tensor[0], tensor[1], ...")

    def __contains__(self, item: Any) -> bool:
        self._refuse("with 'in'", "Use K.any(K.equal(tensor, item)).")

    def __index__(self) -> int:
        known = None if self.host is None else self.host.value
        if type(known) is int:
            return known
        self._refuse("as a Python integer", "Pass the tensor itself where K takes a size.")
        return None

    def __reduce__(self) -> NoReturn:
        raise SymbolicError(
            f"{self!r} cannot be pickled or copied: it is part of a graph. Save K.get_value(x)."
        )

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    # --- operators ------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return _operate(self.backend, "getitem", (self, key))

    def __add__(self, other: Any) -> Any:
        return _operate(self.backend, "add", (self, other))

    def __radd__(self, other: Any) -> Any:
        return _operate(self.backend, "add", (other, self))

    def __sub__(self, other: Any) -> Any:
        return _operate(self.backend, "subtract", (self, other))

    def __rsub__(self, other: Any) -> Any:
        return _operate(self.backend, "subtract", (other, self))

    def __mul__(self, other: Any) -> Any:
        return _operate(self.backend, "multiply", (self, other))

    def __rmul__(self, other: Any) -> Any:
        return _operate(self.backend, "multiply", (other, self))

    def __truediv__(self, other: Any) -> Any:
        return _operate(self.backend, "divide", (self, other))

    def __rtruediv__(self, other: Any) -> Any:
        return _operate(self.backend, "divide", (other, self))

    def __floordiv__(self, other: Any) -> Any:
        return _operate(self.backend, "floor_divide", (self, other))

    def __rfloordiv__(self, other: Any) -> Any:
        return _operate(self.backend, "floor_divide", (other, self))

    def __mod__(self, other: Any) -> Any:
        return _operate(self.backend, "mod", (self, other))

    def __rmod__(self, other: Any) -> Any:
        return _operate(self.backend, "mod", (other, self))

    def __pow__(self, other: Any) -> Any:
        return _operate(self.backend, "pow", (self, other))

    def __rpow__(self, other: Any) -> Any:
        return _operate(self.backend, "pow", (other, self))

    def __matmul__(self, other: Any) -> Any:
        return _operate(self.backend, "matmul", (self, other))

    def __rmatmul__(self, other: Any) -> Any:
        return _operate(self.backend, "matmul", (other, self))

    def __neg__(self) -> Any:
        return _operate(self.backend, "negative", (self,))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _operate(self.backend, "abs", (self,))

    def __invert__(self) -> Any:
        return _operate(self.backend, "logical_not", (self,))

    def __and__(self, other: Any) -> Any:
        return _operate(self.backend, "logical_and", (self, other))

    def __rand__(self, other: Any) -> Any:
        return _operate(self.backend, "logical_and", (other, self))

    def __or__(self, other: Any) -> Any:
        return _operate(self.backend, "logical_or", (self, other))

    def __ror__(self, other: Any) -> Any:
        return _operate(self.backend, "logical_or", (other, self))

    def __xor__(self, other: Any) -> Any:
        return _operate(self.backend, "logical_xor", (self, other))

    def __rxor__(self, other: Any) -> Any:
        return _operate(self.backend, "logical_xor", (other, self))

    def __lt__(self, other: Any) -> Any:
        return _operate(self.backend, "less", (self, other))

    def __le__(self, other: Any) -> Any:
        return _operate(self.backend, "less_equal", (self, other))

    def __gt__(self, other: Any) -> Any:
        return _operate(self.backend, "greater", (self, other))

    def __ge__(self, other: Any) -> Any:
        return _operate(self.backend, "greater_equal", (self, other))

    # --- protocols of the engines -----------------------------------------------------------

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.backend.array_function(func, args, kwargs)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # PyTorch's operators then try the reflected method; its functions raise TypeError.
        return NotImplemented

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return self.backend.tf_tensor(self, dtype)


class Placeholder(Tensor):
    """A value that is given at each call of a function."""

    __slots__ = ("default",)

    def __init__(
        self,
        backend: Backend,
        shape: Shape,
        dtype: str,
        name: str | None = None,
        sparse: bool = False,
        default: Any = None,
    ) -> None:
        super().__init__(backend, None, (), (), shape, dtype, fed=default is None)
        #: What a function uses where the placeholder is not fed; None: it must be fed.
        self.default = default
        if sparse:
            self.sparse = True
        self.name = name


class Constant(Tensor):
    """A fixed value: a NumPy array, or an engine's own tensor taken into the graph."""

    __slots__ = ("value",)

    def __init__(self, backend: Backend, value: Any, shape: Shape, dtype: str) -> None:
        super().__init__(backend, None, (), (), shape, dtype)
        self.value = value

    @property
    def name(self) -> str | None:
        """The name given, or ``"constant"``."""
        given: str | None = self.__dict__.get("_name", "constant")
        return given

    @name.setter
    def name(self, value: str | None) -> None:
        self.__dict__["_name"] = value


class Variable(Tensor):
    """A Tensor with storage on the engine, changed by updates and ``K.set_value``."""

    __slots__ = ("constraint", "storage", "trainable")

    def __init__(
        self,
        backend: Backend,
        storage: Any,
        shape: Shape,
        dtype: str,
        name: str,
        constraint: Any = None,
    ) -> None:
        super().__init__(backend, None, (), (), shape, dtype)
        self.storage = storage
        self.constraint = constraint
        self.trainable = True
        self.name = name

    @property
    def value(self) -> Any:
        """The native storage.

        On PyTorch a leaf that collects ``.grad``, on TensorFlow a ``tf.Variable``, on JAX and
        NumPy an array.
        """
        return self.storage

    def __str__(self) -> str:
        return str(self.name)


_draws = itertools.count()


def draw_count() -> int:
    """A number above that of each random Tensor made so far."""
    return next(_draws)


class Draw(Tensor):
    """A random Tensor: each evaluation takes the next member of its own stream."""

    __slots__ = ("number", "seed", "stream")

    def __init__(self, seed: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seed = seed
        self.stream = itertools.count()
        #: In the order of making: a loop's step owns what is made while it is traced.
        self.number = draw_count()
