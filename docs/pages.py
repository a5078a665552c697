"""The pages of the reference that are made of the contract: a page per topic, the support table.

They are written in reStructuredText, since the docstrings are, into ``docs/reference``, which git
ignores. A page is written only where it changed, so that Sphinx reads again only what it must.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import support

from kbridge import cli, config, errors, loader
from kbridge.binding import OPERATIONS

#: How the table heads the columns of the backends.
TITLES = {name: loader.TITLES[name] for name in support.BACKENDS}
#: What stands where the suite has nothing to say.
NOTHING = "–"


def write(folder: Path) -> None:
    """Write every page; remove what an earlier build has left."""
    rows = support.rows()
    pages = {f"{topic}.rst": topic_page(topic, rows[topic]) for topic in rows}
    pages["index.rst"] = index_page(rows)
    pages["_support.rst"] = support_table(rows)
    pages["_commands.rst"] = commands()
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        file = folder / name
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


# --- docstrings ----------------------------------------------------------------------------------

_NAMED = re.compile(r"``K\.(\w+)``")
_ERROR = re.compile(r"(?<![\w`.])(\w+Error)\b(?!`)")


def linked(text: str) -> str:
    """Text of a docstring whose ``K.name`` and errors of kbridge are links; examples stay."""
    return "\n\n".join(
        block if block.lstrip().startswith(">>>") else _ERROR.sub(_error, _NAMED.sub(_name, block))
        for block in text.split("\n\n")
    )


def _name(found: re.Match[str]) -> str:
    op = OPERATIONS.get(found[1])
    return f":func:`K.{found[1]}`" if op and op.public else found[0]


def _error(found: re.Match[str]) -> str:
    known = hasattr(errors, found[1])
    return f":exc:`~kbridge.errors.{found[1]}`" if known else found[0]


def docstring(module: str) -> str:
    """The docstring of a module."""
    return inspect.cleandoc(importlib.import_module(module).__doc__ or "")


# --- the pages of the topics ---------------------------------------------------------------------


#: A title longer than this ends at its first comma.
LONG = 50


def title_of(topic: str) -> tuple[str, str]:
    """What the docstring of a topic's module begins with, as a title; and what else it says."""
    text = docstring(f"kbridge.api.{topic}")
    title = re.split(r"[:.]", text, maxsplit=1)[0].replace("``", "")
    rest = text.removeprefix(f"{title}.").lstrip()
    return title.partition(",")[0] if len(title) > LONG else title, rest


def heading(text: str, mark: str = "=") -> str:
    """A heading of reStructuredText."""
    return f"{text}\n{mark * len(text)}\n"


def topic_page(topic: str, rows: list[support.Row]) -> str:
    """The functions of one topic, in alphabetical order."""
    title, text = title_of(topic)
    source = f"``kbridge/api/{topic}.py`` declares"
    parts = [
        heading(title),
        linked(text),
        f"{source} {len(rows)} function{'s' if len(rows) > 1 else ''}.",
        *(entry(row) for row in sorted(rows, key=lambda row: row.operation.name)),
    ]
    return "\n\n".join(parts) + "\n"


def entry(row: support.Row) -> str:
    """One function: signature, form, docstring."""
    op = row.operation
    body = "\n\n".join([facts(row), linked(inspect.cleandoc(op.doc or ""))])
    head = f".. py:function:: K.{op.name}{signature(op)}\n   :canonical: kbridge.api.{op.name}\n\n"
    return head + re.sub(r"(?m)^(?=.)", "   ", body)


def signature(op: support.Operation) -> str:
    """The signature as ``help()`` shows it; of what no backend has, the parameters' names."""
    for name in support.BACKENDS:
        function = loader.load_backend(name).operations.get(op.name)
        if function is not None:
            return str(inspect.signature(function))
    return f"({', '.join(op.parameters)})"


def facts(row: support.Row) -> str:
    """The line that tells the form on each backend, the dtypes and the gradient."""
    by_form: dict[str, list[str]] = {}
    for name, cell in row.cells.items():
        by_form.setdefault(cell.form, []).append(TITLES[name])
    if len(by_form) == 1:
        (form,) = by_form
        parts = [f"{badge(form)}" + ("" if form == "common" else " on every backend")]
    else:
        parts = [f"{badge(form)} on {', '.join(names)}" for form, names in by_form.items()]
    if row.gradient:
        parts.append(f"gradient: {row.gradient}")
    dtypes = _common_dtypes(row)
    if dtypes:
        parts.append(f"checked in {', '.join(dtypes)}")
    return f".. container:: facts\n\n   {' · '.join(parts)}"


