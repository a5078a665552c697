"""The generated functions behind ``K.name``.

A dispatcher has the operation's exact signature. It asks whether the operands are exactly the
engine's class and calls the native function; everything else is the slow path of
:mod:`kbridge.symbolic.record`. A composition is called with ``K`` bound to the backend.
"""

from __future__ import annotations

import inspect
import re
import sys
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from kbridge import bytecode
from kbridge.api.declare import OPERATIONS, Operation
from kbridge.api.renamed import KEYWORDS, MISSING, required, translated
from kbridge.errors import KBridgeError
from kbridge.symbolic import record, scopes

if TYPE_CHECKING:
    from kbridge.binding import Backend


class _Never:
    """Nothing is an instance of exactly this class: the fast path is off."""


def generate(backend: Backend) -> dict[str, Any]:
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
    namespace.update(M=MISSING, required=required, translated=translated)
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
                *_older_keywords(op),
                "    try:",
                f"        return c_{op.name}(K, {_call(op)})",
                "    except KBridgeError as error:",
                f"        raise named(error, {op.name!r}) from error.__cause__",
            ]
    exec(bytecode.compiled("\n".join(lines), __file__, backend.name), namespace)
    for op in OPERATIONS.values():
        function = namespace.get(op.name)
        if function is not None and (f"n_{op.name}" in namespace or f"c_{op.name}" in namespace):
            function.__defaults__ = op.defaults or None
            function.__doc__ = op.doc
            function.__module__ = "kbridge.api"
            if op.name in KEYWORDS:
                _take_older_keywords(op, function, namespace)

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
    engine = backend.engine
    found = {
        name
        for name, op in OPERATIONS.items()
        if op.composition is not None
        and (engine.has_graph or not op.graph or name in engine.composes)
    }
    while True:
        there = found.union(backend.native, (n for n, op in OPERATIONS.items() if op.plain))
        missing = {n for n in found if not parts(OPERATIONS[n].composition) <= there}
        if not missing:
            return found
        found -= missing


def parts(function: Any) -> set[str]:
    """The operations that a composition names, itself or in its module's helpers."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        for name in _names(current.__code__):
            helper = current.__globals__.get(name)
            if name in OPERATIONS and not isinstance(helper, ModuleType):
                found.add(name)
            elif name not in seen and isinstance(helper, FunctionType):
                seen.add(name)
                waiting.append(helper)
    return found


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
    if op.name in KEYWORDS:
        may_miss = _may_miss(op)
        shown = [f"{name}=None" if name in may_miss else name for name in shown]
        shown += [f"{old}=None" for old in KEYWORDS[op.name]]
    return f"{op.name}({', '.join(shown)})"


def _older_keywords(op: Operation) -> list[str]:
    """The lines that put older keywords, if there are any in this call, in their places."""
    if op.name not in KEYWORDS:
        return []
    call, older = _call(op), KEYWORDS[op.name]
    lines = [
        f"    if {' or '.join(f'{old} is not M' for old in older)}:",
        f"        old = {{{', '.join(f'{old!r}: {old}' for old in older)}}}",
        f"        [{call}] = translated(o_{op.name}, ({call},), old)",
    ]
    for name in _may_miss(op):
        default = f"d_{op.name}_{name}"
        if op.parameters.index(name) < len(op.parameters) - len(op.defaults):
            default = f"required(o_{op.name}, {name!r})"
        lines += [f"    if {name} is M:", f"        {name} = {default}"]
    return lines


def _may_miss(op: Operation) -> list[str]:
    """The parameters that an older keyword may give, and those that are then without a place."""
    renamed = {keyword.new for keyword in KEYWORDS[op.name].values()}
    needed = len(op.parameters) - len(op.defaults)
    first = min(map(op.parameters.index, renamed - {""}))
    return [
        name
        for i, name in enumerate(op.parameters)
        if name in renamed or (first < i and i < needed)
    ]


def _take_older_keywords(op: Operation, function: Any, namespace: dict[str, Any]) -> None:
    """Give a dispatcher defaults that tell what a call gives, and the contract's signature."""
    needed = len(op.parameters) - len(op.defaults)
    may_miss = _may_miss(op)
    parameters, defaults = [], []
    for i, name in enumerate(op.parameters):
        default: Any = inspect.Parameter.empty if i < needed else op.defaults[i - needed]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, default=default))
        namespace[f"d_{op.name}_{name}"] = default
        if name in may_miss or i >= needed:
            defaults.append(MISSING if name in may_miss else default)
    function.__defaults__ = (*defaults, *[MISSING] * len(KEYWORDS[op.name]))
    function.__signature__ = inspect.Signature(parameters)


def _call(op: Operation) -> str:
    return ", ".join(op.parameters)


def _dispatcher(op: Operation, engine: Any) -> list[str]:
    call = _call(op)
    packed = f"({call},)" if op.parameters else "()"
    lines = [f"def {_head(op)}:", *_older_keywords(op)]
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
    test = _operands(op, engine)
    if test and op.along_one:
        # Engines take None for all axes, (0,) or True for one.
        return f"axis.__class__ is int and ({test})"
    return test


def _operands(op: Operation, engine: Any) -> str:
    """The condition that the operands are native tensors of dtypes that go together."""
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
