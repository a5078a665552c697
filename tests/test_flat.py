"""Flat modules, which bring a graph of their own: what of them is used, and what kbridge adds."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge import config, errors
from kbridge.backends.contract import Contract
from kbridge.backends.flat import FlatEngine, bind_flat
from kbridge.symbolic import dtypes


class Box:
    """The foreign tensor of these tests: an array that hides in it."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.shape = self.array.shape
        self.dtype = self.array.dtype

    def __getitem__(self, key: Any) -> Box:
        return Box(self.array[key])


class BoxEngine(FlatEngine):
    tensor_class = Box
    composes = frozenset(("foldl", "switch", "map_fn"))

    def __init__(self) -> None:
        super().__init__("boxes")

    def is_native(self, value: Any) -> bool:
        return isinstance(value, Box)

    def from_numpy(self, array: Any, dtype: str) -> Box:
        return Box(np.array(array, dtypes.to_numpy(dtype)))

    def stack(self, natives: Any) -> Box:
        return Box(np.stack([native.array for native in natives]))

    def known_sizes(self, native: Any) -> Any:
        return native.array.tolist()

    def finished(self, op: Any, operands: Any, value: Any, shape: Any, dtype: str) -> Any:
        assert value.array.shape == tuple(shape)
        return Box(value.array.astype(dtype))


@pytest.fixture
def module() -> ModuleType:
    """A flat module whose functions follow the contract."""
    made = ModuleType("boxes")
    contract = Contract(BoxEngine())
    functions: dict[str, Any] = {
        "add": lambda x, y: Box(x.array + y.array),
        "cast": lambda x, dtype: Box(x.array.astype(dtype)),
        "dot": lambda x, y: Box(x.array @ y.array),
        "softmax": lambda x, axis: Box(np.exp(x.array) / np.exp(x.array).sum(axis, keepdims=True)),
        "reshape": lambda x, shape: Box(x.array.reshape(shape)),
        "expand_dims": lambda x, axis: Box(np.expand_dims(x.array, axis)),
        "stack": lambda x, axis: Box(np.stack([part.array for part in x], axis)),
        "flatten": lambda x: Box(x.array.ravel()),
    }
    for name, function in functions.items():
        contract(function, name)
    vars(made).update(
        contract.functions,
        ENGINE=contract.engine,
        placeholder=lambda shape=None: None,
        variable=Box,
        function=lambda inputs, outputs: None,
        int_shape=lambda x: x.shape,
    )
    return made


# --- the module itself ---------------------------------------------------------------------------


def test_settings_and_imports_of_the_module_never_shadow_those_of_kbridge() -> None:
    module = ModuleType("flat_with_settings")
    module.__dict__.update(
        __all__=["placeholder", "function", "square"],
        placeholder=lambda shape=None: None,
        variable=np.asarray,  # needed, so it is used though __all__ forgets it
        function=lambda inputs, outputs: None,
        square=np.square,
        transpose=np.transpose,  # an import
        epsilon=lambda: 1.0,
        floatx=lambda: "float64",
        image_data_format=lambda: "channels_first",
    )
    before = dict(vars(module))
    K = bind_flat(module, module.__name__)
    assert (K.epsilon(), K.floatx(), K.image_data_format()) == (1e-7, "float32", "channels_last")
    config.set_floatx("float16")
    try:
        assert K.floatx() == "float16"
    finally:
        config.set_floatx("float32")
    assert K.square is np.square
    assert K.variable is np.asarray
    assert not hasattr(K, "transpose")
    assert vars(module) == before


def test_without_a_list_all_callables_count() -> None:
    module = ModuleType("flat_without_list")
    module.__dict__.update(
        placeholder=lambda: None, variable=np.asarray, function=lambda: None, tanh=np.tanh, log=1
    )
    K = bind_flat(module, module.__name__)
    assert K.tanh is np.tanh
    with pytest.raises(errors.MissingOperationError, match=r"K\.log is not available.*log\(x\)"):
        K.log  # noqa: B018


