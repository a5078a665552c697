"""Joining the contract with a backend: the dispatchers behind ``K.name``.

A :class:`Backend` holds, for each operation of the contract, the backend's own function behind
a generated dispatcher, else the operation's composition with ``K`` bound to this backend, else
nothing: access then raises :class:`MissingOperationError`. The backend's modules are read, never
changed, so two backends can be bound in one process.

A dispatcher has the operation's exact signature. It asks whether the operands are exactly the
engine's class and calls the native function; everything else is the slow path of
:mod:`kbridge.symbolic.record`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from kbridge import __version__
from kbridge.api.declare import OPERATIONS, Operation, lifted
from kbridge.api.planned import PLANNED
from kbridge.errors import KBridgeError, MissingOperationError, ShapeError
from kbridge.symbolic import record, scopes
from kbridge.symbolic.tensor import Placeholder, Tensor, Variable

_BOUND: dict[str, Backend] = {}
_LOCK = threading.RLock()


class _Never:
    """Nothing is an instance of exactly this class: the fast path is off."""


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
        namespace = _generate(self)
        for op in OPERATIONS.values():
            function = namespace.get(op.name)
            if function is not None:
                self.operations[op.name] = function
                setattr(self, op.name, function)

    def __getattr__(self, name: str) -> Any:
        op = OPERATIONS.get(name)
        if op is None and name in PLANNED:
            raise MissingOperationError(
                f"K.{name} is part of the contract, but kbridge {__version__} does not have it yet "
                f"on any backend."
            )
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


# --- generated dispatchers -------------------------------------------------------------------


def _generate(backend: Backend) -> dict[str, Any]:
    """Compile the dispatchers of all operations that the backend has, in one namespace."""

    def apply(op: Operation, args: tuple[Any, ...]) -> Any:
        return record.apply(backend, op, args)

    def retry(op: Operation, args: tuple[Any, ...], error: Exception) -> Any:
        # The slow path checks the arguments by the contract's rules, so that a wrong one gets
        # the contract's error; if all is well there, the engine's own error comes again.
        try:
            return record.apply(backend, op, args)
        except type(error):
            raise
        except Exception as clear:
            raise clear from error

    engine = backend.engine
    # A module, since torch.compile looks in sys.modules for what a function reads.
    module = ModuleType(f"kbridge.dispatchers.{backend.name}")
    sys.modules[module.__name__] = module
    namespace = vars(module)
    namespace.update(K=backend, apply=apply, retry=retry, alike=_alike)
    namespace.update(KBridgeError=KBridgeError, named=record.named)
    namespace.update(engine.guard_names)
    lines: list[str] = []
    composed = _compositions(backend)
    for op in OPERATIONS.values():
        native = backend.native.get(op.name)
        if op.plain is not None:
            namespace[op.name] = op.plain
        elif native is not None:
            if not engine.has_graph:
                namespace[op.name] = native  # a module with a graph of its own, used as it is
                continue
            namespace[f"n_{op.name}"] = engine.entry(op, native)
            namespace[f"o_{op.name}"] = op
            lines += _dispatcher(op, engine)
        elif op.name in composed:
            namespace[f"c_{op.name}"] = op.composition
            namespace[f"o_{op.name}"] = op
            lines += [
                f"def {_head(op)}:",
                "    try:",
                f"        return c_{op.name}(K, {_call(op)})",
                "    except KBridgeError as error:",
                f"        raise named(error, {op.name!r}) from error.__cause__",
            ]
    exec(compile("\n".join(lines), f"<kbridge dispatchers of {backend.name}>", "exec"), namespace)
    for op in OPERATIONS.values():
        function = namespace.get(op.name)
        if function is not None and (f"n_{op.name}" in namespace or f"c_{op.name}" in namespace):
            function.__defaults__ = op.defaults or None
            function.__doc__ = op.doc
            function.__module__ = "kbridge.api"

    def switch(symbolic: bool) -> None:
        namespace["T"] = _Never if symbolic else engine.tensor_class
        for label, kind in zip(_labels(engine), engine.subclasses, strict=True):
            namespace[label] = _Never if symbolic else kind

    switch(False)

    scopes.on_symbolic.append(switch)
    return namespace


def _alike(tensors: Any, kind: Any) -> bool:
    """Whether a list holds native tensors of exactly one class and one dtype."""
    if (tensors.__class__ is not list and tensors.__class__ is not tuple) or not tensors:
        return False
    first = tensors[0]
    if first.__class__ is not kind:
        return False
    dtype = first.dtype
    for tensor in tensors:
        if tensor.__class__ is not kind or tensor.dtype is not dtype:
            return False
    return True


def _compositions(backend: Backend) -> set[str]:
    """The names of the compositions whose parts the backend has, natively or by composition."""
    graph = backend.engine.has_graph
    found = {
        name
        for name, op in OPERATIONS.items()
        if op.composition is not None and (graph or not op.graph)
    }
    while True:
        there = found.union(backend.native, (n for n, op in OPERATIONS.items() if op.plain))
        missing = {n for n in found if not _parts(OPERATIONS[n].composition) <= there}
        if not missing:
            return found
        found -= missing


def _parts(function: Any) -> set[str]:
    """The operations that a composition names, itself or in its module's helpers."""
    parts: set[str] = set()
    seen: set[str] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        for name in _names(current.__code__):
            helper = current.__globals__.get(name)
            if name in OPERATIONS and not isinstance(helper, ModuleType):
                parts.add(name)
            elif name not in seen and isinstance(helper, FunctionType):
                seen.add(name)
                waiting.append(helper)
    return parts


