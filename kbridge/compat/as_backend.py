"""What it takes to be the backend of Keras 2.3.1, beyond the K functions.

With ``KERAS_BACKEND=kbridge.backends.torch`` Keras imports that module, copies its functions, and
keeps state of its own beside them. A backend written with kbridge's kit notices that it is meant,
whether Keras is imported before it or after: its settings are Keras's from then on, and Keras's
``K`` has also the functions that Keras offers with TensorFlow alone.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kbridge import config, loader
from kbridge.compat.imports import after_import, around_import, hiding
from kbridge.errors import ConfigError

if TYPE_CHECKING:
    from kbridge.binding import Backend


def named_by_keras() -> str | None:
    """Return the name of the backend of Keras 2, where Keras 2 is being or has been imported."""
    return getattr(sys.modules.get("keras.backend.load_backend"), "_BACKEND", None)


def version_of_keras() -> str | None:
    """Return the version of the Keras that is installed, None where there is none."""
    from importlib import metadata  # slow to import, and seldom needed

    try:
        return metadata.version("keras") if config.is_installed("keras") else None
    except metadata.PackageNotFoundError:
        return "unknown"  # a folder of sources


def without_keras_2(tensorflow: ModuleType) -> AbstractContextManager[None]:
    """Let TensorFlow, which imports Keras wherever it is installed, do so only if it is Keras 3."""
    is_old = (version_of_keras() or "").startswith("2.")
    return hiding("keras") if is_old else nullcontext()


def check_engine() -> None:
    """Tell what to install, where Keras loads a built-in backend without its engine.

    Keras swallows ImportErrors, so this raises another error.
    """
    path = named_by_keras()
    for name, module in loader.BUILTIN.items():
        if module == path and not config.is_installed(name):
            raise ConfigError(loader.missing_engine(name, name))


def offer(path: str, backend: Backend) -> None:
    """Serve Keras if the module `path` is the backend that it loads, now or later."""

    def serve(package: ModuleType) -> None:
        if named_by_keras() == path:
            _serve(package, backend)

    package = sys.modules.get("keras.backend")
    if package is None:
        after_import("keras.backend", serve)
    else:
        serve(package)


def _serve(package: ModuleType, backend: Backend) -> None:
    config.follow(sys.modules["keras.backend.common"])
    for name, function in backend.public().items():
        if name not in vars(package):
            setattr(package, name, function)

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")
        return getattr(backend, name)

    package.__getattr__ = missing  # type: ignore[method-assign]  # its errors say what to do
    after_import("keras.layers.core", _let_lambda_infer)
    if backend.engine.name != "tensorflow":
        # Keras imports TensorFlow where it is installed, for paths in Google's cloud storage; that
        # takes many seconds, and Keras can do without.
        for name in ("keras.engine.saving", "keras.utils.test_utils"):
            around_import(name, lambda module: hiding("tensorflow"))


def _let_lambda_infer(core: Any) -> None:
    """Let ``Lambda`` find its output's shape by its function, as Keras lets it on TensorFlow.

    With a backend that it does not know Keras takes the input's shape instead.
    """
    given, K = core.Lambda.compute_output_shape, core.K

    def compute_output_shape(self: Any, input_shape: Any) -> Any:
        if self._output_shape is not None:
            return given(self, input_shape)
        several = isinstance(input_shape, list)
        shapes = input_shape if several else [input_shape]
        dtypes = self._input_dtypes if several else [self._input_dtypes]
        inputs = [K.placeholder(shape, dtype=d) for shape, d in zip(shapes, dtypes, strict=True)]
        output = self.call(inputs if several else inputs[0])
        return [K.int_shape(x) for x in output] if isinstance(output, list) else K.int_shape(output)

    core.Lambda.compute_output_shape = compute_output_shape
