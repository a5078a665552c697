"""What the documentation is made of: the pages of the contract, the support table, the claims."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import kbridge
from kbridge import binding, config, errors, loader
from kbridge.backends.flat import bind_flat

pytest.importorskip("kbridge.conformance", reason="kbridge is not installed")

ROOT = Path(__file__).parents[1]

binding.load_contract()
OPERATIONS = binding.OPERATIONS
PUBLIC = sorted(name for name, op in OPERATIONS.items() if op.public)


@pytest.fixture(scope="module", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        patch.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        patch.setattr(config, "_state", None)
        yield


@pytest.fixture(scope="module")
def support(own_settings: None) -> Any:
    absent = [name for name in loader.BUILTIN if not config.is_installed(name)]
    if absent:
        pytest.skip(f"the support table needs {', '.join(absent)} too")
    return importlib.import_module("support")


@pytest.fixture(scope="module")
def pages(support: Any) -> Any:
    return importlib.import_module("pages")


@pytest.fixture(scope="module")
def rows(support: Any) -> dict[str, Any]:
    return support.rows()


@pytest.fixture(scope="module")
def by_name(rows: dict[str, Any]) -> dict[str, Any]:
    return {row.operation.name: row for held in rows.values() for row in held}


# --- the support table -------------------------------------------------------------------------


def test_every_operation_is_in_one_topic(rows: dict[str, Any]) -> None:
    assert sorted(row.operation.name for held in rows.values() for row in held) == PUBLIC


def test_forms(support: Any, by_name: dict[str, Any]) -> None:
    for name, row in by_name.items():
        assert list(row.cells) == list(loader.BUILTIN)
        for backend, cell in row.cells.items():
            K = kbridge.load_backend(backend)
            assert cell.form in support.FORMS
            assert (cell.form == "missing") == (not hasattr(K, name)), name
            assert (cell.form == "native") == (name in K.native), name
            assert cell.checks > 0, f"no check of the suite is about K.{name}"


@pytest.mark.parametrize(
    ("name", "form", "gradient"),
    [
        ("square", "native", "yes"),
        ("argmax", "native", "no"),
        ("std", "composite", "yes"),
        ("in_top_k", "composite", "no"),
        ("dropout", "composite", "yes"),
        ("switch", "common", "yes"),
        ("ndim", "common", ""),
        ("floatx", "common", ""),
    ],
)
def test_known_rows(by_name: dict[str, Any], name: str, form: str, gradient: str) -> None:
    row = by_name[name]
    assert {cell.form for cell in row.cells.values()} == {form}
    assert row.gradient == gradient


def test_known_dtypes(by_name: dict[str, Any]) -> None:
    floats = {"bfloat16", "float16", "float32", "float64"}
    for cell in by_name["dot"].cells.values():
        assert {"int32", *floats} <= set(cell.dtypes)
    assert by_name["get_uid"].cells["numpy"].dtypes == ()


def test_expected_failures_are_told(support: Any, pages: Any, monkeypatch: Any) -> None:
    op = OPERATIONS["square"]
    whole = support.cell(op, "jax")
    record = support.RECORDS["square"]
    case = next(case for case, check, _ in support.derive(record) if check == "float16")
    failing = {("jax", "square", case, "float16"): (ValueError, "a test")}
    monkeypatch.setattr(support, "EXPECTED", {**support.EXPECTED, **failing})
    cells = {name: support.cell(op, name) for name in support.BACKENDS}
    assert set(whole.dtypes) - set(cells["jax"].dtypes) == {"float16"}
    assert cells["jax"].checks == whole.checks
    _, *shown = pages.support_row(support.Row(op, cells, "yes"))
    assert shown[:4] == [*[":native:`native` also f16"] * 3, ":native:`native` (1 known to fail)"]
    assert "f16" not in shown[5].split()


def test_missing_and_composite_of_a_foreign_backend(support: Any) -> None:
    module = ModuleType("foreign")
    module.placeholder = module.variable = module.function = lambda *args, **kwargs: None
    module.clip = lambda x, low, high: np.clip(x, low, high)
    module.add, module.multiply = np.add, np.multiply
    K = bind_flat(module, "foreign")
    forms = {name: support.form(OPERATIONS[name], K) for name in PUBLIC}
    assert (forms["clip"], forms["hard_sigmoid"], forms["conv2d"]) == (
        "native",
        "composite",
        "missing",
    )
    assert {name for name, form in forms.items() if form == "missing"} == {
        name for name in PUBLIC if not hasattr(K, name)
    }


# --- the pages -----------------------------------------------------------------------------------


def test_pages_show_signature_and_docstring(rows: dict[str, Any], pages: Any) -> None:
    for topic, held in rows.items():
        text = pages.topic_page(topic, held)
        for row in held:
            op = row.operation
            for backend in loader.BUILTIN:
                shown = inspect.signature(getattr(kbridge.load_backend(backend), op.name))
                assert f".. py:function:: K.{op.name}{shown}\n" in text
            for example in doctest.DocTestParser().get_examples(op.doc or ""):
                assert f">>> {example.source.splitlines()[0]}" in text


def test_a_new_topic_appears(support: Any, pages: Any, tmp_path: Path, monkeypatch: Any) -> None:
    import kbridge.api

    (tmp_path / "later.py").write_text(
        '"""Later things: a test.\n\nMore."""\n'
        "from kbridge.api.declare import operation\n\n\n"
        '@operation("x")\ndef some_later_thing(x):\n    """What ``K.sum`` is not."""\n'
    )
    monkeypatch.setattr(kbridge.api, "__path__", [*kbridge.api.__path__, str(tmp_path)])
    try:
        found = support.rows()
        assert "later" in found
        text = pages.topic_page("later", found["later"])
        assert text.startswith("Later things\n============\n")
        assert ".. py:function:: K.some_later_thing(x)\n" in text
        assert ":missing:`missing` on every backend" in text
        assert "What :func:`K.sum` is not." in text
        assert ":doc:`Later things <later>`" in pages.index_page(found)
        assert "   * - :func:`~K.some_later_thing`\n" in pages.support_table(found)
    finally:
        OPERATIONS.pop("some_later_thing", None)
        sys.modules.pop("kbridge.api.later", None)


def test_pages_of_an_earlier_build_are_removed(
    rows: dict[str, Any], pages: Any, support: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(support, "rows", lambda: rows)
    (tmp_path / "gone.rst").write_text("old")
    pages.write(tmp_path)
    written = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert set(written) == {
        *(f"{topic}.rst" for topic in rows),
        "index.rst",
        "_support.rst",
        "_commands.rst",
    }
    pages.write(tmp_path)
    assert written == {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}


def test_links(pages: Any) -> None:
    text = "See ``K.sum``, ``K.sum(x)``, ``K.nothing``; ShapeError, a ValueError.\n\n>>> ``K.sum``"
    assert pages.linked(text) == (
        "See :func:`K.sum`, ``K.sum(x)``, ``K.nothing``; "
        ":exc:`~kbridge.errors.ShapeError`, a ValueError.\n\n>>> ``K.sum``"
    )


# --- what the pages and docstrings claim -------------------------------------------------------


def test_options_of_functions(support: Any) -> None:
    text = (ROOT / "docs" / "backends.md").read_text()
    for name in loader.BUILTIN:
        (line,) = re.findall(rf"(?m)^\| `{name}` \|(?:[^|]*)\|([^|]*)\|", text)
        options = set(kbridge.load_backend(name).engine.options)
        assert {*re.findall(r"`(\w+)=True`", line), "device"} == options
    assert '`device="cpu"`' in text


def test_defaults_of_the_settings() -> None:
    text = (ROOT / "docs" / "backends.md").read_text()
    for name, value in config.DEFAULTS.items():
        (line,) = re.findall(rf"(?m)^\| `{name}` \| ([^|]*) \|", text)
        assert line == "as above" if name == "backend" else line.strip('`"') == str(value)


@pytest.mark.parametrize("module", [kbridge, config, loader, errors, binding])
def test_examples_of_the_package(module: ModuleType) -> None:
    """Those of K functions are run by test_docstrings.py, on every backend."""
    plain = {op.plain for op in OPERATIONS.values()}
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [
        test
        for test in finder.find(module, globs={"kbridge": kbridge})
        if test.examples and getattr(module, test.name.rpartition(".")[2], None) not in plain
    ]
    assert tests or module is not loader
    for test in tests:
        assert all(example.want for example in test.examples), test.name
        assert not doctest.DocTestRunner(verbose=False).run(test).failed
