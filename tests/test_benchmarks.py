"""The benchmarks' own promises: what is compared is equal, and no missed goal is hidden."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kbridge
from benchmarks import __main__ as command
from benchmarks import calls, dispatch, keras2, networks, paired, reasons, report, turns
from benchmarks.engines import ENGINES


def test_the_list_of_operations_is_fixed():
    assert len([name for name in dispatch._OPERATIONS if name not in dispatch.READING]) == 40
    for engine in ENGINES:
        assert set(dispatch._NATIVE[engine]) == set(dispatch._OPERATIONS)


@pytest.mark.parametrize("engine", ENGINES)
def test_native_programs_give_what_kbridge_gives(engine, monkeypatch):
    """Each pair of statements is evaluated instead of timed."""
    K = kbridge.load_backend(engine)
    seen = []

    def evaluated(statements, names, seconds):
        native, own = (eval(statement, dict(names)) for statement in statements)
        seen.append(statements)
        native, own = np.asarray(native), np.asarray(own)
        assert (native.dtype, native.shape) == (own.dtype, own.shape), statements
        np.testing.assert_allclose(own, native, rtol=1e-5, err_msg=str(statements))
        return [(1.0, 0.0), (1.0, 0.0)]

    monkeypatch.setattr(dispatch, "compare", evaluated)
    assert K.name == engine
    assert len(dispatch.measure(engine, "kbridge", 0.0)) == len(seen) == 41


def test_calls_by_hand_give_what_kbridge_gives(K):
    x = calls.values()["x"]
    for nodes in calls.CASES.values():
        own, hand = calls.by_kbridge(K, nodes)([x])[0], calls.by_hand(K, nodes)(x)
        np.testing.assert_allclose(own, hand, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", networks.TITLES)
def test_networks_train_alike_on_every_engine(K, model):
    x, y = networks.batch(model, 8)
    steps = networks.step(K, model), networks.step(kbridge.load_backend("numpy"), model)
    losses, reference = ([float(step([x, y])[0]) for _ in range(3)] for step in steps)
    assert losses[1] < losses[0]
    np.testing.assert_allclose(losses, reference, rtol=1e-3)


def test_ratios_are_those_of_the_times():
    names = {"short": range(2_000), "long": range(20_000)}
    base, other = paired.ratios(["sum(short)", "sum(long)"], names, 0.1)
    assert base["ratio"] == 1.0
    assert 3 < other["low"] <= other["high"]
    assert other["ratio"] > 3


def test_processes_take_turns_in_both_orders():
    seen = []

    def program(name, seconds):
        return lambda count: seen.append((name, count)) or seconds

    found = turns.ratios(program("a", 0.01), program("b", 0.03), 0.3, 4)
    assert seen[:2] == [("a", 5), ("b", 5)]  # a warm-up, which tells how many calls are a turn
    assert [name for name, _ in seen[2:]] == list("abbaabba")
    assert {count for _, count in seen[2:]} == {10}
    assert found["base"] == 0.01
    assert found["low"] == found["ratio"] == found["high"] == pytest.approx(3.0)


def test_keras_and_the_step_by_hand_train_alike_in_their_processes():
    found = keras2.measure(("by_hand", "keras_3"), "torch", "mlp", "SGD", quick=True)
    assert found["base"] > 0
    assert found["low"] <= found["ratio"] <= found["high"]


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match=r"(?s)keras2\.worker\('by_hand'.*AssertionError"):
        keras2.process("by_hand", "numpy", "mlp", "Adam")


def test_without_keras_2_there_is_a_row_for_each_comparison(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS2_FOLDER", str(tmp_path))
    rows = keras2.rows(quick=True)
    assert [row.engine for row in rows] == ["numpy"] * 2 + [
        engine for engine in ENGINES[1:] for _ in range(4)
    ]
    assert not any(row.missed for row in rows)
    for line in report.table(rows).splitlines()[2:]:
        assert "not measured" in line
        assert f"Keras 2.3.1 is not in {tmp_path}: `make keras2` installs it" in line


def test_a_missed_goal_stays_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(reasons, "REASONS", [(("topic", "jax", "", ""), "the reason")])
    rows = [
        report.Row("topic", engine, "case", "by hand", 1.5, 1.4, 1.6, 2e-3, goal=goal)
        for engine, goal in (("jax", 1.1), ("torch", 1.1), ("numpy", 2.0))
    ]
    report.write(rows, tmp_path)
    text = (tmp_path / "benchmarks.md").read_text()
    assert "| jax | case | by hand | 2 ms | **1.50** | 1.40 to 1.60 | 1.1 | the reason |" in text
    assert "| torch | case | by hand | 2 ms | **1.50** | 1.40 to 1.60 | 1.1 | not known |" in text
    assert "| numpy | case | by hand | 2 ms | 1.50 | 1.40 to 1.60 | 2 |  |" in text
    found = json.loads((tmp_path / "benchmarks.json").read_text())
    assert [row["reason"] for row in found["rows"]] == ["the reason", "not known", ""]
    assert found["machine"]["cores"] >= 1


def test_names_and_quick_runs(monkeypatch, capsys):
    row = report.Row("topic", "numpy", "case", "by hand", 1.0)
    written, quick = [], []
    rows = {"one": lambda q: quick.append(q) or [row], "two": lambda q: [row]}
    monkeypatch.setattr(command, "BENCHMARKS", rows)
    monkeypatch.setattr(report, "write", written.append)
    assert command.main(["three"]) == 2
    assert command.main(["one", "--quick"]) == command.main(["--quick"]) == 0
    assert (written, quick) == ([], [True, True])
    assert command.main([]) == 0
    assert written == [[row, row]]
    assert "| numpy | case | by hand |" in capsys.readouterr().out
