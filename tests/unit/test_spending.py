"""What costs money is asked by who may spend, and else as the saved recipe asks it."""

from pathlib import Path
from typing import Any

import pytest

from rag import (
    AnswerRecipe,
    IndexRecipe,
    InvalidRecipe,
    NotAllowed,
    Principal,
    Recipe,
    ScopedWorkspace,
    SearchRecipe,
    Settings,
    Workspace,
    stage_rows,
)
from rag.access.tokens import InFlight, Rates
from rag.workspace.spending import beyond
from tests.people import signed_in
from tests.workspaces import QUICK, stocked

KEYS = {"TOUCHSTONE_RERANK_API_KEY": "k", "TOUCHSTONE_VLLM_API_KEY": "k"}
PAID = {"answer.provider": "openai"}
AUTO = {"answer.provider": "ollama", "answer.mode": "auto"}


@pytest.mark.parametrize(
    ("fields", "saved", "field"),
    [
        # Who may not be asked where the saved recipe asks nobody.
        ({**PAID, "search.rewrite": True}, {}, "search.rewrite"),
        ({**PAID, "search.expansions": 1}, {}, "search.expansions"),
        ({**PAID, "search.hyde": True}, {}, "search.hyde"),
        ({**PAID, "search.rerank": "chat"}, {}, "search.rerank"),
        ({"search.rerank": "service"}, {}, "search.rerank"),
        ({"search.rerank": "onnx:/etc"}, {}, "search.rerank"),
        ({"search.rerank": "cross-encoder:/etc"}, {}, "search.rerank"),
        ({"search.tools": ["wiki"]}, {}, "search.tools"),
        ({"index.embedder": "openai"}, {}, "index.embedder"),
        ({"index.embedder": "bedrock:titan"}, {}, "index.embedder"),
        ({"answer.provider": "vertex", "search.hyde": True}, {}, "search.hyde"),
        ({"answer.provider": "vllm", "search.hyde": True}, {}, "search.hyde"),  # by its key
        # Who costs nothing, and who is not asked.
        ({"answer.provider": "ollama", "search.hyde": True, "search.rerank": "chat"}, {}, ""),
        ({"answer.provider": "llamacpp", "search.expansions": 8}, {}, ""),
        (PAID, {}, ""),
        ({"search.hyde": True, "search.rerank": "chat"}, {}, ""),
        ({"index.embedder": "wordllama", "search.top_k": 50}, {}, ""),
        # What the saved recipe asks: no other model, and no more of it.
        ({}, {**PAID, "search.hyde": True, "search.expansions": 3, "search.tools": ["wiki"]}, ""),
        ({"search.top_k": 9}, {**PAID, "search.rerank": "chat"}, ""),
        ({"answer.model": "large"}, {**PAID, "search.hyde": True}, "search.hyde"),
        ({"search.expansions": 2}, {**PAID, "search.expansions": 3}, ""),
        ({"search.expansions": 4}, {**PAID, "search.expansions": 3}, "search.expansions"),
        ({"search.rerank": "service:large"}, {"search.rerank": "service"}, "search.rerank"),
        ({"search.rerank_depth": 21}, {"search.rerank": "service"}, "search.rerank"),
        ({"search.rerank_batch": 1}, {"search.rerank": "service"}, "search.rerank"),
        ({"search.rerank_depth": 10}, {"search.rerank": "service"}, ""),
        ({"search.tools": ["wiki", "b"]}, {"search.tools": ["wiki"]}, "search.tools"),
        ({"index.embedder": "openai:large"}, {"index.embedder": "openai"}, "index.embedder"),
    ],
)
def test_a_search_costs_no_more_than_the_saved_recipe(fields, saved, field, tmp_path):
    recipe, settings = QUICK.with_fields(saved), Settings.from_env(KEYS, home=tmp_path)
    asked = recipe.with_fields(fields)
    assert beyond(asked, lambda: recipe, settings, answers=False) == field


@pytest.mark.parametrize(
    ("fields", "saved", "field"),
    [
        (PAID, {}, "answer.provider"),
        ({}, PAID, ""),
        ({"answer.provider": "extractive", "answer.max_tokens": 9000}, PAID, ""),
        ({"answer.provider": "ollama", "answer.max_tokens": 9000}, PAID, ""),
        ({"answer.model": "large"}, PAID, "answer.provider"),
        ({"answer.max_tokens": 801}, PAID, "answer.max_tokens"),
        ({"answer.context_tokens": 4001}, PAID, "answer.context_tokens"),
        ({"answer.mode": "balanced", "answer.temperature": 1.0}, PAID, ""),
        ({"answer.mode": "auto"}, PAID, "answer.mode"),
        ({**AUTO, "answer.tools": ["wiki"]}, {}, "answer.tool_calls"),
        ({"answer.tool_calls": 3}, {**AUTO, "answer.tools": ["wiki"]}, "answer.tool_calls"),
        ({"answer.tools": ["b"]}, {**AUTO, "answer.tools": ["wiki"]}, "answer.tools"),
        ({"answer.tools": None}, {**AUTO, "answer.tools": ["wiki"]}, "answer.tools"),
        ({"answer.tools": ["b"]}, {**AUTO, "answer.tools": None}, ""),
        ({"answer.tools": ["wiki"]}, {**AUTO, "answer.tools": ["wiki", "b"]}, ""),
        (AUTO, {}, ""),
    ],
)
def test_an_answer_costs_no_more_than_by_the_saved_recipe(fields, saved, field, tmp_path):
    recipe, settings = QUICK.with_fields(saved), Settings.from_env(KEYS, home=tmp_path)
    asked = recipe.with_fields(fields)
    assert beyond(asked, lambda: recipe, settings, answers=True) == field


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return stocked(tmp_path, {"leave.md": "Unused leave lapses in March."}, name="manuals")[0]


