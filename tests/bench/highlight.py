"""How much of each passage the boxes on its page cover, and how much else they cover.

``python -m rag bench --only highlight`` runs it: every passage of the sample's PDFs, and those on
20 evenly spaced pages of the PDFs in the collection ``aragog``.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rag.workspace.workspace import SAMPLE_FOLDER
from tests.highlights import PAGES, Coverage, all_pages, coverages, sample_pages


def measure(folder: Path, *, sample: Path = SAMPLE_FOLDER, pages: int = PAGES) -> dict[str, float]:
    """Per file the overlap of all words, of the worst passage, and the number of passages."""
    real = folder / "aragog" / "pdfs"
    if not real.is_dir():
        raise FileNotFoundError(2, "not there", str(real))
    found = [*coverages(all_pages(sample)), *coverages(sample_pages(real, pages))]
    by_file: dict[str, list[Coverage]] = defaultdict(list)
    for each in found:
        by_file[each.file].append(each)
    figures = {f"{name} {what}": value for name in by_file for what, value in _told(by_file[name])}
    return {**figures, **{f"all {what}": value for what, value in _told(found)}}


def _told(found: list[Coverage]) -> Iterable[tuple[str, float]]:
    covered = sum(each.covered for each in found) / sum(each.wanted for each in found)
    rightly = sum(each.rightly for each in found) / sum(each.inside for each in found)
    yield "overlap", min(covered, rightly)
    yield "worst passage", min(each.overlap for each in found)
    yield "passages", float(len(found))
