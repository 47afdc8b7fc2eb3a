"""The files of the gallery say what the code of today says, and their runs are repeated."""

import html
import re
from pathlib import Path

import pytest

from rag.__main__ import main
from tests.gallery import GALLERY, SETS, make_pages
from tests.rooms import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("what is handed out is made of the default")]
LARGEST = 1_000_000
PAGES = ("sample-report.html", "sample-tour.html")
OF_ITS_RUN = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?|\b[0-9a-f]{12}\b|\b1\.\d+\.\d+\+g\w+"
    r"|[\d.,]+ (?:ms|s|min)\b|\d{1,2} [A-Z][a-z]+ 20\d\d\b"
)
"""What differs from run to run: dates, ids, commits, durations."""


def _said(page: Path) -> list[str]:
    """The words of a page, line by line, without what belongs to one run."""
    shown = re.sub(r"<(style|svg)\b.*?</\1>|<[^>]+>", "\n", page.read_text("utf-8"), flags=re.S)
    lines = (OF_ITS_RUN.sub("#", html.unescape(line)).strip() for line in shown.splitlines())
    return [line for line in lines if line]


def test_the_gallery_is_small():
    files = [path for path in GALLERY.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST


@pytest.mark.thorough  # tests/golden/recorded has the words of such a report
def test_the_gallery_says_what_it_would_say_today(tmp_path):
    make_pages(tmp_path / "new", tmp_path / "home")
    for page in PAGES:
        assert _said(tmp_path / "new" / page) == _said(GALLERY / page), page
    tour = (tmp_path / "new" / "sample-tour.html").read_text("utf-8")
    *_, cited, explained = re.findall("<h3>(.+?)</h3>", tour)
    assert explained == cited


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["sample", *SETS])
def test_a_bundle_is_repeated_to_the_last_digit(name, tmp_path):
    bundle = str(GALLERY / f"{name}-bundle.zip")
    documents = ["--documents", str(ROOT / "data" / "sample")] if name == "sample" else []
    assert main(["import-bundle", bundle, *documents, "--home", str(tmp_path / "home")]) == 0
