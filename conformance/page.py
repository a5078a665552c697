"""The page of ``kbridge check --html``: one file that needs no network.

The tables are written here, so that the page reads without scripts too; the script of
``page.html`` filters them and shows the checks behind a cell.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from kbridge.binding import OPERATIONS, load_contract
from kbridge.conformance.cases import TOPICS

#: The columns of the matrix, and what is checked there.
COLUMNS = {
    "signature": "the name is there, with the contract's parameters and a docstring",
    "eager": "the value on native tensors, beside an independent oracle and the NumPy backend",
    "recorded": "the value through K.function, on placeholders of full shape",
    "unknown": "the same where no size is known beforehand",
    "inferred": "the static shape and dtype are those of the value",
    "gradient": "K.gradients beside central differences and the NumPy backend's",
    "dtypes": "value and dtype in half and double precision, in integers and bools",
    "program": "small programs that use the operation, and return what they must",
}
#: From the worst to the best: the colour of a cell is that of its worst check.
_RANK = ("failed", "missing", "expected", "skipped", "passed")
_SAYS = {
    "passed": "passed",
    "failed": "failed",
    "expected": "fail as expected",
    "missing": "missing",
    "skipped": "skipped",
}

Check = dict[str, Any]
Cells = dict[tuple[str, str], list[Check]]


def render(found: dict[str, Any]) -> str:
    """The page for what :meth:`Report.document` returns."""
    load_contract()
    cells: Cells = {}
    others: list[Check] = []
    for number, check in enumerate(found["checks"]):
        check = {**check, "id": number}
        kind, names = check["kind"], check.get("covers") or [check["operation"]]
        if kind in COLUMNS and names[0]:
            for name in names:
                cells.setdefault((name, kind), []).append(check)
        if kind not in COLUMNS or not names[0] or kind == "program":
            others.append(check)
    operations = [name for name in OPERATIONS if any((name, c) in cells for c in COLUMNS)]
    topics: dict[str, list[str]] = {}
    for name in sorted(operations, key=_place):
        topics.setdefault(OPERATIONS[name].topic, []).append(name)
    parts = {
        "title": escape(found["backend"]),
        "facts": escape(
            f"kbridge {found['kbridge']} · Python {found['python']} · NumPy {found['numpy']} · "
            f"{found['seconds']:.0f} s"
        ),
        "verdict": _verdict(found),
        "tiles": "".join(_tile(found, outcome) for outcome in _SAYS if found[outcome]),
        "bar": _bar(found),
        "failures": _section("Failures", _failures(found["smallest_failures"])),
        "missing": _section("Missing", _missing(found["missing_operations"])),
        "topics": "".join(f"<option>{escape(name)}</option>" for name in topics),
        "head": "".join(
            f'<th scope="col" title="{escape(what)}">{name}</th>' for name, what in COLUMNS.items()
        ),
        "matrix": "".join(_topic(topic, names, cells) for topic, names in topics.items()),
        "legend": "".join(f"<dt>{n}</dt><dd>{escape(what)}</dd>" for n, what in COLUMNS.items()),
        "others": _others(others),
        "data": _data(found["checks"]),
    }
    text = Path(__file__).with_name("page.html").read_text("utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def _verdict(found: dict[str, Any]) -> str:
    if found["failed"]:
        return f'<span class="verdict failed">{found["failed"]} failed</span>'
    if not found["total"]:
        return '<span class="verdict missing">nothing was run</span>'
    partly = ", as far as it goes" if found["missing"] else ""
    return f'<span class="verdict passed">all is right{partly}</span>'


def _tile(found: dict[str, Any], outcome: str) -> str:
    share = 100 * found[outcome] / max(found["total"], 1)
    shown = "&gt; 99%" if 99 < share < 100 else f"{share:.0f}%" if share >= 1 else "&lt; 1%"
    return (
        f'<div class="tile {outcome}"><b>{found[outcome]:,}</b>'
        f"<span>{_SAYS[outcome]}</span><i>{shown}</i></div>"
    )


def _bar(found: dict[str, Any]) -> str:
    """The shares of the outcomes, as one line."""
    return "".join(
        f'<i class="{outcome}" style="flex:{found[outcome]}"></i>'
        for outcome in reversed(_RANK)
        if found[outcome]
    )


def _section(title: str, inside: str) -> str:
    name = title.lower()
    return f'<section id="{name}"><h2>{title}</h2>{inside}</section>' if inside else ""


def _failures(failures: list[dict[str, Any]]) -> str:
    """Folded up but for the first."""
    folded = [_failure(failure, opened=not i) for i, failure in enumerate(failures)]
    return "".join(folded)


def _failure(failure: dict[str, Any], opened: bool) -> str:
    count = f"{failure['failed']} of {failure['checks']}" if failure["checks"] > 1 else ""
    given = [failure["call"], *failure["operands"]] if "call" in failure else []
    message = failure["message"]
    parts = [f"<pre>{escape(chr(10).join(given))}</pre>"] if given else []
    parts.append(f'<p class="message">{escape(message[:600])}</p>')
    if failure["made_with"]:
        first = ", ".join(failure["made_with"])
        parts.append(f'<p class="note">Made with {escape(first)}: see there first.</p>')
    if failure["failed"] > 1:
        parts.append(f'<p class="names">{escape(", ".join(failure["names"]))}</p>')
    head = f"<b>{escape(failure['operation'])}</b><small>{count}</small>"
    return (
        f'<details class="failure"{" open" if opened else ""}><summary>{head}'
        f"<span>{escape(message.partition(chr(10))[0])}</span></summary>{''.join(parts)}</details>"
    )


def _missing(missing: list[dict[str, Any]]) -> str:
    topics: dict[str, list[str]] = {}
    for each in missing:
        kind = "" if each["primitive"] else " composed"
        note = "" if each["primitive"] else ' title="comes with its parts"'
        chip = f'<code class="chip{kind}"{note}>{escape(each["operation"])}</code>'
        topics.setdefault(each["topic"], []).append(chip)
    rows = "".join(
        f"<dt>{escape(topic)}</dt><dd>{''.join(chips)}</dd>" for topic, chips in topics.items()
    )
    return f'<dl class="lacks">{rows}</dl>' if rows else ""


# --- the matrix ----------------------------------------------------------------------------------


def _place(name: str) -> int:
    """Where a topic stands, in the order of the suite."""
    topic = OPERATIONS[name].topic
    return TOPICS.index(topic) if topic in TOPICS else len(TOPICS)


def _topic(topic: str, names: list[str], cells: Cells) -> str:
    """The rows of one topic."""
    rows = "".join(_row(topic, name, cells) for name in names)
    return (
        f'<tbody data-topic="{escape(topic)}"><tr class="topic"><th colspan="{len(COLUMNS) + 2}" '
        f'scope="rowgroup">{escape(topic)} <small>{len(names)}</small></th></tr>{rows}</tbody>'
    )


def _row(topic: str, name: str, cells: Cells) -> str:
    here = {kind: cells.get((name, kind), []) for kind in COLUMNS}
    checks = [check for found in here.values() for check in found]
    states = sorted({check["outcome"] for check in checks}, key=_RANK.index)
    worst = max((check.get("error") or 0.0 for check in checks), default=0.0)
    # More than is allowed fails; a gradient's kink or an exact result has no such part.
    error = f'<meter min="0" max="1" value="{min(worst, 1):.3f}"></meter>{worst:.2f}'
    return (
        f'<tr data-name="{escape(name)}" data-states="{" ".join(states)}">'
        f'<th scope="row">{escape(name)}</th>'
        + "".join(_cell(name, kind, found) for kind, found in here.items())
        + f'<td class="error">{error if worst else ""}</td></tr>'
    )


def _cell(name: str, kind: str, checks: list[Check]) -> str:
    if not checks:
        return '<td class="none"></td>'
    outcomes = [check["outcome"] for check in checks]
    worst = min(outcomes, key=_RANK.index)
    count = outcomes.count(worst)
    shown = str(count) if count == len(checks) else f"{count}/{len(checks)}"
    says = f"{name}, {kind}: {count} of {len(checks)} {_SAYS[worst]}"
    ids = " ".join(str(check["id"]) for check in _numbered(checks))
    return (
        f'<td><button class="cell {worst}" data-checks="{ids}" '
        f'title="{escape(says)}">{shown}</button></td>'
    )


# --- the rest ------------------------------------------------------------------------------------


def _others(checks: list[Check]) -> str:
    """One square for each program, wrong call and general check, by topic."""
    topics: dict[str, list[Check]] = {}
    for check in checks:
        topics.setdefault(check["topic"], []).append(check)
    rows = []
    for topic, found in topics.items():
        squares = "".join(
            f'<button class="square {check["outcome"]}" data-checks="{check["id"]}" '
            f'title="{escape(check["name"])}: {_SAYS[check["outcome"]]}"></button>'
            for check in _numbered(found)
        )
        rows.append(f"<dt>{escape(topic)} <small>{len(found)}</small></dt><dd>{squares}</dd>")
    return f'<dl class="squares">{"".join(rows)}</dl>'


def _numbered(checks: list[Check]) -> list[Check]:
    return sorted(checks, key=lambda check: (_RANK.index(check["outcome"]), check["id"]))


def _data(checks: list[Check]) -> str:
    """What the script shows of each check, as JSON inside the page."""
    shown = [
        [
            check["name"],
            check["outcome"],
            round(check.get("error") or 0.0, 3),
            check.get("message") or check.get("reason") or "",
            [check["given"]["call"], *check["given"]["operands"]] if "given" in check else [],
        ]
        for check in checks
    ]
    return json.dumps(shown, separators=(",", ":")).replace("<", "\\u003c")
