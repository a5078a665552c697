"""Older spellings, and names that are gone; their results are checked by the conformance suite."""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge import binding, errors
from kbridge.api.renamed import GONE, KEYWORDS, MISSING

binding.load_contract()

CONTRACT = json.loads((Path(__file__).parents[1] / "conformance" / "contract.json").read_text())


# --- the table ---------------------------------------------------------------------------------


def test_the_table_fits_the_operations() -> None:
    for name, keywords in KEYWORDS.items():
        parameters = binding.OPERATIONS[name].parameters
        for old, renamed in keywords.items():
            assert old not in parameters
            assert renamed.new in ("", *parameters), f"K.{name}: {old} becomes {renamed.new}"


def test_every_older_name_is_there(K: Any) -> None:
    for old, new in CONTRACT["old_names"].items():
        if hasattr(K, new):
            assert hasattr(K, old)
            assert old in dir(K)
        assert binding.OPERATIONS[old].doc


def test_only_these_dispatchers_take_more(K: Any) -> None:
    """And what tools show is the contract's signature."""
    for name, function in K.operations.items():
        op, code = binding.OPERATIONS[name], getattr(function, "__code__", None)
        if code is None or op.plain is not None:
            continue
        declared = [p for p in op.parameters if not p.startswith("**")]
        taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        assert taken == (*declared, *KEYWORDS.get(name, ())), name
        shown = inspect.signature(function).parameters
        assert [p for p in shown if "**" + p not in op.parameters] == declared, name
        assert not any(p.default is MISSING for p in shown.values()), name


# --- warnings ----------------------------------------------------------------------------------


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_warnings_point_at_the_caller(K: Any) -> None:
    x, row = K.placeholder((2, 3)), K.placeholder((1, 4, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lines = [line() + 1]
        K.expand_dims(x, dim=0)
        lines += [line() + 1]
        K.lesser(x, 1.0)
        lines += [line() + 1]
        K.asymmetric_temporal_padding(row, right_pad=0)
        lines += [line() + 1]
        K.spatial_2d_padding(K.placeholder((1, 2, 2, 1)), dim_ordering="tf")
        lines += [line() + 1]
        K.image_dim_ordering()
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, n) for n in lines]
    assert {w.category for w in caught} == {DeprecationWarning}
    assert [str(w.message) for w in caught] == [
        "K.expand_dims: dim is deprecated; use axis.",
        "K.lesser is deprecated; use K.less.",
        "K.asymmetric_temporal_padding is deprecated; use "
        "K.temporal_padding(x, padding=(left_pad, right_pad)).",
        "K.spatial_2d_padding: dim_ordering is deprecated; use data_format.",
        "image_dim_ordering() is deprecated; use image_data_format().",
    ]


def test_a_refused_call_does_not_warn(K: Any) -> None:
    x = K.placeholder((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match="both axis and dim"):
            K.expand_dims(x, axis=0, dim=0)
        with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
            K.random_uniform((2,), low=0.0, other=1)


def test_the_new_spelling_does_not_warn(K: Any) -> None:
    x = K.placeholder((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert K.int_shape(K.expand_dims(x)) == (2, 3, 1)
        assert K.int_shape(K.expand_dims(x, 0)) == (1, 2, 3)
        assert K.int_shape(K.one_hot(K.placeholder((2,), dtype="int32"), 4)) == (2, 4)
        assert K.int_shape(K.random_normal((2,), stddev=2.0)) == (2,)


def test_settings_are_read_at_the_call(K: Any) -> None:
    image = K.placeholder((1, 2, 5, 6))
    before = K.image_data_format()
    K.set_image_data_format("channels_first")
    try:
        with pytest.warns(DeprecationWarning, match="dim_ordering"):
            padded = K.spatial_2d_padding(image, dim_ordering="default")
    finally:
        K.set_image_data_format(before)
    assert K.int_shape(padded) == (1, 2, 7, 8)


def test_warnings_through_the_module(script: Any) -> None:
    """``from kbridge import backend as K`` adds no frame between the caller and the dispatcher."""
    done = script(
        "import warnings\n"
        "warnings.simplefilter('always')\n"
        "from kbridge import backend as K\n"
        "K.expand_dims(K.ones((2,)), dim=0); K.lesser(K.ones((2,)), 2.0)\n",
        KERAS_BACKEND="numpy",
    )
    assert done.returncode == 0, done.stderr
    found = [row for row in done.stderr.splitlines() if "DeprecationWarning" in row]
    assert found == [
        "<string>:4: DeprecationWarning: K.expand_dims: dim is deprecated; use axis.",
        "<string>:4: DeprecationWarning: K.lesser is deprecated; use K.less.",
    ]


# --- names that are gone -------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(GONE))
def test_a_name_that_is_gone_says_what_to_do(name: str, K: Any) -> None:
    assert not hasattr(K, name)
    with pytest.raises(AttributeError, match=rf"^K\.{name} (was|belongs)") as caught:
        getattr(K, name)
    assert "kbridge" in str(caught.value) or "K." in str(caught.value)
    assert not isinstance(caught.value, NotImplementedError)
    assert name not in dir(K)


def test_gone_from_the_module_too(script: Any) -> None:
    done = script(
        "from kbridge import backend as K\n"
        "import kbridge.backends.numpy as N\n"
        "for module in (K, N):\n"
        "    assert not hasattr(module, 'tf')\n"
        "    try:\n"
        "        module.tf.Session\n"
        "    except AttributeError as error:\n"
        "        print(str(error)[:30])\n",
        KERAS_BACKEND="numpy",
    )
    assert done.stdout == "K.tf was the module tensorflow\n" * 2, done.stderr


# --- other people's backends -------------------------------------------------------------------


@pytest.fixture
def flat(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with a graph of its own, which has ``less`` and its own ``expand_dims``."""
    module = ModuleType("flat_for_renamed")
    module.__dict__.update(
        placeholder=lambda shape=None: None,
        variable=np.asarray,
        function=lambda inputs, outputs: None,
        less=np.less,
        expand_dims=lambda x, axis=-1: np.expand_dims(x, axis),
        temporal_padding=lambda x, padding=(1, 1): np.pad(x, ((0, 0), padding, (0, 0))),
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_a_flat_module_gets_the_older_names_of_what_it_has(flat: ModuleType) -> None:
    before = dict(vars(flat))
    K = kbridge.load_backend(flat.__name__)
    with pytest.warns(DeprecationWarning, match=r"K\.lesser is deprecated"):
        assert K.lesser(np.array([1.0, 3.0]), 2.0).tolist() == [True, False]
    with pytest.warns(DeprecationWarning, match=r"temporal_padding"):
        assert K.asymmetric_temporal_padding(np.ones((1, 2, 1)), 0, 3).shape == (1, 5, 1)
    assert not hasattr(K, "lesser_equal")  # it has no less_equal
    with pytest.raises(errors.MissingOperationError, match=r"K\.deconv2d is not available"):
        K.deconv2d(1, 2, 3)
    assert K.expand_dims is flat.expand_dims
    assert vars(flat) == before
    assert not hasattr(K, "tf")
