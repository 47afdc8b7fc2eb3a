"""Things that a question names by a word and a number or letter."""

from __future__ import annotations

import pytest

from rag.answering.assessing.numbered_names import NumberedName, numbered_names
from rag.answering.extractive import quotes
from rag.answering.vocabulary import Vocabulary
from rag.providers.hashing import HashingEmbedder
from tests.unit.test_quotes import hit


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is the penalty in band 3?", [("band", "3")]),
        ("How much does band 3 pay?", [("band", "3")]),
        ("Do I need form 12 for leave?", [("form", "12")]),
        ("Who may enter zone B?", [("zone", "B")]),
        ("What does Level II cover?", [("level", "II")]),
        ("Wie hoch ist die Gebühr in Stufe 2?", [("stufe", "2")]),
        ("Can I cancel within 14 days?", []),
        ("Can I cancel 3 orders at once?", []),
        ("What happens on May 3?", []),
        ("What if I am 17 years old?", []),
        ("Which band applies to me?", []),
    ],
)
def test_numbered_names(question: str, names: list[tuple[str, str]]) -> None:
    found = numbered_names(question, Vocabulary())
    assert [(name.word, name.label) for name in found] == names


def test_a_row_with_the_word_as_its_column_has_the_name() -> None:
    name = NumberedName("band", "3")
    assert name.is_in("Band: 3 · Pay: 40")
    assert name.has_another("Band 1 is low. So is band 2.")
    assert not name.has_another("Band 2 and band 3")
    assert not name.has_another("No band")
    for text in ("Bands 2 and 4", "Bands 1 to 4", "Bands 1-4", "Band 1, 2 and 3"):
        assert not name.has_another(text), text
    assert NumberedName("level", "II").is_in("Level 2")
    assert NumberedName("level", "9").is_in("Level IX")
    assert not NumberedName("zone", "B").has_another("You leave the zone. A guard waits")
    assert not NumberedName("zone", "B").has_another("In this zone a guard is on duty")


def test_a_sentence_on_another_number_comes_behind() -> None:
    question = "What is the penalty for a late start in band 3?"
    hits = [
        hit("The penalty for a late start in band 2 is 15 seconds of added time."),
        hit("In band 3, a late start costs 40 seconds."),
    ]
    _, citations = quotes(question, hits, HashingEmbedder())
    assert citations[0].quote == "In band 3, a late start costs 40 seconds."


def test_a_sentence_with_the_day_in_another_form_comes_first() -> None:
    question = "Which contract ends on 30 September 2027?"
    hits = [hit("The contract in London ends on 30 June 2027."), hit("Amsterdam ends 2027-09-30.")]
    _, citations = quotes(question, hits, HashingEmbedder())
    assert citations[0].quote == "Amsterdam ends 2027-09-30."
