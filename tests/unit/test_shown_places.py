"""Places within documents as pages of the dashboard show them."""

import pytest

from pages.components.inspector.hit_cards import card_title
from pages.components.shell.text import short_page
from rag import Place, whole_percent
from tests.answers import hit


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
