"""The parts list: one source table for manuals, catalogue and price lists."""

from __future__ import annotations

import csv
from pathlib import Path

Part = dict[str, str]

_CATALOGUE = ("part_number", "description", "fits", "pack", "lead_time_days", "remark")


def read_parts(path: Path) -> list[Part]:
    """All rows of the parts table, by column name."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def parts_for(parts: list[Part], model: str) -> list[Part]:
    """Parts that fit a model; ``fits`` holds model names separated by ``;``."""
    return [part for part in parts if model in part["fits"].split("; ")]


def write_catalogue(parts: list[Part], path: Path) -> None:
    """The public catalogue: everything but prices."""
    _write(path, _CATALOGUE, parts)


def write_prices(parts: list[Part], year: str, path: Path) -> None:
    """The price list of one year; parts without a price that year are left out."""
    column = f"price_{year}"
    rows = [{**part, "price_eur": part[column]} for part in parts if part[column]]
    _write(path, ("part_number", "description", "price_eur", "pack"), rows)


def _write(path: Path, columns: tuple[str, ...], rows: list[Part]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
