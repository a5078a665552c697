"""Why a measure misses its goal: texts by topic, engine, case and what it is compared with."""

from __future__ import annotations

#: Each entry: the beginning of topic, engine, case and against, "" for any; and the reason. The
#: first that fits is shown.
REASONS: list[tuple[tuple[str, str, str, str], str]] = [
    (
        ("call of a K.function", "torch", "10 nodes", ""),
        "results are copies, and recording is switched off: 2 us together",
    ),
    (
        ("training step", "torch", "MLP", "by hand"),
        "updates make new tensors, and the loss is a composition of eight operations",
    ),
    (
        ("training step", "jax", "LSTM", ""),
        "the gradient of each gate's slice is padded to the whole, at every step",
    ),
    (
        ("60 batch sizes", "jax", "", ""),
        "JAX compiles for each size",
    ),
]


def reason(*what: str) -> str:
    """The reason on record for a measure; "not known" shows that one is still to be found."""
    for key, text in REASONS:
        if all(value.startswith(part) for value, part in zip(what, key, strict=True)):
            return text
    return "not known"
