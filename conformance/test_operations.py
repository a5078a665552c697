"""Every check of every case of every operation."""

from __future__ import annotations

from collections.abc import Callable

from kbridge.conformance import suite
from kbridge.conformance.checks import given
from kbridge.conformance.lab import lab
from kbridge.errors import MissingOperationError


def test_op(check: suite.Check, record_property: Callable[[str, object], None]) -> None:
    record_property("topic", check.record.topic)
    record_property("operation", check.record.name)
    record_property("kind", "dtypes" if check.name in check.record.dtypes else check.name)
    backend = lab(check.backend)
    try:
        error = check.function(backend, check.record, check.case)
    except MissingOperationError as missing:
        key = (check.record.name, check.case.id, check.name)
        suite.skip_missing(check.backend, key, missing)
    except Exception:
        record_property("given", given(backend, check.record, check.case, check.name))
        raise
    record_property("error", error)
