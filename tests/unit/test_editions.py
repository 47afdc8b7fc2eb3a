"""Editions of a document: which names belong together, which is newest, where they differ."""

from __future__ import annotations

import pytest

from rag.answering.assessing.editions import (
    are_editions,
    day_of,
    differ,
    family,
    on_one_matter,
    order_of,
)
from rag.answering.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("leave-policy-2024.pdf", "leave-policy-2026.pdf"),
        ("Travel_Policy_v1.docx", "Travel Policy v2.docx"),
        ("price list 2025-03.csv", "price list 2026-01-15.csv"),
        ("Handbook (1).pdf", "Handbook (2).pdf"),
        ("handbook.pdf", "handbook-old.pdf"),
    ],
)
def test_editions_differ_in_year_version_or_status(one: str, other: str) -> None:
    assert are_editions(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("application-note-17.md", "application-note-22.md"),
        ("boreal-u400-manual.pdf", "boreal-u700-manual.pdf"),
        ("leave-policy-2024.pdf", "travel-policy-2026.pdf"),
        ("2024.pdf", "2025.pdf"),
        ("leave-policy-2024.pdf", "leave-policy-2024.pdf"),
    ],
)
def test_other_documents_are_no_editions(one: str, other: str) -> None:
    assert not are_editions(one, other)


def test_the_newest_edition_comes_last() -> None:
    names = ["plan-2026-01.pdf", "plan-2024.pdf", "plan-2025-12-31.pdf"]
    assert sorted(names, key=order_of) == [
        "plan-2024.pdf",
        "plan-2025-12-31.pdf",
        "plan-2026-01.pdf",
    ]
    assert order_of("Policy v10.pdf") > order_of("Policy v9.pdf")
    assert [day_of(name) for name in names] == ["2026-01", "2024", "2025-12-31"]
    assert family("Leave_Policy-2026.pdf") == "leave policy"


def test_statements_differ_by_their_figures_alone() -> None:
    assert differ("29 days of annual leave", "27 days of annual leave")
    assert differ("until 30 June", "until 30 March")
    assert not differ("29 days of annual leave", "annual leave: 29 days")


def test_statements_on_one_matter_share_their_words() -> None:
    terms = Vocabulary().terms
    new = terms("Everybody who works five days a week has 29 days of annual leave per year.")
    old = terms("Employees on a five-day week have 27 days of annual leave per year.")
    assert on_one_matter(new, old)
    assert not on_one_matter(new, terms("A certificate is needed from day 4 of illness."))
