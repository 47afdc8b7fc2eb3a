"""What every reader promises about pages and headings, whatever it reads."""

import pytest

from rag import SUPPORTED
from rag.readers import read
from tests.sample_files import ALIKE, SAMPLES, assert_sound


@pytest.mark.parametrize("extension", SUPPORTED)
def test_every_reader_keeps_its_spans_sound(tmp_path, extension):
    path = tmp_path / "content"
    path.write_bytes(SAMPLES[ALIKE.get(extension, extension)]())
    document = read(path, f"sample.{extension}")
    assert_sound(document)
    for page in document.pages:
        text = document.text[page.start : page.end]
        assert text == text.strip(" \n")  # a row may begin with an empty cell
        assert {document.page_at(page.start), document.page_at(page.end - 1)} == {page.number}


@pytest.mark.parametrize("extension", SUPPORTED)
def test_every_reader_gives_the_same_again(tmp_path, extension):
    path = tmp_path / "content"
    path.write_bytes(SAMPLES[ALIKE.get(extension, extension)]())
    assert read(path, f"a.{extension}") == read(path, f"a.{extension}")


@pytest.mark.parametrize("extension", SUPPORTED)
def test_every_reader_reports_its_end(tmp_path, extension):
    path, seen = tmp_path / "content", list[tuple[int, int]]()
    path.write_bytes(SAMPLES[ALIKE.get(extension, extension)]())
    read(path, f"a.{extension}", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
