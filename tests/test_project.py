"""What holds for the repository as a whole: packaging, sizes, words that no file may contain."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import setuptools

import kbridge

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[1]
MOST_LINES = 600
MANY_LINES = 400

# Each is written so that this file does not contain it.
FORBIDDEN = {
    "a registry's host": r"(pypi|pythonhosted|npmjs|debian)[.]org|download[.]pytorch",
    "a path of one machine": r"(?<![\w.])/(root|work|home/\w+|opt|Users)/",
    "a number of an issue": r"(?i)\b(issue|pull request|PR|GH)[ -]?#?\d+|(?<![\w&/])#\d{1,5}\b",
    "a conflict marker": r"(?m)^(<{7}|>{7}) ",
}


def project_files() -> list[Path]:
    """Every file that git holds or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return sorted(file for name in listed.stdout.splitlines() if (file := ROOT / name).is_file())


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""  # an image or an archive


@pytest.fixture(scope="module")
def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize(("what", "pattern"), FORBIDDEN.items(), ids=list(FORBIDDEN))
def test_forbidden_words(what, pattern):
    found = [
        f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}"
        for file in project_files()
        if file.name != "LICENSE"
        for text in [text_of(file)]
        for match in re.finditer(pattern, text)
    ]
    assert not found, f"{what} stands in\n" + "\n".join(found)


def test_no_generated_file():
    left = re.compile(r"__pycache__|[.]pyc$|[.]egg-info|(^|/)(build|dist|[.]venv)/|_cache/")
    names = [str(file.relative_to(ROOT)) for file in project_files()]
    assert [name for name in names if left.search(name)] == []


def test_no_file_is_too_long():
    lengths = {
        str(file.relative_to(ROOT)): text_of(file).count("\n")
        for file in project_files()
        if file.suffix == ".py"
    }
    many = {name: length for name, length in lengths.items() if length > MANY_LINES}
    print("files to keep an eye on:", many)
    assert {name: length for name, length in many.items() if length > MOST_LINES} == {}


def test_every_module_says_what_it_is_for():
    empty = [
        str(file.relative_to(ROOT))
        for file in project_files()
        if file.suffix == ".py"
        and file.name != "__init__.py"
        and not text_of(file).startswith(('"""', "#!", 'r"""'))
    ]
    assert empty == []


def test_numpy_is_the_only_hard_dependency(pyproject):
    names = [re.match(r"[\w-]+", line)[0] for line in pyproject["project"]["dependencies"]]
    assert names == ["numpy"]


def test_every_backend_has_an_extra(pyproject):
    from kbridge.loader import BUILTIN

    extras = pyproject["project"]["optional-dependencies"]
    assert set(BUILTIN) - {"numpy"} <= set(extras)
    assert {"conformance", "cli", "examples", "docs", "dev", "all"} <= set(extras)


def test_constraints_fit_the_ranges(pyproject):
    pins = (ROOT / "constraints.txt").read_text()
    for name in ("torch", "tensorflow-cpu", "jax"):
        assert re.search(rf"(?m)^{name}==\d", pins)
    assert "torch==2.13.0\n" in pins


def test_package_list_is_complete(pyproject):
    found = setuptools.find_packages(str(ROOT), include=["kbridge", "kbridge.*"])
    outside = setuptools.find_packages(str(ROOT), include=["conformance", "conformance.*"])
    assert pyproject["tool"]["setuptools"]["packages"] == sorted(
        [*found, *(f"kbridge.{name}" for name in outside)]
    )


def test_typed_marker():
    assert (Path(kbridge.__file__).parent / "py.typed").is_file()


def test_wheel(tmp_path):
    """The wheel holds the package, the conformance suite, the marker, and no test."""
    source = tmp_path / "source"
    for file in project_files():
        copy = source / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation"]
    options = ["--no-index", "--disable-pip-version-check", "--wheel-dir", str(tmp_path)]
    done = subprocess.run([*command, *options], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("kbridge-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    expected = {"kbridge/__init__.py", "kbridge/py.typed", "kbridge/conformance/cases/__init__.py"}
    assert expected <= set(names)
    assert {name.split("/")[0] for name in names} == {
        "kbridge",
        f"kbridge-{kbridge.__version__}.dist-info",
    }
    shipped = {file for file in project_files() if file.suffix in (".json", ".npz", ".py")}
    for file in shipped:
        top, *rest = file.relative_to(ROOT).parts
        if top in ("kbridge", "conformance"):
            inside = "/".join(["kbridge", *([top] if top == "conformance" else []), *rest])
            assert inside in names


def test_readme_starts_with_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert 0 <= text.find("make demo") < text.find("make test")


def test_ci_runs_the_test_command():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text()
    assert "set -euo pipefail" in script.read_text()


def test_make_help_names_every_target():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = re.findall(r"(?m)^  ([\w-]+) ", done.stdout)
    assert {"demo", "setup", "test", "lint", "types", "docs", "conformance", "bench"} <= set(listed)
    targets = re.findall(r"(?m)^([a-z0-9-]+):", (ROOT / "Makefile").read_text())
    assert listed == targets