def guest(workspace: Workspace) -> ScopedWorkspace:
    _, row = workspace.base("manuals").access.create_link("fair", 3)
    return ScopedWorkspace(workspace, Principal(link=row, via="link", key_id=row.id))


def reader(workspace: Workspace) -> ScopedWorkspace:
    _, row = workspace.access.tokens.create("reader", ["read"])
    return ScopedWorkspace(workspace, Principal(via="api", key_id=row.id, token=row))


HYDE = QUICK.with_fields({**PAID, "search.hyde": True})
ANSWERED = QUICK.with_fields(PAID)


@pytest.mark.parametrize(("who", "members"), [(guest, False), (guest, True), (reader, False)])
def test_whoever_may_not_spend_has_nothing_asked_by_fields(workspace, who, members):
    view = who(workspace)
    if members:
        signed_in(workspace, "ann")
    base = view.base("manuals")
    trace = base.search("leave", QUICK)
    assert trace.hits
    for act in (
        lambda recipe: base.search("leave", recipe),
        lambda recipe: base.explanations.part("leave", recipe),
        lambda recipe: base.ask("leave", recipe),
        lambda recipe: base.explanations.unranked(trace.hits[0].chunk.key, "leave", recipe),
    ):
        with pytest.raises(NotAllowed, match=r"search\.hyde can cost money"):
            act(HYDE)
    with pytest.raises(NotAllowed, match=r"answer\.provider can cost money"):
        base.answer(trace, ANSWERED)
    assert base.search("leave", ANSWERED).hits == trace.hits  # nobody answers
    assert base.recipes.threshold(HYDE) is None
    assert "answer.provider" in view.costs(base, ANSWERED)
    assert view.costs(base, QUICK) == ""


@pytest.mark.parametrize("who", [guest, reader])
def test_what_the_owner_saved_is_asked_for_everybody(workspace, who):
    workspace.base("manuals").recipes.save(HYDE)
    base = who(workspace).base("manuals")
    assert base.search("leave", HYDE).stage("hyde") is not None
    with pytest.raises(NotAllowed, match=r"search\.hyde"):
        base.search("leave", HYDE.with_fields({"answer.model": "large"}))
    workspace.base("manuals").recipes.save(QUICK)  # the next question knows
    with pytest.raises(NotAllowed, match=r"search\.hyde"):
        base.search("leave", HYDE)


def test_who_may_spend_names_models(workspace):
    _, row = workspace.access.tokens.create("asker", ["read", "ask"])
    program = ScopedWorkspace(workspace, Principal(via="api", key_id=row.id, token=row))
    assert program.base("manuals").search("leave", HYDE).hits
    ann = ScopedWorkspace(workspace, Principal(signed_in(workspace, "ann")))
    assert ann.base("manuals").search("leave", HYDE).hits
    assert ann.costs(ann.base("manuals"), HYDE) == ""


def test_the_guests_of_a_link_have_so_many_answers_in_a_minute(workspace, monkeypatch):
    rates = Rates(workspace.settings.guest_rate, lambda: 0.0)
    monkeypatch.setattr(workspace.access, "guest_rates", rates)
    base, another = guest(workspace).base("manuals"), guest(workspace).base("manuals")
    trace = base.search("leave", QUICK)
    for _ in range(60):
        assert base.answer(trace, QUICK)
    with pytest.raises(NotAllowed, match="too many requests through this link"):
        base.answer(trace, QUICK)
    assert base.search("leave", QUICK).hits == trace.hits  # what costs nothing goes on
    assert another.answer(trace, QUICK)
    assert reader(workspace).base("manuals").answer(trace, QUICK)


def test_a_file_of_the_server_is_opened_for_who_saves_recipes(workspace):
    _owner, viewer, editor = (signed_in(workspace, name) for name in ("ann", "vic", "ed"))
    manuals = workspace.base("manuals")
    manuals.access.add_member("vic@example.org", "viewer")
    manuals.access.add_member("ed@example.org", "editor")
    looks, edits = (
        ScopedWorkspace(workspace, Principal(who)).base("manuals") for who in (viewer, editor)
    )
    by_path = QUICK.with_fields({"search.rerank": "onnx:/nowhere"})
    assert edits.search("leave", by_path).failures  # nothing is there
    with pytest.raises(NotAllowed, match=r"search\.rerank would open a file of the server"):
        looks.search("leave", by_path)
    edits.recipes.save(by_path)
    assert looks.search("leave", by_path).failures
    with pytest.raises(NotAllowed, match=r"search\.rerank would open a file of the server"):
        looks.search("leave", QUICK.with_fields({"search.rerank": "onnx:/etc"}))


