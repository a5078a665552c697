"""What happens around a call of a function, decided when the function is made.

:func:`reader` writes the source of what takes the values fed: an array of the right class, dtype
and shape passes after a few comparisons; everything else goes to ``feed``, which converts it or
says what is wrong. :func:`packer` puts the results into their structure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kbridge.symbolic import dtypes, sections, structure

if TYPE_CHECKING:
    from kbridge.symbolic.tensor import Tensor

Reader = Callable[[tuple[Any, ...]], tuple[list[Any], int]]


def reader(
    engine: Any,
    inputs: Sequence[Tensor],
    phase: int | None,
    *,
    listed: bool,
    flatten: Callable[[tuple[Any, ...]], list[Any]],
    feed: Callable[[Any, Tensor], Any],
) -> Reader:
    """A function from the values of a call to the native feeds and the learning phase.

    ``phase`` is the position of the learning phase among the ``inputs``. ``flatten`` brings the
    values into the order of the inputs, and is called unless they are ``listed`` and come in one
    list of the right length. ``feed(value, tensor)`` takes any value.
    """
    names = [f"a{i}" for i in range(len(inputs))]
    space: dict[str, Any] = {**engine.feed_names, "array": np.ndarray}
    space.update(flatten=flatten, feed=feed)
    lines = ["given = flatten(values)"]
    if listed:
        lines = [
            "given = values[0] if len(values) == 1 else None",
            f"if given.__class__ is not list or len(given) != {len(inputs)}:",
            "    given = flatten(values)",
        ]
    if names:
        lines.append(f"{', '.join(names)}, = given")
    for position, (name, tensor) in enumerate(zip(names, inputs, strict=True)):
        if position != phase:
            space[f"p{position}"] = tensor
            lines += _fed(engine, name, tensor, f"p{position}", space)
    feeds = [name for position, name in enumerate(names) if position != phase]
    found = "0"
    if phase is not None:
        space["truth"], found = _truth, f"truth(a{phase})"
    lines.append(f"return [{', '.join(feeds)}], {found}")
    sections.define("read", "values", lines, space)
    read: Reader = space["read"]
    return read


def _fed(engine: Any, name: str, tensor: Tensor, key: str, space: dict[str, Any]) -> list[str]:
    """The lines that turn the value ``name`` into the native tensor fed for ``tensor``."""
    general = f"{name} = feed({name}, {key})"
    if tensor.sparse:
        return [general]
    space[f"{key}_dtype"] = dtypes.to_numpy(tensor.dtype)
    tests = [
        f"{name}.__class__ is array",
        f"{name}.dtype is {key}_dtype",
        f"{name}.ndim == {len(tensor.shape)}",
        *(f"{name}.shape[{i}] == {n}" for i, n in enumerate(tensor.shape) if n is not None),
    ]
    if None not in tensor.shape:
        tests[2:] = [f"{name}.shape == {tensor.shape}"]
    test, expression = engine.quick_feed(tensor.dtype)
    if test:
        tests.append(test.format(name))
    lines = [f"if not ({' and '.join(tests)}):", f"    {general}"]
    if expression != "{}":
        lines += ["else:", f"    {name} = {expression.format(name)}"]
    return lines


def _truth(value: Any) -> int:
    """The learning phase that a value of any kind stands for."""
    return 1 if (value if value.__class__ in (int, bool) else np.all(value)) else 0


def packer(nested: Any) -> Callable[[list[Any]], Any]:
    """A function that puts a list of leaves into the structure of ``nested``."""
    leaf = structure.is_leaf
    if leaf(nested):
        return lambda leaves: leaves[0]
    if type(nested) is list and all(map(leaf, nested)):
        return lambda leaves: leaves
    if type(nested) is tuple and all(map(leaf, nested)):
        return tuple
    return lambda leaves: structure.pack(nested, leaves)
