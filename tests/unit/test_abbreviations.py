"""Abbreviations that documents define, and questions that have one form where a passage has one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rag.lexical import LexicalIndex
from rag.lexical.abbreviations import abbreviations
from rag.lexical.glossary import Glossary, OtherForm

RHA = ("RHA", "Regional Harbour Authority", 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Ask the Regional Harbour Authority (RHA) first.",
            ("RHA", "Regional Harbour Authority"),
        ),
        (
            "Ask the RHA (Regional Harbour Authority) first.",
            ("RHA", "Regional Harbour Authority"),
        ),
        (
            "Heat shock\n  transcription factor (HSF) binds.",
            ("HSF", "Heat shock transcription factor"),
        ),
        ("It is the Key Management Service (“KMS”).", ("KMS", "Key Management Service")),
        ("chronic kidney disease (CKD; stage 3)", ("CKD", "chronic kidney disease")),
        ("polychlorinated biphenyls (PCBs)", ("PCBs", "polychlorinated biphenyls")),
        ("Deutsche Bahn (DB) fährt.", ("DB", "Deutsche Bahn")),
        ("Research & Development (R&D) pays.", ("R&D", "Research & Development")),
    ],
)
def test_both_ways_of_a_definition_are_read(text: str, expected: tuple[str, str]) -> None:
    assert list(abbreviations(text)) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "The pump (see page 3) is checked.",
        "The pump (2024) is checked.",
        "In spring (March) it rains.",
        "It ends here. Regional rules (RHA) apply.",  # the letters are not in the sentence
        "Read more RHA (RHA) now.",
        "An empty pair () and one that never ends (RHA",
    ],
)
def test_other_brackets_define_nothing(text: str) -> None:
    assert list(abbreviations(text)) == []


def test_many_brackets_take_no_time_that_grows_with_their_square() -> None:
    assert list(abbreviations("(" * 200_000 + "RHA)" * 100_000)) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who leads the RHA?", [OtherForm(14, 17, "Regional Harbour Authority", 4)]),
        ("who leads the rha", [OtherForm(14, 17, "Regional Harbour Authority", 4)]),
        ("WHO LEADS THE RHA", [OtherForm(14, 17, "Regional Harbour Authority", 4)]),
        ("Are there RHAs?", [OtherForm(10, 14, "Regional Harbour Authority", 4)]),
        ("Which regional harbour authorities?", []),
        ("Which regional harbour authority?", [OtherForm(6, 32, "RHA", 4)]),
        ("Which Regional Harbour Authority (RHA)?", []),
        ("What does it cost?", []),
        ("WHAT DOES IT COST?", []),
        ("What does IT cost?", [OtherForm(10, 12, "information technology", 2)]),
    ],
)
def test_a_question_has_forms_whose_other_form_it_lacks(
    question: str, expected: list[OtherForm]
) -> None:
    glossary = Glossary([RHA, ("IT", "information technology", 2)])
    assert glossary.other_forms(question) == expected


def test_the_long_form_that_most_passages_have_wins() -> None:
    rare, often = ("MS", "mass spectrometry", 1), ("MS", "multiple sclerosis", 7)
    glossary = Glossary([rare, often, ("MS", "Multiple Sclerosis", 5)])
    assert len(glossary) == 1
    (form,) = glossary.other_forms("What is MS?")
    assert (form.form, form.key) == ("Multiple Sclerosis", 5)
    (other,) = glossary.other_forms("What is mass spectrometry?")
    assert (other.form, other.key) == ("MS", 1)


def test_a_filter_leaves_definitions_of_other_passages_out() -> None:
    glossary = Glossary([RHA, (*RHA[:2], 9)])
    assert glossary.other_forms("RHA", np.array([9])) == [OtherForm(0, 3, RHA[1], 9)]
    assert glossary.other_forms("RHA", np.array([5])) == []


def test_an_index_knows_the_abbreviations_of_the_passages_that_it_has(tmp_path: Path) -> None:
    texts = {4: f"The {RHA[1]} (RHA) decides.", 5: "Rain.", 6: "The Tidal Power Plant (TPP) hums."}
    full = LexicalIndex.empty("english").added(texts.items())
    assert full.glossary.other_forms("RHA and TPP") == [
        OtherForm(0, 3, RHA[1], 4),
        OtherForm(8, 11, "Tidal Power Plant", 6),
    ]
    full.save(tmp_path)
    loaded = LexicalIndex.load(tmp_path)
    assert loaded.glossary.other_forms("TPP") == [OtherForm(0, 3, "Tidal Power Plant", 6)]
    less = loaded.removed(np.array([4]))
    assert (len(less.glossary), len(loaded.glossary)) == (1, 2)
    more = less.added([(9, f"{RHA[1]} (RHA)")])
    assert more.glossary.other_forms("RHA") == [OtherForm(0, 3, RHA[1], 9)]
    for path in tmp_path.rglob("definitions.txt"):
        path.unlink()
    old = LexicalIndex.load(tmp_path)
    assert (old.is_complete, len(old.glossary)) == (False, 0)
