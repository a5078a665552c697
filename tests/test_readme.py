"""The examples of README and docs: each runs on the backends named beside it, as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from kbridge.config import is_installed
from kbridge.loader import BUILTIN

ROOT = Path(__file__).parents[1]
PAGES = {
    str(file.relative_to(ROOT)): file.read_text()
    for file in [*ROOT.glob("*.md"), *sorted(ROOT.glob("docs/*.md"))]
}
README = PAGES["README.md"]
MARKED = re.compile(r"(?s)<!-- (runs|continues|file):(.*?)-->\n```(?:python|json)\n(.*?)```")


class Example(NamedTuple):
    page: str
    code: str
    backends: list[str]


def examples() -> tuple[list[Example], dict[str, dict[str, str]]]:
    """The examples to run, and the files that those of a page need."""
    run: list[Example] = []
    files: dict[str, dict[str, str]] = {page: {} for page in PAGES}
    for page, text in PAGES.items():
        for kind, what, code in MARKED.findall(text):
            if kind == "file":
                files[page][what.strip()] = code
            elif kind == "continues":
                run[-1] = run[-1]._replace(code=run[-1].code + code)
            else:
                run.append(Example(page, code, what.split()))
    return run, files


EXAMPLES, FILES = examples()
CASES = [
    pytest.param(example, backend, id=f"{example.page}-{number}-{backend}")
    for number, example in enumerate(EXAMPLES)
    for backend in example.backends
]


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_is_run(page):
    marked = MARKED.findall(PAGES[page])
    blocks = re.findall(r"(?m)^ *[`~]{3,} *{?(?:code-block|python|py|pycon|json)\b", PAGES[page])
    assert len(blocks) == len(marked)
    assert all(code.count("\n") <= 40 for _, _, code in marked)


def test_there_are_examples():
    pages = [example.page for example in EXAMPLES]
    assert pages.count("README.md") >= 3
    assert pages.count("docs/backends.md") >= 2


@pytest.mark.parametrize(("example", "backend"), CASES)
def test_example(example, backend, script, tmp_path):
    for name in BUILTIN:
        if not is_installed(name) and (name == backend or f'"{name}"' in example.code):
            pytest.skip(f"{name} is not installed")
    for name, text in FILES[example.page].items():
        (tmp_path / name).write_text(text)
    done = script(example.code, KERAS_BACKEND=backend)
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"(?m)^# prints (.*)$", example.code)
    assert promised
    assert done.stdout.splitlines() == promised


def test_what_is_said_of_the_contract():
    """Functions that the README names are there."""
    from kbridge.binding import OPERATIONS, load_contract

    load_contract()
    there = README.partition("## What works today")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", there))
    assert len(named) > 10
    assert {name for name in named if name not in OPERATIONS} == set()
