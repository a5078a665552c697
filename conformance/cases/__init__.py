"""The cases, one file per topic of the contract; importing this package declares them all."""

from __future__ import annotations

import importlib

from kbridge.conformance.records import begin_topic

#: Topics of ``kbridge/api`` with records of cases, then those with programs alone.
TOPICS = (
    "elementwise",
    "reduction",
    "linalg",
    "shaping",
    "sparse",
    "creation",
    "random",
    "distributions",
    "nn",
    "conv",
    "pooling",
    "resizing",
    "losses",
    "ctc",
    "control",
    "recurrent",
    "graph",
    "session",
    "printing",
    "renamed",
    "functions",
    "gradients",
    "sizes",
    "sizes_at_run",
    "dtypes",
    "documented",
    "reported",
    "reported_layers",
    "errors",
    "conv_errors",
    "misuse",
)

for _topic in TOPICS:
    begin_topic(_topic)
    importlib.import_module(f"kbridge.conformance.cases.{_topic}")
