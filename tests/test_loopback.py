"""The dispatcher on a loop-back backend: which call reaches which primitive, how often, with what.

Every case of the conformance suite is called three ways: on native tensors, where a call goes to
the primitive at once or, where something is to be promoted or put in one form, through the slow
path; recorded, which calls no primitive; and run in a function.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("kbridge.conformance") is None:
    pytest.skip("kbridge is not installed: pip install -e .", allow_module_level=True)

import loopback

import kbridge
from kbridge.api.declare import OPERATIONS, Operation
from kbridge.binding import load_contract
from kbridge.conformance import suite  # noqa: F401  # which declares all cases
from kbridge.conformance.lab import lab
from kbridge.conformance.records import RECORDS, Case, Record
from kbridge.symbolic import record as slow

load_contract()

#: The operations with a primitive that cases call by their own name.
NAMES = [
    name
    for name, record in RECORDS.items()
    if name in loopback.PRIMITIVES and OPERATIONS[name].public and record.call is None
]
#: Along one axis only in NumPy's own way where it is given.
ONE_AXIS = {"argmax", "argmin", "softmax", "repeat_elements"}


@pytest.fixture(autouse=True)
def forget() -> None:
    loopback.CALLS.clear()


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the operations that take the slow path."""
    names: list[str] = []
    apply = slow.apply

    def noted(backend: Any, op: Operation, args: tuple[Any, ...]) -> Any:
        if backend is loopback.BACKEND:
            names.append(op.name)
        return apply(backend, op, args)

    monkeypatch.setattr(slow, "apply", noted)
    return names


def cases(name: str) -> Iterator[tuple[Record, Case]]:
    record = RECORDS[name]
    yield from ((record, each) for each in record.cases.values() if each.call is None)


