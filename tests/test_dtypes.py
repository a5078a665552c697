"""Names of dtypes, their promotion (against JAX's own table), and results of operations."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kbridge.errors import ArgumentTypeError, DTypeError
from kbridge.symbolic import dtypes

ALL = sorted(dtypes.DTYPES)
PAIRS = list(itertools.product(ALL, ALL))


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_name_is_itself(name: str) -> None:
    assert dtypes.normalize(name) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (np.dtype("float32"), "float32"),
        (np.dtype(">f4"), "float32"),
        (np.float64, "float64"),
        (np.bool_, "bool"),
        (np.uint8, "uint8"),
        ("f4", "float32"),
        ("<i8", "int64"),
        ("?", "bool"),
        ("half", "float16"),
        ("double", "float64"),
        ("float", "float32"),
        ("int", "int32"),
        (bool, "bool"),
        (int, "int32"),
        (float, "float32"),
        (SimpleNamespace(name="bfloat16"), "bfloat16"),
    ],
)
def test_normalize_reads_every_spelling(given: Any, name: str) -> None:
    assert dtypes.normalize(given) == name
    assert dtypes.normalize(given) == name, "the cached answer differs"


@pytest.mark.parametrize("name", ALL)
def test_normalize_reads_the_dtypes_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert dtypes.normalize(getattr(torch, name)) == name


@pytest.mark.parametrize("name", ALL)
def test_normalize_reads_the_dtypes_of_jax(name: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    scalar_type = getattr(jnp, "bool_" if name == "bool" else name)
    assert dtypes.normalize(scalar_type) == name
    assert dtypes.normalize(np.dtype(scalar_type)) == name


def test_a_number_is_no_dtype_where_an_engine_takes_it_for_one() -> None:
    class Numbered:
        name = "int32"

        def __hash__(self) -> int:
            return 3

        def __eq__(self, other: object) -> bool:
            return other == 3

    assert dtypes.normalize(Numbered()) == "int32"
    with pytest.raises(DTypeError, match="is not a dtype"):
        dtypes.normalize(3)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "float33",
        "",
        "complex64",
        np.dtype("complex64"),
        complex,
        np.complex128,
        str,
        "str",
        "i4,f4",
        object(),
        object,
        3,
        ["float32"],
        np.dtype("datetime64[s]"),
        np.zeros(2),
        SimpleNamespace(name="float32", dtype="float32"),
    ],
)
def test_normalize_rejects_and_says_what_is_accepted(bad: Any) -> None:
    with pytest.raises(DTypeError, match=r"is not a dtype .*use one of bfloat16, bool, float16"):
        dtypes.normalize(bad)


@pytest.mark.parametrize("name", ALL)
def test_to_numpy_has_the_name(name: str) -> None:
    assert dtypes.to_numpy(name).name == name
    assert dtypes.normalize(dtypes.to_numpy(name)) == name


def test_to_numpy_normalizes() -> None:
    assert dtypes.to_numpy("half") == np.float16
    with pytest.raises(DTypeError):
        dtypes.to_numpy("float33")


def test_every_dtype_is_of_one_group() -> None:
    for name in ALL:
        groups = dtypes.is_float(name), dtypes.is_integer(name), dtypes.is_bool(name)
        assert groups.count(True) == 1, name
        if not dtypes.is_float(name):
            assert groups[1] == (np.dtype(name).kind in "iu")
        assert dtypes.is_64bit(name) == (dtypes.to_numpy(name).itemsize == 8)


# --- promotion -------------------------------------------------------------------------------


def test_promote_is_the_table_of_jax() -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        for a, b in PAIRS:
            expected = np.dtype(jax.numpy.promote_types(a, b)).name
            assert dtypes.promote(a, b) == expected, (a, b)


def test_promote_all_is_the_table_of_jax() -> None:
    jax = pytest.importorskip("jax")
    some = ["bool", "uint8", "int8", "int32", "uint64", "bfloat16", "float16", "float32"]
    with jax.enable_x64(True):
        for three in itertools.product(some, repeat=3):
            # a strong result: result_type() of arrays of these dtypes
            expected = np.dtype(jax.numpy.result_type(*three)).name
            assert dtypes.promote_all(*three) == expected, three


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_promotion_is_a_join(a: str, b: str) -> None:
    both = dtypes.promote(a, b)
    assert both == dtypes.promote(b, a) == dtypes.promote_all(a, b)
    assert dtypes.promote(a, both) == both
    assert dtypes.promote(a, a) == dtypes.promote_all(a) == a


def test_promote_reads_other_spellings_and_names_unknown_ones() -> None:
    assert dtypes.promote("half", "bfloat16") == "float32"
    assert dtypes.promote_all("int8", "uint64", "float16") == "float16"
    with pytest.raises(DTypeError, match="float33"):
        dtypes.promote("float32", "float33")
    with pytest.raises(DTypeError, match="at least one"):
        dtypes.promote_all()


# --- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strong", "weak", "floatx", "expected"),
    [
        (["float32", "float32"], [], "float32", "float32"),
        (["float16"], ["f"], "float32", "float16"),
        (["bfloat16"], ["i", "b"], "float32", "bfloat16"),
        (["float64", "float32"], ["f"], "float32", "float64"),
        (["int32", "float32"], [], "float16", "float32"),
        (["int8"], ["i"], "float32", "int8"),
        (["uint8"], ["b"], "float32", "uint8"),
        (["int64"], ["f"], "float16", "float16"),
        (["bool"], ["f"], "float64", "float64"),
        (["bool"], ["i"], "float32", "int32"),
        (["bool", "bool"], ["b"], "float32", "bool"),
        (["bool", "int8"], ["i"], "float32", "int8"),
        ([], ["b", "i"], "float16", "float16"),
        ([], ["f"], "float32", "float32"),
        (["float32", "bfloat16"], ["i"], "float64", "float32"),
    ],
)
def test_weak_scalars_never_widen(
    strong: list[str], weak: list[str], floatx: str, expected: str
) -> None:
    assert dtypes.result_of(strong, weak, floatx) == expected
    assert dtypes.result_of(tuple(strong), "".join(weak), floatx) == expected


@pytest.mark.parametrize("name", ALL)
def test_floating_and_accumulate(name: str) -> None:
    assert dtypes.floating(name, "float16") == (name if dtypes.is_float(name) else "float16")
    assert dtypes.accumulate(name) == ("int32" if name == "bool" else name)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "b"),
        (3, "i"),
        (2.5, "f"),
        (np.True_, "b"),
        (np.int8(3), "i"),
        (np.uint64(3), "i"),
        (np.float16(1), "f"),
        (np.float64(1), "f"),
        (np.array(1), "i"),
        (np.array(1.5), "f"),
        (np.array(False), "b"),
    ],
)
def test_kind_of_value(value: Any, kind: str) -> None:
    assert dtypes.kind_of_value(value) == kind


def test_kind_of_bfloat16_scalars() -> None:
    assert dtypes.kind_of_value(dtypes.to_numpy("bfloat16").type(1)) == "f"


@pytest.mark.parametrize("bad", [np.zeros(1), "1", None, [1]])
def test_kind_of_what_is_no_scalar(bad: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="expected a"):
        dtypes.kind_of_value(bad)


@pytest.mark.parametrize("bad", [1j, np.complex64(1), np.array("a")])
def test_kind_of_what_has_no_dtype_here(bad: Any) -> None:
    with pytest.raises(DTypeError):
        dtypes.kind_of_value(bad)
