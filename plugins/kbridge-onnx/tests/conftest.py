"""What the tests share."""

from __future__ import annotations

from typing import Any

import pytest

import kbridge


@pytest.fixture
def K() -> Any:
    return kbridge.load_backend("onnx")
