"""A tour says which of several sources that disagree is in force."""

from dataclasses import replace
from pathlib import Path

from rag import Assessment, answer_stops
from rag.types import Edition
from tests.runs import WORDS, handbook

QUESTION = "May unused leave be carried over?"


def test_a_tour_of_disagreeing_sources_says_which_is_in_force(home: Path) -> None:
    base = handbook(home)[1]
    talk = base.conversations.open(None)
    asked = base.conversations.ask(talk, QUESTION, WORDS)
    base.conversations.conclude(asked, base.ask(QUESTION, WORDS).answer)
    (turn,) = base.conversations.turns(talk)
    cited = turn.citations[0]
    editions = (Edition(cited.n, cited.document, "2026", in_force=True),)
    assessment = Assessment("conflicting", "The sources disagree.", editions=editions)
    turn = replace(turn, details=replace(turn.details, assessment=assessment))
    document = base.documents.document(cited.document_id)
    answer = answer_stops(turn, {document.id: document})[0]
    assert answer.quotes[0].source == f"[{cited.n}] {document.name} (in force)"
