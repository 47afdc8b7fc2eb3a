"""Finds and runs the benchmarks of the source tree: ``tests/bench/NAME.py`` with ``measure``."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from rag import InvalidInput

BENCHMARKS = Path(__file__).resolve().parents[2] / "tests" / "bench"


def names() -> list[str]:
    """The benchmarks there are."""
    return sorted(path.stem for path in BENCHMARKS.glob("*.py") if path.stem != "__init__")


def run(data: Path | None, only: str | None) -> dict[str, Mapping[str, float]]:
    """Figures by benchmark. Raises InvalidInput for an unknown name or absent data."""
    chosen = [name for name in names() if only in (None, name)]
    if not chosen:
        raise InvalidInput(f"No benchmark is called {only!r}.", "There are: " + ", ".join(names()))
    folder = data or BENCHMARKS.parents[2] / "shared" / "datasets"
    return {name: _measure(name, folder) for name in chosen}


def _measure(name: str, folder: Path) -> Mapping[str, float]:
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCHMARKS / f"{name}.py")
    if spec is None or spec.loader is None:
        raise InvalidInput(f"The benchmark {name!r} cannot be loaded.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        figures: Mapping[str, float] = module.measure(folder)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"The benchmark {name!r} needs {error.filename}.", "Name BEIR collections with --data."
        ) from error
    return figures
