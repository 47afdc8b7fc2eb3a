"""Conversations: whose they are, their names, their branches, and how they leave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import EVERYBODY, LOCAL, InvalidInput, KnowledgeBase, NotFound, Visitor, Workspace
from rag.types import Answer, Trace
from tests.workspaces import QUICK, workspace_at

ANN, BOB = Visitor("ann", ("ann",)), Visitor("bob", ("bob", LOCAL.key))


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


def test_visitors_see_their_own_conversations_and_nobody_else_s(workspace: Workspace) -> None:
    ann, bob, local = (workspace.base("notes", who) for who in (ANN, BOB, LOCAL))
    hers, his, old = asked(ann, "one"), asked(bob, "two"), asked(local, "three")

    def listed(base: KnowledgeBase) -> list[int]:
        return [row.id for row in base.conversations.recent()]

    assert (listed(ann), listed(bob), listed(local)) == ([hers], [old, his], [old])
    assert listed(workspace.base("notes", EVERYBODY)) == [old, his, hers]
    assert said(bob, hers) == []
    assert bob.conversations.find(hers) is None
    assert bob.conversations.recent(containing="one") == []


def test_what_is_another_s_is_not_changed(workspace: Workspace) -> None:
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


def test_a_conversation_of_another_base_is_not_here(workspace: Workspace) -> None:
    other = workspace.create("others", QUICK)
    talk = asked(workspace.base("notes"), "one")
    assert other.conversations.find(talk) is None
    assert said(other, talk) == []


def test_names_and_words_find_a_conversation(workspace: Workspace) -> None:
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


def test_a_deleted_conversation_takes_its_turns_along(workspace: Workspace) -> None:
    base = workspace.base("notes")
    gone, stays = asked(base, "one", "two"), asked(base, "three")
    base.conversations.delete(gone)
    assert [row.id for row in base.conversations.recent()] == [stays]
    assert said(base, gone) == []


def test_another_version_of_a_turn_is_a_branch_and_both_stay(workspace: Workspace) -> None:
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


def test_settings_are_kept_and_none_are_known_before(workspace: Workspace) -> None:
    base = workspace.base("notes")
    talk = asked(base, "one")
    found = base.conversations.find(talk)
    assert found is not None
    assert found.settings is None
    settings = {"recipe": {"search.top_k": 7, "search.threshold": None}, "also": ["other"]}
    base.conversations.ask(talk, "two", QUICK, settings=settings)
    found = base.conversations.find(talk)
    assert found is not None
    assert found.settings == settings


def test_a_conversation_leaves_as_markdown_and_json(workspace: Workspace) -> None:
    base = workspace.base("notes")
    talk = asked(base, "one\n# two")
    base.conversations.rename(talk, "Named")
    [turn] = base.conversations.turns(talk)
    base.conversations.rate(turn.id, -1)
    written = base.conversations.export(talk)
    assert written.startswith("# Named\n\nAsked since 20")
    assert "\n\n## one # two\n\nAbout one\n# two\n\n" in written
    assert f"\n\n(quotes, complete, recipe {QUICK.hash})\n\nFeedback: thumb down\n" in written
    data = json.loads(base.conversations.export(talk, "json"))
    assert (data["id"], data["name"], data["settings"]) == (talk, "Named", {})
    [told] = data["turns"]
    assert told["question"] == "one\n# two"
    assert told["feedback"] == {"thumb": "down", "reason": "", "correction": ""}
