"""Searching several knowledge bases: from the command line down to the trace."""

from pathlib import Path

import pytest

from rag import (
    FurtherBase,
    InvalidInput,
    InvalidRecipe,
    NotFound,
    ProviderUnavailable,
    Recipe,
    Workspace,
)
from tests.workspaces import QUICK, add, workspace_at

LEAVE = "Unused leave may be carried over until 30 June."
PUMP = "The pump grinds when its bearing is dry."
QUESTION = "How long may unused leave be carried over?"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    workspace = workspace_at(home)
    for name, text in (("pumps", PUMP), ("policies", LEAVE), ("copies", LEAVE + " Ask us.")):
        add(workspace, workspace.create(name, QUICK), {f"{name}.txt": text})
    return workspace


@pytest.mark.parametrize(
    "also",
    [
        FurtherBase("policies"),
        FurtherBase("a: b, c", 3, 0.25, 0.5),
        FurtherBase("x", threshold="off"),
        FurtherBase("x", weight=2.0, threshold="auto"),
    ],
)
def test_what_is_written_is_read(also):
    assert FurtherBase.parse(str(also)) == also


def test_a_name_may_have_colons():
    assert FurtherBase.parse("notes: 2026") == FurtherBase("notes: 2026")
    assert FurtherBase.parse("notes: 2026:top_k=3,weight=0.5") == FurtherBase(
        "notes: 2026", 3, weight=0.5
    )


@pytest.mark.parametrize("text", ["", ":top_k=3", "x:top_k=many", "x:weight=0", "x:top_k=3,y=1"])
def test_what_makes_no_sense_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        FurtherBase.parse(text)
    assert "KB2:top_k=3" in caught.value.hint


def test_hits_say_where_they_come_from(workspace):
    base = workspace.base("pumps")
    beside = workspace.beside("pumps", [FurtherBase("policies")])
    trace = base.search(QUESTION, QUICK, beside)
    assert [(hit.base, hit.chunk.text) for hit in trace.hits] == [
        ("policies", LEAVE),
        ("pumps", PUMP),
    ]
    assert trace.passages == 2
    assert [stage.name for stage in trace.stages][-3:] == ["top_k", "merge", "context"]
    assert [hit.base for hit in trace.context] == ["policies", "pumps"]
    assert base.search(QUESTION, QUICK).hits[0].base == ""


def test_a_base_is_searched_by_its_own_recipe(workspace):
    workspace.base("policies").save_recipe(QUICK.with_fields({"search.threshold": 0.99}))
    base = workspace.base("pumps")

    def found(also: FurtherBase) -> list[str]:
        return [
            hit.base for hit in base.search(QUESTION, QUICK, workspace.beside("pumps", [also])).hits
        ]

    assert found(FurtherBase("policies")) == ["pumps"]
    assert found(FurtherBase("policies", threshold="off")) == ["policies", "pumps"]


def test_a_weight_moves_a_base_down(workspace):
    def found(also: FurtherBase) -> list[str]:
        beside = workspace.beside("copies", [also])
        return [hit.base for hit in workspace.base("copies").search(QUESTION, QUICK, beside).hits]

    assert found(FurtherBase("policies")) == ["policies", "copies"]
    assert found(FurtherBase("policies", weight=0.5)) == ["copies", "policies"]


def test_the_answer_cites_the_other_base(workspace):
    base = workspace.base("pumps")
    answer = base.ask(QUESTION, QUICK, workspace.beside("pumps", [FurtherBase("policies")])).answer
    assert answer.citations[0].hit.base == "policies"


def test_cosines_of_two_embedders_are_not_compared(workspace):
    other = Recipe().with_fields({"index.embedder": "wordllama", "search.threshold": None})
    add(workspace, workspace.create("static", other), {"leave.txt": LEAVE})
    trace = workspace.base("pumps").search(
        QUESTION, QUICK, workspace.beside("pumps", [FurtherBase("static")])
    )
    merge = trace.stage("merge")
    assert "do not compare: by ranks" in merge.note
    assert {hit.base: hit.score for hit in trace.hits} == {"pumps": 1 / 61, "static": 1 / 61}


def test_a_base_that_fails_is_a_note(workspace, monkeypatch):
    beside = workspace.beside("pumps", [FurtherBase("policies")])

    def down(*_: object) -> None:
        raise ProviderUnavailable("The model is down.", "Start it.")

    monkeypatch.setattr(beside[0].base, "part", down)
    trace = workspace.base("pumps").search(QUESTION, QUICK, beside)
    merge = trace.stage("merge")
    assert merge.note.endswith("policies returned nothing: The model is down.")
    assert [hit.base for hit in trace.hits] == ["pumps"]


@pytest.mark.parametrize(
    ("also", "error"),
    [("pumps", InvalidInput), ("nowhere", NotFound), ("policies:top_k=0", InvalidRecipe)],
)
def test_bases_that_cannot_be_searched_beside_it(workspace, also, error):
    with pytest.raises(error):
        workspace.beside("pumps", [FurtherBase.parse(also)])
