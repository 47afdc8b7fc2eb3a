"""Conversations: whose they are, their names, branches and continuations, and how they leave."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from rag import (
    EVERYBODY,
    FROM_USERS,
    LOCAL,
    Answer,
    AnswerRecipe,
    FeedbackFigures,
    InvalidInput,
    KnowledgeBase,
    Message,
    NotFound,
    SentenceCheck,
    SessionOwner,
    Settings,
    Trace,
    Workspace,
    answering,
    providers,
)
from rag.errors import ContextOverflow
from tests.answers import Turns, hits, trace
from tests.workspaces import QUICK, add, workspace_at

ANN, BOB = SessionOwner("ann", ("ann",)), SessionOwner("bob", ("bob", LOCAL.key))


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = workspace_at(tmp_path)
    made.create("notes", QUICK)
    yield made
    made.close()


def asked(base: KnowledgeBase, *questions: str, talk: int | None = None) -> int:
    """A conversation with these questions, each answered by its own words."""
    talk = base.conversations.open(talk)
    for question in questions:
        turn = base.conversations.ask(talk, question, QUICK)
        base.conversations.conclude(turn, answer(question))
    return talk


def answer(text: str) -> Answer:
    return Answer(
        f"About {text}", (), Trace(text, QUICK.hash, 3, None, (), (), 0.5), "quotes", "complete"
    )


def said(base: KnowledgeBase, talk: int) -> list[str]:
    return [turn.question for turn in base.conversations.turns(talk)]


def test_visitors_see_their_own_conversations_and_nobody_else_s(workspace):
    ann, bob, local = (workspace.base("notes", who) for who in (ANN, BOB, LOCAL))
    hers, his, old = asked(ann, "one"), asked(bob, "two"), asked(local, "three")

    def listed(base: KnowledgeBase) -> list[int]:
        return [row.id for row in base.conversations.recent()]

    assert (listed(ann), listed(bob), listed(local)) == ([hers], [old, his], [old])
    assert listed(workspace.base("notes", EVERYBODY)) == [old, his, hers]
    assert said(bob, hers) == []
    assert bob.conversations.find(hers) is None
    assert bob.conversations.recent(containing="one") == []


def test_what_is_another_s_is_not_changed(workspace):
    ann, bob = workspace.base("notes", ANN), workspace.base("notes", BOB)
    hers = asked(ann, "one")
    [turn] = ann.conversations.turns(hers)
    bob.conversations.rate(turn.id, -1)
    bob.conversations.conclude(turn.id, answer("other"))
    for forbidden in (
        lambda: bob.conversations.rename(hers, "mine"),
        lambda: bob.conversations.delete(hers),
        lambda: bob.conversations.export(hers),
        lambda: bob.conversations.keep(hers, {}),
        lambda: bob.conversations.show(hers, turn.id),
        lambda: bob.conversations.ask(hers, "two", QUICK),
    ):
        with pytest.raises(NotFound):
            forbidden()
    assert bob.conversations.open(hers) != hers
    assert ann.conversations.turns(hers) == [turn]


def test_a_conversation_of_another_base_is_not_here(workspace):
    other = workspace.create("others", QUICK)
    talk = asked(workspace.base("notes"), "one")
    assert other.conversations.find(talk) is None
    assert said(other, talk) == []


def test_names_and_words_find_a_conversation(workspace):
    base = workspace.base("notes")
    first, second = asked(base, "pumps 100%"), asked(base, "leave", "hotels")
    assert base.conversations.rename(second, "  Travel \n rules ") == "Travel rules"

    def found(words: str) -> list[tuple[int, str]]:
        return [(row.id, row.title) for row in base.conversations.recent(containing=words)]

    assert found("travel") == found("HOTELS") == found("about leave") == [(second, "Travel rules")]
    assert found("100%") == [(first, "pumps 100%")]
    assert found("0_%") == []
    assert base.conversations.named("Travel rules").id == second
    assert base.conversations.named(str(first)).id == first
    base.conversations.rename(first, "Travel rules")
    with pytest.raises(InvalidInput, match="2 conversations are called"):
        base.conversations.named("Travel rules")
    with pytest.raises(NotFound):
        base.conversations.named("nothing")
    with pytest.raises(InvalidInput):
        base.conversations.rename(first, "x" * 81)


def test_another_version_of_a_turn_is_a_branch_and_both_stay(workspace):
    base = workspace.base("notes")
    talk = asked(base, "one", "two", "three")
    first, second, third = (turn.id for turn in base.conversations.turns(talk))
    version = base.conversations.ask(talk, "two, again", QUICK, instead_of=second)
    assert said(base, talk) == ["one", "two, again"]
    assert [turn.versions for turn in base.conversations.turns(talk)] == [
        (first,),
        (second, version),
    ]
    asked(base, "four", talk=talk)
    assert said(base, talk) == ["one", "two, again", "four"]
    base.conversations.show(talk, second)
    assert said(base, talk) == ["one", "two", "three"]
    asked(base, "five", talk=talk)
    assert said(base, talk) == ["one", "two", "three", "five"]
    assert base.conversations.turns(talk)[-1].parent == third
    base.conversations.show(talk, version)
    assert said(base, talk) == ["one", "two, again", "four"]
    told = [message.content for message in base.conversations.history(talk, first)]
    assert told == ["one", "About one"]


def test_a_conversation_leaves_as_markdown_and_json(workspace):
    base = workspace.base("notes")
    talk = asked(base, "one\n# two")
    base.conversations.rename(talk, "Named")
    [turn] = base.conversations.turns(talk)
    base.conversations.rate(turn.id, -1)
    written = base.conversations.export(talk)
    assert written.startswith("# Named\n\nStarted on 20")
    assert "\n\n## one # two\n\nAbout one\n# two\n\n" in written
    assert f"\n\n(quotes, complete, recipe {QUICK.hash})\n\nFeedback: thumb down\n" in written
    data = json.loads(base.conversations.export(talk, "json"))
    assert datetime.fromisoformat(data["created"]).tzinfo is not None
    assert (data["id"], data["name"], data["settings"]) == (talk, "Named", {})
    [told] = data["turns"]
    assert told["question"] == "one\n# two"
    assert told["feedback"] == {"thumb": "down", "reason": "", "correction": ""}


def test_words_are_found_whatever_their_case_in_any_script(workspace):
    base = workspace.base("notes")
    talk = asked(base, "Übertrag: wie lange?")
    assert [row.id for row in base.conversations.recent(containing="übertrag")] == [talk]
    assert [row.id for row in base.conversations.recent(containing="WIE")] == [talk]


def test_no_name_is_the_name_of_none_and_no_words_are_no_question(workspace):
    base = workspace.base("notes")
    talk = asked(base, "one")
    with pytest.raises(NotFound):
        base.conversations.named(" ")
    with pytest.raises(InvalidInput, match="The question is empty"):
        base.conversations.ask(talk, " \n", QUICK)
    assert said(base, talk) == ["one"]


@pytest.mark.parametrize(
    "hostile",
    [
        "![x](https://elsewhere.example/p.png)",
        "![x][1]\n\n[1]: https://elsewhere.example/p.png",
        '<img src="https://elsewhere.example/p.png">',
        '\\<img src="https://elsewhere.example/p.png">',
        '``a` <IMG src="https://elsewhere.example/p.png">`',
        "`a\nb`<img src=x>`",
        "`a\r\r![x](https://elsewhere.example/p.png)`",
        "- one\n  ```\n![x](https://elsewhere.example/p.png)",
        "```a`b\n<script>alert(1)</script>",
    ],
)
def test_an_exported_conversation_loads_nothing_where_it_is_opened(workspace, hostile):
    base = workspace.base("notes")
    talk = asked(base, hostile, "plain")
    [turn, _] = base.conversations.turns(talk)
    base.conversations.rename(talk, hostile.replace("\r", " ")[:80])
    base.conversations.rate(turn.id, -1)
    base.conversations.explain_thumb(turn.id, "wrong", hostile)
    shown = MarkdownIt().render(base.conversations.export(talk))
    assert not re.search("<(img|script)", shown, re.IGNORECASE), shown
    assert "<h2>plain</h2>" in shown


def test_code_of_an_answer_is_exported_as_it_is(workspace):
    base = workspace.base("notes")
    talk = base.conversations.open(None)
    turn = base.conversations.ask(talk, "one", QUICK)
    code = "```cpp\nList<int> x;\n```\nSet `a<b>` if 2 < 3, and so on."
    base.conversations.conclude(turn, replace(answer("one"), text=code))
    assert f"\n\n{code}\n\n" in base.conversations.export(talk)


@pytest.mark.parametrize("verdict", ["unsupported", "uncited"])
def test_turns_that_failed_somebody_wait_until_they_are_settled(workspace, verdict):
    base, other = workspace.base("notes"), workspace.base("notes", ANN)
    talk = asked(base, "one", "two", "three")
    asked(other, "hers")
    one, two, three = base.conversations.turns(talk)
    base.conversations.conclude(two.id, replace(answer("two"), status="refused"))
    base.conversations.rate(three.id, -1)
    base.conversations.rate(one.id, 1)
    doubted = SentenceCheck(0, 5, verdict)
    base.conversations.conclude(one.id, replace(answer("one"), sentences=(doubted,)))
    (hers,) = other.conversations.turns(talk + 1)
    other.conversations.rate(hers.id, -1)
    base.conversations.explain_thumb(three.id, "wrong source", " It is June. ")
    base.conversations.count_opened(one.id)
    base.conversations.count_opened(one.id)
    waiting = [(each.turn.id, each.own) for each in base.conversations.waiting_reviews()]
    assert waiting == [(hers.id, False), (three.id, True), (two.id, True), (one.id, True)]
    assert base.conversations.review_figures() == FeedbackFigures(
        turns=4, up=1, down=2, refused=1, unsupported=1, followed=0, opened=1, waiting=4
    )
    assert base.conversations.turns(talk)[0].clicks == 2
    base.conversations.dismiss_review(two.id)
    base.conversations.mark_labelled(three.id)
    base.conversations.dismiss_review(hers.id)
    assert [each.turn.id for each in base.conversations.waiting_reviews()] == [one.id]
    first, *exported = base.conversations.export_feedback()
    assert (first["id"], first["review"], first["question"]) == (hers.id, "dismissed", "hers")
    assert [(row["id"], row["review"], row["feedback"]) for row in exported] == [
        (
            three.id,
            "labelled",
            {"thumb": "down", "reason": "wrong source", "correction": "It is June."},
        ),
        (two.id, "dismissed", {"thumb": None, "reason": "", "correction": ""}),
        (one.id, "", {"thumb": "up", "reason": "", "correction": ""}),
    ]
    assert len(workspace.base("notes", EVERYBODY).conversations.export_feedback()) == 4
    with pytest.raises(InvalidInput, match="is not one of the reasons"):
        base.conversations.explain_thumb(one.id, "ugly")


def test_only_a_question_that_leans_on_a_turn_follows_it_up(workspace):
    base = workspace.base("notes")
    talk = asked(base, "one", "two", "three")
    assert base.conversations.review_figures().followed == 0
    *_, three = base.conversations.turns(talk)
    complete = answer("three")
    complete = replace(complete, trace=replace(complete.trace, typed="and that?"))
    base.conversations.conclude(three.id, complete)
    assert base.conversations.review_figures().followed == 1


def test_of_what_others_asked_a_review_shows_what_was_given_a_thumb(workspace):
    base, other = workspace.base("notes"), workspace.base("notes", ANN)
    (first, second) = other.conversations.turns(asked(other, "first", "second"))
    for turn in (first, second):
        other.conversations.conclude(turn.id, replace(answer(turn.question), status="refused"))
    assert base.conversations.waiting_reviews() == base.conversations.export_feedback() == []
    assert base.conversations.review_figures() == FeedbackFigures(
        turns=2, up=0, down=0, refused=2, unsupported=0, followed=0, opened=0, waiting=0, unseen=2
    )
    other.conversations.rate(second.id, -1)
    other.conversations.explain_thumb(second.id, "should have refused")
    (waiting,) = base.conversations.waiting_reviews()
    assert (waiting.turn.question, waiting.own) == ("second", False)
    assert waiting.turn.reason == "should have refused"
    figures = base.conversations.review_figures()
    assert (figures.down, figures.waiting, figures.unseen) == (1, 1, 1)
    assert [each.own for each in other.conversations.waiting_reviews()] == [True, True]
    other.conversations.rate(second.id, 0)
    assert base.conversations.waiting_reviews() == []


def test_questions_of_users_know_that_and_can_be_left_out(workspace):
    base = workspace.base("notes")
    text = "Unused leave may be carried over until 30 June. Hotels cost 140 euros."
    assert add(workspace, base, {"leave.md": text}) == ["added"]
    [document] = base.documents.documents(QUICK.index)
    for question, origin in (("When is leave lost?", ""), ("What is a hotel?", FROM_USERS)):
        base.questions.collect("mixed", question, origin=origin)
        base.questions.grade("mixed", question, document.id, 0, 47, 2, origin or "hand")
    by_text = {item.text: item for item in base.questions.labelled("mixed")}
    [label] = by_text["What is a hotel?"].labels
    assert (by_text["What is a hotel?"].origin, label.origin) == ("users", "users")
    assert base.questions.list_all()[0].from_users == 1
    whole = base.runs.evaluate("mixed", QUICK, (1, 3))
    some = base.runs.evaluate("mixed", QUICK, (1, 3), without_users=True)
    assert (whole.run.questions, some.run.questions) == (2, 1)
    assert [row.text for row in some.results] == ["When is leave lost?"]
    assert some.run.environment["questions of users"] == "left out"
    assert "questions of users" not in whole.run.environment


LEAVE = "Up to eight days of unused leave may be carried over."
LONG = [LEAVE, *(" ".join(["word"] * 200) for _ in range(4))]


def go_on(model: Turns) -> Answer:
    return answering.answer(
        trace(hits(*LONG)),
        AnswerRecipe(mode="strict"),
        embedder=providers.embedder("fake", Settings.from_env({})),
        chat=answering.Continuing(model, "Eight"),
    ).answer


def test_its_prompt_is_shortened_once_and_what_it_had_said_stays():
    model = Turns(ContextOverflow("4096 tokens", share=0.5), " days [1].")
    answer = go_on(model)
    assert (answer.status, answer.text) == ("complete", "Eight days [1].")
    assert [each.step for each in answer.decisions] == ["context"]
    first, second = model.asked
    assert len(second[1].content) < len(first[1].content)
    assert second[2] == first[2] == Message("assistant", "Eight")
    assert second[3] == first[3]


def test_what_it_thinks_before_it_goes_on_is_not_said():
    answer = go_on(Turns("<think>Eight what? [1]</think> days [1]."))
    assert (answer.status, answer.text) == ("complete", "Eight days [1].")
