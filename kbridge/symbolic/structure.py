"""Nested lists, tuples and dictionaries of tensors, as ``K.function`` and ``K.rnn`` take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kbridge.errors import FeedError


def is_leaf(value: Any) -> bool:
    """Whether ``value`` is no list, tuple or dictionary."""
    return not (
        isinstance(value, dict) or type(value) in (list, tuple) or hasattr(value, "_fields")
    )


def flatten(nested: Any) -> list[Any]:
    """The leaves, in order; dictionaries in the order of their own keys."""
    if isinstance(nested, dict):
        return [leaf for value in nested.values() for leaf in flatten(value)]
    if type(nested) in (list, tuple) or hasattr(nested, "_fields"):
        return [leaf for value in nested for leaf in flatten(value)]
    return [nested]


def pack(nested: Any, leaves: list[Any]) -> Any:
    """``leaves`` in the structure of ``nested``."""
    return _pack(nested, iter(leaves))


def _pack(nested: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(nested, dict):
        return {key: _pack(value, leaves) for key, value in nested.items()}
    if hasattr(nested, "_fields"):  # a named tuple
        return type(nested)(*(_pack(value, leaves) for value in nested))
    if type(nested) in (list, tuple):
        return type(nested)([_pack(value, leaves) for value in nested])
    return next(leaves)


def flatten_like(nested: Any, values: Any, name: str) -> list[Any]:
    """The values that stand where ``nested`` has its leaves; other shapes are a FeedError."""
    if isinstance(nested, dict):
        if not isinstance(values, dict) or set(values) != set(nested):
            given = sorted(map(str, values)) if isinstance(values, dict) else type(values).__name__
            raise FeedError(
                f"{name}: expected a dictionary with the keys {sorted(map(str, nested))}, "
                f"got {given}"
            )
        return [leaf for key in nested for leaf in flatten_like(nested[key], values[key], name)]
    if type(nested) in (list, tuple) or hasattr(nested, "_fields"):
        if not isinstance(values, (list, tuple)):
            raise FeedError(
                f"{name}: expected a list of {len(nested)} values, one per input, got "
                f"{type(values).__name__}. Call it as f([value, ...])."
            )
        if len(values) != len(nested):
            raise FeedError(
                f"{name}: expected {len(nested)} values, one per input, got {len(values)}. "
                f"Feed each input once, in the order of inputs={nested!r:.200}."
            )
        return [
            leaf
            for part, value in zip(nested, values, strict=True)
            for leaf in flatten_like(part, value, name)
        ]
    return [values]
