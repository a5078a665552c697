"""From a name or a dotted path to a validated backend.

A name is looked up among the built-in backends, then among the entry points of the group
``kbridge.backends``, then as the dotted path of a module. Each way to fail has its own exception
class and says what to do. No engine is imported but the one that is loaded.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from kbridge import config
from kbridge.errors import (
    AmbiguousBackendError,
    ArgumentTypeError,
    BackendError,
    BackendInUseError,
    BackendModuleNotFoundError,
    BrokenBackendError,
    IncompleteBackendError,
    MissingDependencyError,
    UnknownBackendError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from kbridge.binding import Backend

# The name of a built-in backend is also the name of its engine's module and of kbridge's extra.
BUILTIN = {
    "numpy": "kbridge.backends.numpy",
    "tensorflow": "kbridge.backends.tensorflow",
    "torch": "kbridge.backends.torch",
    "jax": "kbridge.backends.jax",
}
TITLES = {"numpy": "NumPy", "tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
ENTRY_POINT_GROUP = "kbridge.backends"
REQUIRED = ("placeholder", "variable", "function")
#: How each is called at the least: as text, and the arguments.
_CALLS: dict[str, tuple[str, tuple[None, ...], dict[str, None]]] = {
    "placeholder": ("placeholder(shape=shape)", (), {"shape": None}),
    "variable": ("variable(value)", (None,), {}),
    "function": ("function(inputs, outputs)", (None, None), {}),
}

_BY_DEFAULT = ("tensorflow", "torch", "jax")  # the first that is installed, else numpy
#: Backends that packages beside kbridge bring, by the names of these.
PLUGINS = {"pytensor": "kbridge-pytensor", "onnx": "kbridge-onnx"}
#: Backends of Keras 2 that ended with their engines, and what takes their place.
ALIASES = {"theano": "pytensor", "cntk": "onnx"}

_logger = logging.getLogger("kbridge")


# --- which backend -------------------------------------------------------------------------


class Choice(NamedTuple):
    """A backend's name and what named it."""

    name: str
    source: str


_asked: str | None = None  # by use_backend()


def choice() -> Choice:
    """Return the backend that the global API has or will have, and why; imports nothing."""
    if _asked:
        return Choice(_asked, "use_backend()")
    from_environment = os.environ.get("KERAS_BACKEND")
    if from_environment:
        return Choice(from_environment, "KERAS_BACKEND")
    settings = config.load()
    if settings.backend:
        return Choice(settings.backend, f'"backend" in {settings.sources["backend"]}')
    for name in _BY_DEFAULT:
        if config.is_installed(name):
            return Choice(name, f"the default, since {TITLES[name]} is installed")
    return Choice("numpy", "the default, since no other engine is installed")


def choose() -> str:
    """Return the name of the backend that the global API has or will have."""
    return choice().name


# --- loading -------------------------------------------------------------------------------


def load_module(name: str) -> ModuleType:
    """Import the backend module called `name`, and check that it is one.

    Raises a subclass of BackendError that tells what is wrong and what to do.
    """
    _check_type(name)
    path = path_of(name)
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        raise _not_found(name, path, error) from error
    except Exception as error:
        raise _broken(name, path, error) from error
    if name not in BUILTIN:
        _validate(name, module)
    return module


def _check_type(name: object) -> None:
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"A backend is given by its name, such as 'numpy', or by the dotted path of its "
            f"module; got {name!r}."
        )


def path_of(name: str) -> str:
    """Return the dotted path of the module that `name` stands for; it may be absent."""
    if name in BUILTIN:
        return BUILTIN[name]
    entry = _entry_point(name) or _entry_point(ALIASES.get(name, name))
    if entry is not None:
        return entry.value
    if not all(part.isidentifier() for part in name.split(".")):
        raise UnknownBackendError(
            f"{name!r} cannot be the name of a backend: a dotted path consists of Python "
            f"identifiers, such as my_package.my_backend. {_choices()}"
        )
    if name in ALIASES or name in PLUGINS:
        raise UnknownBackendError(_not_installed(name))
    return name


def _not_installed(name: str) -> str:
    """Say which package brings the backend `name`."""
    successor = ALIASES.get(name, name)
    why = f": Keras gave it up. {successor!r} takes its place" if name in ALIASES else ""
    return (
        f"Backend {name!r} is not built in{why}. Install {PLUGINS[successor]}, in a checkout of "
        f"kbridge with: pip install plugins/{PLUGINS[successor]}. {_choices()}"
    )


def entry_points() -> list[EntryPoint]:
    """Return the backends that installed packages announce, sorted by name."""
    from importlib import metadata  # slow to import, and needed for a plug-in or an error only

    found = metadata.entry_points(group=ENTRY_POINT_GROUP)
    return sorted(found, key=lambda entry: (entry.name, entry.value))


def _entry_point(name: str) -> EntryPoint | None:
    found = [entry for entry in entry_points() if entry.name == name]
    if len({entry.value for entry in found}) > 1:
        listed = " and ".join(f"{distribution_of(entry)} ({entry.value})" for entry in found)
        raise AmbiguousBackendError(
            f"More than one installed package announces a backend {name!r}: {listed}. Uninstall "
            f"all but one of them, or name the module by its dotted path."
        )
    return found[0] if found else None


