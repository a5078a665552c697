"""``kbridge check``: what it prints and writes, its page, and lists of expected failures."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

if importlib.util.find_spec("kbridge.conformance") is None:
    pytest.skip("kbridge is not installed: pip install -e .", allow_module_level=True)

from kbridge.conformance import expectations, page, runner
from kbridge.conformance.compare import Mismatch
from kbridge.conformance.report import OUTCOMES, text
from kbridge.errors import ConfigError, UnsupportedError

# NumPy's own primitives but for one that is wrong in half precision and where there are two axes,
# and two that are not there.
BACKEND = """
import types
import numpy as np
from kbridge.backends import numpy as good
from kbridge.backends.kit import Engine, install
from kbridge.symbolic.dtypes import to_numpy

class Wrong(Engine):
    name = title = "wrong"
    tensor_class = np.ndarray
    arrays_are_native = True
    def from_numpy(self, array, dtype): return np.array(array, to_numpy(dtype))
    def to_numpy(self, native): return np.array(native)
    def cast(self, native, dtype): return native.astype(to_numpy(dtype), copy=False)
    def stack(self, natives): return np.stack(natives)

own = types.ModuleType("own")
own.tanh = lambda x: np.tanh(x) * (1.001 if x.ndim == 2 else 1)
base = {n: f for n, f in good.PRIMITIVES.items() if n not in ("flatten", "exp")}
install(globals(), Wrong(), [own], base=base)
"""
CHECKS = "test_op and (tanh- or softsign-2x3 or flatten-2x3 or logsumexp-2x3-)"


def check(folder: Path, *options: str, name: str = "under_test.backend") -> tuple[int, str]:
    """Exit status and output of ``kbridge check``, run in a folder."""
    command = [sys.executable, "-m", "kbridge", "check", name, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a package that has a backend."""
    (tmp_path / "under_test").mkdir()
    (tmp_path / "under_test" / "__init__.py").write_text("")
    (tmp_path / "under_test" / "backend.py").write_text(BACKEND)
    return tmp_path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, dict, str]:
    """Status, output, document and page of one run."""
    folder = tmp_path_factory.mktemp("check")
    (folder / "alone.py").write_text(BACKEND)
    options = ["-k", CHECKS, "--json", "found.json", "--html", "found.html"]
    status, output = check(folder, *options, name="alone")
    document = json.loads((folder / "found.json").read_text())
    return status, output, document, (folder / "found.html").read_text()


# --- what is printed and written -----------------------------------------------------------------


def test_summary_by_topic(found):
    status, output, document, _ = found
    assert status == 1 == document["status"]
    (nn,) = [row for row in document["topics"] if row["topic"] == "nn"]
    checks = [check for check in document["checks"] if check["topic"] == "nn"]
    assert nn["total"] == len(checks)
    assert sum(nn[outcome] for outcome in OUTCOMES) == nn["total"]
    assert nn["failed"] == document["failed"] > 5
    counts = f"{nn['total']} +{nn['passed']} +{nn['failed']} +{nn['missing']}"
    assert re.search(rf"(?m)^nn +{counts} ", output)
    state = f"{document['failed']} of {document['total']} checks failed"
    assert output.endswith(f"\nkbridge check alone: {state}.\n")


def test_greatest_error(found):
    _, output, document, _ = found
    parts = [c["error"] for c in document["checks"] if c.get("error")]
    worst = document["greatest_error"]
    assert worst["part"] == max(parts) <= 1
    assert re.search(rf"(?m)^all .* {worst['part']:.2f} in {re.escape(worst['check'])}$", output)


def test_missing_operations_come_in_an_order_to_write_them(found):
    _, output, document, _ = found
    missing = {each["operation"]: each for each in document["missing_operations"]}
    assert set(missing) == {"flatten", "exp"} or set(missing) == {"flatten"}
    assert "operations are missing:\n" in output
    assert "  shaping      flatten\n" in output


def test_smallest_failing_input(found):
    """It is wrong on matrices alone, so a scalar is none; one without elements cannot be wrong."""
    _, output, document, _ = found
    (failure,) = document["smallest_failures"]
    assert failure["operation"] == "tanh"
    failed = [c for c in document["checks"] if c["outcome"] == "failed"]
    assert failure["elements"] == min(c["given"]["elements"] for c in failed) > 0
    assert failure["call"] == "K.tanh(x0)"
    assert re.match(r"x0 = float\d\d \(\d, \d\): \[\[", failure["operands"][0])
    count = f"{failure['failed']} of {failure['checks']} checks of it fail"
    assert f"FAILED {failure['name']} ({count})\n       K.tanh(x0)\n         x0 = " in output
    assert "should be" in failure["message"]


def test_all_is_right(package):
    status, output = check(package, "-k", "softsign-2x3")
    assert status == 0
    assert output.endswith("\nkbridge check under_test.backend: all is right.\n")


def test_no_check_has_the_name(package):
    status, output = check(package, "-k", "nosuchcheck")
    assert status == 5
    assert output.endswith("no check was run.\n")


