"""kbridge: the Keras 2 backend API on NumPy, TensorFlow, PyTorch, JAX and other engines.

``from kbridge import backend as K`` binds the API to the backend that the user chose;
``kbridge.load_backend("torch")`` gives any backend beside it. Importing this package alone
imports no engine, not even NumPy: what follows is fetched on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kbridge import api, backend, config, errors
    from kbridge.loader import load_backend, use_backend

__version__ = "0.1.0"

__all__ = ["__version__", "api", "backend", "config", "errors", "load_backend", "use_backend"]

_MODULES = ("api", "backend", "config", "errors")
_FUNCTIONS = ("load_backend", "use_backend")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"kbridge.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module("kbridge.loader"), name)
    raise AttributeError(f"module 'kbridge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
