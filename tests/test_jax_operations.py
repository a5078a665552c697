"""Every case of the conformance suite once more, where it is JAX that traces: a user's own program.

The suite itself runs them eagerly and in compiled functions. Here the K functions are called
with tracers, under ``jax.jit`` and ``jax.grad``, and with JAX in 64-bit mode.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

# Makes the suite importable from a checkout that is not installed.
_spec = importlib.util.spec_from_file_location(
    "conformance_here", Path(__file__).parents[1] / "conformance" / "conftest.py"
)
_spec.loader.exec_module(importlib.util.module_from_spec(_spec))

from kbridge.backends.jax.staging import enable_x64  # noqa: E402
from kbridge.conformance import cases, checks  # noqa: E402, F401
from kbridge.conformance.compare import compare  # noqa: E402
from kbridge.conformance.lab import lab  # noqa: E402
from kbridge.conformance.records import RECORDS  # noqa: E402
from kbridge.conformance.tolerance import tolerance  # noqa: E402

JAX, NUMPY = lab("jax"), lab("numpy")

TRACED = {
    name: [c for c in record.cases.values() if c.samples() and "eager" not in c.left_out]
    for name, record in RECORDS.items()
    if record.eager and record.native and record.oracle is not None
    # The sizes of other results depend on data.
    if not name.startswith(("ctc_decode", "ctc_search"))
}
DIFFERENTIATED = {
    name: [
        c
        for c in TRACED[name]
        if "gradient" not in c.left_out and {s.family for s in c.samples()} == {"f"}
    ]
    for name in TRACED
    if RECORDS[name].gradient
}


def results(record, case, operands):
    """The results of one call, as a list."""
    args, kwargs = case.filled(list(operands))
    result = record.function(JAX.K, case)(*args, **kwargs)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(name, case, operands, got):
    """Values, shapes and dtypes are those of the suite's oracle, and no dtype is weak."""
    record = RECORDS[name]
    wanted = record.expected(case, operands)
    rules = checks.result_dtypes(record, case, operands, len(wanted))
    for value, want, dtype in zip(got, wanted, rules, strict=True):
        limit = 0.0 if record.exact else tolerance(dtype, case.loose)
        compare(f"K.{name} [{case.id}]", np.asarray(value), want, dtype=dtype, tolerance=limit)
        assert not value.weak_type


@pytest.mark.parametrize("name", [name for name in TRACED if TRACED[name]])
def test_under_the_users_jit(name):
    record, chosen = RECORDS[name], TRACED[name]
    operands = [JAX.operands(record, case) for case in chosen]

    def program(groups):
        return [results(record, case, group) for case, group in zip(chosen, groups, strict=True)]

    found = jax.jit(program)([[JAX.native(a) for a in group] for group in operands])
    for case, group, got in zip(chosen, operands, found, strict=True):
        check(name, case, group, got)


@pytest.mark.parametrize("name", [name for name in TRACED if TRACED[name]])
def test_in_the_users_64_bit_mode(name):
    record = RECORDS[name]
    with enable_x64(True):
        for case in TRACED[name][:3]:
            operands = JAX.operands(record, case)
            check(name, case, operands, results(record, case, map(JAX.native, operands)))


@pytest.mark.parametrize("name", [name for name in DIFFERENTIATED if DIFFERENTIATED[name]])
def test_under_the_users_grad(name):
    record, chosen = RECORDS[name], DIFFERENTIATED[name]
    operands = [JAX.operands(record, case) for case in chosen]

    def total(groups):
        parts = [
            part
            for case, group in zip(chosen, groups, strict=True)
            for part in results(record, case, group)
        ]
        kept = [JAX.K.cast(JAX.K.square(p), "float32") for p in parts if p.dtype.kind == "f"]
        return sum(map(JAX.K.sum, kept))

    found = jax.jit(jax.grad(total))([[JAX.native(a) for a in group] for group in operands])
    for case, group, slopes in zip(chosen, operands, found, strict=True):
        made = NUMPY.record(record, case, group)
        loss = sum(NUMPY.K.sum(NUMPY.K.square(o)) for o in made.outputs if "float" in o.dtype)
        wanted = NUMPY.K.gradients(loss, made.placeholders)
        for want, got in zip(NUMPY.K.function(made.placeholders, wanted)(group), slopes,
                             strict=True):  # fmt: skip
            scale = max(1.0, float(np.abs(want).max(initial=0.0)))
            compare(f"the gradient of K.{name} [{case.id}]", got, want, tolerance=1e-4 * scale)
