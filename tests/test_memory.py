"""Who holds the memory of a result: what the graph takes for new is new."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import kbridge
from kbridge.conformance import suite
from kbridge.conformance.lab import Lab
from kbridge.conformance.records import RECORDS
from kbridge.symbolic.function import _VIEWS
from kbridge.symbolic.structure import flatten


def memory(native: Any) -> Any:
    """The whole block of memory that a native tensor lies in, as bytes."""
    if isinstance(native, np.ndarray):
        while isinstance(native.base, np.ndarray):
            native = native.base
        return native
    if not isinstance(native, torch.Tensor) or native.layout is not torch.strided:
        return None
    return torch.empty(0, dtype=torch.uint8).set_(native.detach().untyped_storage()).numpy()


@pytest.mark.parametrize("name", ["numpy", "torch"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_may_share_memory_is_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all primitives in the cases of conformance, those with a view of an operand are listed."""
    assert suite.keys()  # importing the suite has declared the records
    lab = Lab(name)
    found: set[str] = set()
    narrow: set[str] = set()

    def watched(op: str, native: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            result = native(*args, **kwargs)
            given = [m for m in map(memory, flatten(list(args))) if m is not None]
            for each in flatten(result):
                block = memory(each)
                if block is None or not block.size:
                    continue
                if any(np.shares_memory(block, m) for m in given):
                    found.add(op)
                elif block.nbytes < each.nbytes:
                    narrow.add(op)  # one number stands for many
            return result

        return run

    for op, native in lab.K.native.items():
        monkeypatch.setitem(lab.K.native, op, watched(op, native))
    ran = 0
    for operation, record in RECORDS.items():
        if "sparse" in operation or operation == "ctc_label_dense_to_sparse":
            continue
        for each in record.cases.values():
            feeds = lab.operands(record, each)
            fed = [lab.K.placeholder(a.shape, dtype=str(a.dtype)) for a in feeds]
            args, kwargs = each.filled(fed)
            call = each.call or record.call
            target = lab.K.operations[operation] if call is None else functools.partial(call, lab.K)
            made = target(*args, **kwargs)
            lab.K.function(fed, flatten(made))(feeds)
            ran += 1
    assert ran > 1000
    assert {"reshape", "getitem", "cast"} <= found  # the watching works
    assert found <= _VIEWS
    assert not narrow - _VIEWS


def test_set_value_leaves_a_variable_that_was_updated_with_a_view(K: Any) -> None:
    """An update by what may be a view of another variable is a copy of it."""
    w = K.variable(np.ones((1, 2, 2, 2, 1)))
    v = K.variable(np.zeros((1, 2, 2, 2, 1)))
    pooled = K.pool3d(w, (1, 1, 1), data_format="channels_last")
    K.function([], [], updates=[(v, pooled)])([])
    K.set_value(w, np.full((1, 2, 2, 2, 1), 5.0))
    assert K.get_value(v).tolist() == np.ones((1, 2, 2, 2, 1)).tolist()


def test_outputs_may_be_changed(K: Any) -> None:
    """Whatever the caller writes into an output reaches no variable, feed or other output."""
    fed = np.ones((2, 3), "float32")
    x, v = K.placeholder((2, 3)), K.variable(np.ones((2, 3)))
    square = K.square(x)
    new = v * 2.0
    cases = [
        ([K.tanh(x)], []),
        ([x, K.reshape(x, (3, 2)), v, K.transpose(v)], []),
        ([square, K.reshape(square, (6,)), K.square(x)], []),
        ([square, square], []),
        ([new], [(v, new)]),
        ([K.sum(x, axis=()), K.max(v, axis=())], []),
        ([K.gradients(K.sum(x * v), [v])[0]], []),
    ]
    for outputs, updates in cases:
        f = K.function([x], outputs, updates=updates)
        expected = [r.copy() for r in f([fed])]
        kept = K.get_value(v)
        results = f([fed]) if not updates else expected
        for result in results:
            before = [r.copy() for r in results if r is not result]
            result[...] = -7.0
            assert all(map(np.array_equal, before, (r for r in results if r is not result)))
        assert fed.tolist() == np.ones((2, 3)).tolist()
        assert np.array_equal(K.get_value(v), kept)


def test_new_results_of_pytorch_are_not_copied() -> None:
    K = kbridge.load_backend("torch")
    x = K.placeholder((2, 3))
    for output, new in ((K.tanh(x), True), (K.reshape(x, (6,)), False), (x, False)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = K.function([x], [output])([np.ones((2, 3), "float32")])[0]
        assert (result.base is not None) is new
