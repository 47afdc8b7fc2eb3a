"""Builds the files of ``data/sample`` that are not written by hand.

    python data/build_sample.py [--output FOLDER]

Needs reportlab, python-docx, python-pptx, openpyxl and jinja2. The same sources give the same
bytes, so a rebuild without a change leaves the working tree clean.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sample_builder.catalogue import Part, parts_for, read_parts, write_catalogue, write_prices
from sample_builder.markup import Source, parse
from sample_builder.office import write_docx, write_pptx, write_xlsx
from sample_builder.pdf import write_pdf

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "source"
OFFICE = {".docx": write_docx, ".pptx": write_pptx, ".xlsx": write_xlsx}


def main() -> None:
    """Builds everything into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "sample", metavar="FOLDER")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    parts = read_parts(SOURCE / "parts.csv")
    build_manuals(parts, output)
    build_papers(output)
    build_office(output)
    write_catalogue(parts, output / "parts-catalogue.csv")
    for year in ("2025", "2026"):
        write_prices(parts, year, output / f"price-list-{year}.csv")
    print(f"built {len(list(output.iterdir()))} files in {output}")


def build_manuals(parts: list[Part], output: Path) -> None:
    """One PDF per model: the text of its family filled in with the facts of the model."""
    environment = Environment(
        loader=FileSystemLoader(SOURCE / "manuals"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    for path in sorted((SOURCE / "manuals").glob("*.json")):
        family: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        template = environment.get_template(f"{path.stem}.md")
        for name, facts in family.items():
            spares = parts_for(parts, facts["model"])
            source = parse(template.render(**facts, parts=spares))
            write_pdf(source, output / f"{name}-manual.pdf")


def build_papers(output: Path) -> None:
    """One PDF per paper: policies, reports, guides."""
    for path in sorted((SOURCE / "papers").glob("*.md")):
        write_pdf(_read(path), output / f"{path.stem}.pdf")


def build_office(output: Path) -> None:
    """Office files: ``onboarding-guide.docx.md`` becomes ``onboarding-guide.docx``."""
    for path in sorted((SOURCE / "office").glob("*.md")):
        target = output / path.stem
        OFFICE[target.suffix](_read(path), target)


def _read(path: Path) -> Source:
    return parse(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
