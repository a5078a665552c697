"""Every program, and every call that must be refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from kbridge.conformance import suite
from kbridge.conformance.compare import Mismatch, same
from kbridge.conformance.lab import Lab, lab
from kbridge.errors import KBridgeError, MissingOperationError
from kbridge.symbolic.dtypes import to_numpy


def test_program(run: suite.Run, record_property: Callable[[str, object], None]) -> None:
    record_property("topic", run.program.topic)
    record_property("kind", "program")
    record_property("covers", run.program.covers)
    try:
        with suite.fresh_session(lab(run.backend).K):
            got = run.program.function(lab(run.backend).K)
    except MissingOperationError as missing:
        suite.skip_missing(run.backend, (run.name,), missing)
    record_property("error", same(run.name, got, run.program.expect, run.program.tolerance))


def test_fault(refusal: suite.Refusal, record_property: Callable[[str, object], None]) -> None:
    fault = refusal.fault
    record_property("topic", fault.topic)
    record_property("kind", "refusal")
    backend = lab(refusal.backend)
    try:
        with suite.fresh_session(backend.K):
            result = fault.call(backend.K, _operand_maker(backend, refusal.way))
    except MissingOperationError as missing:
        suite.skip_missing(refusal.backend, (refusal.name, refusal.way), missing)
    except Exception as error:
        _judge(refusal, error)
    else:
        raise Mismatch(f"{refusal.name}: no error, but the result {result!r:.200}")


def _judge(refusal: suite.Refusal, error: Exception) -> None:
    """The error must be one of kbridge's own, of all the classes, with the text in one line."""
    kinds: tuple[type[Exception], ...] = (KBridgeError, *refusal.fault.kinds)
    for kind in kinds:
        if not isinstance(error, kind):
            raise Mismatch(
                f"{refusal.name}: {type(error).__name__} is no {kind.__name__}: {error}"
            ) from error
    if not re.search(refusal.fault.text, str(error), re.DOTALL):
        raise Mismatch(
            f"{refusal.name}: the text does not match {refusal.fault.text!r}:\n{error}"
        ) from error


def _operand_maker(backend: Lab, way: str) -> Callable[..., Any]:
    def operand(*shape: Any, dtype: str = "float32", value: Any = None) -> Any:
        if way == "recorded":
            sizes = np.shape(value) if value is not None else shape
            return backend.K.placeholder(shape=sizes, dtype=dtype)
        sizes = tuple(2 if size is None else size for size in shape)
        array = np.ones(sizes) if value is None else np.asarray(value)
        return backend.native(array.astype(to_numpy(dtype)))

    return operand
