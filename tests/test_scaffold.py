"""``kbridge new-backend``: the package that it writes installs and passes its own tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kbridge import cli, scaffold
from kbridge.errors import ArgumentError

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a package, as written."""
    return scaffold.write("my-backend", tmp_path_factory.mktemp("new"))


def python(*command: str, cwd: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder on its path."""
    paths = os.pathsep.join([str(path), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("KERAS_BACKEND", None)
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300
    )


def test_files(package):
    files = {str(file.relative_to(package)) for file in package.rglob("*") if file.is_file()}
    assert files == {
        "README.md",
        "pyproject.toml",
        "my_backend/__init__.py",
        "my_backend/elementwise.py",
        "my_backend/engine.py",
        "my_backend/expected_failures.toml",
        "my_backend/nn.py",
        "tests/conftest.py",
        "tests/test_conformance.py",
    }
    for file in package.rglob("*.*"):
        text = file.read_text()
        assert "@" not in text.replace("@pytest", "")
        assert "My-backend" not in text


def test_written_code_is_in_style(package):
    ruff = importlib.util.find_spec("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    for command in (
        ["check", "--select", "E,F,I,W,B,PT", "--line-length", "100"],
        ["format", "--check", "--line-length", "100"],
    ):
        done = python("-m", "ruff", *command, "--isolated", ".", cwd=package, path=package)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_it_installs_and_passes_its_own_tests(package, tmp_path):
    """Installed, so that the entry point and the list of expected failures are found."""
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    done = python(
        *("-m", "pip", "install", "-q", *options, "--target", str(tmp_path), str(package)),
        cwd=tmp_path,
        path=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "my_backend" / "expected_failures.toml").is_file()
    code = "import kbridge; print(kbridge.load_backend('my-backend'))"
    done = python("-c", code, cwd=tmp_path, path=tmp_path)
    assert done.stdout == "<kbridge backend 'my-backend'>\n", done.stderr
    if importlib.util.find_spec("kbridge.conformance") is None:
        pytest.skip("kbridge is not installed: pip install -e .")
    tests = str(package / "tests")
    done = python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, cwd=tmp_path, path=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout


def test_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inside").mkdir()
    assert cli.main(["new-backend", "fresh_one", "--path", "inside"]) == 0
    assert (tmp_path / "inside" / "fresh_one" / "fresh_one" / "engine.py").is_file()
    folder = Path("inside") / "fresh_one"
    assert capsys.readouterr().out == (
        f"Wrote a backend on NumPy to {folder}. Try it:\n\n  cd {folder}\n"
        "  kbridge check fresh_one\n\nREADME.md there says how to go on.\n"
    )


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(
            (name, "a name consists of small letters and digits, with single '-' or '_' between")
            for name in (
                "",
                "..",
                "../up",
                "a/b",
                "a b",
                "-x",
                "x-",
                "a--b",
                "3d",
                "Mine",
                "a.b",
                "a\n",
                "naïve",
                "x;y",
                "$(x)",
            )
        ),
        ("class", "it is a word of Python's own"),
        ("match", "it is a word of Python's own"),
        ("con", "on Windows no folder can have it"),
        ("numpy", "it is a backend of kbridge's own"),
        ("torch", "it is a backend of kbridge's own"),
        ("theano", "it stands for the backend of kbridge-pytensor"),
        ("json", "there is a module 'json' already, which it would hide"),
        ("kbridge", "there is a module 'kbridge' already, which it would hide"),
    ],
)
def test_unsafe_name(tmp_path, name, fault):
    with pytest.raises(ArgumentError) as caught:
        scaffold.write(name, tmp_path)
    start = f"kbridge new-backend: {name!r} cannot be the name: {fault}"
    assert str(caught.value).startswith(start)
    assert list(tmp_path.iterdir()) == []


def test_name_of_a_plugin(tmp_path, monkeypatch):
    folder = tmp_path / "toy-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[kbridge.backends]\nmine = toy.backend\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ArgumentError, match="'mine' cannot be the name: an installed package ann"):
        scaffold.write("mine", tmp_path)


@pytest.mark.parametrize("kind", ["folder", "file", "dead link"])
def test_nothing_is_overwritten(tmp_path, kind, capsys):
    place = tmp_path / "fresh-one"
    if kind == "folder":
        place.mkdir()
        (place / "mine.txt").write_text("mine")
    elif kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / "nowhere")
    before = sorted(map(str, tmp_path.rglob("*")))
    assert cli.main(["new-backend", "fresh-one", "--path", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"kbridge: error: kbridge new-backend: {str(place)!r} exists already. Choose another "
        "name, or another folder with --path.\n"
    )
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_no_such_folder(tmp_path):
    with pytest.raises(ArgumentError, match=r"there is no folder '.*none' \(--path\)\."):
        scaffold.write("fresh-one", tmp_path / "none")
