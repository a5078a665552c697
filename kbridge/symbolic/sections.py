"""Compiling a generated function, in sections where it is long.

CPython's compiler takes some kilobytes of memory for each line of one function. A long plan
therefore becomes several functions, which hand on values in a dictionary: each section takes what
it reads, for good where nobody later does, so that a value is still freed after its last use.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any

#: The most lines of one function.
LENGTH = 2000

_LOCAL = re.compile(r"\b[atvk]\d+\b")


_FILE = "<kbridge plan>"


def _code(source: str) -> CodeType:
    return compile(source, _FILE, "exec")


def namespaces(run: Any) -> list[dict[str, Any]]:
    """The namespace of a plan's function and of all parts of the plan.

    Parts stand in a namespace by themselves, or as attributes of what runs loops and branches.
    """
    found = [run.__globals__]
    for names in found:
        held = [part for value in names.values() for part in _held(value)]
        for part in held:
            own = isinstance(part, FunctionType) and part.__code__.co_filename == _FILE
            if own and not any(part.__globals__ is known for known in found):
                found.append(part.__globals__)
    return found


def _held(value: Any) -> list[Any]:
    if type(value).__module__.startswith("kbridge.symbolic.plan_"):
        return list(vars(value).values())
    return [value]


#: Plans of equal graphs (every eager dropout makes one) share their code; long ones are not kept.
_shared_code = functools.lru_cache(maxsize=512)(_code)


def compile_run(
    reads: Sequence[tuple[Sequence[str], str]],
    body: Sequence[str],
    results: Sequence[str],
    namespace: dict[str, Any],
) -> str:
    """Define ``run(feeds, variables, keys)`` in ``namespace``; return its source.

    ``reads`` are the names to which each argument is unpacked; ``body`` works on these, and
    ``run`` returns the list of ``results``.
    """
    head = [f"{', '.join(names)}, = {source}" for names, source in reads if names]
    arguments = "feeds, variables, keys"
    if len(body) <= LENGTH or any(line.startswith(" ") for line in body):
        lines = [*head, *body, f"return [{', '.join(results)}]"]
        return define("run", arguments, lines, namespace)
    pieces = [body[i : i + LENGTH] for i in range(0, len(body), LENGTH)]
    needed = set(results)
    source = []
    for number, piece in reversed(list(enumerate(pieces))):
        lines = _section(piece, needed)
        source.append(define(f"run_{number}", "values", lines, namespace))
    given = ", ".join(f"{name!r}: {name}" for name in sorted(needed))
    calls = [f"run_{number}(values)" for number in range(len(pieces))]
    found = ", ".join(f"values[{name!r}]" for name in results)
    lines = [*head, f"values = {{{given}}}", *calls, f"return [{found}]"]
    return "".join([*reversed(source), define("run", arguments, lines, namespace)])


def _section(piece: Sequence[str], needed: set[str]) -> list[str]:
    """The lines of one section; ``needed``, read after it, becomes what is read from it on."""
    made: set[str] = set()
    read: dict[str, None] = {}
    for line in piece:
        target, _, value = line.partition(" = ")  # without an assignment all is target
        used = _LOCAL.findall(value or target)
        read.update((name, None) for name in used if name not in made)
        if value:
            made.update(_LOCAL.findall(target))
    kept = needed - made
    take = [
        f"{name} = values[{name!r}]" if name in kept else f"{name} = values.pop({name!r})"
        for name in read
    ]
    give = [f"values[{name!r}] = {name}" for name in sorted(needed & made)]
    needed -= made
    needed.update(read)
    return [*take, *piece, *give]


def define(name: str, arguments: str, lines: Sequence[str], namespace: dict[str, Any]) -> str:
    """Define a function of these lines in ``namespace``; return its source."""
    source = "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in lines), ""])
    exec((_shared_code if len(source) < 10_000 else _code)(source), namespace)
    return source
