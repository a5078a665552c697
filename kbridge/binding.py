"""Joining the contract with a backend: the dispatchers behind ``K.name``.

A :class:`Backend` holds, for each operation of the contract, the backend's own function behind
a generated dispatcher, else the operation's composition with ``K`` bound to this backend, else
nothing: access then raises :class:`MissingOperationError`. The backend's modules are read, never
changed, so two backends can be bound in one process.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from kbridge.api.declare import OPERATIONS, lifted
from kbridge.api.renamed import GONE
from kbridge.dispatchers import generate
from kbridge.errors import MissingOperationError, ShapeError
from kbridge.symbolic import record, scopes, sparse
from kbridge.symbolic.tensor import Placeholder, Tensor, Variable

_BOUND: dict[str, Backend] = {}
_LOCK = threading.RLock()


class Backend:
    """The contract bound to one backend: every K function is an attribute."""

    def __init__(self, name: str, engine: Any, native: dict[str, Callable[..., Any]]) -> None:
        load_contract()
        self.name = name
        self.engine = engine
        self.native = native
        self.session = scopes.Session()
        self.phase_placeholder = Placeholder(self, (), "bool", "keras_learning_phase", default=0)
        self.operations: dict[str, Callable[..., Any]] = {}
        namespace = generate(self)
        for op in OPERATIONS.values():
            function = namespace.get(op.name)
            if function is not None:
                self.operations[op.name] = function
                setattr(self, op.name, function)

    def __getattr__(self, name: str) -> Any:
        op = OPERATIONS.get(name)
        if name in GONE:
            raise AttributeError(f"K.{name} {GONE[name]}.")
        if op is None:
            raise AttributeError(f"the Keras backend API has no function {name!r}")
        raise MissingOperationError(
            f"K.{name} is not available on the backend {self.name!r}. Its authors can add a "
            f"function {name}({', '.join(op.parameters)}) to it; see 'kbridge check {self.name}'."
        )

    def __repr__(self) -> str:
        return f"<kbridge backend {self.name!r}>"

    def public(self) -> dict[str, Callable[..., Any]]:
        """The K functions by name."""
        return {n: f for n, f in self.operations.items() if OPERATIONS[n].public}

    def as_tensor(self, value: Any) -> Tensor:
        """``value`` as a Tensor of this backend; arrays and native tensors become constants."""
        return record.Later(self).operand(value)

    def new_value(self, variable: Variable, value: Any) -> Tensor:
        """``value`` as what an update gives ``variable``: of its shape and dtype."""
        tensor = self.as_tensor(value)
        sparse.check_update(variable, tensor)
        if tensor.dtype != variable.dtype:
            tensor = self.operations["cast"](tensor, variable.dtype)
        known = len(tensor.shape) == len(variable.shape)
        if not known or any(
            s is not None and s != v for s, v in zip(tensor.shape, variable.shape, strict=True)
        ):
            raise ShapeError(
                f"K.update: the variable {variable.name!r} has the shape {variable.shape}, its "
                f"new value {tensor.shape}; an update keeps the shape."
            )
        return self._checked(variable, tensor) if None in tensor.shape else tensor

    def _checked(self, variable: Variable, tensor: Tensor) -> Tensor:
        """A new value whose shape the run tells: an error there, before anything is committed."""

        def update(native: Any) -> Any:
            sizes = self.engine.shape(native)
            if None not in sizes and sizes != variable.shape:
                raise ShapeError(
                    f"K.update: the variable {variable.name!r} has the shape {variable.shape}, "
                    f"its new value {sizes}; an update keeps the shape."
                )
            return native

        rules = (lambda value: variable.shape, lambda value: variable.dtype)
        checked: Tensor = record.Later(self).run(lifted(update, 1, rules), (tensor,))
        return checked

    # --- what the graph asks of a backend ----------------------------------------------------

    def evaluate(self, tensor: Any) -> Any:
        """The value of a Tensor that depends on no placeholder, as a NumPy array."""
        from kbridge.symbolic.evaluate import evaluate

        return evaluate(self, tensor)

    def native_value(self, tensor: Any) -> Any:
        """The current value as a native tensor, the engine's autodiff intact."""
        from kbridge.symbolic.evaluate import native_value

        return native_value(self, tensor)

    def host_function(self, name: str) -> Callable[..., Any]:
        """The NumPy backend's own function, for shape arithmetic and host draws."""
        return host_functions()[name]

    def array_function(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``np.func(tensor)``: run on the value inside the eager scope, refuse elsewhere."""
        from kbridge.symbolic.evaluate import array_function

        return array_function(func, args, kwargs)

    def tf_tensor(self, tensor: Any, dtype: Any) -> Any:
        """``tf.func(tensor)``: the native value inside the eager scope, refuse elsewhere."""
        from kbridge.symbolic.evaluate import tf_tensor

        return tf_tensor(self, tensor, dtype)


#: True while the declarations are imported for their own sake: kbridge.api then binds later.
importing_contract = False


@functools.cache
def load_contract() -> None:
    """Import every topic module of ``kbridge.api``, which fills :data:`OPERATIONS`."""
    global importing_contract
    if "kbridge.api" not in sys.modules:
        importing_contract = True
        try:
            importlib.import_module("kbridge.api")
        finally:
            importing_contract = False
    api = sys.modules["kbridge.api"]
    for module in pkgutil.iter_modules(api.__path__):
        importlib.import_module(f"kbridge.api.{module.name}")


def host_functions() -> dict[str, Callable[..., Any]]:
    """The NumPy backend's primitives."""
    module = importlib.import_module("kbridge.backends.numpy")
    found: dict[str, Callable[..., Any]] = module.PRIMITIVES
    return found


def primitives(modules: Iterable[ModuleType]) -> dict[str, Callable[..., Any]]:
    """The native functions in a backend's topic modules, by the operation's name."""
    load_contract()
    found: dict[str, Callable[..., Any]] = {}
    for module in modules:
        for name, function in vars(module).items():
            if name not in OPERATIONS or not callable(function):
                continue
            if found.setdefault(name, function) is not function:
                raise ValueError(f"{module.__name__} brings a second primitive {name!r}")
    return found


def backend_of(module: ModuleType, name: str) -> Backend:
    """The Backend of a loaded module: its own if it is written with the kit."""
    with _LOCK:
        if name not in _BOUND:
            own = getattr(module, "BACKEND", None)
            if not isinstance(own, Backend):
                from kbridge.backends.flat import bind_flat

                own = bind_flat(module, name)
            _BOUND[name] = own
        return _BOUND[name]
