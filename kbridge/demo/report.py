"""What ``kbridge demo`` shows: a progress bar, a table, a picture of the curves."""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kbridge import config
from kbridge.loader import TITLES

AGREEMENT = 1e-3


class Run(NamedTuple):
    """One model trained on one backend; the lists hold a number for each epoch."""

    backend: str
    model: str
    load: float  # seconds to import the engine
    loss: list[float]
    accuracy: list[float]
    seconds: list[float]

    @property
    def title(self) -> str:
        """The engine as people write it."""
        return TITLES.get(self.backend, self.backend)


#: The fields of a Run that are measured at each epoch, in their order.
MEASURED = ("loss", "accuracy", "seconds")

# --- while it runs -----------------------------------------------------------------------------


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """A progress bar on a terminal; the function given says what runs and how far it went."""
    if not sys.stderr.isatty():
        yield lambda label, steps: None
    elif not config.is_installed("rich"):
        yield from _plain_bar(total)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description:<18}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda label, steps: bar.update(task, description=label, advance=steps)


def _plain_bar(total: int) -> Iterator[Callable[[str, int], None]]:
    done = 0

    def advance(label: str, steps: int) -> None:
        nonlocal done
        done += steps
        full = 40 * done // total
        print(f"\r{label:<18} [{'#' * full:<40}]", end="", file=sys.stderr, flush=True)

    try:
        yield advance
    finally:
        print(f"\r{'':<61}\r", end="", file=sys.stderr, flush=True)


# --- afterwards --------------------------------------------------------------------------------


def text(runs: Sequence[Run], models: Sequence[str], dropout: bool) -> str:
    """The table of all runs, and how far the backends' losses lie apart.

    The seconds are those to load the backend, of the first epoch, which may compile, and of a
    later one.
    """
    shown = _few(len(runs[0].loss))
    gap = "  "
    epochs = [f"{epoch + 1}" for epoch in shown]
    head = ["model", "engine", *epochs, "accuracy", "load", "first", "later"]
    rows = [
        [
            run.model,
            run.title,
            *(f"{run.loss[epoch]:.4f}" for epoch in shown),
            f"{run.accuracy[-1]:.1%}",
            f"{run.load:.1f}",
            f"{run.seconds[0]:.2f}",
            f"{statistics.median(run.seconds[1:]):.2f}" if len(run.seconds) > 1 else "-",
        ]
        for model in models
        for run in runs
        if run.model == model
    ]
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if position < 2 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return gap.join(padded).rstrip()

    def over(first: int, last: int) -> int:
        return sum(widths[first:last]) + len(gap) * (last - first - 1)

    end = 2 + len(shown)
    groups = gap.join(
        [
            " " * over(0, 2),
            f"{'loss in epoch':^{over(2, end)}}",
            f"{'test':>{widths[end]}}",
            f"{'seconds':^{over(end + 1, end + 4)}}",
        ]
    )
    lines = [groups.rstrip(), line(head), "-" * over(0, end + 4), *map(line, rows)]
    return "\n".join([*lines, *_agreement(runs, models, dropout)])


def _few(epochs: int, most: int = 4) -> list[int]:
    """At most ``most`` epochs, evenly spread, the first and the last among them."""
    if epochs <= most:
        return list(range(epochs))
    return [round(i * (epochs - 1) / (most - 1)) for i in range(most)]


def spread(runs: Sequence[Run], model: str) -> float:
    """The largest difference between two backends' losses of ``model`` in any epoch."""
    curves = [run.loss for run in runs if run.model == model]
    return max(max(losses) - min(losses) for losses in zip(*curves, strict=True))


def _agreement(runs: Sequence[Run], models: Sequence[str], dropout: bool) -> list[str]:
    if len({run.backend for run in runs}) < 2:
        return []
    if dropout:
        return [
            "",
            "Each engine draws the dropout of a compiled function itself, so the losses are alike",
            "but not equal. With --no-dropout they agree.",
        ]
    return [
        "",
        *(
            f"{model}: in every epoch the engines' losses agree to {spread(runs, model):.1e}."
            for model in models
        ),
    ]


# From pale and wide to dark and thin, so that each line shows on top of the others.
_COLORS = ("#9ecae1", "#fd8d3c", "#c51b8a", "#1a1a1a")


def plot(runs: Sequence[Run], models: Sequence[str], dropout: bool, file: Path) -> None:
    """Draw loss and accuracy over the epochs, the backends' curves on top of each other."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    backends = list(dict.fromkeys(run.backend for run in runs))
    figure = Figure(figsize=(4.5 * len(models) + 0.5, 6.5), layout="constrained")
    axes = figure.subplots(2, len(models), squeeze=False, sharex=True, sharey="row")
    for column, model in enumerate(models):
        for run in (run for run in runs if run.model == model):
            rank = backends.index(run.backend)
            style = {
                "color": _COLORS[rank % len(_COLORS)],
                "linewidth": 2 if dropout else 1.5 + 3 * (len(backends) - 1 - rank),
                "label": run.title,
                "solid_capstyle": "round",
                "marker": "o" if len(run.loss) == 1 else None,
            }
            epochs = range(1, len(run.loss) + 1)
            axes[0, column].plot(epochs, run.loss, **style)
            axes[1, column].plot(epochs, run.accuracy, **style)
        axes[0, column].set_title(model.upper())
        axes[0, column].set_yscale("log")
        axes[1, column].set_xlabel("epoch")
        axes[1, column].xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[1, column].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes[0, 0].set_ylabel("training loss")
    axes[1, 0].set_ylabel("test accuracy")
    axes[0, -1].legend()
    for each in axes.flat:
        each.grid(alpha=0.3)
    how = "with" if dropout else "without"
    figure.suptitle(f"kbridge demo: one program on each engine, {how} dropout")
    figure.savefig(file, format="png", dpi=120)
