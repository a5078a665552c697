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
    "creation",
    "random",
    "nn",
    "conv",
    "losses",
    "control",
    "graph",
    "functions",
    "gradients",
    "dtypes",
    "documented",
    "reported",
    "errors",
    "misuse",
)

for _topic in TOPICS:
    begin_topic(_topic)
    importlib.import_module(f"kbridge.conformance.cases.{_topic}")
