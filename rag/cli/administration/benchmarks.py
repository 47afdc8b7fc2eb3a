"""Benchmarks of the source tree: ``tests/bench/NAME.py`` with ``measure``."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from rag import InvalidInput
from rag.cli.printing import Output

BENCHMARKS = Path(__file__).resolve().parents[3] / "tests" / "bench"


def bench(args: argparse.Namespace) -> Output:
    measured = run(args.data, args.only, args.model)
    lines = []
    for name, figures in measured.items():
        lines.append(name)
        lines += _crossed(figures) or [
            f"  {what:60} {value:10.3f}" for what, value in figures.items()
        ]
    return Output({"benchmarks": measured}, "\n".join(lines))


def names() -> list[str]:
    """The benchmarks there are."""
    return sorted(path.stem for path in BENCHMARKS.glob("*.py") if path.stem != "__init__")


def run(
    data: Path | None, only: str | None, model: str | None = None
) -> dict[str, Mapping[str, float]]:
    """Figures by benchmark; those of answers ask the model at an address.

    Raises InvalidInput for an unknown name or absent data.
    """
    chosen = [name for name in names() if only in (None, name)]
    if not chosen:
        raise InvalidInput(f"No benchmark is called {only!r}.", "There are: " + ", ".join(names()))
    folder = data or BENCHMARKS.parents[2] / "shared" / "datasets"
    return {name: _measure(name, folder, model) for name in chosen}


def load(name: str) -> ModuleType:
    """A benchmark, by the name under which processes that it starts import it again."""
    root = str(BENCHMARKS.parents[1])
    if root not in sys.path:
        sys.path.insert(0, root)
    return importlib.import_module(f"tests.bench.{name}")


def _measure(name: str, folder: Path, model: str | None) -> Mapping[str, float]:
    measure = load(name).measure
    asks = model and "model" in inspect.signature(measure).parameters
    try:
        figures: Mapping[str, float] = measure(folder, **({"model": model} if asks else {}))
    except FileNotFoundError as error:
        raise InvalidInput(
            f"The benchmark {name!r} needs {error.filename}.", "Name BEIR collections with --data."
        ) from error
    return figures


def _crossed(figures: Mapping[str, float]) -> list[str]:
    """Figures whose names are all ``ROW | COLUMN`` as one table; nothing for others."""
    names = [what.split(" | ") for what in figures]
    if any(len(name) != 2 for name in names):
        return []
    columns = list(dict.fromkeys(column for _, column in names))
    rows: dict[str, list[str]] = {}
    for (row, _), value in zip(names, figures.values(), strict=True):
        rows.setdefault(row, []).append(f"{value:16.3f}")
    head = "".join(f"{column:>16}" for column in columns)
    return [f"  {'':44}{head}", *(f"  {row:44}{''.join(cells)}" for row, cells in rows.items())]
