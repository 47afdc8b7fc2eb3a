"""Real PDFs, among them encrypted, broken and scanned ones: text, or the right reason."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rag import Document, UnreadableDocument
from rag.readers import Limits, read
from tests.conftest import DATASETS
from tests.sample_files import assert_sound

pytestmark = [pytest.mark.datasets, pytest.mark.slow]
LIMITS = Limits(seconds=60)


def _entries() -> list[dict[str, Any]]:
    zoo = DATASETS / "pdf_zoo"
    if not zoo.is_dir():
        return []
    entries = map(json.loads, (zoo / "manifest.jsonl").read_text().splitlines())
    return [entry for entry in entries if (zoo / "pdfs" / entry["file"]).is_file()]


ZOO = _entries()


@cache
def outcome(folder: Path, file: str, password: str | None = None) -> Document | str:
    try:
        path = folder / "pdf_zoo" / "pdfs" / file
        return read(path, file, limits=LIMITS, password=password)
    except UnreadableDocument as error:
        return error.reason


def expected(entry: dict[str, Any]) -> set[str]:
    """Reasons that are right for a file; "text" if there should be some."""
    categories = set(entry["categories"])
    if categories & {"encrypted_password_known", "encrypted_password_unknown"}:
        return {"needs_password"}
    if "broken_structure" in categories:
        has_text = bool(entry["pdfium"]["chars_first5"])
        return {"text"} if has_text else {"text", "damaged"}
    if "scanned_or_image_only" in categories:
        return {"scanned", "text"}  # of photographs nothing is recognised
    if "no_text_no_image" in categories:
        return {"empty", "scanned"}
    return {"text", "scanned"} if "extractors_disagree" in categories else {"text"}


def _marks(entry: dict[str, Any]) -> list[pytest.MarkDecorator]:
    """Scans take long to recognise, and test_recognition.py has some of its own."""
    return [pytest.mark.thorough] if "scanned_or_image_only" in entry["categories"] else []


@pytest.mark.parametrize(
    "entry", [pytest.param(entry, marks=_marks(entry), id=entry["file"]) for entry in ZOO]
)
def test_text_or_the_right_reason(datasets, entry):
    result = outcome(datasets, entry["file"])
    assert ("text" if isinstance(result, Document) else result) in expected(entry)
    if isinstance(result, Document):
        assert_sound(result)
        assert result.metadata["pages"] == str(entry["pages"])


KNOWN = [entry for entry in ZOO if entry["password"]]


@pytest.mark.parametrize("entry", KNOWN, ids=[entry["file"] for entry in KNOWN])
def test_the_known_password_opens(datasets, entry):
    result = outcome(datasets, entry["file"], entry["password"])
    assert isinstance(result, Document)
    assert_sound(result)
    assert outcome(datasets, entry["file"], "certainly not this") == "needs_password"


def test_pages_have_about_as_much_text_as_pdfium_finds(datasets):
    """A reader that loses columns, pages or fonts would show as a gap."""
    short = []
    for entry in ZOO:
        known = entry["pdfium"]["chars_first5"] or 0
        if set(entry["categories"]) & {"multi_column", "many_pages"} and entry["password"] is None:
            result = outcome(datasets, entry["file"])
            assert isinstance(result, Document)
            first = [page for page in result.pages if page.number <= 5]
            if sum(page.end - page.start for page in first) < 0.9 * known:
                short.append(entry["file"])
    assert short == []