def bound(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments by position, defaults filled in."""
    first = len(op.parameters) - len(op.defaults)
    filled = dict(zip(op.parameters[first:], op.defaults, strict=True))
    filled |= dict(zip(op.parameters, args, strict=False)) | kwargs
    return [filled[name] for name in op.parameters]


def is_fast(op: Operation, args: list[Any]) -> bool:
    """Whether a call must go to the primitive at once, by what the contract says of it."""
    if op.name in ONE_AXIS and args[op.parameters.index("axis")] is None:
        return False
    operands = [args[i] for i in op.operand_indices]
    operands = list(operands[0]) if op.listed else [x for x in operands if x is not None]
    tensors = [x for x in operands if type(x) is np.ndarray]
    if len(tensors) < len(operands) and not all(
        type(x) in (int, float) and op.takes_numbers for x in operands if type(x) is not np.ndarray
    ):
        return False
    together = [args[i] for i in op.operand_indices if i in op.promoted]
    together = list(operands) if op.listed else [x for x in together if x is not None]
    dtypes = {x.dtype for x in together if isinstance(x, np.ndarray)}
    if len(dtypes) > 1:
        return False
    floats = all(dtype.kind == "f" for dtype in dtypes)
    if len(tensors) < len(operands) and not floats:
        return False  # a number beside an integer tensor may make a float of it
    kinds = [tensors[0].dtype.kind] if tensors else []
    if op.floating and kinds != ["f"]:
        return False
    return not (op.numeric and "b" in kinds)


def same(x: Any, y: Any) -> bool:
    """Whether two lists of operands hold the same objects."""
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(same, x, y))
    return x is y


@pytest.mark.parametrize("name", [n for n in NAMES if RECORDS[n].eager])
def test_on_native_tensors(name, slow_calls):
    op = OPERATIONS[name]
    both = {True: 0, False: 0}
    for record, each in cases(name):
        if "eager" in each.left_out:
            continue
        operands = [lab("loopback").native(x) for x in lab("loopback").operands(record, each)]
        args, kwargs = each.filled(operands)
        given = bound(op, args, kwargs)
        loopback.CALLS.clear()
        slow_calls.clear()
        record.function(loopback.BACKEND, each)(*args, **kwargs)
        called = [call.name for call in loopback.CALLS]
        where = f"{name}-{each.id}: {called}, slow path {slow_calls}"
        fast = is_fast(op, given)
        both[fast] += 1
        if not fast:
            assert slow_calls == [name], where
            assert called.count(name) == 1, where
            continue
        first, *more = loopback.CALLS
        assert first.name == name, where
        assert all(map(same, first.args, given)), f"{where}: not the arguments that were given"
        assert len(first.args) == len(op.parameters)
        if first.raised:  # a form that only the slow path knows
            assert [slow_calls, [call.name for call in more]] == [[name], [name]], where
        else:
            assert [slow_calls, more] == [[], []], where
    assert both[True], f"no case of {name} takes the fast path"


@pytest.mark.parametrize("name", NAMES)
def test_recording_calls_no_primitive_and_a_function_calls_each_once(name):
    for record, each in cases(name):
        if "recorded" in each.left_out:
            continue
        made = lab("loopback").record(record, each, lab("loopback").operands(record, each))
        where = f"{name}-{each.id}: {[call.name for call in loopback.CALLS]}"
        assert loopback.CALLS == [], f"{where}, while it was recorded"
        function = loopback.BACKEND.function(made.placeholders, made.outputs)
        assert loopback.CALLS == [], f"{where}, while a function was made"
        for _ in range(2):
            function(made.feeds)
            called = [call.name for call in loopback.CALLS]
            assert called.count(name) == 1, f"{name}-{each.id}: {called}"
            assert not any(call.raised for call in loopback.CALLS)
            loopback.CALLS.clear()


def test_all_primitives_are_tested():
    """Those that no case calls by name are private, draws, or tested below."""
    others = {name for name in loopback.PRIMITIVES if OPERATIONS[name].public and name not in NAMES}
    assert others == {"random_normal", "random_uniform", "truncated_normal"}


# --- compositions, and what has neither ----------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, record in RECORDS.items()
        if OPERATIONS[name].public and OPERATIONS[name].composition and record.call is None
    ],
)
def test_a_composition_calls_the_primitives_of_itsparts(name):
    from kbridge.dispatchers import parts

    assert name not in loopback.PRIMITIVES
    reached, waiting = set(), [name]
    while waiting:
        op = OPERATIONS[waiting.pop()]
        new = parts(op.composition) - reached if op.composition else set()
        reached |= new
        waiting += new
    operators = {n for n, op in OPERATIONS.items() if op.topic in ("operators", "creation")}
    for record, each in cases(name):
        if "recorded" in each.left_out:
            continue
        made = lab("loopback").record(record, each, lab("loopback").operands(record, each))
        assert loopback.CALLS == []
        loopback.BACKEND.function(made.placeholders, made.outputs)(made.feeds)
        called = {call.name for call in loopback.CALLS}
        assert called <= {*reached, *operators, "cast"}, f"{name}-{each.id}"  # a cast promotes
        loopback.CALLS.clear()


# --- the same rules, one by one ------------------------------------------------------------------


@pytest.fixture
def K():
    return kbridge.load_backend("loopback")


X = np.ones((2, 3), "float32")


def test_it_is_loaded_by_its_path(K):
    assert K is loopback.BACKEND
    assert K.backend() == "loopback"
    assert kbridge.load_backend("numpy") is not K


def test_mixed_dtypes_are_promoted_before(K, slow_calls):
    K.maximum(X, np.ones((2, 3), "int32"))
    assert slow_calls == ["maximum"]
    (call,) = [call for call in loopback.CALLS if call.name == "maximum"]
    assert [x.dtype for x in call.args] == ["float32", "float32"]


def test_an_integer_becomes_a_float_before(K, slow_calls):
    K.exp(np.ones(2, "int32"))
    assert slow_calls == ["exp"]
    assert loopback.CALLS[-1].args[0].dtype == "float32"


def test_a_subclass_takes_the_slow_path(K, slow_calls):
    class Mine(np.ndarray):
        pass

    K.exp(X.view(Mine))
    assert slow_calls == ["exp"]
    assert [call.name for call in loopback.CALLS] == ["exp"]


def test_an_error_of_the_primitive_is_told_by_the_contract(K, slow_calls):
    with pytest.raises(kbridge.errors.ShapeError, match=r"K\.dot"):
        K.dot(X, X)
    assert slow_calls == ["dot"]
    assert [(call.name, call.raised) for call in loopback.CALLS] == [("dot", True)]


def test_in_a_symbolic_scope_nothing_runs(K, slow_calls):
    with K.symbolic_scope():
        made = K.exp(X)
        assert loopback.CALLS == []
    assert slow_calls == ["exp"]
    np.testing.assert_allclose(K.eval(made), np.exp(X))
    assert [call.name for call in loopback.CALLS] == ["exp"]


def test_in_an_eager_scope_all_runs_now(K):
    variable = K.variable(X)
    loopback.CALLS.clear()
    with K.eager_scope():
        K.exp(variable)
    assert [call.name for call in loopback.CALLS] == ["exp"]


def test_a_lazy_value_is_computed_when_it_is_asked_for(K):
    made = K.exp(K.variable(X))
    assert loopback.CALLS == []
    K.eval(made)
    assert [call.name for call in loopback.CALLS] == ["exp"]


def test_one_node_runs_once_for_all_its_uses(K):
    x = K.placeholder(shape=(2, 3))
    y = K.exp(x)
    K.function([x], [y + y, K.sum(y), y])([X])
    assert sorted(call.name for call in loopback.CALLS) == ["add", "exp", "sum"]


def test_gradients_call_the_primitives_of_their_graph(K):
    x = K.placeholder(shape=(2, 3))
    slope = K.gradients(K.sum(K.tanh(x)), [x])
    assert loopback.CALLS == []
    K.function([x], slope)([X])
    called = [call.name for call in loopback.CALLS]
    assert called.count("tanh") == 1
    assert {"multiply"} <= set(called) <= set(loopback.PRIMITIVES)


def test_a_draw_outside_of_functions_is_of_the_host(K):
    K.eval(K.random_normal((2,)))
    assert loopback.CALLS == []
    x = K.placeholder(shape=(2,))
    K.function([x], [x + K.random_normal((2,), seed=3)])([np.zeros(2)])
    assert [call.name for call in loopback.CALLS].count("random_normal") == 1
