"""How a sweep over indexes is told: one table for all ways to cut and embed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rag import BuildFigures, Grid

_MEASURES = ("recall", "precision", "iou")
_SPANS = [f"{unit}_{measure}" for unit in ("span", "token") for measure in _MEASURES]


def results(rows: Sequence[BuildFigures]) -> list[dict[str, Any]]:
    return [
        {
            "recipe": row.recipe.hash,
            "set": dict(row.changes),
            "passages": row.passages,
            "mean_tokens": row.mean_tokens,
            "metrics": dict(row.metrics),
        }
        for row in rows
    ]


def lines(rows: Sequence[BuildFigures], cutoffs: Sequence[int]) -> list[str]:
    """A line a recipe: the fields that differ, the passages, and how well they do."""
    k = 5 if 5 in cutoffs else cutoffs[0]
    deep = 10 if 10 in cutoffs else cutoffs[-1]
    names = [name for name in (f"{each}@{k}" for each in _SPANS) if name in rows[0].metrics]
    names.append(f"ndcg@{deep}")
    fields = [
        name
        for name in rows[0].changes
        if len(rows) == 1 or len({json.dumps(row.changes[name]) for row in rows}) > 1
    ]
    head = [*(name.partition(".")[2] for name in fields), "passages", "tokens", *names]
    table = [head, *(_cells(row, fields, names) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.rjust, cells, widths)) for cells in table]


def _cells(row: BuildFigures, fields: Sequence[str], names: Sequence[str]) -> list[str]:
    values = [row.changes[name] for name in fields]
    shown = [value if isinstance(value, str) else json.dumps(value) for value in values]
    shares = [f"{row.metrics[name]:.1%}" for name in names[:-1]]
    ndcg = f"{row.metrics[names[-1]]:.4f}"
    return [*shown, f"{row.passages:,}", f"{row.mean_tokens:.1f}", *shares, ndcg]


def skipped(grid: Grid) -> list[str]:
    """What was left out of the grid, and why."""
    reasons = {
        "skipped, the overlap must be less than the size: ": grid.skipped,
        "skipped, builds what a row above builds: ": grid.repeated,
    }
    return [
        reason + ", ".join(f"{name}={json.dumps(value)}" for name, value in changes.items())
        for reason, every in reasons.items()
        for changes in every
    ]
