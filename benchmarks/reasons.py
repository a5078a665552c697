"""Why a measure misses its goal: texts by topic, engine, case and what it is compared with."""

from __future__ import annotations

_COLLECTOR = "Python's collector of cycles walks the engine's objects; without it 0.6 us"

#: Each entry: the beginning of topic, engine, case and against, "" for any; and the reason. The
#: first that fits is shown.
REASONS: list[tuple[tuple[str, str, str, str], str]] = [
    (
        ("eager dispatch", "tensorflow", "kbridge, worst", ""),
        "a tensor's dtype takes 0.1 us to read, to ask for a tape 0.05 us",
    ),
    (
        ("eager dispatch", "torch", "kbridge, worst", ""),
        "the dtype and sizes that PyTorch would not refuse are compared first",
    ),
    (
        ("training step", "torch", "MLP", "by hand"),
        "updates make new tensors, since calls in other threads may hold the old ones",
    ),
    (
        ("training step", "torch", "CNN", "by hand"),
        "memory goes back to the system and is faulted in anew, by hand as well: 1.0 where malloc "
        "keeps it",
    ),
    (
        ("training step", "torch", "", "by hand"),
        "as of the CNN: 1.05 where malloc keeps memory; updates make new tensors",
    ),
    (
        ("peak memory", "", "", ""),
        "3 MiB whatever the batch: at 1,024 samples the ratio is 1.0",
    ),
    (("graph", "", "build 1", ""), _COLLECTOR),
    (
        ("NumPy backend", "", "conv", "one matrix product"),
        "both cores read what one has unfolded, which makes the copy three times as slow: on one "
        "thread 1.2 to 1.9",
    ),
]


def reason(*what: str) -> str:
    """The reason on record for a measure; "not known" shows that one is still to be found."""
    for key, text in REASONS:
        if all(value.startswith(part) for value, part in zip(what, key, strict=True)):
            return text
    return "not known"
