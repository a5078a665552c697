"""What turns an :class:`Engine` and modules of native primitives into a backend module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from kbridge.backends import hosted
from kbridge.backends.engine import Engine
from kbridge.binding import Backend, primitives
from kbridge.compat import as_backend

__all__ = ["Engine", "install"]


class Primitives(dict[str, Callable[..., Any]]):
    """Native functions by name; what a plan needs and is not there is a MissingOperationError."""

    owner: Backend

    def __missing__(self, name: str) -> Any:
        return getattr(self.owner, name)


def install(
    namespace: dict[str, Any],
    engine: Engine,
    modules: Iterable[ModuleType],
    name: str = "",
    base: Mapping[str, Callable[..., Any]] | None = None,
) -> Backend:
    """Bind the contract to ``engine`` and make every K function an attribute of a module.

    ``namespace`` is the module's ``globals()``. ``base`` has the primitives that the modules do not
    bring: those of a like engine. The few that follow from the engine's hooks are there anyway
    (hosted.py). What the backend lacks then raises MissingOperationError when it is asked for.
    """
    native = Primitives({**hosted.primitives(engine), **(base or {}), **primitives(modules)})
    native.owner = backend = Backend(name or engine.name, engine, native)
    namespace["BACKEND"] = backend
    namespace["PRIMITIVES"] = native
    namespace.update(backend.public())

    def missing(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(backend, attribute)

    namespace["__getattr__"] = missing
    as_backend.offer(namespace["__name__"], backend)
    return backend
