"""The chat page: what is asked is kept, what is answered cites, what fails can be retried."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

from pages.components.chat import follow_up
from pages.components.chat.answer_text import answer_text
from pages.components.chat.conversations import LATEST
from pages.components.shell import job_progress, session
from pages.components.shell.text import plain
from rag import InvalidInput, Jobs, KnowledgeBase, SentenceCheck, SessionOwner, Upload
from rag.retrieval.topic import TopicModel
from tests.handbook import FRAME, LEAVE, ask, marked, texts, visit
from tests.pages.conftest import AtWork
from tests.servers import Reply, scripted
from tests.workspaces import workspace_at


def test_the_tagged_question_is_suggested_and_asked_by_a_click(base):
    app = visit("chat.py")
    suggestions = app.get("pills")[0]
    assert len(suggestions.options) == 1
    suggestions.set_value(LEAVE).run()
    assert [turn.question for turn in base.conversations.turns(1)] == [LEAVE]


def test_a_question_that_the_newest_run_fails_is_not_suggested(base):
    documents = ("travel.md", "travel.md", "leave.md")
    quotes = ("A hotel may cost $120 a night.",) * 2 + ("It lapses after that day.",)
    texts_of = ("Who won in 1954?", "What may a hotel cost?", "When does leave lapse?")
    lines = [
        {"id": f"a{n}", "text": text, "evidence": [{"document": document, "quote": quote}]}
        for n, (text, document, quote) in enumerate(zip(texts_of, documents, quotes, strict=True))
    ]
    base.questions.delete_set("questions")
    base.questions.import_file("asked", "x.jsonl", "\n".join(map(json.dumps, lines)))
    assert visit("chat.py").get("pills")[0].options == [plain(text) for text in texts_of]
    words = base.recipe().with_fields({"search.mode": "lexical"})
    base.runs.evaluate("asked", words, (1, 2, 10))
    assert visit("chat.py").get("pills")[0].options == [plain(text) for text in texts_of[1:]]
    base.runs.evaluate("asked", words.with_fields({"search.threshold": 1.0}), (1, 2, 10))
    assert len(visit("chat.py").get("pills")[0].options) == 3  # it fails all


def test_a_question_without_a_sure_answer_is_not_suggested(base):
    questions = "Who won in 1954?", "What may a hotel cost?", "When does leave lapse?"
    base.questions.delete_set("questions")
    lines = [{"id": f"a{n}", "text": text} for n, text in enumerate(questions)]
    base.questions.import_file("asked", "x.jsonl", "\n".join(map(json.dumps, lines)))
    assert visit("chat.py").get("pills")[0].options == [plain(text) for text in questions]
    app = ask(ask(visit("chat.py"), questions[0]), questions[1])
    assert [turn.state for turn in base.conversations.turns(1)] == ["doubtful", "answered"]
    app.button(key="chat_new").click().run()
    assert base.conversations.unsure() == [questions[0]]
    assert app.get("pills")[0].options == [plain(text) for text in questions[1:]]


def test_a_suggestion_that_is_sent_again_is_not_asked_again(base):
    """A slow browser sends the value of the widget once more, with the click after the answer."""
    app = visit("chat.py")
    chosen = app.get("pills")[0].set_value(LEAVE)
    sent_again = chosen._widget_state
    chosen.run()
    states = app._tree.get_widget_states()
    states.widgets.append(sent_again)
    app._run(states)
    assert not app.exception
    assert [turn.question for turn in base.conversations.turns(1)] == [LEAVE]


def test_an_answer_is_shown_with_its_citation_and_stored(base):
    app = ask(visit("chat.py"), LEAVE)
    assert "until 30 June" in texts(app)
    [turn] = base.conversations.turns(1)
    assert (turn.status, turn.citations[0].document) == ("complete", "leave.md")
    assert app.get("pills")[0].options == [r"**1** leave\.md :primary[▰▰▰]:gray[▱▱]"]


def test_the_address_brings_the_conversation_back(base):
    ask(visit("chat.py"), LEAVE)
    again = visit("chat.py", talk="1")
    assert "until 30 June" in texts(again)
    assert "looked at 5 passages, 1 quoted" in texts(again)
    again.button(key="chat_new").click().run()
    assert "30 June" not in texts(again)


def test_a_visitor_who_comes_back_finds_the_conversation(base):
    app = ask(visit("chat.py"), LEAVE)
    app.query_params.clear()
    app.switch_page("settings.py").run()
    app.switch_page("chat.py").run()
    assert "until 30 June" in texts(app)
    assert app.query_params["talk"] == "1"


def test_earlier_conversations_are_listed_and_open_again(base):
    app = ask(visit("chat.py"), LEAVE)
    app.button(key="chat_new").click().run()
    ask(app, "What may a hotel cost?")
    assert [turn.question for turn in base.conversations.turns(2)] == ["What may a hotel cost?"]
    app.session_state["chat_earlier_1"] = True
    assert app.run().button(key="chat_talk_1").label.endswith(":gray[· just now]")
    app.button(key="chat_talk_1").click().run()
    assert app.query_params["talk"] == "1"
    assert "until 30 June" in texts(app)


@pytest.mark.parametrize("talk", ["7", "99999999999999999999", "x"])
def test_a_link_to_a_conversation_of_others_or_that_is_gone_says_so(home, base, talk):
    """The same words for both: nobody learns which conversations there are."""
    workspace = workspace_at(home)
    other = workspace.base("handbook", SessionOwner("another", ("another",)))
    assert [other.conversations.open(None) for _ in range(7)][-1] == 7
    workspace.close()
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    app.query_params["talk"] = talk
    app.run()
    assert not app.exception
    assert "talk" not in app.query_params


def test_an_answer_that_broke_off_does_not_look_verified_and_can_be_asked_again(base):
    talk = base.conversations.open(None)
    recipe = base.recipe()
    turn = base.conversations.ask(talk, LEAVE, recipe)
    stream = base.answer(base.search(LEAVE, recipe), recipe)
    stream.close()
    base.conversations.conclude(turn, stream.answer)
    app = visit("chat.py", talk=str(talk))
    assert "Stopped" in texts(app)
    app.button(key=f"chat_retry_{turn}").click().run()
    assert [turn.status for turn in base.conversations.turns(talk)] == ["interrupted", "complete"]


def test_a_bracket_that_names_no_passage_is_no_citation():
    shown = answer_text("So it is [1], see [9] and [9, 1].", {1: "?source=7.1"}.get)
    assert shown.replace("\\", "") == (
        "So it is [[1]](?source=7.1), see [9] and [[9, 1]](?source=7.1)."
    )


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("**Eight days** [2].", "**Eight days** [[2]](?s=2)."),
        (
            "## Leave\nIt is *long*:\n- one [1]\n- `two`",
            "**Leave**\n\nIt is *long*:\n\n- one [[1]](?s=1)\n- `two`",
        ),
        ("| a | b |\n|---|---|\n| 1 | [1] |", "| a | b |\n|---|---|\n| 1 | [[1]](?s=1) |"),
        ("```\nx[1] = **2**\n```\nDone [3].", "```\nx[1] = **2**\n```\n\nDone [3]."),
        ("2*3*4 <b>x</b> [away](http://a.example)", "2*3*4 <b>x</b> away"),
        ("One\ntwo\n\nthree", "One  \ntwo\n\nthree"),
    ],
)
def test_the_markdown_of_a_model_is_set_and_all_else_is_shown(said, shown):
    link = {1: "?s=1", 2: "?s=2"}
    assert answer_text(said, lambda number: link.get(number, "")).replace("\\", "") == shown


_PIXEL = "![x](https://elsewhere.example/p.png)"


@pytest.mark.parametrize(
    "opening",
    [
        "```a`b",  # no fence: there is a backtick behind it
        "    ```",  # no fence: so far from the edge it is code itself
        "- one\n  ```",  # ends with its item
        "1. one\n   ~~~\n   two",
        "```\n`` `",
        "`a\r\r",  # no code: a paragraph ends in it
        "`a\r- ",
    ],
)
def test_what_only_looks_like_code_loads_nothing(opening):
    for said in (f"{opening}\n{_PIXEL}", f"{opening}{_PIXEL}`", f"{opening}\n{_PIXEL}\n```\nEnd."):
        assert "<img" not in MarkdownIt().enable("table").render(answer_text(said)), said


def test_code_is_shown_as_it_is_and_a_doubt_stands_behind_it():
    said = "So:\n  ```python\n  if x:\n      y = 15\n  ```\nThen stop."
    doubt = SentenceCheck(0, said.index("\nThen"), "unsupported", ())
    assert answer_text(said, checks=[doubt]) == (
        "So\\:\n\n```python\nif x:\n    y = 15\n```\n\n"
        ":orange-badge[:material/warning: not supported]  \nThen stop\\."
    )


def test_brackets_within_a_quoted_sentence_are_the_document_s():
    text = "“As shown in [1], it works.” [1]\n\n“So says [2].” [2]"
    shown = answer_text(text, lambda number: f"?s={number}", quoted=True).replace("\\", "")
    assert shown == "“As shown in [1], it works.” [[1]](?s=1)\n\n“So says [2].” [[2]](?s=2)"


def test_chat_and_inspector_name_the_same_heading(base):
    words = "Forklifts are charged in the north hall and never left there over night."
    text = f"# Doors\n\nClose them.\n\n# Forklifts\n\n{words}"
    upload = Upload("hall.md", io.BytesIO(text.encode()))
    jobs = session.opened().jobs
    across = base.recipe().with_fields({"index.chunker": "recursive"})
    jobs.run(base.documents.build(across.index))
    base.recipes.save(across)
    jobs.run(base.documents.add_files([upload]))
    question = "Where are forklifts charged, and are they left there over night?"
    app = ask(visit("chat.py"), question)
    app.get("pills")[0].set_value(1).run()
    [cited] = base.conversations.turns(1)[0].citations[:1]
    assert cited.text.startswith("# Doors")
    assert "Forklifts · passage 1 of 1" in texts(app)
    inspected = visit("inspector.py", q=question, passage=cited.chunk_id)
    assert "Forklifts · passage 1 of 1" in texts(inspected)
    assert ":small[:gray[Forklifts]]" in texts(inspected)


def test_a_citation_opens_in_its_document_beside_the_answer(base):
    app = ask(visit("chat.py"), LEAVE)
    app.get("pills")[0].set_value(1).run()
    assert app.query_params["source"] == "1.1"
    assert "passage 1 of 2" in texts(app)
    assert marked(app, "quote").startswith("Unused leave")
    app.button(key="source_Next passage").click().run()
    assert "passage 2 of 2" in texts(app)
    assert app.query_params["walk"] == "1"
    app.button(key="chat_source_close").click().run()
    assert not {"source", "walk"} & set(app.query_params)
    assert "passage 2 of 2" not in texts(app)


def test_where_nothing_is_relevant_the_nearest_are_named_and_can_be_let_in(base):
    app = ask(visit("chat.py", threshold="0.9"), LEAVE)
    [turn] = base.conversations.turns(1)
    assert turn.status == "refused"
    assert "30 June" in texts(app)
    app.button(key="chat_lower_1").click().run()
    assert app.slider(key="threshold").value < 0.2
    assert [turn.status for turn in base.conversations.turns(1)] == ["refused", "complete"]


def test_searching_all_the_same_is_for_this_question_only(base, monkeypatch):
    model = TopicModel({"joint_share": 10.0}, -5.0, limit=0.3, source="a test")
    monkeypatch.setattr("rag.search.corpus.shipped", lambda _name: model)
    base.recipes.save(
        base.recipe().with_fields({"search.threshold": None, "search.refuse": "auto"})
    )
    app = ask(visit("chat.py"), "Who wrote the Iliad?")
    assert "off-topic" not in texts(app)
    assert "Trains are booked" in texts(app)
    app.session_state["chat_cause_1"] = True  # a click on Why?
    (why,) = [each for each in app.run().expander if each.label == "Why?"]
    assert "probability" in texts(why)
    assert texts(app).count("probability") == 1  # nowhere else
    app.button(key="chat_insist_1").click().run()
    assert not app.exception
    ask(app, "Who wrote the Odyssey?")
    turns = base.conversations.turns(1)
    assert [turn.recipe.search.refuse for turn in turns] == ["auto", "off", "auto"]
    assert [turn.status for turn in turns] == ["refused", "complete", "refused"]
    app.button(key="chat_inspect_2").click().run()
    assert any((each.key or "").startswith("inspector_card_") for each in app.button)
    held = app.session_state["recipe_working"][base.id]
    assert (held.working, held.saved) == (base.recipe(), base.recipe())
    app.query_params["q"] = "Who wrote the Odyssey?"
    app.switch_page("inspector.py").run()
    assert app.text_input(key="q").value == "Who wrote the Odyssey?"


def test_a_failing_provider_leaves_the_question_and_a_way_to_retry(base, monkeypatch):
    with scripted(Reply(status=401, body='{"error": {"message": "wrong key"}}')) as server:
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("TOUCHSTONE_OPENAI_COMPATIBLE_MODEL", "tiny")
        app = ask(visit("chat.py", provider="compatible"), LEAVE)
        [turn] = base.conversations.turns(1)
        assert (turn.question, turn.status, turn.answer) == (LEAVE, "failed", "")
        assert len(app.error) == 1
        assert "Traceback" not in texts(app)
        app.button(key="chat_retry_1").click().run()
        assert [turn.status for turn in base.conversations.turns(1)] == ["failed", "failed"]


def test_a_thumb_is_stored(base):
    app = ask(visit("chat.py"), LEAVE)
    app.get("feedback")[0].set_value(1).run()
    assert base.conversations.turns(1)[0].thumb == 1
    app.get("feedback")[0].set_value(0).run()
    assert base.conversations.turns(1)[0].thumb == -1


def test_a_source_that_is_gone_says_so_and_shows_what_was_cited(base):
    ask(visit("chat.py"), LEAVE)
    citation = base.conversations.turns(1)[0].citations[0]
    base.documents.delete_documents([citation.document_id])
    again = visit("chat.py", talk="1", source="1.1")
    assert ":material/delete:" in again.get("pills")[0].options[0]
    assert "until 30 June" in texts(again)
    assert not again.error


def test_inspecting_an_answer_opens_its_question_and_passage(base):
    app = ask(visit("chat.py"), LEAVE)
    app.button(key="chat_inspect_1").click().run()
    assert app.title[0].value == "Inspector"
    assert app.text_input(key="q").value == LEAVE
    assert app.query_params["passage"] == base.conversations.turns(1)[0].citations[0].chunk_id


def test_text_of_documents_is_shown_as_it_is(base):
    app = ask(visit("chat.py"), "When does the rotor stop, and must I wear goggles always?")
    said = "\n".join(each.value for each in app.markdown)
    assert r"“Wear goggles \<b\>always\<\/b\>\.” [\[1\]](?kb=handbook&talk=1&source=1.1)" in said
    assert not any(each.allow_html for each in app.markdown)


def test_the_last_questions_are_drawn_and_the_others_on_request(base):
    app = visit("chat.py")
    conversation = base.conversations.open(None)
    for number in range(LATEST + 2):
        base.conversations.ask(conversation, f"Question {number}", base.recipe())
    app.query_params["talk"] = str(conversation)

    def asked() -> list[str]:
        return [said.value for said in app.markdown if said.value.startswith("Question")]

    app.run()
    assert asked() == [f"Question {number}" for number in range(2, LATEST + 2)]
    oldest = base.conversations.turns(conversation)[0].id
    button = app.button(key=f"chat_older_{oldest}_button")
    assert button.label == "Show 2 earlier questions"
    button.click().run()
    assert asked() == [f"Question {number}" for number in range(LATEST + 2)]


def test_an_open_source_of_an_earlier_answer_is_drawn(base):
    app = ask(visit("chat.py"), LEAVE).run()
    [first] = base.conversations.turns(1)
    for number in range(LATEST):
        base.conversations.ask(1, f"Question {number}", base.recipe())
    assert plain(LEAVE) in texts(app.run())  # what a visitor has before them stays
    app = visit("chat.py", talk="1")
    assert plain(LEAVE) not in texts(app)
    app.query_params["source"] = f"{first.id}.1"
    assert r"**leave\.md**" in texts(app.run())


def test_the_oldest_answer_in_sight_is_inspected_after_one_more_question(base):
    app = ask(visit("chat.py"), LEAVE)
    [first] = base.conversations.turns(1)
    for number in range(LATEST - 1):
        base.conversations.ask(1, f"Question {number}", base.recipe())
    app = ask(app.run(), "What may a hotel cost?")
    app.button(key=f"chat_inspect_{first.id}").click().run()
    assert app.title[0].value == "Inspector"


@pytest.fixture
def polls(
    base: KnowledgeBase, at_work: AtWork, monkeypatch: pytest.MonkeyPatch
) -> list[float | None]:
    """Seconds between two polls of each fragment that is drawn while documents are read."""
    monkeypatch.setattr(Jobs, "start", lambda _jobs: None)
    at_work(base.documents.add_files([Upload("new.md", io.BytesIO(b"# New\n\nNew words."))]))
    polls, fragment = list[float | None](), st.fragment

    def recorded(*draw: Callable[..., None], **options: Any) -> Any:
        if draw:  # not as a decorator, whose options don't depend on the run
            polls.append(options["run_every"])
        return fragment(*draw, **options)

    monkeypatch.setattr(job_progress.st, "fragment", recorded)
    return polls


def test_nothing_is_polled_in_the_run_that_answers_a_question_while_documents_are_read(base, polls):
    """The browser would take the end of a poll for that of the run, and keep its input locked."""
    app = visit("chat.py")
    polls.clear()
    ask(app, LEAVE)
    assert polls == [None, None, 1.0, 1.0]  # the sidebar and the page: as it answers, and after it
    assert [turn.question for turn in base.conversations.turns(1)] == [LEAVE]


def test_jobs_are_polled_again_after_a_question_that_ended_in_an_error(polls, monkeypatch):
    app = visit("chat.py")
    polls.clear()

    def refused(*_: Any, **__: Any) -> None:
        raise InvalidInput("The model is gone.", "Choose another one.")

    monkeypatch.setattr(follow_up, "history", refused)
    app.chat_input[0].set_value(LEAVE).run()
    assert polls == [None, None, 1.0, 1.0]
    assert len(app.error) == 1


def test_a_follow_up_says_how_it_was_read_and_one_without_a_question_before_that_it_is_one(base):
    app = ask(ask(visit("chat.py"), "What may a hotel cost?"), "And a train?")
    assert base.conversations.turns(1)[-1].rewritten == "What may a train cost?"
    assert any("What may a train cost" in one.value for one in app.caption)
    alone = ask(visit("chat.py"), "How much is it?")
    assert base.conversations.turns(2)[-1].rewritten == ""
    assert any("alt_route" in one.value for one in alone.caption)
