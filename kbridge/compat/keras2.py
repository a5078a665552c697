"""What Keras 2.3.1, and programs of its age, miss on a Python of today.

``import kbridge.compat.keras2`` changes nothing; ``kbridge.compat.keras2.install()`` brings back
names that ``collections``, ``inspect`` and NumPy have dropped, the ways of h5py 2, and how NumPy 1
printed numbers. What exists is never replaced, and each name means what it meant. ``kbridge run``
calls it before the program.
"""

from __future__ import annotations

import collections
import collections.abc
import inspect
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, NamedTuple

from kbridge import config
from kbridge.compat.imports import around_import

#: NumPy's dropped names: Python's own types, and what else is spelled differently now.
_NUMPY_TYPES = {
    "int": int,
    "float": float,
    "complex": complex,
    "object": object,
    "str": str,
    "unicode": str,
}
_NUMPY_NAMES = {
    "Inf": "inf",
    "Infinity": "inf",
    "infty": "inf",
    "PINF": "inf",
    "NaN": "nan",
    "NAN": "nan",
    "bool": "bool_",
    "bool8": "bool_",
    "float_": "float64",
    "complex_": "complex128",
    "string_": "bytes_",
    "unicode_": "str_",
    "product": "prod",
    "cumproduct": "cumprod",
    "sometrue": "any",
    "alltrue": "all",
    "row_stack": "vstack",
    "trapz": "trapezoid",
}


def install() -> None:
    """Bring the names back, in this process; a second call does nothing.

    h5py, which Keras saves models with, is seen to if it is installed.
    """
    for name in collections.abc.__all__:
        _provide(collections, name, getattr(collections.abc, name))
    _provide(inspect, "ArgSpec", ArgSpec)
    _provide(inspect, "getargspec", getargspec)
    _install_numpy()
    if not config.is_installed("tensorflow"):
        around_import("keras.backend.load_backend", _without_default_file)
    try:
        import h5py
    except ModuleNotFoundError:
        return
    _install_h5py(h5py)


@contextmanager
def _without_default_file(module: ModuleType) -> Iterator[None]:
    """Take back the keras.json that Keras makes, which names TensorFlow where there is none."""
    file = config.path()
    was_there = file is None or os.path.exists(file)
    yield
    if file is not None and not was_there:
        with suppress(OSError):
            os.unlink(file)


def _provide(owner: Any, name: str, value: Any) -> None:
    """Set an attribute that is missing."""
    # Not hasattr(): NumPy warns or raises of its own when it is asked for a dropped name.
    if name not in vars(owner):
        setattr(owner, name, value)


# --- inspect ---------------------------------------------------------------------------------


class ArgSpec(NamedTuple):
    """The positional parameters of a function, as ``inspect.getargspec`` returned them."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Return what ``inspect.getargspec`` did."""
    found = inspect.getfullargspec(func)
    if found.kwonlyargs or found.annotations:
        raise ValueError(
            "getargspec() tells neither keyword-only parameters nor annotations, which "
            f"{func!r} has; use inspect.signature()"
        )
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


# --- NumPy -----------------------------------------------------------------------------------


def _install_numpy() -> None:
    import numpy as np

    for name, kind in _NUMPY_TYPES.items():
        _provide(np, name, kind)
    for name, new in _NUMPY_NAMES.items():
        _provide(np, name, getattr(np, new))
    _provide(np, "NINF", -math.inf)
    # (None, 64) instead of (None, np.int64(64)), which Keras also makes keys of dictionaries from.
    np.set_printoptions(legacy="1.25")


# --- h5py ------------------------------------------------------------------------------------


class Text(str):
    """Text that ``decode()`` also takes: an attribute of an HDF5 file was bytes in h5py 2."""

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the text."""
        return str(self)


def _install_h5py(h5py: ModuleType) -> None:
    import numpy as np

    attributes, file = h5py.AttributeManager, h5py.File
    get, init = attributes.__getitem__, file.__init__
    if get.__module__ == __name__:
        return  # installed before

    def __getitem__(self: Any, name: Any) -> Any:
        value = get(self, name)
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            for index, item in enumerate(value.flat):
                value.flat[index] = Text(item) if type(item) is str else item
        return Text(value) if type(value) is str else value

    def __init__(self: Any, name: Any, *args: Any, **options: Any) -> None:
        # h5py 2 opened for writing where no mode was given, h5py 3 only for reading, which fails
        # of a file that is to be made in memory.
        if not args and options.get("driver") == "core":
            options.setdefault("mode", "a")
        init(self, name, *args, **options)

    attributes.__getitem__ = __getitem__
    file.__init__ = __init__
    _provide(file, "fid", property(lambda self: self.id))
    _provide(h5py.Dataset, "value", property(lambda self: self[()]))