def test_what_has_no_meaning_beside_a_foreign_graph_is_absent(module: ModuleType) -> None:
    K = bind_flat(module, "boxes")
    for name in ("lift", "get_session", "rnn"):
        with pytest.raises(errors.MissingOperationError, match=rf"K\.{name} is not available"):
            getattr(K, name)


def test_a_broken_engine_attribute_is_no_engine() -> None:
    module = ModuleType("flat_with_another_engine")
    module.__dict__.update(
        placeholder=lambda: None, variable=np.asarray, function=lambda: None, ENGINE="v8"
    )
    assert type(bind_flat(module, module.__name__).engine) is FlatEngine


# --- what it gets of the contract ----------------------------------------------------------------


def test_a_function_gets_the_contract_s_signature_and_docstring(module: ModuleType) -> None:
    K = bind_flat(module, "boxes")
    assert K.softmax is module.softmax
    reference = kbridge.load_backend("numpy")
    assert inspect.signature(K.softmax) == inspect.signature(reference.softmax)
    assert inspect.getdoc(K.softmax) == inspect.getdoc(reference.softmax)


def test_operands_meet_in_one_dtype(module: ModuleType) -> None:
    K = bind_flat(module, "boxes")
    whole, half = Box(np.ones(2, "int32")), Box(np.ones(2, "float16"))
    assert K.add(whole, half).dtype == "float16"
    assert K.add(half, 2.5).array.tolist() == [3.5, 3.5]
    assert K.add(half, np.ones(2)).dtype == "float16"  # an array is a constant beside a tensor
    assert K.softmax(whole).dtype == "float32"


def test_wrong_calls_get_the_contract_s_errors(module: ModuleType) -> None:
    K = bind_flat(module, "boxes")
    x = Box(np.ones((2, 3), "float32"))
    with pytest.raises(errors.ShapeError, match=r"^K\.dot: .*x=\(2, 3\) float32, y=\(2, 3\)"):
        K.dot(x, x)
    with pytest.raises(errors.AxisError, match=r"^K\.softmax: axis 2"):
        K.softmax(x, axis=2)
    with pytest.raises(TypeError, match=r"^softmax\(\) got an unexpected keyword argument 'axes'"):
        K.softmax(x, axes=1)


def test_sizes_may_be_tensors(module: ModuleType) -> None:
    K = bind_flat(module, "boxes")
    x = Box(np.arange(6.0, dtype="float32"))
    with pytest.raises(errors.ShapeError, match=r"K\.reshape"):
        K.reshape(x, (Box(np.array(4)), 2))


def test_older_keywords_work_with_a_warning(module: ModuleType) -> None:
    K = bind_flat(module, "boxes")
    x = Box(np.ones((2, 3), "float32"))
    with pytest.warns(DeprecationWarning, match="dim is deprecated; use axis") as caught:
        assert K.expand_dims(x, dim=0).shape == (1, 2, 3)
    assert caught[0].filename == __file__
    with pytest.raises(errors.ArgumentTypeError, match="both axis and dim"):
        K.expand_dims(x, axis=1, dim=0)


def test_kbridge_composes_what_the_engine_lists(module: ModuleType) -> None:
    K = bind_flat(module, "boxes")
    rows = Box(np.array([[1, 2], [3, 4], [5, 6]], "float32"))
    assert K.foldl(K.add, rows).array.tolist() == [9, 12]
    assert K.map_fn(lambda row: K.add(row, 1.0), rows).array.tolist() == [[2, 3], [4, 5], [6, 7]]
    assert not hasattr(K, "switch")  # listed, but the parts of it are not there


def test_a_flat_module_is_loaded_by_its_path(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.__name__ = "boxes_by_path"
    monkeypatch.setitem(sys.modules, "boxes_by_path", module)
    before = dict(vars(module))
    K = kbridge.load_backend("boxes_by_path")
    assert K.engine is module.ENGINE
    assert K.backend() == "boxes_by_path"
    assert vars(module) == before
