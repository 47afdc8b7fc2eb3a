"""The chat page: the state of an answer comes first, and doubt names what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from streamlit.testing.v1.element_tree import Markdown

from pages.components.chat.answer_text import state_heading
from rag import AnswerState, Assessment, Workspace
from rag.services.services import Models
from tests.handbook import LEAVE, ask, texts, visit
from tests.pages.conftest import fill
from tests.scripted_chat import ScriptedChat

UNKNOWN = "Until when may unused leave RX-77 be carried over?"


def test_an_answer_begins_with_its_state(base):
    app = ask(visit("chat.py"), LEAVE)
    shown = texts(app)
    assert shown.index("Answered") < shown.index("30 June")
    assert base.conversations.turns(1)[0].state == "answered"


@pytest.mark.parametrize(
    ("probability", "said", "unsure"),
    [(0.33, "50%", True), (0.64, "60%", True), (0.84, "70%", False), (1.0, "70%", False)],
)
def test_a_quote_that_answers_says_how_likely_it_is_right(base, probability, said, unsure):
    app = ask(visit("chat.py"), LEAVE)
    [turn] = base.conversations.turns(1)
    assert turn.details.assessment.title("quotes") in texts(app)

    def heading(mode: str, state: AnswerState) -> str:
        details = replace(turn.details, assessment=Assessment(state, "", probability))
        return state_heading(replace(turn, mode=mode, details=details))

    shown = heading("quotes", "answered")
    assert said in shown
    sure = heading("grounded", "answered")
    # The sign and the words of a coin flip are not those of an answer
    assert [part in shown for part in sure.split(" ")[1:]] == [not unsure] * 2
    # Of these it was not measured
    others = heading("grounded", "answered"), heading("quotes", "conflicting")
    assert ["%" in one for one in (*others, heading("quotes", "doubtful"))] == [False] * 3


def test_the_quote_that_answers_stands_apart_from_the_others(base):
    near = "Goggles are compulsory near lathes."
    job = fill(base, {"lathes.md": near, "paint.md": "Goggles are compulsory while sanding."})
    assert Workspace.from_env().jobs.run(job).status == "done"
    app = ask(visit("chat.py"), "Where are goggles compulsory?")
    [turn] = base.conversations.turns(1)
    first, *others = turn.answer.split("\n\n")
    assert others
    assert [one.n for one in turn.citations if one.answers] == [1]

    def words(markdown: Sequence[Markdown]) -> str:
        return " ".join(one.value for one in markdown).replace("\\", "")

    for page in (app, visit("chat.py", talk="1")):
        [more] = [one for one in page.expander if one.label == "More from the documents"]
        quoted = [one.partition("”")[0] for one in (first, *others)]
        assert [one in words(more.markdown) for one in quoted] == [False, *[True] * len(others)]
        assert quoted[0] in words(page.markdown)


def test_the_sentence_beside_the_quote_is_shown(base):
    app = ask(visit("chat.py"), LEAVE)
    for page in (app, visit("chat.py", talk="1")):
        [around] = [one.value for one in page.markdown if "lapses after that day" in one.value]
        assert "30 June" not in around


def test_no_quote_is_apart_in_an_answer_in_doubt(base):
    app = ask(visit("chat.py"), UNKNOWN)
    [turn] = base.conversations.turns(1)
    assert turn.citations
    assert not any(one.answers for one in turn.citations)
    assert "More from the documents" not in [one.label for one in app.expander]


def test_an_answer_from_other_documents_says_so(base):
    def outdated() -> list[bool]:
        shown = [one.value for one in visit("chat.py", talk="1").caption]
        marks = [one for one in shown if "documents changed" in one or "looked at" in one]
        return ["documents changed" in one for one in marks]

    ask(visit("chat.py"), LEAVE)
    before = base.version()
    index = base.recipe().with_fields({"index.chunk_size": 40}).index
    assert Workspace.from_env().jobs.run(base.documents.build(index)).status == "done"
    assert base.version() > before
    assert outdated() == [False]  # another index is not another document
    (document,) = [one for one in base.documents.documents(index) if one.name == "travel.md"]
    edit = base.documents.edit_passages("travel.md", "exclude", (0, document.characters))
    assert outdated() == [False, True]
    ask(visit("chat.py", talk="1"), LEAVE)
    assert outdated() == [False, True, False]
    base.documents.remove_edit(edit)
    assert outdated() == [False, False, True]  # the first answer is from these documents again


def test_below_doubt_the_quotes_are_the_nearest_passages(base):
    app = ask(visit("chat.py"), UNKNOWN)
    shown = texts(app)
    assert shown.index("Nearest passages") < shown.index("30 June")
    assert "has RX" in shown
    assert "Nearest passages" in texts(visit("chat.py", talk="1"))


def test_a_doubtful_answer_takes_a_thumb_and_waits_for_a_review(base):
    app = ask(visit("chat.py"), UNKNOWN)
    [turn] = base.conversations.turns(1)
    app.get("feedback")[0].set_value(0).run()
    assert not app.exception
    assert base.conversations.turns(1)[0].thumb == -1
    review = texts(visit("usage.py", review_kind="Doubtful"))
    assert turn.question.partition(" RX")[0] in review


def test_what_the_quotes_lack_is_named_in_every_state(base):
    ask(visit("chat.py"), LEAVE)
    [turn] = base.conversations.turns(1)

    def heading(state: AnswerState, reason: str, *missing: str) -> str:
        assessment = Assessment(state, reason, 0.9, missing)
        return state_heading(replace(turn, details=replace(turn.details, assessment=assessment)))

    assert heading("answered", "", "permit").endswith(":gray[Not in the quotes: “permit”.]")
    named = heading("doubtful", "No quoted passage has “a1”.", "a1", "b2")
    assert named.endswith(":gray[Also not in the quotes: “b2”.]")
    assert "in the quotes:" not in heading("doubtful", "No passage has a1.", "a1")
    more = heading("doubtful", "No quoted passage has “a1”.", "a1", "b2", "tool")
    assert more == named  # the rarest two


def test_a_doubtful_answer_of_quotes_does_not_say_that_a_model_reads_them(base, monkeypatch):
    monkeypatch.setattr(Models, "chat", lambda *_: ScriptedChat())
    monkeypatch.setattr(Models, "parameters", lambda *_: 1.7e9)
    app = ask(visit("chat.py", provider="compatible", model="m", reads="auto"), UNKNOWN)
    [turn] = base.conversations.turns(1)
    assert (turn.mode, [one.step for one in turn.details.decisions]) == ("quotes", ["evidence"])
    assert "no language model" in texts(app)
    assert "the model reads" not in texts(app)


def test_a_sentence_has_its_quotes_folded_and_gives_way_to_them_where_they_lack_it(
    base, monkeypatch
):
    chat = ScriptedChat("Until 30 June.", "Until 31 July, says Ms Brandl.")
    monkeypatch.setattr(Models, "chat", lambda *_: chat)
    worded = {"provider": "compatible", "reads": "quotes"}
    app = ask(visit("chat.py", **worded), LEAVE)
    assert "Until 30 June" in texts(app)
    assert [fold.label for fold in app.expander if "quote" in fold.label] == ["1 quote"]
    app = ask(app, LEAVE)
    [sentence, quotes] = base.conversations.turns(1)
    assert (sentence.mode, sentence.answer) == ("sentence", "Until 30 June [1].")
    assert (quotes.mode, quotes.details.written) == ("quotes", "Until 31 July, says Ms Brandl.")
    (fold,) = (fold for fold in app.expander if fold.label == "What the model wrote")
    assert "31 July" in fold.markdown[0].value
    assert "no language model" not in texts(app)
    shown = [each.value for each in app.markdown if "30 June" in each.value]
    assert shown
