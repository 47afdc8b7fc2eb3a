"""Where a passage stands: by the page and the heading that have most of it."""

import pytest

from pages.components.inspector.hit_cards import card_title
from pages.components.shell.text import short_page
from rag import Document, Place, place_of, whole_percent
from rag.types import Heading, Page
from tests.answers import hit

TEXT = "Head 1\nA line.\nHead 2\nSome more lines of text.\nHead 3\nAn end.\n"
DOCUMENT = Document(
    "d",
    "d.pdf",
    "",
    "application/pdf",
    TEXT,
    pages=(Page(1, 0, 15), Page(2, 15, len(TEXT))),
    headings=tuple(
        Heading(TEXT.index(f"Head {n}"), level, f"Head {n}")
        for n, level in ((1, 1), (2, 2), (3, 1))
    ),
)


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [
        (0, 15, Place(1, "Head 1")),
        (10, 40, Place(2, "Head 1 > Head 2")),
        (0, len(TEXT), Place(2, "Head 1 > Head 2")),
        (45, len(TEXT), Place(2, "Head 3")),
        (20, 20, Place(2, "Head 1 > Head 2")),
        (15, 16, Place(2, "Head 1 > Head 2")),
    ],
)
def test_the_place_of_a_passage(start, end, place):
    assert place_of(DOCUMENT, start, end) == place


def test_without_pages_and_headings():
    assert place_of(Document("d", "d.txt", "", "text/plain", "abc"), 0, 3) == Place(None, "")


@pytest.mark.parametrize(
    ("confidence", "said"),
    [
        (None, ""),
        (90.0, "recognised from the picture, hardly a word wrong"),
        (75.0, "recognised from the picture, some words wrong"),
        (74.9, "recognised from the picture, many words wrong"),
    ],
)
def test_a_place_says_how_surely_its_words_were_recognised(confidence, said):
    pages = (Page(1, 0, 5), Page(2, 7, 12, confidence=confidence))
    document = Document("d", "d.pdf", "", "application/pdf", "plain\n\nwords", pages)
    assert place_of(document, 0, 5).recognised == ""
    assert place_of(document, 7, 12).recognised == said


@pytest.mark.parametrize(
    ("page", "shown"),
    [("page 5", "p. 5"), ("sheet Landing page list", "sheet Landing page list"), ("", "")],
)
def test_only_numbers_of_pages_are_shortened(page, shown):
    assert short_page(page) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.9999, "99.9%"), (0.0001, "0.1%"), (1.0, "100%"), (0.0, "0%"), (0.996, "99.6%")],
)
def test_what_is_not_all_is_never_shown_as_all(share, shown):
    assert whole_percent(share) == shown


@pytest.mark.parametrize(
    ("document", "place", "title"),
    [
        ("leave.pdf", Place(3, "2 Leave"), r"**1 · leave\.pdf · page 3**"),
        ("plan.xlsx", Place(2, "Budget > 2026"), r"**1 · plan\.xlsx · sheet Budget**"),
        ("notes.md", Place(None, "Notes"), r"**1 · notes\.md**"),
    ],
)
def test_the_title_of_a_card_has_the_place(document, place, title):
    assert card_title(hit("Some words.", 1, document=document), place, kept=True) == title
