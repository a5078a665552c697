"""Something to be done at the import of a module that somebody else may import, or nobody."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: A context for the time in which a module, its argument, is executed for the first time.
Around = Callable[[ModuleType], AbstractContextManager[None]]


class _Watch(MetaPathFinder):
    """Finds nothing itself; wraps what the other finders find for one name."""

    def __init__(self, name: str, around: Around) -> None:
        self.name = name
        self.around = around
        self.asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name or self.asking:
            return None
        self.asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.asking = False
        if spec is not None and spec.loader is not None:
            self.wrap(spec.loader)
        return spec

    def wrap(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            with self.around(module):
                execute(module)

        loader.exec_module = exec_module


def around_import(name: str, around: Around) -> None:
    """Import the module `name` inside a context; do nothing where it is imported already."""
    if name in sys.modules:
        return
    sys.meta_path.insert(0, _Watch(name, around))


def after_import(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call `then` with the module `name`, which has not been imported yet, once it has."""

    @contextmanager
    def around(module: ModuleType) -> Iterator[None]:
        yield
        then(module)

    around_import(name, around)


@contextmanager
def hiding(name: str) -> Iterator[None]:
    """Let imports of the module `name` fail, if it has not been imported yet."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # as the import system spells it
    try:
        yield
    finally:
        del sys.modules[name]


@contextmanager
def same_random_numbers(module: ModuleType) -> Iterator[None]:
    """Let `module` not change what ``np.random`` will give to the program that imports it."""
    import numpy as np

    state = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(state)
