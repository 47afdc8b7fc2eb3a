"""Pages of a tour without the fields before the text of a Markdown file."""

from dataclasses import replace
from pathlib import Path

import pytest

from rag import KnowledgeBase, answer_stops, explanation_stop
from tests.runs import WORDS, handbook
from tests.workspaces import add

FRONT = "---\ntitle: Cash plan\nlast_reviewed_at: 2025-05-16T17:00:00.000Z\n---\n\n"
TEXT = "The cash plan pays 110 pounds for glasses.\n\nAsk Leanne how to join.\n"
WHOLE = WORDS.with_fields({"index.chunk_size": 200})
QUESTION = "What does the cash plan pay for glasses?"


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    workspace, made = handbook(home)
    job = made.save_recipe(WHOLE)
    assert job is not None
    workspace.jobs.run(job)
    add(workspace, made, {"cash.md": FRONT + TEXT})
    return made


def _stops(base: KnowledgeBase, quote: str | None) -> list[str]:
    """The words of the quote and of the page that a tour shows of an answer."""
    talk = base.conversations.open(None)
    turn_id = base.conversations.ask(talk, QUESTION, WHOLE)
    base.conversations.conclude(turn_id, base.ask(QUESTION, WHOLE).answer)
    (turn,) = base.conversations.turns(talk)
    cited = next(one for one in turn.citations if one.document == "cash.md")
    cited = replace(cited, quote=cited.quote if quote is None else quote)
    document = base.documents.document(cited.document_id)
    stops = answer_stops(replace(turn, citations=(cited,), answer=""), {document.id: document})
    return [each.before + each.text + each.after for stop in stops for each in stop.quotes]


def test_the_page_of_an_answer_begins_with_its_text(base: KnowledgeBase) -> None:
    quote, page = _stops(base, None)
    assert quote == "The cash plan pays 110 pounds for glasses."
    assert page.strip() == TEXT.strip()


def test_a_whole_passage_begins_with_its_text(base: KnowledgeBase) -> None:
    for shown in _stops(base, ""):
        assert shown.startswith("The cash plan pays")


def test_a_quoted_field_stays(base: KnowledgeBase) -> None:
    quote, page = _stops(base, "last_reviewed_at: 2025-05-16T17:00:00.000Z")
    assert quote == "last_reviewed_at: 2025-05-16T17:00:00.000Z"
    assert quote in page


def test_an_explained_passage_begins_with_its_text(base: KnowledgeBase) -> None:
    trace = base.search(QUESTION, WHOLE)
    chunk = next(hit.chunk for hit in trace.hits if hit.document == "cash.md")
    assert chunk.text.startswith("---")
    standing = base.explain(QUESTION, WHOLE, trace).standing(chunk.key)
    stop = explanation_stop(QUESTION, standing, base.documents.document(chunk.document_id))
    assert stop.quotes[0].text.startswith("The cash plan pays")
