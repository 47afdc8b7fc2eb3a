"""Questions that compare: answered right or refused, and not wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

import pytest

import tests.sample
from rag import Answer, KnowledgeBase, Recipe
from tests.golden.comparing_questions import QUESTIONS, SETS, Compared
from tests.workspaces import add, workspace_at

RIGHT = 24
"""Of thirty: four in five, and no wrong one among the rest."""
Outcome = Literal["right", "refused", "wrong"]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, KnowledgeBase]]:
    with tests.sample.sample(tmp_path_factory.mktemp("sample")) as sample:
        workspace = workspace_at(tmp_path_factory.mktemp("sets"))
        own = {name: workspace.create(name, Recipe()) for name in SETS}
        for name, files in SETS.items():
            assert set(add(workspace, own[name], files)) == {"added"}
        yield {"sample": sample, **own}
        workspace.close()


def ask(bases: Mapping[str, KnowledgeBase], case: Compared) -> Answer:
    base = bases[case.documents]
    return base.ask(case.question, base.recipe()).answer


def outcome(answer: Answer, case: Compared) -> Outcome:
    assert answer.assessment is not None
    if answer.assessment.state in ("doubtful", "refused"):
        return "refused" if case.has else "right"
    has = all(words in answer.text for words in case.has)
    right = bool(case.has) and has and not any(words in answer.text for words in case.lacks)
    return "right" if right else "wrong"


@pytest.mark.slow
def test_comparing_questions_are_answered_right_or_refused(
    bases: Mapping[str, KnowledgeBase],
) -> None:
    answers = {case.question: ask(bases, case) for case in QUESTIONS}
    outcomes = {case.question: outcome(answers[case.question], case) for case in QUESTIONS}
    assert len(outcomes) == 30
    assert [question for question, one in outcomes.items() if one == "wrong"] == []
    assert Counter(outcomes.values())["right"] >= RIGHT
    for answer in answers.values():
        assert all(check.borne_out for check in answer.sentences)
        for citation in answer.citations:
            assert citation.quote in citation.hit.chunk.text


def test_an_answer_says_what_was_compared(bases: Mapping[str, KnowledgeBase]) -> None:
    reasons = {
        "Which centrifuge is the most expensive?": (
            "Compared 3 rows by the column “price_eur” in price-list-2026.csv: the greatest is "
            "12850.00. price-list-2026.csv is the edition in force; price-list-2025.csv is left "
            "out."
        ),
        "Which ship is the longest?": (
            "Compared 5 rows by the column “length” in ships.csv: the greatest is 112 m."
        ),
        "Which room has the most seats?": (
            "Compared 3 values of “Seats” in courses.xlsx: the greatest is 14 (Kiln hall)."
        ),
        "What is the difference in weight between the Alder and the Birch?": (
            "Compared the columns “Alder” and “Birch” in bikes.md: 4 of 4 values differ."
        ),
    }
    for case in QUESTIONS:
        if case.question in reasons:
            assessment = ask(bases, case).assessment
            assert assessment is not None
            assert (assessment.state, assessment.reason) == ("answered", reasons[case.question])
