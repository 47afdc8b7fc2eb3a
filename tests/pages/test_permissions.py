"""The tab Permissions of the page Runs: a matrix, a verdict, and the leaks behind it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag import AccessMatrix, KnowledgeBase, Workspace

OpenPage = Callable[..., AppTest]
USERS = {"anna": {}, "ben": {}}


@pytest.fixture
def base(labelled: Workspace) -> KnowledgeBase:
    return labelled.base("notes")


def test_leaks_are_shown_and_a_changed_document_makes_an_audit_old(
    labelled: Workspace, base: KnowledgeBase, open_page: OpenPage
) -> None:
    app = open_page("runs.py", compare="Permissions")
    assert not app.exception
    assert not app.error
    name = base.documents.documents(base.recipe().index)[0].name
    matrix = AccessMatrix.parse({"users": USERS, "documents": {name: ["anna"], "*": "*"}})
    labelled.jobs.run(base.permission_audits.start(matrix, base.recipe()))
    app.run()
    (verdict,) = [item.value for item in app.error]
    assert "1 of 2 users got passages that they must not see" in verdict
    leaks, users = [frame.value for frame in app.dataframe]
    assert set(leaks["User"]) == {"ben"}
    assert set(leaks["Document"]) == {name}
    assert list(users["Leaks"]) == [0, len(leaks)]
    base.documents.tag(name, ["secret"])
    app.run()
    assert "changed since this audit" in app.warning[0].value
    app.button(key="permissions_again").click().run()
    labelled.jobs.run(base.permission_audits.latest().id)
    app.run()
    assert not app.warning