def distribution_of(entry: EntryPoint) -> str:
    """Return the name and version of the package that announces `entry`."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"


def _choices() -> str:
    plugins = "".join(f", {entry.name} (from {distribution_of(entry)})" for entry in entry_points())
    return (
        f"There are {', '.join(BUILTIN)} (built in){plugins}, and any importable module, named by "
        f"its dotted path, that defines {', '.join(REQUIRED)}."
    )


def _not_found(name: str, path: str, error: ModuleNotFoundError) -> BackendError:
    missing = error.name or ""
    if path == missing or path.startswith(missing + "."):
        return _no_module(name, path, missing)
    engine = missing.partition(".")[0]
    if not engine or config.is_installed(engine):  # a part of something that is there
        return _broken(name, path, error)
    if BUILTIN.get(name) == path:
        return MissingDependencyError(missing_engine(name, engine), name=engine)
    return MissingDependencyError(
        f"Backend {name!r} (module {path}) needs the Python module {engine!r}, which is not "
        f"installed. Install the package that provides it; its name is often the same: "
        f"pip install {engine}",
        name=engine,
    )


def missing_engine(name: str, module: str) -> str:
    """Return what to do where the built-in backend `name` lacks a `module` of its engine."""
    wanted = TITLES[name] if module == name else f"the Python module {module!r}"
    command = "pip install numpy" if name == "numpy" else f'pip install "kbridge[{name}]"'
    return f"Backend {name!r} needs {wanted}, which is not installed. Install it with: {command}"


def _no_module(name: str, path: str, missing: str) -> BackendError:
    """Describe a dotted path that ends nowhere, or a name that nothing has."""
    if name == path and "." not in name:
        candidates = [*BUILTIN, *(entry.name for entry in entry_points())]
        import difflib  # for this message only; it is slow to import

        close = difflib.get_close_matches(name.lower(), candidates, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return UnknownBackendError(f"Unknown backend {name!r}.{hint} {_choices()}", name=missing)
    origin = "" if name == path else f" (module {path})"
    parent, _, part = missing.rpartition(".")
    what = f"{parent!r} has no submodule {part!r}" if parent else f"there is no module {missing!r}"
    return BackendModuleNotFoundError(
        f"Backend {name!r}{origin} was not found: {what}. Check the spelling, and that its folder "
        f"is on sys.path or its package is installed.",
        name=missing,
    )


def _broken(name: str, path: str, error: Exception) -> BrokenBackendError:
    return BrokenBackendError(
        f"Backend {name!r} exists, but its module {path} raised {type(error).__name__} while it "
        f"was imported: {error}. The traceback above shows where; if the backend is not yours, "
        f"tell its authors."
    )


def _validate(name: str, module: ModuleType) -> None:
    faults = []
    for required in REQUIRED:
        if not hasattr(module, required):
            faults.append(f"{required} is missing")
        elif not callable(getattr(module, required)):
            kind = type(getattr(module, required)).__name__
            faults.append(f"{required} is not callable (it is of type {kind})")
        else:
            faults += _signature_fault(required, getattr(module, required))
    if faults:
        message = (
            f"Module {module.__name__} cannot serve as backend {name!r}: {'; '.join(faults)}. A "
            f"backend is a module with at least the functions {', '.join(REQUIRED)}."
        )
        _logger.error(message)
        raise IncompleteBackendError(message)


def _signature_fault(name: str, function: Callable[..., object]) -> list[str]:
    """Say so where a required function cannot be called as the contract calls it."""
    import inspect  # for a backend of a third party; it is slow to import

    shown, args, kwargs = _CALLS[name]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a compiled function: it will tell when it is called
        return []
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return [f"{shown} cannot be called ({error}; it is {name}{signature})"]
    return []


_loaded: dict[str, Backend] = {}


def load_backend(name: str) -> Backend:
    """Return the K functions of the backend `name`, beside whatever else is loaded.

    >>> float(kbridge.load_backend("numpy").sum([1.0, 2.0]))
    3.0

    `name` is a built-in backend, an entry point or the dotted path of a module. Every call with
    one name returns the same object.
    """
    _check_type(name)
    if name not in _loaded:
        # No lock is held: another thread may hold the import lock of a module that this imports.
        from kbridge.binding import backend_of

        config.load()  # a malformed keras.json is an error here, not at some later operation
        module = load_module(name)
        return _loaded.setdefault(name, backend_of(module, name))
    return _loaded[name]


# --- the one behind `from kbridge import api` ------------------------------------------------

_lock = threading.Lock()
_global: Choice | None = None


def use_backend(name: str) -> None:
    """Choose the backend of ``kbridge.api``, before it is first imported.

    It is stronger than KERAS_BACKEND and keras.json. Raises BackendInUseError once the API is
    bound to another backend: a second backend is got by ``load_backend()``.
    """
    global _asked
    _check_type(name)
    with _lock:
        if _global and BUILTIN.get(name, name) != BUILTIN.get(_global.name, _global.name):
            raise BackendInUseError(
                f"use_backend({name!r}): kbridge.api is bound to {_global.name!r} already (by "
                f"{_global.source}). Call use_backend() before the first import of kbridge.api, "
                f"or use both side by side: K = kbridge.load_backend({name!r})."
            )
        _asked = name


@contextmanager
def telling_why(chosen: Choice) -> Iterator[None]:
    """Add to an error of loading the backend `chosen` what chose it."""
    try:
        yield
    except BackendError as error:
        message = (
            f"{error} (The choice of {chosen.name!r} comes from {chosen.source}. What decides is, "
            f"in this order, kbridge.use_backend(), KERAS_BACKEND, keras.json, the default.)"
        )
        raise type(error)(message, name=error.name) from error.__cause__


def global_backend() -> Backend:
    """Return the backend of ``kbridge.api``, choosing and loading it at the first call."""
    global _global
    if _global:
        return load_backend(_global.name)
    chosen = choice()
    with telling_why(chosen):
        load_backend(chosen.name)
    with _lock:
        if _global is None:
            _global = chosen
            if sys.stderr:
                title = TITLES.get(chosen.name, chosen.name)
                print(f"Using {title} backend.", file=sys.stderr)
    return load_backend(_global.name)
