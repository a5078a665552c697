"""What turns an :class:`Engine` and modules of native primitives into a backend module."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from kbridge.backends.engine import Engine
from kbridge.binding import Backend, primitives

__all__ = ["Engine", "install"]


def install(
    namespace: dict[str, Any], engine: Engine, modules: Iterable[ModuleType], name: str = ""
) -> Backend:
    """Bind the contract to ``engine`` and make every K function an attribute of a module.

    ``namespace`` is the module's ``globals()``. What the backend lacks raises
    MissingOperationError when it is asked for.
    """
    native = primitives(modules)
    backend = Backend(name or engine.name, engine, native)
    namespace["BACKEND"] = backend
    namespace["PRIMITIVES"] = native
    namespace.update(backend.public())

    def missing(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(backend, attribute)

    namespace["__getattr__"] = missing
    return backend
