"""Every public exception of kbridge.

Each one is a :class:`KBridgeError` and also the built-in exception that people catch for
that kind of fault, so both ``except kbridge.errors.ShapeError`` and ``except ValueError`` work.
A message says what was given, what was expected, where, and what to do.
"""

from __future__ import annotations


class KBridgeError(Exception):
    """Base of all errors that kbridge raises on purpose."""


# --- configuration and loading -------------------------------------------------------------


class ConfigError(KBridgeError, ValueError):
    """``keras.json`` or a setting holds a value that cannot be used."""


class BackendError(KBridgeError, ImportError):
    """Base of all failures to load a backend."""


class UnknownBackendError(BackendError, ValueError):
    """No built-in, entry point or importable module has the name."""


class AmbiguousBackendError(BackendError, ValueError):
    """Two entry points have the name, and lead to different modules."""


class BackendModuleNotFoundError(BackendError, ModuleNotFoundError):
    """A dotted path (or a part of it) does not exist."""


class MissingDependencyError(BackendError, ModuleNotFoundError):
    """The backend exists; the framework that it needs is not installed."""


class BrokenBackendError(BackendError):
    """The backend's module raised while it was imported; the cause is chained."""


class IncompleteBackendError(BackendError, ValueError):
    """The module lacks ``placeholder``, ``variable`` or ``function``, or one is unusable."""


class BackendInUseError(KBridgeError, RuntimeError):
    """The global API is bound to another backend already."""


class MissingOperationError(KBridgeError, AttributeError, NotImplementedError):
    """The backend has no such operation, natively or by composition."""


# --- arguments of operations ---------------------------------------------------------------


class ArgumentError(KBridgeError, ValueError):
    """An argument's value is outside what the operation accepts."""


class ArgumentTypeError(KBridgeError, TypeError):
    """An argument's type is not one that the operation accepts."""


class ShapeError(ArgumentError):
    """Ranks or sizes do not fit together."""


class AxisError(ShapeError, IndexError):
    """An axis lies outside the tensor's rank, or is given twice."""


class NotATensorError(ArgumentTypeError, ValueError):
    """Something other than a tensor was given where Keras promises a ValueError for it."""


class DTypeError(ArgumentTypeError, ValueError):
    """A dtype is unknown, or not one that the operation accepts."""


class IndexRangeError(ArgumentError, IndexError):
    """An index read from data lies outside the range."""


# --- graph and functions -------------------------------------------------------------------


class GraphError(KBridgeError, ValueError):
    """The graph cannot be run as asked (a placeholder is not fed, an output is None, ...)."""


class FeedError(GraphError):
    """A value fed to a function does not fit: number, shape, dtype, or fed twice."""


class SymbolicError(KBridgeError, TypeError):
    """A symbolic tensor was used where only a value works (``bool``, ``len``, ``iter``, ...)."""


class UnsupportedError(KBridgeError, NotImplementedError):
    """The engine cannot do this at all; the message says what it can do instead."""
