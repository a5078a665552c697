"""Why a measure misses its goal: texts by topic, engine, case and what it is compared with."""

from __future__ import annotations

#: Each entry: the beginning of topic, engine, case and against, "" for any; and the reason. The
#: first that fits is shown.
REASONS: list[tuple[tuple[str, str, str, str], str]] = [
    (
        ("training step", "numpy", "LSTM", ""),
        "the backward loop computes each step anew, and gradients of slices are sums of zeros",
    ),
]


def reason(*what: str) -> str:
    """The reason on record for a measure; "not known" shows that one is still to be found."""
    for key, text in REASONS:
        if all(value.startswith(part) for value, part in zip(what, key, strict=True)):
            return text
    return "not known"
