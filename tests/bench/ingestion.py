"""How long an upload takes until it answers by words, and until its last vector is in.

The sample's documents, without the vectors that ship with it, and a PDF of 200 pages of papers.

``python -m rag bench --only ingestion`` runs it.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pypdf import PdfReader, PdfWriter

from rag import KnowledgeBase, Recipe, Settings, Workspace
from rag.workspace.workspace import SAMPLE_FOLDER, SAMPLE_QUESTIONS

PAGES = 200
POLL_SECONDS = 0.05
WORDS = "What does the error mean, and what has to be done about it?"


def measure(folder: Path, *, sample: Path = SAMPLE_FOLDER, pages: int = PAGES) -> dict[str, float]:
    """Seconds from the upload on, as somebody at the page waits for them."""
    figures = dict[str, float]()
    with tempfile.TemporaryDirectory() as home:
        files = [path for path in sorted(sample.iterdir()) if path.name != SAMPLE_QUESTIONS]
        figures |= _named("sample", _uploaded(Path(home), files))
    with tempfile.TemporaryDirectory() as home:
        pdf = Path(home) / "papers.pdf"
        _write_pages(sorted(folder.glob("aragog/**/*.pdf")), pdf, pages)
        figures |= _named(f"PDF of {pages} pages", _uploaded(Path(home), [pdf]))
    return figures


def _named(name: str, figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{name}: {what}": value for what, value in figures.items()}


def _uploaded(home: Path, files: list[Path]) -> dict[str, float]:
    with _open(home) as workspace:
        base = workspace.create("bench", Recipe())
        base.search(WORDS, base.recipe())  # the model for questions is loaded, as on an open page
        started = time.perf_counter()
        job = base.documents.add_paths(files)
        first = all_by_words = 0.0
        while workspace.jobs.get(job).active and not _complete(base, len(files)):
            if not first and base.search(WORDS, base.recipe()).hits:
                first = time.perf_counter() - started
            if not all_by_words and _stored(base) == len(files):
                all_by_words = time.perf_counter() - started
            time.sleep(POLL_SECONDS)
        last = time.perf_counter() - started
        hits = base.search(WORDS, base.recipe()).hits
        first = first or time.perf_counter() - started
    if not hits:
        raise AssertionError("the upload never answered")
    return {
        "first answer by words, s": first,
        "all documents by words, s": all_by_words or last,
        "last vector, s": last,
        "first answer / last vector": first / last,
    }


def _stored(base: KnowledgeBase) -> int:
    return len(base.documents.documents(base.recipe().index))


def _complete(base: KnowledgeBase, number: int) -> bool:
    return _stored(base) == number and not base.documents.missing(base.recipe().index)


@contextmanager
def _open(home: Path) -> Iterator[Workspace]:
    workspace = Workspace(Settings.from_env({}, home=home / "home"))
    workspace.jobs.start()
    try:
        yield workspace
    finally:
        workspace.close()


def _write_pages(papers: list[Path], target: Path, pages: int) -> None:
    if not papers:
        raise FileNotFoundError(2, "No such file or directory", "aragog")
    writer, at = PdfWriter(), 0
    while len(writer.pages) < pages:
        for page in PdfReader(papers[at % len(papers)]).pages[: pages - len(writer.pages)]:
            writer.add_page(page)
        at += 1
    writer.write(target)
