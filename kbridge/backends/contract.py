"""The contract's rules for the functions of a module that brings a graph of its own.

A flat module is used as it is, so it has to check and promote by itself. :class:`Contract` lends
it what kbridge's own backends get from the dispatchers: its functions are called with arguments
in one form and operands of one dtype, wrong calls get the contract's errors, and what the rules
tell of the result goes to :meth:`FlatEngine.finished`::

    contract = Contract(MyEngine())

    @contract
    def softmax(x, axis=-1):
        return my.softmax(x, axis)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.api.declare import OPERATIONS, Operation
from kbridge.api.renamed import KEYWORDS, MISSING, required, translated
from kbridge.backends.flat import FlatEngine
from kbridge.binding import load_contract
from kbridge.errors import KBridgeError
from kbridge.symbolic import record

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


class Contract(record.Now):
    """Decorates functions by the declaration of the operation that they are named after."""

    def __init__(self, engine: FlatEngine) -> None:
        load_contract()
        super().__init__(self)  # type: ignore[arg-type]  # no more than engine and native is asked
        self.engine = engine
        self.name = engine.name
        self.symbolic = engine.tensor_class
        #: The functions as they are written: operands must be of one dtype already.
        self.native: dict[str, Callable[..., Any]] = {}
        #: The functions as callers get them.
        self.functions: dict[str, Callable[..., Any]] = {}

    def __call__(self, function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
        """Put ``function`` behind the rules of its operation, with its signature and docstring.

        That is what :attr:`functions` has; the function itself is returned as it is.
        """
        op = OPERATIONS[name or function.__name__]
        self.native[op.name] = function
        signature, older = _signature(op), KEYWORDS.get(op.name, {})

        def checked(*args: Any, **kwargs: Any) -> Any:
            if older:
                own = len(op.parameters)  # older keywords come after them
                old = dict(zip(older, args[own:], strict=False))
                old |= {key: kwargs.pop(key) for key in older if key in kwargs}
                args = args if len(args) > own + len(older) else args[:own]
                given = signature.bind_partial(*args, **kwargs).arguments
                values = tuple(given.get(parameter, MISSING) for parameter in op.parameters)
                args, kwargs = (), _found(op, translated(op, values, old))
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:  # which does not name the function
                raise TypeError(f"{op.name}() {error}") from None
            bound.apply_defaults()
            return self.apply(op, bound.args)

        self._documented(op, checked)
        return function

    def own(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same for a function that keeps to the rules by itself."""
        op = OPERATIONS[function.__name__]

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except KBridgeError as error:
                raise record.named(error, op.name) from error.__cause__

        self._documented(op, called)
        return function

    def _documented(self, op: Operation, function: Callable[..., Any]) -> None:
        function.__name__ = function.__qualname__ = op.name
        function.__doc__ = op.doc
        function.__signature__ = _signature(op)  # type: ignore[attr-defined]
        self.functions[op.name] = function

    def apply(self, op: Operation, args: tuple[Any, ...]) -> Any:
        """Call the operation's own function by the rules."""
        if op.name == "getitem":
            args = (args[0], record.index_key(args[1]))
        if op.each and isinstance(args[0], (list, tuple)):
            return [self.apply(op, (item, *args[1:])) for item in args[0]]
        if not op.listed:
            for index in op.operand_indices:
                if isinstance(args[index], (list, tuple)) and any(
                    map(self.engine.is_native, args[index])
                ):
                    stacked = self.functions["stack"](list(args[index]))
                    args = (*args[:index], stacked, *args[index + 1 :])
        return self.run(op, args)

    def described(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        def shown(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [shown(item) for item in value]
            return self.spec(value) if self.engine.is_native(value) else value

        return tuple(map(shown, args))

    def finish(self, op: Operation, bound: list[Any], dtype: str) -> Any:
        specs = list(bound)
        for index in op.host_indices:
            specs[index] = self._sizes_spec(bound[index])
        for index in op.operand_indices:
            if bound[index] is not None:
                if record.is_number(bound[index]):
                    bound[index] = self.engine.from_numpy(np.asarray(bound[index]), dtype)
                specs[index] = self.spec(bound[index])
        shape, result = self.check(op, tuple(specs), dtype)
        value = self.native[op.name](*bound)
        return self.engine.finished(op, record.leaves(op, tuple(bound)), value, shape, result)

    def _sizes_spec(self, value: Any, inside: bool = False) -> Any:
        """A size, shape or index for the rules: numbers where they are known now."""
        if isinstance(value, (list, tuple)):
            return tuple(self._sizes_spec(item, inside=True) for item in value)
        if isinstance(value, slice):
            return slice(*map(self._sizes_spec, (value.start, value.stop, value.step)))
        if not self.engine.is_native(value):
            return value
        spec = self.spec(value)
        if spec.shape and (inside or len(spec.shape) > 1 or spec.shape[0] is None):
            return spec
        known = self.engine.known_sizes(value)
        if not spec.shape:
            return spec if known is None else known
        scalar = record.Spec((), spec.dtype)
        return tuple(scalar if size is None else size for size in known)


def _found(op: Operation, values: list[Any]) -> dict[str, Any]:
    """What a call gives, once older keywords are in their places."""
    found = {p: v for p, v in zip(op.parameters, values, strict=True) if v is not MISSING}
    for parameter in op.parameters[: len(op.parameters) - len(op.defaults)]:
        if parameter not in found:
            required(op, parameter)
    return found


@functools.cache
def _signature(op: Operation) -> inspect.Signature:
    required = len(op.parameters) - len(op.defaults)
    if op.parameters and op.parameters[-1].startswith("**"):
        required -= 1
    parameters = []
    for position, name in enumerate(op.parameters):
        if name.startswith("**"):
            parameters.append(inspect.Parameter(name[2:], inspect.Parameter.VAR_KEYWORD))
            continue
        missing = position < required
        default = inspect.Parameter.empty if missing else op.defaults[position - required]
        parameters.append(inspect.Parameter(name, _POSITIONAL, default=default))
    return inspect.Signature(parameters)
