"""Every check of every case of every operation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kbridge.conformance import suite
from kbridge.conformance.lab import lab
from kbridge.errors import MissingOperationError


def test_op(check: suite.Check, record_property: Callable[[str, object], None]) -> None:
    record_property("topic", check.record.topic)
    record_property("operation", check.record.name)
    try:
        error = check.function(lab(check.backend), check.record, check.case)
    except MissingOperationError as missing:
        if suite.built_in(check.backend):
            raise
        pytest.skip(f"missing: {missing}")
    record_property("error", error)
