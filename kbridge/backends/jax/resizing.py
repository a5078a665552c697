"""Resizing on JAX: the compositions, each as one program also when it is called eagerly."""

from __future__ import annotations

from typing import Any

from kbridge.api.declare import OPERATIONS
from kbridge.backends import jax as backend
from kbridge.backends.jax.staging import guarded


def _composed(name: str, *args: Any) -> Any:
    return OPERATIONS[name].composition(backend.BACKEND, *args)  # type: ignore[misc,attr-defined]


@guarded("factors")
def enlarge(x: Any, factors: Any) -> Any:
    return _composed("enlarge", x, factors)


@guarded("factors", "first", "half_pixel_centers", floating=True)
def interpolate(x: Any, factors: Any, first: int, half_pixel_centers: bool) -> Any:
    return _composed("interpolate", x, factors, first, half_pixel_centers)