WHERE = """
def pytest_runtest_logreport(report):
    if report.when == "call" and hasattr(report, "node"):
        print("ran", report.nodeid, "in", report.node.gateway.id)
"""


def test_the_checks_of_an_operation_run_in_one_process(package):
    """They share compiled functions, which two processes would both compile."""
    pytest.importorskip("xdist")
    (package / "where.py").write_text(WHERE)
    names = "test_op and 2x3- and (tan or sin or cos or exp or sq)"
    status, output = check(package, "-n", "2", "-p", "where", "-k", names, name="numpy")
    assert status == 0, output
    places = re.findall(r"ran \S+\[(\w+)-.*\] in (\w+)", output)
    assert {process for _, process in places} == {"gw0", "gw1"}
    assert len({*places}) == len({operation for operation, _ in places}) > 4


def test_failures_in_full(package):
    _, output = check(package, "-k", "tanh-2x3-eager", "-v")
    assert "--- tanh-2x3-eager\n" in output
    assert "Mismatch: K.tanh(...): value at " in output
    assert "checks.py:" in output


def test_no_folder_for_the_page(package):
    status, output = check(package, "--html", "no/such/page.html")
    assert status == 2
    assert "there is no folder 'no/such' for 'no/such/page.html'" in output


def test_dots(capsys):
    """One for each hundredth, whatever the number of checks."""
    with runner.Dots() as dots:
        dots.report = type("Report", (), {"total": 1000})
        for i in range(1000):
            dots.step("failed" if i == 500 else "passed")
    assert capsys.readouterr().out == "." * 50 + "F" + "." * 49 + "\n"


def test_bar_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with runner.progress() as bar:
        assert isinstance(bar, runner.Bar)
        bar.report = type("Report", (), {"total": 4})
        bar.step("passed")
        bar.step("failed")
        (task,) = bar.progress.tasks
        assert (task.completed, task.total) == (2, 4)
        assert "1 failed" in task.description
    monkeypatch.setattr(runner.util, "find_spec", lambda name: None)
    assert type(runner.progress()) is runner.Dots


def test_a_composition_of_what_fails_says_so(found):
    document = dict(found[2])
    (failure,) = document["smallest_failures"]
    failure = {**failure, "operation": "softmax", "made_with": ["exp", "sum"]}
    document["smallest_failures"] = [failure]
    assert "\n       made with exp, sum: see there first\n" in text(document)
    assert "Made with exp, sum: see there first." in page.render(document)


