"""Pages as they were printed: where the words of passages are, and files that mean harm."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

from rag import PageImage, UnreadableDocument, readers
from rag.readers import Limits, Mark
from rag.readers.pdf.page_image import MOST_PIXELS, scale
from rag.workspace.workspace import SAMPLE_FOLDER
from tests.highlights import all_pages, coverages, sample_pages, text_inside
from tests.sample_files import pdf

ENOUGH = 0.95  # of the words
STACKED = ("llm_long_tail.pdf", 2)  # sheets of text are drawn over one another in its figure
TEXT = "First line of the page.\nSecond line with the answer in it.\nThird line."


def stored(folder: Path, content: bytes) -> Path:
    path = folder / "file.pdf"
    path.write_bytes(content)
    return path


def drawn(path: Path, words: str, number: int = 1, text: str = TEXT) -> PageImage:
    start = text.index(words)
    return readers.draw(path, number, text, [Mark(start, start + len(words))])


def test_a_mark_covers_its_words_and_no_others(tmp_path):
    path = stored(tmp_path, pdf(TEXT))
    page = drawn(path, "with the answer")
    assert text_inside(path, 1, page.boxes[0]).split() == ["with", "the", "answer"]
    assert (page.pages, page.matched) == (1, 1.0)


def test_a_mark_of_two_lines_has_two_boxes(tmp_path):
    (first, second), *_ = drawn(stored(tmp_path, pdf(TEXT)), "page.\nSecond line").boxes
    assert first[3] < second[1]


def test_the_words_are_tinted_in_the_picture(tmp_path):
    page = drawn(stored(tmp_path, pdf(TEXT)), "answer")
    picture = np.asarray(Image.open(io.BytesIO(page.png)))
    assert picture.shape == (page.height, page.width, 3)
    (left, top, right, bottom), *_ = page.boxes[0]
    inside = picture[
        int(top * page.height) : int(bottom * page.height),
        int(left * page.width) : int(right * page.width),
    ]
    assert inside.max(axis=(0, 1)).tolist() == [184, 216, 255]
    assert picture[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_has_its_boxes_where_the_ink_is(tmp_path, turn):
    writer = PdfWriter(clone_from=io.BytesIO(pdf(TEXT)))
    writer.pages[0].rotate(turn)
    buffer = io.BytesIO()
    writer.write(buffer)
    page = drawn(stored(tmp_path, buffer.getvalue()), "with the answer")
    picture = np.asarray(Image.open(io.BytesIO(page.png)).convert("L"))
    (left, top, right, bottom), *rest = page.boxes[0]
    assert rest == []
    rows = slice(int(top * page.height), int(bottom * page.height) + 1)
    columns = slice(int(left * page.width), int(right * page.width) + 1)
    assert picture[rows, columns].min() < 60
    long, high = (right - left) * page.width, (bottom - top) * page.height
    assert (high > long) == (turn != 180)


def test_a_cropped_page_has_its_boxes_within_the_crop(tmp_path):
    writer = PdfWriter(clone_from=io.BytesIO(pdf(TEXT)))
    writer.pages[0].cropbox.lower_left = (50, 700)
    writer.pages[0].cropbox.upper_right = (400, 800)
    buffer = io.BytesIO()
    writer.write(buffer)
    path = stored(tmp_path, buffer.getvalue())
    page = drawn(path, "with the answer")
    assert page.width / page.height == pytest.approx(3.5, rel=0.01)
    assert text_inside(path, 1, page.boxes[0]).split() == ["with", "the", "answer"]


def test_another_page_than_there_is_shows_the_nearest(tmp_path):
    path = stored(tmp_path, pdf("one", "two"))
    assert (
        readers.draw(path, 9, "two", [Mark(0, 3)]).boxes
        == readers.draw(path, 2, "two", [Mark(0, 3)]).boxes
    )


def test_words_that_are_not_there_are_not_found(tmp_path):
    path = stored(tmp_path, pdf("one"))
    page = readers.draw(path, 1, "zebra crossing", [Mark(0, 14)])
    assert (page.boxes, page.matched) == (((),), 0.0)


def reason(path: Path, limits: Limits | None = None) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        readers.draw(path, 1, "", [], **({"limits": limits} if limits else {}))
    return caught.value.reason


def test_what_cannot_be_drawn_is_told_apart(tmp_path):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(TEXT))))
    writer.encrypt("secret", algorithm="AES-256")
    buffer = io.BytesIO()
    writer.write(buffer)
    assert reason(stored(tmp_path, buffer.getvalue())) == "needs_password"
    assert reason(stored(tmp_path, b"%PDF-1.7 and nothing else")) == "damaged"
    assert reason(tmp_path / "gone.pdf") == "missing"


def test_a_page_that_takes_too_long_is_given_up(tmp_path):
    path = stored(tmp_path, pdf(TEXT))
    assert reason(path, Limits(seconds_to_open=0.0)) == "timed_out"
    assert drawn(path, "answer").matched == 1.0  # the next one gets a fresh process


def test_a_page_of_any_size_is_a_picture_of_bounded_size(tmp_path):
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(14_400, 14_400))
    canvas.drawString(100, 100, "huge")
    canvas.save()
    page = drawn(stored(tmp_path, buffer.getvalue()), "huge", text="huge")
    assert page.width * page.height <= MOST_PIXELS * 1.01
    assert 14_400 * scale(14_400, 1) <= 4000
    with pytest.raises(UnreadableDocument):
        scale(0, 100)


@pytest.mark.slow
@pytest.mark.thorough
def test_boxes_cover_the_words_of_every_passage_of_the_sample():
    found = list(coverages(all_pages(SAMPLE_FOLDER)))
    assert len({each.file for each in found}) == len(list(SAMPLE_FOLDER.glob("*.pdf")))
    assert [each for each in found if each.overlap < ENOUGH] == []


@pytest.mark.datasets
@pytest.mark.slow
@pytest.mark.thorough
def test_boxes_cover_the_words_of_every_passage_of_twenty_real_pages(datasets):
    pages = sample_pages(datasets / "aragog" / "pdfs")
    found = list(coverages(pages))
    assert {(each.file, each.page) for each in found} == {
        (path.name, number) for path, number in pages
    }
    apart = [each for each in found if (each.file, each.page) != STACKED]
    assert [each for each in apart if each.overlap < ENOUGH] == []
    assert min(each.covered / each.wanted for each in found) >= ENOUGH
