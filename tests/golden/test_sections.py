"""Passages of a new recipe keep to their sections: in the sample, and in a PDF that is drawn."""

import io
import re
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from rag import Document, Recipe
from rag.chunking import chunks
from rag.readers import read
from tests.tokenizers import Words

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
NUMBERS = [f"{chapter}.{section}" for chapter in (1, 2, 3) for section in (1, 2, 3)]
TITLES = {number: f"{number} Rules of part {number}" for number in NUMBERS}


def _written(document: Document) -> list[tuple[int, str]]:
    """Where each line begins that is no heading and is not empty, and the headings over it."""
    titles = {heading.start: heading.title for heading in document.headings}
    lines = list[tuple[int, str]]()
    for line in re.finditer(r"\S[^\n]*", document.text):
        title = titles.get(line.start())
        if title is None or len(line.group().lstrip("# ")) > len(title):
            lines.append((line.start(), document.heading_at(line.start())))
    return lines


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLE.iterdir()))
def test_passages_of_the_sample_keep_to_their_sections(name):
    document = read(SAMPLE / name, name)
    lines = _written(document)
    for chunk in chunks(document, Recipe().index, Words()):
        over = {path for start, path in lines if chunk.start <= start < chunk.end}
        assert over <= {chunk.heading}


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Three chapters of three sections, all short; each sentence says the number of its section."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(600, 800))
    up = 760
    for number in NUMBERS:
        heads = [(16, f"{number[0]} Chapter of part {number[0]}")] if number[2] == "1" else []
        sentences = [f"Whoever reads part {number} knows rule {at} of it well." for at in range(4)]
        for size, words in [*heads, (13, TITLES[number]), *((10, each) for each in sentences)]:
            canvas.setFont("Helvetica-Bold" if size > 10 else "Helvetica", size)
            up -= 2 * size
            if up < 60:
                canvas.showPage()
                canvas.setFont("Helvetica-Bold" if size > 10 else "Helvetica", size)
                up = 740
            canvas.drawString(60, up, words)
            if size > 10:
                canvas.bookmarkHorizontal(words, 60, up + size)
                canvas.addOutlineEntry(words, words, level=int(size == 13))
    canvas.save()
    path = tmp_path_factory.mktemp("drawn") / "rules.pdf"
    path.write_bytes(buffer.getvalue())
    return read(path, "rules.pdf")


@pytest.mark.parametrize("size", [30, 200])
def test_passages_of_numbered_sections_are_named_by_the_section_they_say(rules, size):
    recipe = Recipe().with_fields({"index.chunk_size": size})
    found = list(chunks(rules, recipe.index, Words()))
    for chunk in found:
        (said,) = set(re.findall(r"part (\d\.\d) knows", chunk.text))
        assert chunk.heading.endswith(TITLES[said])
    named = [chunk.heading.rpartition(" > ")[2] for chunk in found]
    assert list(dict.fromkeys(named)) == [*TITLES.values()]


def test_passages_that_run_across_sections_are_told_from_these(rules):
    recipe = Recipe().with_fields({"index.chunker": "recursive"})
    said = [
        set(re.findall(r"part (\d\.\d) knows", chunk.text))
        for chunk in chunks(rules, recipe.index, Words())
    ]
    assert max(map(len, said)) > 1
