"""Quotes and pages of a tour as readers see them: their words, without marks, and which holds."""

from dataclasses import replace
from pathlib import Path

import pytest

from rag import (
    Assessment,
    CodeBlock,
    Edition,
    KnowledgeBase,
    TourQuote,
    TourStop,
    answer_stops,
    explanation_stop,
)
from rag.readers import read_text
from tests.answers import asked
from tests.runs import WORDS, handbook
from tests.workspaces import add

FRONT = "---\ntitle: Cash plan\nlast_reviewed_at: 2025-05-16T17:00:00.000Z\n---\n\n"
TEXT = "The cash plan pays 110 pounds for glasses.\n\nAsk Leanne how to join.\n"
WHOLE = WORDS.with_fields({"index.chunk_size": 200})
QUESTION = "What does the cash plan pay for glasses?"
LEAVE = "May unused leave be carried over?"


@pytest.fixture
def with_fields(home: Path) -> KnowledgeBase:
    workspace, made = handbook(home)
    job = made.recipes.save_and_build(WHOLE).job
    assert job is not None
    workspace.jobs.run(job)
    add(workspace, made, {"cash.md": FRONT + TEXT})
    return made


def _stops(base: KnowledgeBase, quote: str | None) -> list[str]:
    """The words of the quote and of the page that a tour shows of an answer."""
    turn = asked(base, QUESTION, WHOLE)
    cited = next(one for one in turn.citations if one.document == "cash.md")
    cited = replace(cited, quote=cited.quote if quote is None else quote)
    document = base.documents.document(cited.document_id)
    stops = answer_stops(replace(turn, citations=(cited,), answer=""), {document.id: document})
    return [each.before + each.text + each.after for stop in stops for each in stop.quotes]


def test_the_page_of_an_answer_begins_with_its_text(with_fields):
    quote, page = _stops(with_fields, None)
    assert quote == "The cash plan pays 110 pounds for glasses."
    assert page.strip() == TEXT.strip()


def test_a_whole_passage_begins_with_its_text(with_fields):
    for shown in _stops(with_fields, ""):
        assert shown.startswith("The cash plan pays")


def test_an_explained_passage_begins_with_its_text(with_fields):
    base = with_fields
    trace = base.search(QUESTION, WHOLE)
    chunk = next(hit.chunk for hit in trace.hits if hit.document == "cash.md")
    standing = base.explanations.explain(QUESTION, WHOLE, trace).standing(chunk.key)
    stop = explanation_stop(QUESTION, standing, base.documents.document(chunk.document_id))
    assert stop.quotes[0].text.startswith("The cash plan pays")


def test_stops_show_no_marks_of_markdown():
    quote = TourQuote("a.md", "\\[Name\\] **60 days delinquent**", "# Late\n\n* ", "\n* call")
    stop = TourStop("page", "Late", "“**60 days** \\+ one” [1]", (quote,))
    assert stop.shown_text() == "“60 days + one” [1]"
    assert quote.parts() == [
        TourQuote("a.md", "[Name] 60 days delinquent", "Late\n\n", "\ncall", markdown=False)
    ]


def test_code_around_a_quote_stands_by_itself_as_it_is():
    before = (
        "<ConfigTabs>\n\n</ConfigTabs>\n\nPlain\n\n```yaml\na:\n  - b # c\n```\n\nA long\nline of "
    )
    quote = TourQuote("a.md", "text", before, " ends.\n\n:::note Mind\n\nThe gap.\n\n:::\n")
    assert quote.parts() == [
        TourQuote("a.md", "", "Plain", markdown=False),
        CodeBlock("yaml", "a:\n  - b # c"),
        TourQuote("a.md", "text", "A long line of ", " ends.\n\nMind\n\nThe gap.", markdown=False),
    ]
    within = TourQuote("a.md", "cd b", "```sh\ncd a\n", "\ncd c\n```\n")
    assert within.parts() == [
        TourQuote("a.md", "cd b", "cd a\n", "\ncd c", markdown=False),
    ]


def test_a_quote_has_flowing_lines_and_cells_apart():
    quote = TourQuote("a.pdf", "which\nends\n\n\n\nName\tAge", "a line,\n", " \t x\n\n\n\nEnd")
    (shown,) = quote.parts()
    assert isinstance(shown, TourQuote)
    assert (shown.before, shown.text, shown.after) == (
        "a line, ",
        "which ends\n\nName · Age",
        " · x\n\nEnd",
    )


def test_backslashes_that_hide_no_mark_stay():
    path = TourQuote("paths.pdf", "C:\\_temp \\~ x", markdown=False)
    assert path.parts() == [path]
    tilde = TourQuote("paths.md", "5 \\~ 6 \\$")
    assert tilde.parts() == [replace(tilde, text="5 ~ 6 $", markdown=False)]
    stop = TourStop("answer", "Where?", "“C:\\_temp” [1]", (path,))
    assert stop.shown_text() == "“C:\\_temp” [1]"


def test_the_text_around_a_page_has_no_half_of_a_tag(base):
    turn = asked(base, LEAVE)
    first, tag, words = turn.citations[0], '<TabItem value="ui" label="In the UI">', "word " * 116
    text = f"{tag} {words}cited passage {words}{tag} and so on"
    for moved in range(len(tag)):  # each place of the tag is where the text around is cut
        start = text.index("cited") + moved
        cited = replace(first, start=start, end=start + 1, quote="")
        turn = replace(turn, citations=(cited,))
        (_, page) = answer_stops(turn, {first.document_id: read_text(text, "tabs.md")})
        (quote,) = page.quotes[0].parts()
        assert isinstance(quote, TourQuote)
        assert "value=" not in f"{quote.before}{quote.after}"
        assert "Item" not in f"{quote.before}{quote.after}"


def test_a_tour_of_disagreeing_sources_says_which_is_in_force(base):
    turn = asked(base, LEAVE, WORDS)
    cited = turn.citations[0]
    editions = (Edition(cited.n, cited.document, "2026", in_force=True),)
    assessment = Assessment("conflicting", "The sources disagree.", editions=editions)
    turn = replace(turn, details=replace(turn.details, assessment=assessment))
    document = base.documents.document(cited.document_id)
    answer = answer_stops(turn, {document.id: document})[0]
    assert answer.quotes[0].source == f"[{cited.n}] {document.name} (in force)"