def test_the_guests_of_a_link_have_as_many_searches_that_cost(workspace, monkeypatch):
    monkeypatch.setattr(workspace.access, "guest_rates", Rates(2, lambda: 0.0))
    workspace.base("manuals").recipes.save(HYDE)
    base = guest(workspace).base("manuals")
    for _ in range(2):  # a question is a search and an answer
        base.answer(base.search("leave", HYDE), QUICK)
    with pytest.raises(NotAllowed, match="too many requests through this link"):
        base.search("leave", HYDE)
    assert base.search("leave", QUICK).hits
    assert reader(workspace).base("manuals").search("leave", HYDE).hits


def test_an_unknown_provider_is_no_secret_way(workspace):
    base = guest(workspace).base("manuals")
    unknown: Recipe = QUICK.with_fields({"answer.provider": "x", "search.hyde": True})
    with pytest.raises(InvalidRecipe, match="No provider is called 'x'"):
        base.search("leave", unknown)


PARTS = {"index": IndexRecipe, "search": SearchRecipe, "answer": AnswerRecipe}
ASKING = [
    f"{name}.{field}"
    for name, part in PARTS.items()
    for field in part.asking("embedder", "chat", "reranker", "decider", "tool")
]
CALLING = {"answer.provider": "openai", "answer.mode": "auto", "answer.tool_calls": 2}
SAVED = QUICK.with_fields({"answer.provider": "openai"})
COSTLY: dict[str, tuple[dict[str, Any], Recipe]] = {
    "index.embedder": ({"index.embedder": "openai"}, QUICK),
    "search.rewrite": ({"search.rewrite": True}, SAVED),
    "search.expansions": ({"search.expansions": 1}, SAVED),
    "search.hyde": ({"search.hyde": True}, SAVED),
    "search.rerank": ({"search.rerank": "cohere"}, QUICK),
    "search.tools": ({"search.tools": ["wiki"]}, QUICK),
    "answer.provider": ({"answer.provider": "openai"}, QUICK),
    "answer.model": ({"answer.model": "large"}, SAVED),
    "answer.mode": ({"answer.mode": "auto"}, SAVED),
    "answer.decider": ({"answer.decider": "decisions:m"}, QUICK),
    "answer.max_tokens": ({"answer.max_tokens": 801}, SAVED),
    "answer.context_tokens": ({"answer.context_tokens": 4001}, SAVED),
    "answer.memory": ({"answer.memory": 1}, QUICK.with_fields({"index.embedder": "openai"})),
    "answer.tool_calls": (
        {"answer.tool_calls": 3},
        SAVED.with_fields({**CALLING, "answer.tools": ["wiki"]}),
    ),
    "answer.tools": ({"answer.tools": ["wiki"]}, SAVED.with_fields(CALLING)),
}


@pytest.mark.parametrize("field", ASKING)
def test_a_field_that_asks_is_refused_beyond_the_saved_recipe(field):
    changes, saved = COSTLY[field]
    asked, keyed = (
        saved.with_fields(changes),
        Settings.from_env({"TOUCHSTONE_DECISIONS_API_KEY": "k"}),
    )
    assert beyond(saved, lambda: saved, keyed, answers=True) == ""
    named = beyond(asked, lambda: saved, keyed, answers=True)
    assert named == {"answer.model": "answer.provider"}.get(field, field)


def test_stages_ask_a_model_by_their_fields():
    asking = [row.name for row in stage_rows() if row.asks_model]
    assert asking == ["rewrite", "expansions", "hyde", "rerank"]


def test_a_rate_is_held_and_comes_back():
    now = [100.0]
    rates = Rates(60, lambda: now[0])
    assert [rates.wait("a") for _ in range(61)] == [0.0] * 60 + [1.0]
    assert rates.wait("b") == 0.0
    now[0] += 0.5
    assert rates.wait("a") == 0.5
    now[0] += 0.5
    assert [rates.wait("a"), rates.wait("a")] == [0.0, 1.0]
    now[0] += 3600
    assert [rates.wait("a") for _ in range(61)] == [0.0] * 60 + [1.0]


def test_a_place_among_those_under_way_is_free_when_one_ends():
    under_way = InFlight(2)
    with under_way.one("a") as first:
        with under_way.one("a") as second, under_way.one("a") as third:
            assert (first, second, third) == (True, True, False)
        with under_way.one("a") as fourth, under_way.one("a") as fifth, under_way.one("b") as other:
            assert (fourth, fifth, other) == (True, False, True)
    assert under_way._begun == {}  # nobody is kept
