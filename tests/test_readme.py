"""The README's examples: each runs on the backends named beside it, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from kbridge.config import is_installed
from kbridge.loader import BUILTIN

README = Path(__file__).parents[1].joinpath("README.md").read_text()


MARKED = re.findall(r"(?s)<!-- (runs|continues|file):(.*?)-->\n```python\n(.*?)```", README)


class Example(NamedTuple):
    code: str
    backends: list[str]


def examples() -> tuple[list[Example], dict[str, str]]:
    """The examples to run, and the files that they need."""
    run: list[Example] = []
    files: dict[str, str] = {}
    for kind, what, code in MARKED:
        if kind == "file":
            files[what.strip()] = code
        elif kind == "continues":
            run[-1] = Example(run[-1].code + code, run[-1].backends)
        else:
            run.append(Example(code, what.split()))
    return run, files


EXAMPLES, FILES = examples()
CASES = [(number, name) for number, ex in enumerate(EXAMPLES) for name in ex.backends]


def test_every_python_block_is_run():
    assert README.count("```python") == len(MARKED) >= 5
    assert all(code.count("\n") <= 40 for _, _, code in MARKED)


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
    promised = re.findall(r"(?m)^# prints (.*)$", code)
    assert promised
    assert done.stdout.splitlines() == promised


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
