"""The README's examples: each runs on the backends named beside it, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from kbridge.config import is_installed
from kbridge.loader import BUILTIN

README = Path(__file__).parents[1].joinpath("README.md").read_text()


class Example(NamedTuple):
    code: str
    backends: list[str]


def examples() -> tuple[list[Example], dict[str, str]]:
    """The examples to run, and the files that they need."""
    run: list[Example] = []
    files: dict[str, str] = {}
    for kind, what, code in re.findall(r"(?s)<!-- (\w+): (.*?) -->\n```python\n(.*?)```", README):
        if kind == "file":
            files[what] = code
            continue
        names, _, follows = what.partition("; ")
        before = run[-1].code + "\nprint('---')\n" if follows else ""
        run.append(Example(before + code, names.split()))
    return run, files


EXAMPLES, FILES = examples()
CASES = [(number, name) for number, ex in enumerate(EXAMPLES) for name in ex.backends]


def test_every_python_block_is_tested():
    assert README.count("```python") == len(EXAMPLES) + len(FILES) >= 5


@pytest.mark.parametrize(("number", "backend"), CASES)
def test_example(number, backend, script, tmp_path):
    code = EXAMPLES[number].code
    for name in BUILTIN:
        if not is_installed(name) and (name == backend or f'"{name}"' in code):
            pytest.skip(f"{name} is not installed")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    done = script(code, KERAS_BACKEND=backend)
    assert done.returncode == 0, done.stderr
    last = code.rpartition("print('---')")[2]
    promised = re.findall(r"(?m)^# prints (.*)$", last)
    assert promised
    assert done.stdout.rpartition("---\n")[2].splitlines() == promised


def test_examples_are_short():
    for example in EXAMPLES:
        assert example.code.rpartition("print('---')")[2].count("\n") <= 26


def test_what_is_said_of_the_contract():
    """Functions that the README names are there; those to come are not."""
    from kbridge.binding import OPERATIONS, load_contract

    load_contract()
    there, _, coming = README.partition("## What works today")[2].partition("To come:")
    coming = coming.partition("## ")[0]
    named = set(re.findall(r"`(\w+)`", there))
    assert len(named) > 10
    assert {name for name in named if name not in OPERATIONS} == set()
    stale = {name for name in re.findall(r"`(\w+)`", coming) if name in OPERATIONS}
    assert stale == set(), f"these are there now: {stale}"
