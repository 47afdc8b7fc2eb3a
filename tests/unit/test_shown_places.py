"""Places within documents as pages of the dashboard show them."""

import pytest

from pages.components.shell.text import short_page
from rag.evaluation.intervals import whole_percent


@pytest.mark.parametrize(
    ("page", "shown"),
    [("page 5", "p. 5"), ("sheet Landing page list", "sheet Landing page list"), ("", "")],
)
def test_only_numbers_of_pages_are_shortened(page: str, shown: str) -> None:
    assert short_page(page) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.9999, "99.9%"), (0.0001, "0.1%"), (1.0, "100%"), (0.0, "0%"), (0.996, "99.6%")],
)
def test_what_is_not_all_is_never_shown_as_all(share: float, shown: str) -> None:
    assert whole_percent(share) == shown
