"""The command ``kbridge demo``: curves, accuracy, what it shows, what it imports."""

from __future__ import annotations

import ast
import inspect
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kbridge import demo
from kbridge.binding import OPERATIONS, load_contract
from kbridge.config import is_installed
from kbridge.demo import models, report
from kbridge.demo.report import AGREEMENT, Run
from kbridge.demo.training import load_digits, train
from kbridge.errors import KBridgeError, MissingDependencyError
from kbridge.loader import BUILTIN, TITLES

ENGINES = [name for name in BUILTIN if is_installed(name)]

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def run_in(folder: Path, env: dict[str, str], options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kbridge", "demo", *options.split()]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def command(tmp_path: Path, clean_env: dict[str, str]) -> Command:
    """Run ``kbridge demo`` in an empty folder."""
    return lambda options, **env: run_in(tmp_path, {**clean_env, **env}, options)


def runs_of(file: Path) -> list[Run]:
    return [Run(**fields) for fields in json.loads(file.read_text())["runs"]]


# --- what it computes ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A small run of both models on every engine, without dropout."""
    folder = tmp_path_factory.mktemp("demo")
    env = {k: v for k, v in os.environ.items() if not k.startswith("KERAS")}
    root = str(Path(demo.__file__).parents[2])
    options = "--all --no-dropout --epochs 3 --images 320 --json all.json"
    if is_installed("matplotlib"):
        options += " --plot plots/all.png"
    done = run_in(folder, {**env, "HOME": str(folder), "PYTHONPATH": root}, options)
    assert done.returncode == 0, done.stdout + done.stderr
    return SimpleNamespace(done=done, folder=folder, runs=runs_of(folder / "all.json"))


def test_every_engine_ran_every_model(compared):
    expected = [(name, model) for name in ENGINES for model in ("mlp", "cnn")]
    assert [(run.backend, run.model) for run in compared.runs] == expected
    for run in compared.runs:
        assert len(run.loss) == len(run.accuracy) == len(run.seconds) == 3
        assert run.loss[0] > run.loss[1] > run.loss[2] > 0
        assert 0.5 < run.accuracy[-1] <= 1
        assert min(run.seconds) > 0


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_engines_agree_without_dropout(compared, model):
    curves = {run.backend: run.loss for run in compared.runs if run.model == model}
    for name, losses in curves.items():
        gap = np.abs(np.subtract(losses, curves["numpy"]))
        assert gap.max() <= AGREEMENT, f"{name} and NumPy differ by {gap}"


@pytest.mark.slow
def test_accuracy_on_numpy(command, tmp_path):
    """Both models, in full, as on a machine that has nothing but NumPy."""
    done = command("--backend numpy --json out.json")
    assert done.returncode == 0, done.stderr
    runs = {run.model: run for run in runs_of(tmp_path / "out.json")}
    assert runs["mlp"].accuracy[-1] >= 0.96
    assert runs["cnn"].accuracy[-1] >= 0.96
    assert sum(sum(run.seconds) for run in runs.values()) < 60


def losses_of(K, **options) -> list[float]:
    return [epoch.loss for epoch in train(K, "mlp", epochs=1, limit=128, **options)]


def test_dropout_repeats_and_matters(K):
    dropped = losses_of(K)
    assert dropped == pytest.approx(losses_of(K), abs=1e-6)
    assert abs(dropped[0] - losses_of(K, dropout=False)[0]) > 0.01


def test_seed_sets_weights_and_order(K):
    assert abs(losses_of(K, dropout=False)[0] - losses_of(K, dropout=False, seed=1)[0]) > 0.01


def test_moving_averages_follow_the_batches(K):
    """After many steps on one batch, test mode normalises as training does."""
    x = K.placeholder((None, 3))
    net = models.Network(K)
    normal = net.normalize(x)
    step = K.function([x, K.learning_phase()], normal, net.updates)
    batch = np.random.default_rng(0).normal(5, 2, (50, 3))
    for _ in range(100):
        trained = step([batch, 1])
    assert trained.mean(0) == pytest.approx(np.zeros(3), abs=1e-5)
    assert K.function([x], normal)([batch]) == pytest.approx(trained, abs=1e-3)


def test_digits():
    trained, tested = load_digits()
    assert [len(part.labels) for part in (trained, tested)] == [1198, 599]
    for images, labels in (trained, tested):
        assert images.shape == (len(labels), 8, 8, 1)
        assert (images.min(), images.max()) == (0, 1)
        assert set(labels) == set(range(10))
    both = np.concatenate([trained.images, tested.images]).reshape(1797, 64)
    assert len(np.unique(both, axis=0)) == 1797  # so that no test digit was seen in training


def test_data_is_small_and_credited():
    folder = Path(demo.__file__).parent
    assert (folder / "digits.npz").stat().st_size < 100_000
    for text in ((folder / "digits.md").read_text(), (folder.parents[1] / "README.md").read_text()):
        assert "Alpaydin" in text
        assert "CC BY 4.0" in text


def test_models_are_written_with_k_functions_only():
    tree = ast.parse(inspect.getsource(models))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {alias.name for node in imports for alias in node.names} == {
        "annotations",
        "itertools",
        "Any",
    }
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("K", "self.K", "net.K")
    }
    assert {"conv2d", "dot", "gradients", "normalize_batch_in_training", "dropout"} <= used
    load_contract()
    assert all(OPERATIONS[name].public for name in used)