def _names(code: CodeType) -> set[str]:
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _head(op: Operation) -> str:
    required = len(op.parameters) - len(op.defaults)
    if op.parameters and op.parameters[-1].startswith("**"):
        required -= 1
    shown = [
        name if i < required or name.startswith("*") else f"{name}=None"
        for i, name in enumerate(op.parameters)
    ]
    return f"{op.name}({', '.join(shown)})"


def _call(op: Operation) -> str:
    return ", ".join(op.parameters)


def _dispatcher(op: Operation, engine: Any) -> list[str]:
    call = _call(op)
    packed = f"({call},)" if op.parameters else "()"
    lines = [f"def {_head(op)}:"]
    guard = _guard(op, engine)
    if guard:
        returned = [f"            return n_{op.name}({call})"]
        if engine.declines:
            returned = [
                f"            result = n_{op.name}({call})",
                "            if result.__class__ is not tuple:",
                "                return result",
            ]
        lines += [
            f"    if {guard}:",
            "        try:",
            *returned,
            "        except Exception as error:",
            f"            return retry(o_{op.name}, {packed}, error)",
        ]
    return [*lines, f"    return apply(o_{op.name}, {packed})"]


def _guard(op: Operation, engine: Any) -> str:
    """The condition under which the native function may be called at once."""
    names = [op.parameters[i] for i in op.operand_indices]
    required = len(op.parameters) - len(op.defaults)
    if op.random or not names or op.operand_indices[0] >= required:
        return ""
    if op.listed:
        return f"alike({names[0]}, T)"
    main = [n for n, i in zip(names, op.operand_indices, strict=True) if i < required]
    rest = [n for n, i in zip(names, op.operand_indices, strict=True) if i >= required]
    tests = [f"{name}.__class__ is T" for name in main]
    for name in rest:
        test = f"{name}.__class__ is T"
        if op.parameters.index(name) in op.promoted:
            test += f" and {name}.dtype is {main[0]}.dtype"
        tests.append(f"({name} is None or {test})")
    tests += engine.dtype_guards(op, main)
    guard = " or ".join([" and ".join(tests), *_number_guards(op, engine, names)])
    if not engine.subclasses:
        return guard
    kinds = " or ".join(rf"\1 is {kind}" for kind in ("T", *_labels(engine)))
    wide = re.sub(r"(\w+\.__class__) is T", f"({kinds})", guard)
    return f"{guard} or {wide}"


def _labels(engine: Any) -> list[str]:
    """What the guards call the engine's subclasses."""
    return [f"S{i}" for i in range(len(engine.subclasses))]


def _number_guards(op: Operation, engine: Any, names: list[str]) -> list[str]:
    """The same where a float tensor meets Python numbers, or None where an operand may miss."""
    promoted = [op.parameters[i] for i in op.operand_indices if i in op.promoted]
    may_miss = {op.parameters[i] for i in op.optional}
    if len(promoted) < 2 or not engine.float_guard("x") or not (op.takes_numbers or may_miss):
        return []

    def allowed(name: str, first: str) -> str:
        kinds = [f"{name}.__class__ is T and {name}.dtype is {first}.dtype"]
        if op.takes_numbers:
            kinds = [f"{name}.__class__ is float or {name}.__class__ is int", *kinds]
        if name in may_miss:
            kinds = [f"{name} is None", *kinds]
        return f"({' or '.join(kinds)})"

    # Any operand but the first may be a number; of two, the first may be it as well.
    orders = [promoted, promoted[::-1]] if len(promoted) == 2 else [promoted]
    guards = []
    for first, *others in orders:
        tests = [f"{n}.__class__ is T" for n in names if n == first or n not in promoted]
        tests += [allowed(name, first) for name in others]
        guards.append(" and ".join([*tests, engine.float_guard(first)]))
    return guards
