"""A paid embedder hears nothing of a start, a look at a build, or an attribution by a reader."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rag import NotAllowed, Principal, ScopedWorkspace, Settings, Workspace, providers
from rag.protocols import InputType
from rag.types import Vectors
from rag.workspace import spending
from tests.people import signed_in, view
from tests.workspaces import stocked

QUESTION = "leave"


class _Paid:
    """An embedder that keeps what it is sent, also for the length of its vectors."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._embedder = providers.embedder("fake", Settings.from_env({}))

    def __getattr__(self, name: str) -> Any:
        if name == "dimension":
            self.sent.append(name)
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        self.sent.extend(texts)
        return self._embedder.embed(texts, input_type)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return stocked(tmp_path, {"leave.md": "Unused leave lapses. In March."}, name="manuals")[0]


@pytest.fixture
def paid(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> _Paid:
    """The embedder of the saved recipe, of a process that has just started."""
    paid = _Paid()
    monkeypatch.setitem(workspace._services.models._embedders, "fake", paid)
    workspace._services.indexes.forget(workspace.base("manuals").id)
    monkeypatch.setattr(spending.providers, "may_cost", lambda name, _variables: name == "fake")
    return paid


def test_a_start_sends_nothing(workspace, paid):
    workspace.warm_up()
    assert paid.sent == []


def test_the_kind_of_a_build_is_told_without_asking(workspace, paid):
    base = workspace.base("manuals")
    assert base.documents.vector_index(base.recipe().index).dimension == 64
    assert paid.sent == []


def reader(workspace: Workspace) -> ScopedWorkspace:
    _, row = workspace.access.tokens.create("reader", ["read"])
    return ScopedWorkspace(workspace, Principal(via="api", key_id=row.id, token=row))


def test_a_reader_has_no_attribution_from_who_is_paid(workspace, paid):
    base = reader(workspace).base("manuals")
    explainer = base.explanations.explain(QUESTION, base.recipe())
    key = explainer.trace.hits[0].chunk.key
    explainer.standing(key)
    paid.sent.clear()
    with pytest.raises(NotAllowed, match="embeds dozens of texts"):
        explainer.attribution(key)
    assert paid.sent == []


def test_an_index_is_built_by_a_diagnosis_of_who_may_spend(workspace, paid):
    _, row = workspace.access.tokens.create("writer", ["read", "write"])
    writer = ScopedWorkspace(workspace, Principal(via="api", key_id=row.id, token=row))
    diagnoses, recipe = writer.base("manuals").tuning.diagnoses, workspace.base("manuals").recipe()
    with pytest.raises(NotAllowed, match="embeds dozens of texts"):
        diagnoses.start("checks", recipe, rebuild=True)
    job = diagnoses.start("checks", recipe)  # it builds nothing
    assert (
        view(workspace, signed_in(workspace, "ann"))
        .base("manuals")
        .tuning.diagnoses.start("checks", recipe, rebuild=True)
        > job
    )


def test_a_person_has_it(workspace, paid):
    base = view(workspace, signed_in(workspace, "ann")).base("manuals")
    explainer = base.explanations.explain(QUESTION, base.recipe())
    attribution = explainer.attribution(explainer.trace.hits[0].chunk.key)
    assert [word.text for word in attribution.words] == [QUESTION]


def test_a_reader_has_it_from_who_is_free(workspace, paid, monkeypatch):
    monkeypatch.setattr(spending.providers, "may_cost", lambda _name, _variables: False)
    base = reader(workspace).base("manuals")
    explainer = base.explanations.explain(QUESTION, base.recipe())
    attribution = explainer.attribution(explainer.trace.hits[0].chunk.key)
    assert [word.text for word in attribution.words] == [QUESTION]
