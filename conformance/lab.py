"""One backend under test: its values, and the compiled functions that many checks share.

Compiling is what takes time. All the cases of an operation are therefore recorded into one
function, run once, and each check takes its own results out of it. Only where that function
fails has every case a function of its own, so that the error is shown at the case it belongs to.
"""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge import loader
from kbridge.conformance.records import RECORDS, Case, Record
from kbridge.conformance.samples import in_dtype
from kbridge.symbolic import dtypes


class Recorded:
    """One recorded call: what is fed, what is fetched, and after the run the values."""

    def __init__(self, placeholders: list[Any], feeds: list[Any], outputs: list[Any]) -> None:
        self.placeholders = placeholders
        self.feeds = feeds
        self.outputs = outputs
        self.values: list[Any] = []


class Lab:
    """A backend with what the checks need of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.K = loader.load_backend(name)
        self.engine = self.K.engine
        #: Whether operations take native tensors; a third party's flat module hides its own.
        self.has_natives: bool = getattr(self.engine, "has_graph", True)
        self._groups: dict[tuple[str, str], dict[str, Any]] = {}
        self.engine.before_checks()
        if self.engine.name == "jax":
            _remember_compilations()

    def has(self, name: str) -> bool:
        """Whether the backend has the operation."""
        return hasattr(self.K, name)

    # --- values ------------------------------------------------------------------------------

    def array(self, numbers: Any, dtype: str) -> Any:
        """NumPy numbers in a dtype."""
        return np.asarray(numbers).astype(dtypes.to_numpy(dtype))

    def operands(self, record: Record, each: Case, dtype: str = "") -> list[Any]:
        """The operands of a case as arrays; float ones in ``dtype`` if that is given."""
        made = []
        for position, sample in enumerate(each.samples()):
            numbers = sample.make(f"{record.name}/{each.id}/{position}")
            wanted = dtype if dtype and sample.family == "f" else sample.default_dtype
            made.append(self.array(in_dtype(sample, numbers, wanted), wanted))
        return made

    def native(self, array: Any) -> Any:
        """A native tensor of the array's own dtype."""
        return self.engine.from_numpy(array, dtypes.normalize(array.dtype))

    def is_native(self, value: Any) -> bool:
        """Whether a result is the engine's own; NumPy's own results of rank 0 are scalars."""
        scalar = self.engine.arrays_are_native and isinstance(value, np.generic)
        return scalar or bool(self.engine.is_native(value))

    def numpy(self, value: Any) -> Any:
        """The value of a native tensor, a Tensor or a number."""
        return self.K.eval(value)

    # --- recording ---------------------------------------------------------------------------

    def record(
        self,
        record: Record,
        each: Case,
        operands: list[Any],
        open_axes: bool = False,
    ) -> Recorded:
        """Record the call of a case on placeholders; with ``open_axes`` of unknown sizes."""
        placeholders = [
            self.K.placeholder(
                shape=(None,) * array.ndim if open_axes else array.shape,
                dtype=dtypes.normalize(array.dtype),
            )
            for array in operands
        ]
        args, kwargs = each.filled(placeholders)
        result = record.function(self.K, each)(*args, **kwargs)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        return Recorded(placeholders, operands, outputs)

    def group(
        self, name: str, kind: str, build: Callable[[Record], dict[str, Callable[[], Recorded]]]
    ) -> dict[str, Any]:
        """The recorded calls of one operation and kind of check, run: a Recorded or an error."""
        key = (name, kind)
        if key not in self._groups:
            if all(other != name for other, _ in self._groups):
                self._groups.clear()  # the checks of one operation follow one another
            self._groups[key] = self._run(build(RECORDS[name]))
        return self._groups[key]

    def _run(self, builders: dict[str, Callable[[], Recorded]]) -> dict[str, Any]:
        results: dict[str, Any] = {}
        built: dict[str, Recorded] = {}
        for label, builder in builders.items():
            try:
                built[label] = results[label] = builder()
            except Exception as error:
                results[label] = error
        try:
            self._call(list(built.values()))
        except Exception:
            for label, recorded in built.items():
                try:
                    self._call([recorded])
                except Exception as error:
                    results[label] = error
        return results

    def _call(self, parts: list[Recorded]) -> None:
        if not parts:
            return
        function = self.K.function(
            [p for part in parts for p in part.placeholders],
            [output for part in parts for output in part.outputs],
        )
        found = iter(function([feed for part in parts for feed in part.feeds]))
        for part in parts:
            part.values = [next(found) for _ in part.outputs]


def taken(results: dict[str, Any], label: str) -> Recorded:
    """One result of a group; raises the error that stands in its place."""
    result: Recorded | Exception = results[label]
    if isinstance(result, Exception):
        raise result
    return result


def _remember_compilations() -> None:
    """Let JAX compile equal programs once: "recorded" and "unknown" mostly differ in nothing."""
    import jax

    folder = tempfile.TemporaryDirectory(prefix="kbridge-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    jax.config.update("jax_compilation_cache_dir", folder.name)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@functools.cache
def lab(name: str) -> Lab:
    """The lab of a backend, one per process."""
    return Lab(name)
