"""What stands between the suite and Keras 2.3.1: notes of calls, the file, the comparison."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

if importlib.util.find_spec("kbridge.conformance") is None:
    pytest.skip("kbridge is not installed: pip install -e .", allow_module_level=True)

from kbridge.conformance import cases  # noqa: F401  # declares them
from kbridge.conformance.golden import compared, packed
from kbridge.conformance.golden.differences import Known
from kbridge.conformance.golden.packed import Ref, Steps
from kbridge.conformance.golden.tracing import Untraceable, traced
from kbridge.conformance.records import RECORDS

GOLDEN = Path(compared.__file__).parent


# --- the file ------------------------------------------------------------------------------------


def test_what_is_packed_comes_back(tmp_path):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    content = {
        "arrays": [np.arange(6, dtype="int8").reshape(2, 3), np.zeros((0, 2)), np.array(True)],
        "plain": (1, 2.5, "text", None, True, float("inf")),
        "indices": [slice(None, Ref(0), 2), ..., (slice(1, 2), 3)],
        "steps": Steps([Ref(0)], [["square", [Ref(0)], {"x": 1}, 1]], (Ref(1), [Ref(0)])),
        "scalar": np.float64(0.1),
    }
    packed.save(str(tmp_path / "file.npz"), {**content, "sparse": scipy_sparse.eye(3)})
    found = packed.load(str(tmp_path / "file.npz"))
    assert (found.pop("sparse").toarray() == np.eye(3)).all()
    for got, want in zip(found.pop("arrays"), content.pop("arrays"), strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        assert (got == want).all()
    assert found == content
    assert isinstance(found["scalar"], np.float64)
    assert isinstance(found["steps"].result[0], Ref)


def test_what_numpy_would_pickle_is_refused(tmp_path):
    for value in (np.array([None, 1]), np.array(["text"]), object()):
        with pytest.raises(TypeError, match="cannot be packed"):
            packed.save(str(tmp_path / "file.npz"), [value])


def test_a_digest_changes_with_all_content():
    contents = [
        [1, np.zeros(2)],
        [2, np.zeros(2)],
        [1, np.zeros((2, 1))],
        [1, np.zeros(2, "float32")],
        [1, np.array([0.0, 1e-9])],
    ]
    assert len({packed.digest(content) for content in contents}) == len(contents)
    assert packed.digest(contents[0]) == packed.digest([1, np.zeros(2)])


def test_the_file_is_small_and_without_pickles():
    assert compared.FILE.stat().st_size < 1_000_000
    with np.load(compared.FILE, allow_pickle=False) as archive:
        assert all(archive[name].ndim == 1 for name in archive.files)


# --- notes of calls ------------------------------------------------------------------------------


def test_calls_and_operators_are_written_down():
    found = traced(lambda K, x, y: K.square(1 - x[0, 1:], axis=(y, 2)), 2)
    assert found.parameters == [Ref(0), Ref(1)]
    assert found.calls == [
        ["operator.getitem", [Ref(0), (0, slice(1, None, None))], {}, 2],
        ["operator.sub", [1, Ref(2)], {}, 3],
        ["square", [Ref(3)], {"axis": (Ref(1), 2)}, 4],
    ]
    assert found.result == Ref(4)


def test_functions_given_to_functions_are_steps_of_their_own():
    found = traced(lambda K, x: K.map_fn(lambda row: K.sum(row) * x, x), 1)
    ((name, (inner, given), _, _),) = found.calls
    assert (name, given) == ("map_fn", Ref(0))
    assert [call[0] for call in inner.calls] == ["sum", "operator.mul"]
    assert inner.calls[1][1] == [Ref(inner.calls[0][3]), Ref(0)]


def test_results_that_are_taken_apart_are_written_down():
    def function(K, x, h):
        last, _, (one, two) = K.rnn(lambda i, s: (i, [s[0], i]), x, [h, h])
        (path,), score = K.ctc_decode(x, h)
        return last, one, two, path, score

    found = traced(function, 2)
    names = [call[0] for call in found.calls if call[0] != "operator.getitem"]
    assert names == ["rnn", "ctc_decode"]
    assert len({part.number for part in found.result}) == 5


@pytest.mark.parametrize(
    "function",
    [lambda K, x: x if x > 0 else -x, lambda K, x: [*x], lambda K, x: x.dtype],
    ids=["truth", "items", "attribute"],
)
def test_what_looks_at_a_value_cannot_be_written_down(function):
    with pytest.raises(Untraceable):
        traced(function, 1)


# --- the comparison ------------------------------------------------------------------------------


def a_run(name="square", check="recorded"):
    return next(run for run in compared.runs(RECORDS[name]) if run.name == check)


def kinds(run, tensorflow, theano=None):
    known = {"tensorflow": tensorflow, **({"theano": theano} if theano else {})}
    return [found.kind for found in compared.differences(run, known)]


def answer(run, change=lambda value: value):
    return {"values": [change(np.square(run.operands[0]))]}


def test_each_kind_of_difference_is_found():
    run, refused = a_run(), {"error": "TypeError: no"}
    wrong = answer(run, lambda value: value * np.float32(1 + 1e-5))
    assert kinds(run, answer(run)) == []
    assert kinds(run, wrong) == ["value"]
    assert kinds(run, answer(run, lambda value: value.astype("float64"))) == ["dtype"]
    assert kinds(run, answer(run, lambda value: value[None])) == ["shape"]
    assert kinds(run, {"values": []}) == ["count"]
    assert kinds(run, wrong, answer(run)) == ["theano"]
    assert kinds(run, wrong, wrong) == ["value"]
    assert kinds(run, refused, answer(run)) == []
    assert kinds(run, refused, wrong) == ["value"]
    assert kinds(run, refused, refused) == ["refused"]


def test_gradients_are_compared():
    run = a_run(check="gradient")
    right = 2 * run.operands[0] * run.weights[0]
    assert kinds(run, {"values": [right]}) == []
    assert kinds(run, {"values": [right.astype("float32")]}) == []
    assert kinds(run, {"values": [right * (1 + 1e-10)]}) == ["value"]
    assert kinds(run, {"values": [None]}) == ["value"]


def test_an_answer_is_only_for_what_was_asked(monkeypatch):
    run = a_run()
    assert compared.answers(run) is not None
    changed = run._replace(operands=[run.operands[0] + 1])
    assert compared.answers(changed) is None
    programs = compared.programs.PROGRAMS
    before = compared.program_digest("rnn_masked")
    monkeypatch.setitem(programs["rnn_masked"].__globals__, "MASK", np.ones((2, 4)))
    assert compared.program_digest("rnn_masked") != before
    monkeypatch.setitem(programs, "gradients", programs["uids"])
    assert compared.answers("gradients") is None


def test_an_entry_explains_its_own_kind_place_and_text_alone():
    entry = Known("value", "square/*", "in Keras 1", "")
    assert entry.explains("square/2x3/recorded", "value", "0, in Keras 1")
    assert not entry.explains("square/2x3/recorded", "dtype", "0, in Keras 1")
    assert not entry.explains("sqrt/2x3/recorded", "value", "0, in Keras 1")
    assert not entry.explains("square/2x3/recorded", "value", "0, in Keras 2")


def test_what_runs_on_python_37_imports_nothing_of_kbridge():
    """And none of what is newer, as far as a parser can tell."""
    code = "import sys, packed, programs, keras_run; print(*sys.modules)"
    command = [sys.executable, "-B", "-c", code]
    done = subprocess.run(command, cwd=GOLDEN, capture_output=True, text=True, check=True)
    assert not {"kbridge", "keras"} & {name.partition(".")[0] for name in done.stdout.split()}
    for file in (GOLDEN / "packed.py", GOLDEN / "keras_run.py", *GOLDEN.glob("programs/*.py")):
        ast.parse(file.read_text(), feature_version=(3, 7))
