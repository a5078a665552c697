"""The README tells what fails, and its program runs."""

from __future__ import annotations

import re
from pathlib import Path

from kbridge.binding import OPERATIONS
from kbridge.conformance.shortfall import table

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_what_fails() -> None:
    found = table("pytensor")
    assert found in README, f"README.md must hold:\n{found}"
    assert int(re.findall(r"\((\d+)%\)", found)[0]) >= 90


def test_why_operations_are_not_there() -> None:
    """What the table lists as not there stands in another one, with a reason."""
    missing = re.findall(r"`(\w+)`", README.partition("Not there: ")[2].partition("\n")[0])
    assert missing
    assert set(missing) <= set(OPERATIONS)
    reasons = README.partition("| what else is not there | why |")[2]
    assert [name for name in missing if f"`{name}`" not in reasons] == []


def test_a_training_step_and_pytensor_s_own_functions() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    assert (names["K"].eval(names["w"]) < 1).all()
