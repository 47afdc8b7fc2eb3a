"""Steps that ask a model, seen from a knowledge base: what is remembered, kept, and measured."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import KnowledgeBase, Message, ProviderUnavailable, Settings, Trace, Workspace
from tests.servers import Reply, Script, openai_stream, scripted
from tests.workspaces import QUICK, add

FILES = {
    "leave.txt": "Unused leave may be carried over until June.",
    "pump.txt": "The pump makes a grinding noise.",
}
QUESTION = "How long is leave carried over?"
QUESTIONS = "\n".join(
    f'{{"id": "q{n}", "text": "{text}", "evidence": [{{"document": "leave.txt", "quote": '
    '"carried over until June"}]}'
    for n, text in enumerate([QUESTION, "Is leave lost?", "May leave be kept?", "Leave in June?"])
)


@pytest.fixture
def server() -> Iterator[Script]:
    with scripted(openai_stream("Leave is carried over until summer.")) as script:
        yield script


@pytest.fixture
def workspace(tmp_path: Path, server: Script) -> Iterator[Workspace]:
    variables = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{server.url}/v1"}
    made = Workspace(Settings.from_env(variables, home=tmp_path))
    yield made
    made.close()


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    made = workspace.create("notes", QUICK)
    add(workspace, made, FILES)
    return made


HYDE = QUICK.with_fields({"answer.provider": "openai", "search.hyde": True})
TALK = (Message("user", QUESTION), Message("assistant", "Until June."))


def note(trace: Trace, name: str) -> str:
    stage = trace.stage(name)
    return stage.note


def test_a_search_is_done_once_until_the_documents_change(workspace, base, server):
    first, again = base.search(QUESTION, HYDE), base.search(QUESTION, HYDE)
    assert len(server.requests) == 1
    assert again.hits == first.hits
    assert note(first, "question") == "embedding of the question and 1 more"
    assert "whole result from the cache" in note(again, "question")
    add(workspace, base, {"new.txt": "Leave is carried over until summer."})
    changed = base.search(QUESTION, HYDE)
    assert "new.txt" in [hit.document for hit in changed.hits]
    assert note(changed, "question") == "embedding of the question and 1 more, from the cache"
    vectors, results = workspace.caches()
    assert (results.hits, results.misses, results.entries) == (1, 2, 2)
    assert (vectors.hits, vectors.misses) == (2, 2)


def test_a_question_is_embedded_once_for_all_recipes(base):
    base.search(QUESTION, QUICK)
    other = base.search(QUESTION, QUICK.with_fields({"search.top_k": 1}))
    assert note(other, "question") == "embedding of the question, from the cache"


def test_another_conversation_is_another_search_where_the_recipe_looks_at_it(base, server):
    recipe = HYDE.with_fields({"search.hyde": False, "search.rewrite": True})
    first = base.search("And then?", recipe, history=TALK)
    assert (first.question, first.typed) == ("Leave is carried over until summer.", "And then?")
    base.search("And then?", recipe, history=TALK[:1])
    assert len(server.requests) == 2
    base.search("And then?", recipe, history=TALK)
    assert len(server.requests) == 2


def test_a_turn_keeps_the_complete_question_and_what_failed(base):
    recipe = HYDE.with_fields({"search.hyde": False, "search.rewrite": True})
    talk = base.conversations.open(None)
    for question, used in (
        ("And then?", recipe),
        ("And now?", QUICK.with_fields({"search.expansions": 2})),
    ):
        turn = base.conversations.ask(talk, question, used)
        history = TALK if used is recipe else ()
        stream = base.answer(base.search(question, used, history=history), QUICK)
        list(stream)
        base.conversations.conclude(turn, stream.answer)
    first, second = base.conversations.turns(talk)
    assert (first.question, first.rewritten) == ("And then?", "Leave is carried over until summer.")
    assert (second.rewritten, second.complete) == ("", "And now?")
    said = base.conversations.history(talk)
    assert [message.role for message in said] == ["user", "assistant", "user", "assistant"]
    assert said[0].content == "Leave is carried over until summer."


def test_a_recipe_whose_step_never_works_is_not_measured(base):
    base.questions.import_file("checks", "checks.jsonl", QUESTIONS)
    with pytest.raises(ProviderUnavailable, match="'expansions' of the recipe does not work"):
        base.runs.evaluate("checks", QUICK.with_fields({"search.expansions": 2}))
    assert base.runs.list_all() == []


def test_a_recipe_with_a_working_step_is_measured(base, server):
    base.questions.import_file("checks", "checks.jsonl", QUESTIONS)
    run = base.runs.evaluate("checks", HYDE).run
    assert run.metrics["recall@5"] == 1.0
    assert "fallbacks" not in run.environment
    assert len(server.requests) == 4


def test_bm25_of_several_wordings_is_a_share_or_what_saturation_levels_off(base):
    several = HYDE.with_fields(
        {"search.mode": "hybrid", "search.hyde": False, "search.expansions": 1}
    )

    def best(fusion: str) -> float:
        trace = base.search(QUESTION, several.with_fields({"search.fusion": fusion}))
        return max(hit.parts["expanded_bm25"] for hit in trace.candidates)

    assert best("weighted") == 1.0
    assert best("saturation") == pytest.approx(0.8930117050158806)


def test_now_and_then_a_failure_is_noted(base, server):
    base.questions.import_file("checks", "checks.jsonl", QUESTIONS)
    server.replies += [Reply(status=400, body='{"error": {"message": "too long"}}')]
    run = base.runs.evaluate("checks", HYDE).run
    noted = run.environment["fallbacks"]
    assert noted.startswith("hyde failed for 3 of 4 questions: ")
    assert "too long" in noted
