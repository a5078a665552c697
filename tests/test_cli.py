"""The command ``kbridge``."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import kbridge
from kbridge import cli, config, loader


@pytest.fixture
def quiet(keras_json, monkeypatch):
    """No setting of the user's, and NumPy alone installed."""
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setattr(loader, "_asked", None)
    monkeypatch.setattr(config, "is_installed", lambda name: name == "numpy")


@pytest.fixture
def delegate(monkeypatch):
    """Stand in for a module that a command delegates to; return the calls of its main()."""

    def delegate(name: str, status: int = 0) -> list[list[str]]:
        calls: list[list[str]] = []
        module = ModuleType(name)
        module.main = lambda argv: calls.append(argv) or status
        monkeypatch.setitem(sys.modules, name, module)
        return calls

    return delegate


def test_info(quiet, capsys):
    import numpy

    assert cli.main(["info"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"kbridge {kbridge.__version__} on Python 3.")
    assert f"  numpy        {numpy.__version__}\n" in out
    assert '  torch        not installed; pip install "kbridge[torch]"\n' in out
    assert out.endswith(
        "\nBackend\n  numpy        by the default, since no other engine is installed\n"
    )


def test_info_of_a_choice_that_is_not_installed(quiet, keras_json, capsys):
    file = keras_json({"backend": "jax"})
    assert cli.main(["info"]) == 0
    expected = f'  jax          by "backend" in {file}, but it is not installed\n'
    assert capsys.readouterr().out.endswith(expected)


@pytest.mark.parametrize(
    ("name", "lack"),
    [
        ("theano", ", but it is not installed"),
        ("nope.backend", ", but there is no such backend or module"),
        ("kbridge.backends.numpy", ""),
    ],
)
def test_info_of_other_choices(quiet, capsys, monkeypatch, name, lack):
    monkeypatch.setenv("KERAS_BACKEND", name)
    assert cli.main(["info"]) == 0
    assert capsys.readouterr().out.endswith(f"  {name:12} by KERAS_BACKEND{lack}\n")


def test_info_lists_plugins(quiet, capsys, tmp_path, monkeypatch):
    folder = tmp_path / "toy-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[kbridge.backends]\nmine = toy.backend\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert cli.main(["info"]) == 0
    assert "\nPlug-ins\n  mine         toy.backend (from toy 1.0)\n" in capsys.readouterr().out


def test_info_of_an_engine_without_metadata(quiet, capsys, monkeypatch):
    def unknown(name):
        raise cli.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(cli.metadata, "version", unknown)
    assert cli.main(["info"]) == 0
    assert "  numpy        installed, of unknown version\n" in capsys.readouterr().out


def test_info_imports_no_engine(script):
    done = script("from kbridge.cli import main; main(['info'])", installed=["torch", "jax"])
    assert "  torch        " in done.stdout
    assert done.stderr == ""


def test_config(quiet, keras_json, capsys, monkeypatch):
    file = keras_json({"floatx": "float64"})
    config.set_epsilon(0.5)
    monkeypatch.setenv("KERAS_BACKEND", "numpy")
    assert cli.main(["config"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"file: {file}",
        "",
        f"  floatx             float64        {file}",
        "  epsilon            0.5            set_epsilon()",
        "  image_data_format  channels_last  default",
        "  backend            numpy          KERAS_BACKEND",
    ]


def test_public_error_is_one_line_and_no_traceback(quiet, keras_json, capsys):
    file = keras_json("[]")
    assert cli.main(["config"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"kbridge: error: {file}, line 1: holds [], but")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "module"), [("check", "kbridge.conformance.runner"), ("demo", "kbridge.demo")]
)
@pytest.mark.parametrize("args", [[], ["numpy", "-x", "--help"], ["--help"]])
def test_delegated_command_gets_its_arguments(delegate, command, module, args):
    calls = delegate(module, status=3)
    assert cli.main([command, *args]) == 3
    assert calls == [args]


def test_check_finds_a_backend_in_the_current_folder(delegate, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [])
    delegate("kbridge.conformance.runner")
    cli.main(["check", "okb"])
    assert sys.path == [str(tmp_path)]


def test_delegated_command_lacks_a_package(monkeypatch, tmp_path, capsys):
    (tmp_path / "stand_in_demo.py").write_text("import no_rich.console")
    monkeypatch.syspath_prepend(tmp_path)
    assert cli._delegate("stand_in_demo", "cli,examples", []) == 1
    assert capsys.readouterr().err == (
        "kbridge: error: there is no module 'no_rich'. Install it with: "
        'pip install "kbridge[cli,examples]"\n'
    )


def test_delegated_command_in_an_uninstalled_checkout(monkeypatch, capsys):
    assert cli._delegate("no_kbridge.conformance.runner", "conformance", []) == 1
    assert cli._delegate("json.no_runner", "conformance", []) == 1
    assert capsys.readouterr().err.count("install it with: pip install -e .") == 1


def test_bench_in_a_checkout(monkeypatch, tmp_path):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__main__.py").write_text(
        "import sys; sys.exit(len(sys.argv) - 1)\n"
    )
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", "--quick", "dot"]) == 2


def test_bench_without_a_checkout(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kbridge, "__file__", str(tmp_path / "kbridge" / "__init__.py"))
    assert cli.main(["bench"]) == 1
    assert "Run 'kbridge bench' in a checkout" in capsys.readouterr().err


def test_unknown_command(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["nope"])
    assert caught.value.code == 2
    assert "invalid choice: 'nope'" in capsys.readouterr().err


def test_help_and_version_as_a_module(clean_env):
    def run(option: str) -> str:
        command = [sys.executable, "-m", "kbridge", option]
        return subprocess.run(command, env=clean_env, text=True, check=True, stdout=-1).stdout

    assert run("--version") == f"kbridge {kbridge.__version__}\n"
    for command in ("info", "config", "check", "demo", "bench"):
        assert f"\n  {command} " in run("--help")
