"""How the contract is written down: :func:`operation` and :func:`composite`.

An operation is declared once, in the topic module that its name suggests: signature,
docstring, how shape and dtype of the result follow from the arguments and, where it can be
written in other operations, its default composition. The declarations hold no engine code;
:mod:`kbridge.binding` joins them with a backend's native functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

Rule = Callable[..., Any]


class Operation:
    """The record of one function of the contract; what is derived from it lives elsewhere.

    ``operands`` names the parameters that hold tensors (``"tensors*"``: a list of them;
    ``"gamma?"``: a tensor or None). ``promote`` names those brought to one common dtype; with
    ``floating`` integer operands become floatx first.

    ``shape`` and ``dtype`` are called with the operation's own arguments (operands as objects
    with ``.shape`` and ``.dtype``); by default the operands' shapes broadcast and the result has
    their common dtype. ``resolve`` maps a parameter to a function that puts its argument in one
    form before the operation is recorded or run (a missing data format, a list of axes).

    ``host_arguments`` names parameters that may hold shapes with symbolic entries. A ``host``
    operation on host integers alone (what ``K.shape`` returns) is computed by NumPy.

    Python numbers among promoted operands stay weak; they reach the native function as they are
    where operands broadcast by the default rule, or with ``numbers``. A ``numeric`` operation
    refuses bools where no number is among the operands. With ``each`` a list of tensors gives the
    list of the results.

    ``differentiable`` is False, or names the operands through which a derivative passes where it
    is not all of them.

    An ``uncompiled`` operation has a result whose shape depends on data: an engine that compiles
    for fixed shapes runs it after what it compiles (symbolic/uncompiled.py).
    """

    __slots__ = (
        "along_one",
        "composition",
        "defaults",
        "differentiable",
        "differentiable_indices",
        "doc",
        "dtype",
        "each",
        "floating",
        "graph",
        "host",
        "host_indices",
        "listed",
        "name",
        "numeric",
        "operand_indices",
        "optional",
        "parameters",
        "plain",
        "plain_operands",
        "promoted",
        "public",
        "random",
        "resolve",
        "shape",
        "takes_numbers",
        "topic",
        "uncompiled",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        operands: str = "",
        promote: str = "",
        floating: bool = False,
        shape: Rule | None = None,
        dtype: Rule | str | None = None,
        host_arguments: str = "",
        resolve: dict[str, Callable[[Any], Any]] | None = None,
        host: bool = False,
        random: bool = False,
        numeric: bool = False,
        numbers: bool = False,
        each: bool = False,
        differentiable: bool | str = True,
        composition: Callable[..., Any] | None = None,
        public: bool = True,
        uncompiled: bool = False,
    ) -> None:
        code = function.__code__
        skip = 0 if composition is None else 1  # the leading K of a composition
        self.name = function.__name__
        self.topic = function.__module__.rpartition(".")[2]
        self.doc = function.__doc__
        self.parameters = code.co_varnames[skip : code.co_argcount + code.co_kwonlyargcount]
        if code.co_flags & 0x08:
            self.parameters += ("**" + code.co_varnames[code.co_argcount],)
        self.defaults = function.__defaults__ or ()
        #: Whether it works along one axis, an integer.
        self.along_one = function.__annotations__.get("axis") == "int"
        names = [name.rstrip("*?") for name in operands.split()]
        self.listed = operands.endswith("*")
        self.operand_indices = tuple(self.parameters.index(name) for name in names)
        self.optional = frozenset(
            self.parameters.index(name[:-1]) for name in operands.split() if name.endswith("?")
        )
        self.promoted = frozenset(self.parameters.index(name) for name in promote.split())
        self.host_indices = tuple(self.parameters.index(name) for name in host_arguments.split())
        self.resolve = tuple(
            (self.parameters.index(name), function) for name, function in (resolve or {}).items()
        )
        self.floating = floating
        self.shape = shape
        self.dtype = dtype
        self.host = host
        self.random = random
        self.numeric = numeric
        self.each = each
        self.differentiable = bool(differentiable)
        #: The operands through which a derivative passes, where it is not all of them.
        self.differentiable_indices: tuple[int, ...] | None = None
        if isinstance(differentiable, str):
            self.differentiable_indices = tuple(
                self.parameters.index(name) for name in differentiable.split()
            )
        self.composition = composition
        self.public = public
        self.uncompiled = uncompiled
        self.plain: Callable[..., Any] | None = None
        self.graph = False
        #: Whether Python numbers among the promoted operands reach the native function as such.
        self.takes_numbers = not self.listed and (shape is None or numbers)
        #: Whether all arguments are promoted operands (or one operand), with default rules.
        self.plain_operands = (
            composition is None
            and not self.listed
            and 0 < len(self.operand_indices) == len(self.parameters) < 3
            and (len(self.promoted) == len(self.parameters) or len(self.parameters) == 1)
            and shape is None
            and not callable(dtype)
        )

    def __repr__(self) -> str:
        return f"<operation {self.name} of kbridge.api.{self.topic}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"{self!r} is a declaration, bound to no backend; call it as K.{self.name} after "
            f"'from kbridge import api as K' or 'K = kbridge.load_backend(name)'"
        )


#: Every declared operation by name, in the order of declaration.
OPERATIONS: dict[str, Operation] = {}


def _register(op: Operation) -> Operation:
    if op.name in OPERATIONS:
        raise ValueError(f"operation {op.name!r} is declared twice")
    OPERATIONS[op.name] = op
    return op


def operation(operands: str, **rules: Any) -> Callable[[F], F]:
    """Declare a primitive: every backend brings its own native function of that name.

    The keywords are those of :class:`Operation`.
    """

    def declare(function: F) -> F:
        op = Operation(function, operands=operands, **rules)
        return cast("F", _register(op))  # typed as the function that it stands for

    return declare


def composite(function: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """Declare an operation by its composition; its first parameter ``K`` is the bound backend.

    A backend may bring its own native function of that name instead (see ``replaceable``).
    """
    return cast("Callable[P, R]", _register(Operation(function, composition=function)))


def graph_function(function: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """Declare a function of kbridge's own graph; a module with a graph of its own brings its own.

    As in a composition the first parameter ``K`` is the bound backend.
    """
    op = Operation(function, composition=function)
    op.graph = True
    return cast("Callable[P, R]", _register(op))


def replaceable(
    operands: str,
    **rules: Any,
) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[P, R]]:
    """Declare a composition that a backend may replace natively, with the operands' rules.

    Without ``shape=`` the replaced operation infers through its composition.
    """

    def declare(function: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
        op = Operation(function, composition=function, operands=operands, **rules)
        return cast("Callable[P, R]", _register(op))

    return declare


def setting(function: F) -> F:
    """A function that no backend has a part in: it is the same on all."""
    op = Operation(function, public=True)
    op.plain = function
    return cast("F", _register(op))


def lifted(function: Callable[..., Any], count: int, rules: tuple[Rule, Rule]) -> Operation:
    """The operation that a native function becomes: unregistered, its own native function."""
    names = ", ".join(f"x{i}" for i in range(count))
    head = eval(f"lambda {names}: None")  # for its parameters alone
    head.__name__ = getattr(function, "__name__", "lifted")
    op = Operation(head, operands=names.replace(",", ""), shape=rules[0], dtype=rules[1])
    op.plain = function
    return op