# --- what it imports -----------------------------------------------------------------------------


def stubs(folder: Path, names: list[str], code: str) -> dict[str, str]:
    """Put modules that hide those installed in a folder; return the environment for them."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(code)
    root = Path(demo.__file__).parents[2]
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(root)])}


IMPORTER = """
import pathlib
import sys

frame = sys._getframe(1)
while "importlib" in frame.f_code.co_filename:
    frame = frame.f_back
pathlib.Path(__file__).with_name("importer").write_text(frame.f_code.co_filename)
raise ImportError("not this one")
"""


@pytest.mark.parametrize("name", ENGINES)
def test_no_other_engine_is_imported(command, tmp_path, name):
    others = [other for other in BUILTIN if other not in (name, "numpy")]
    env = stubs(tmp_path / "stubs", others, IMPORTER)
    done = command(f"--backend {name} --model mlp --epochs 1 --images 64", **env)
    assert done.returncode == 0, done.stderr
    # An engine may look for another by itself: TensorFlow brings Keras, which tries JAX.
    importers = [file.read_text() for file in (tmp_path / "stubs").glob("*/importer")]
    assert [file for file in importers if "kbridge" in file] == []


def test_engine_that_fails_does_not_hide_the_others(command, tmp_path):
    env = stubs(tmp_path / "stubs", ["tensorflow", "torch", "jax"], "raise OSError('no library')")
    done = command("--all --model mlp --epochs 1 --images 64 --json out.json", **env)
    assert done.returncode == 1
    assert "mlp    NumPy " in done.stdout
    assert done.stderr.count("kbridge: error: ") == 3
    written = json.loads((tmp_path / "out.json").read_text())
    assert [run["backend"] for run in written["runs"]] == ["numpy"]
    assert list(written["failures"]) == ["tensorflow", "torch", "jax"]
    assert "no library" in written["failures"]["jax"]


def test_backend_by_dotted_path_that_lacks_operations(command, tmp_path):
    text = "def placeholder(*a, **k): ...\nvariable = function = placeholder\n"
    (tmp_path / "tiny_backend.py").write_text(text)
    done = command("--backend tiny_backend --model mlp")
    assert done.returncode == 1
    assert done.stderr.startswith("kbridge: error: K.")
    assert "'tiny_backend'" in done.stderr


# --- what it shows -------------------------------------------------------------------------------


def test_table(compared):
    lines = compared.done.stdout.splitlines()
    assert " ".join(lines[1].split()) == "model engine 1 2 3 accuracy load first later"
    rows = [line.split() for line in lines[3 : 3 + len(compared.runs)]]
    ordered = sorted(compared.runs, key=lambda run: run.model == "cnn")
    for row, run in zip(rows, ordered, strict=True):
        losses = [f"{loss:.4f}" for loss in run.loss]
        assert row[:6] == [run.model, TITLES[run.backend], *losses, f"{run.accuracy[-1]:.1%}"]
        assert len(row) == 9
    rest = lines[3 + len(rows) :]
    assert rest[1].startswith("mlp: in every epoch the engines' losses agree to ")
    assert rest[2].startswith("cnn: in every epoch the engines' losses agree to ")
    assert rest[4] == "All numbers are in all.json."


def test_nothing_on_stderr_where_it_is_no_terminal(compared):
    assert compared.done.stderr == ""


def test_json(compared):
    written = json.loads((compared.folder / "all.json").read_text())
    assert written["training"] == {"epochs": 3, "dropout": False, "seed": 0, "limit": 320}
    assert written["failures"] == {}


def fake_runs(backends: list[str], epochs: int) -> list[Run]:
    return [
        Run(name, "mlp", 0.5, *([0.5 + 0.01 * i] * epochs for _ in range(3)))
        for i, name in enumerate(backends)
    ]


def test_table_of_many_epochs_fits_a_terminal():
    text = report.text(fake_runs(["numpy", "tensorflow"], 200), ["mlp"], dropout=False)
    head = text.splitlines()[1]
    assert head.split()[2:6] == ["1", "67", "134", "200"]
    assert max(map(len, text.splitlines())) <= 80
    assert text.endswith("mlp: in every epoch the engines' losses agree to 1.0e-02.")


def test_table_of_one_epoch_on_one_engine():
    text = report.text(fake_runs(["my_package.mine"], 1), ["mlp"], dropout=True)
    assert text.splitlines()[-1].split()[:3] == ["mlp", "my_package.mine", "0.5000"]
    assert text.splitlines()[-1].split()[-1] == "-"


def test_table_says_that_dropout_differs():
    text = report.text(fake_runs(["numpy", "jax"], 2), ["mlp"], dropout=True)
    assert "With --no-dropout they agree." in text


def test_plot(compared):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    picture = imread(compared.folder / "plots" / "all.png")
    assert picture.shape[0] > 500
    assert picture.shape[1] > 1000
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 100  # not blank


def test_plot_needs_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setattr(demo.config, "is_installed", lambda name: name == "numpy")
    monkeypatch.setattr(demo, "_train", lambda *args: pytest.fail("trained before it was checked"))
    with pytest.raises(MissingDependencyError, match=r'pip install "kbridge\[examples\]"'):
        demo.main(["--plot", str(tmp_path / "x.png")])


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_file_that_cannot_be_written(monkeypatch, tmp_path, option):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "_train", lambda *args: pytest.fail("trained before it was checked"))
    with pytest.raises(KBridgeError, match=f"cannot write {tmp_path}"):
        demo.main([option, str(tmp_path)])
    (tmp_path / "file").touch()
    with pytest.raises(KBridgeError, match="cannot write"):
        demo.main([option, str(tmp_path / "file" / "x")])


def test_unknown_backend(command):
    done = command("--backend nmpy")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(
        "kbridge: error: Unknown backend 'nmpy'. Did you mean 'numpy'? There are numpy, "
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "args", [["--epochs", "0"], ["--seed", "-1"], ["--model", "rnn"], ["--all", "--backend", "jax"]]
)
def test_wrong_arguments(args, capsys):
    with pytest.raises(SystemExit) as caught:
        demo.main(args)
    assert caught.value.code == 2
    assert "kbridge demo: error: " in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_progress_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(report.config, "is_installed", lambda name: False)
    with report.progress(4) as advance:
        advance("numpy: loading", 0)
        for _ in range(4):
            advance("numpy: mlp", 1)
    shown = sys.stderr.getvalue().split("\r")
    assert shown[1] == f"{'numpy: loading':<18} [{'':40}]"
    assert shown[3] == f"{'numpy: mlp':<18} [{'#' * 20:40}]"
    assert shown[5] == f"{'numpy: mlp':<18} [{'#' * 40}]"
    assert shown[-2].strip() == ""  # and nothing of it is left


def test_progress_bar_on_a_terminal(clean_env, tmp_path):
    pytest.importorskip("rich")
    ours, theirs = pty.openpty()
    options = "--backend numpy --model mlp --epochs 2 --images 64"
    done = subprocess.run(
        [sys.executable, "-m", "kbridge", "demo", *options.split()],
        cwd=tmp_path,
        env={**clean_env, "TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        timeout=120,
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0, shown
    assert "numpy: mlp" in shown
    assert "mlp    NumPy " in done.stdout