def _common_dtypes(row: support.Row) -> list[str]:
    """The dtypes that are checked on every backend which has the operation."""
    there = [set(cell.dtypes) for cell in row.cells.values() if cell.form != "missing"]
    common = set.intersection(*there) if there else set()
    return [dtype for dtype in support.DTYPES if dtype in common]


def badge(form: str) -> str:
    """A form as it is shown: a role of that name, which the style sheet colours."""
    return f":{form}:`{form}`"


# --- the index -----------------------------------------------------------------------------------


def index_page(rows: dict[str, list[support.Row]]) -> str:
    """What holds for all functions, and where each one is."""
    _, _, general = docstring("kbridge.api").partition("\n\n")
    parts = [
        heading("Reference"),
        f"``from kbridge import api as K``, or ``from kbridge import backend as K``, gives the "
        f"{sum(map(len, rows.values()))} functions below, bound to the chosen backend "
        f"(:doc:`/backends`). ``hasattr(K, name)`` tells whether it has one of them; "
        f"the :doc:`/support` shows all at once.",
        linked(general),
        heading("By topic", "-"),
    ]
    for topic, held in rows.items():
        names = sorted(row.operation.name for row in held)
        links = ", ".join(f":func:`~K.{name}`" for name in names)
        parts.append(f":doc:`{title_of(topic)[0]} <{topic}>`\n   {links}")
    toctree = "\n".join(f"   {topic}" for topic in rows)
    parts.append(f".. toctree::\n   :hidden:\n\n{toctree}")
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """The commands of ``kbridge``, as a definition list."""
    return "\n\n".join(
        f"``kbridge {name}``\n   {run.__doc__}" for name, run in cli._COMMANDS.items()
    )


def settings_elsewhere() -> set[str]:
    """The functions of ``kbridge.config`` that are K functions, and documented as such."""
    plain = {op.name for op in OPERATIONS.values() if op.plain is not None}
    return {name for name in plain if hasattr(config, name)}


# --- the support table ---------------------------------------------------------------------------


def table(rows: Iterable[Iterable[str]], name: str) -> str:
    """A list table with a row of headings."""
    lines = [".. list-table::", f"   :class: {name}", "   :header-rows: 1", ""]
    for row in rows:
        for position, content in enumerate(row):
            lines.append(f"   {'*' if position == 0 else ' '} - {content}".rstrip())
    return "\n".join(lines)


def support_table(rows: dict[str, list[support.Row]]) -> str:
    """The totals, then a table per topic."""
    parts = [totals(rows)]
    for topic, held in rows.items():
        head = ["Function", *TITLES.values(), "Gradient", "Dtypes", "Checks"]
        body = [support_row(row) for row in sorted(held, key=lambda row: row.operation.name)]
        parts += [heading(title_of(topic)[0], "-"), table([head, *body], "support")]
    return "\n\n".join(parts) + "\n"


def support_row(row: support.Row) -> list[str]:
    """One row of the support table."""
    cells = [_cell_text(row, cell) for cell in row.cells.values()]
    gradient = f":{row.gradient}:`{row.gradient}`" if row.gradient else NOTHING
    dtypes = " ".join(support.DTYPES[dtype] for dtype in _common_dtypes(row)) or NOTHING
    checks = str(max(cell.checks for cell in row.cells.values()))
    return [f":func:`~K.{row.operation.name}`", *cells, gradient, dtypes, checks]


def _cell_text(row: support.Row, cell: support.Cell) -> str:
    """The form, and what sets this backend apart from the others."""
    text = badge(cell.form)
    common = _common_dtypes(row)
    more = [support.DTYPES[dtype] for dtype in cell.dtypes if dtype not in common]
    if more and cell.form != "missing":
        text += f" also {' '.join(more)}"
    if cell.expected_failures:
        text += f" ({cell.expected_failures} known to fail)"
    return text


def totals(rows: dict[str, list[support.Row]]) -> str:
    """How many functions have which form on which backend."""
    held = [row for each in rows.values() for row in each]
    body = []
    for form in support.FORMS:
        counts = [Counter(row.cells[name].form for row in held)[form] for name in support.BACKENDS]
        body.append([badge(form), *map(str, counts), support.FORMS[form]])
    return table([["Form", *TITLES.values(), "Meaning"], *body], "totals")