# --- the page ------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags with attributes, the text of the data, and tags that are left open."""

    VOID = frozenset({"meta", "input", "br", "hr", "img", "link"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text: dict[str, str] = {}
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text[self.open[-1] if self.open else ""] = data


def test_page_is_whole_and_needs_no_network(found):
    source = found[3]
    parsed = Page(source)
    assert parsed.open == []
    assert not [a for _, a in parsed.tags if {"src", "href"} & set(a)]
    assert not re.search(r"https?:|url\(|@import|\{\{", source)
    assert "prefers-color-scheme: dark" in source


def test_page_has_a_cell_for_each_operation_and_kind_of_check(found):
    _, _, document, source = found
    tags = Page(source).tags
    rows = [a["data-name"] for tag, a in tags if tag == "tr" and "data-name" in a]
    assert {"tanh", "softsign", "flatten", "logsumexp"} <= set(rows)
    assert len(rows) == len(set(rows))
    cells = [a for tag, a in tags if tag == "button" and a.get("class", "").startswith("cell ")]
    numbers = {c["name"]: i for i, c in enumerate(document["checks"])}
    (cell,) = [a for a in cells if str(numbers["tanh-2x3-eager"]) in a["data-checks"].split()]
    assert cell["class"] == "cell failed"
    assert re.fullmatch(r"tanh, eager: \d of \d failed", cell["title"])
    (cell,) = [a for a in cells if str(numbers["flatten-2x3-eager"]) in a["data-checks"].split()]
    assert cell["class"] == "cell missing"
    states = next(a["data-states"] for _, a in tags if a.get("data-name") == "tanh")
    assert states == "failed passed"


def test_page_holds_each_check_once(found):
    _, _, document, source = found
    raw = re.search(r'<script type="application/json" id="data">(.*?)</script>', source)[1]
    shown = json.loads(raw)
    assert [row[:2] for row in shown] == [[c["name"], c["outcome"]] for c in document["checks"]]
    used = [
        int(number) for _, a in Page(source).tags for number in a.get("data-checks", "").split()
    ]
    assert set(used) == set(range(len(shown)))


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_page_in_a_browser(found, tmp_path):
    """Its script runs: it counts the operations, shows those that fail, and a cell's checks."""
    clicks = (
        'document.querySelector("[data-state=failed]").click();'
        'document.querySelector(".cell.failed").click();'
    )
    file = tmp_path / "page.html"
    file.write_text(found[3].replace("\nfilter();\n", f"\nfilter();\n{clicks}\n"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/user"]
    command = [BROWSER, *options, "--virtual-time-budget=5000", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    shown = Page(done.stdout)
    hidden = {a["data-name"]: "hidden" in a for _, a in shown.tags if "data-name" in a}
    assert not hidden["tanh"]
    assert all(hidden[name] for name in hidden if name != "tanh")
    (dialog,) = [a for tag, a in shown.tags if tag == "dialog"]
    assert "open" in dialog
    assert re.search(r"<li><span[^>]*></span><code>tanh-[^<]*</code>", done.stdout)


def test_page_escapes_what_it_shows(found):
    document = json.loads(json.dumps(found[2]))
    document["backend"] = "<b>&"
    for check in document["checks"]:
        check["message"] = "</script><b>"
    source = page.render(document)
    assert "&lt;b&gt;&amp;" in source
    assert "</script><b>" not in source
    assert Page(source).open == []


# --- what is expected to fail --------------------------------------------------------------------

LISTED = """
[[failure]]
checks = ["tanh-*"]
raises = "Mismatch"
reason = "tanh is wrong on matrices"
"""


def test_file_in_the_package(package):
    file = package / "under_test" / "expected_failures.toml"
    file.write_text(LISTED.replace("tanh-*", "tanh-2x3-*"))
    status, output = check(package, "-k", "tanh-2x3-eager or tanh-2x3-recorded")
    assert status == 0, output
    assert "\n2 checks fail as they are expected to.\n" in output


def test_named_file_goes_before_it(package):
    (package / "under_test" / "expected_failures.toml").write_text("not TOML")
    (package / "mine.toml").write_text(LISTED.replace("tanh-*", "tanh-2x3-eager"))
    status, output = check(package, "-k", "tanh-2x3-eager", "--expected", "mine.toml")
    assert status == 0, output


def test_what_passes_after_all_fails(package):
    (package / "mine.toml").write_text(LISTED)
    status, output = check(package, "-k", "tanh-scalar-eager", "--expected", "mine.toml")
    assert status == 1
    assert "FAILED tanh-scalar-eager\n" in output
    assert "[XPASS(strict)] tanh is wrong on matrices" in output


def test_another_exception_fails(package):
    (package / "mine.toml").write_text(LISTED.replace("Mismatch", "ZeroDivisionError"))
    status, output = check(package, "-k", "tanh-2x3-eager", "--expected", "mine.toml")
    assert status == 1
    assert "FAILED tanh-2x3-eager\n" in output


def test_what_is_missing_cannot_be_expected_to_fail(package):
    (package / "mine.toml").write_text(LISTED.replace("tanh-*", "flatten-2x3-eager"))
    status, output = check(package, "-k", "flatten-2x3-eager", "--expected", "mine.toml")
    assert status == 1
    assert "It cannot be an expected failure as well." in output


def test_a_name_that_no_check_has(package):
    (package / "mine.toml").write_text(LISTED.replace("tanh-*", "tanhh-*"))
    status, output = check(package, "-k", "tanh-2x3-eager", "--expected", "mine.toml")
    assert status == 4
    assert "expected to fail on 'under_test.backend', but there are no such checks: tanhh-*" in (
        output
    )


def test_no_file_for_a_built_in(package):
    (package / "mine.toml").write_text(LISTED)
    status, output = check(package, "--expected", "mine.toml", "-k", "tanh", name="numpy")
    assert status == 4
    assert "--expected is for backends of others" in output


def test_the_classes_that_a_file_may_name(tmp_path):
    file = tmp_path / "list.toml"
    for name, kind in {
        "Mismatch": Mismatch,
        "ValueError": ValueError,
        "UnsupportedError": UnsupportedError,
        "json.JSONDecodeError": json.JSONDecodeError,
    }.items():
        file.write_text(LISTED.replace("Mismatch", name))
        assert expectations.read(file) == ((("tanh-*",), kind, "tanh is wrong on matrices"),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x", "is no TOML: "),
        ("expected = 1", "holds 'expected', where only tables [[failure]] are expected."),
        ("failure = 1", "holds 'failure', where only tables [[failure]] are expected."),
        ("[[failure]]", "failure 1: has the fields none; expected are exactly checks, raises, "),
        (LISTED + 'more = "x"', "failure 1: has the fields checks, raises, reason, more; "),
        (LISTED.replace('["tanh-*"]', '"tanh-*"'), "failure 1: checks must be a list of names, "),
        (LISTED.replace('["tanh-*"]', "[]"), "failure 1: checks must be a list of names, got []."),
        (LISTED.replace("tanh is wrong on matrices", " "), "failure 1: reason must say why"),
        (LISTED.replace("Mismatch", "Nothing"), "failure 1: raises must name a built-in exceptio"),
        (LISTED.replace("Mismatch", "no_such.Thing"), "failure 1: raises must name a built-in"),
        (LISTED.replace("Mismatch", "print"), "failure 1: raises must name a built-in exception"),
        (LISTED + LISTED.replace('"Mismatch"', "3"), "failure 2: raises must name a built-in"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, content, message):
    file = tmp_path / "list.toml"
    file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        expectations.read(file)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_no_such_file(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file"):
        expectations.read(tmp_path / "none.toml")
