"""A copy of a knowledge base: what it holds, what it leaves, and what a killed one costs."""

from pathlib import Path

import pytest

from rag import KnowledgeBase, NotAllowed, Workspace
from rag.library.documents import bulk_jobs
from tests.people import signed_in, view
from tests.workspaces import QUICK, add, fill_home, found, workspace_at

LEAVE = "Unused leave may be carried over until the end of March."
TRAVEL = "Trains are booked by the office. Flights need the consent of the board."
WIDE = QUICK.with_fields({"index.chunk_size": 40})
NARROW = QUICK.with_fields({"search.top_k": 3})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    fill_home(tmp_path, one_of_everything)
    return workspace_at(tmp_path)


def one_of_everything(home: Path) -> None:
    """Fill a home with one of everything that a copy takes along, and of what it does not."""
    workspace = workspace_at(home)
    base = workspace.create("manuals", QUICK)
    base.documents.prepare_build(WIDE.index)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    base.documents.tag("leave.md", ["staff"])
    base.recipes.save(QUICK)
    base.recipes.save(NARROW)
    base.runs.name_recipe(NARROW, "narrow")
    base.conversations.prompts.save("strict", "Fence {mark}. Without an answer say {no_answer}")
    base.questions.create_set("policies")
    first = base.questions.add_question("policies", "When is leave lost?", tags=["leave"])
    base.questions.add_question("policies", "Who pays lunch?", answerable=False)
    document = next(d.id for d in held(base) if d.name == "leave.md")
    base.questions.label(
        "policies", question_id=first, document_id=document, start=0, end=12, grade=2
    )
    base.questions.save("empty", [])
    workspace.jobs.run(base.runs.start_evaluation("policies", QUICK))
    base.conversations.ask(base.conversations.open(None), "Leave?", QUICK)
    workspace.close()


def held(base: KnowledgeBase) -> list:  # type: ignore[type-arg]
    return base.documents.documents(base.recipe().index)


def same(copy: KnowledgeBase, base: KnowledgeBase) -> None:
    """That two knowledge bases hold the same."""
    assert held(copy) == held(base)
    mine, theirs = (
        {(b.hash, b.documents, b.passages) for b in each.documents.builds()}
        for each in (copy, base)
    )
    assert mine == theirs
    for recipe in (QUICK, WIDE):
        assert copy.documents.missing(recipe.index) == 0
        for question in ("leave carried over", "flights"):
            hits, theirs_too = (each.search(question, recipe).hits for each in (copy, base))
            assert [(h.chunk, h.relevance) for h in hits] == [
                (h.chunk, h.relevance) for h in theirs_too
            ]
    assert copy.recipe() == base.recipe()
    assert copy.recipes.versions() == base.recipes.versions()
    assert copy.runs.recipe_names() == base.runs.recipe_names()
    assert copy.conversations.prompts.versions("strict") == base.conversations.prompts.versions(
        "strict"
    )
    sets = [(s.name, s.version, s.questions, s.changed) for s in base.questions.list_all()]
    assert [(s.name, s.version, s.questions, s.changed) for s in copy.questions.list_all()] == sets
    asked, known = copy.questions.usable("policies"), base.questions.usable("policies")
    assert asked == known
    assert [span.grade for question in asked for span in question.evidence] == [2]


def test_a_copy_holds_what_was_written_and_nobodys_traces(workspace):
    base = workspace.base("manuals")
    copy, job = workspace.duplicate("manuals", " trial ")
    assert copy.name == "trial"
    done = workspace.jobs.run(job)
    assert (done.status, done.title, done.message) == (
        *("done", "Copying manuals", "2 documents copied"),
    )
    same(copy, base)
    assert copy.documents.original(held(copy)[0].id) == base.documents.original(held(base)[0].id)
    assert copy.runs.list_all() == []
    assert copy.conversations.recent() == []
    assert copy.access.members() == []


def test_a_copy_and_its_source_go_their_own_ways(workspace):
    copy, job = workspace.duplicate("manuals", "trial")
    workspace.jobs.run(job)
    add(workspace, copy, {"leave.md": "Leave lapses in May."})
    assert found(workspace.base("manuals"), "leave")[0] == LEAVE
    workspace.delete("manuals")
    assert workspace.check() == []
    assert found(copy, "flights")[0] == TRAVEL
    assert copy.documents.original(held(copy)[1].id) is not None
    # The label went along with the words that the new version no longer has: it is lost here.
    (question,) = (q for q in copy.questions.labelled("policies") if q.labels)
    assert [label.quote for label in question.labels] == [LEAVE[:12]]


def test_a_copy_that_was_killed_is_gone_on_with(workspace, monkeypatch):
    monkeypatch.setattr(bulk_jobs, "_GROUP", 1)
    copy, job = workspace.duplicate("manuals", "trial")
    stored = bulk_jobs.copying.documents
    calls = []

    def killed(*given: object) -> None:
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(given[-1])
        stored(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(bulk_jobs.copying, "documents", killed)
        with pytest.raises(KeyboardInterrupt):
            workspace.jobs.run(job)
    assert [each.name for each in held(copy)] == ["leave.md"]

    def ended(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # once more, when all is copied
        patch.setattr(bulk_jobs, "refresh", ended)
        with pytest.raises(KeyboardInterrupt):
            workspace.jobs.run(job)
    assert workspace.jobs.run(job).status == "done"
    same(copy, workspace.base("manuals"))


def test_a_document_that_came_first_stays(workspace):
    copy, job = workspace.duplicate("manuals", "trial")
    add(workspace, copy, {"leave.md": "Leave lapses in May."})
    assert workspace.jobs.run(job).message == "1 document copied"
    assert found(copy, "leave")[0] == "Leave lapses in May."


def test_a_source_that_goes_meanwhile_ends_the_job(workspace):
    copy, job = workspace.duplicate("manuals", "trial")
    workspace.delete("manuals")
    done = workspace.jobs.run(job)
    assert (done.status, held(copy)) == ("failed", [])
    assert "is gone" in done.message


def test_only_an_owner_copies_and_owns_the_copy(workspace):
    ann = view(workspace, signed_in(workspace, "ann"))  # the first one gets the base
    editor = signed_in(workspace, "editor")
    ann.base("manuals").access.add_member(editor.email, "editor")
    with pytest.raises(NotAllowed, match="role owner"):
        view(workspace, editor).duplicate("manuals", "mine")
    copy, job = ann.duplicate("manuals", "mine")
    assert ann.jobs.get(job).base == "mine"
    assert [(m.person.email, m.role) for m in copy.access.members()] == [
        ("ann@example.org", "owner")
    ]
    assert [info.name for info in view(workspace, editor).bases()] == ["manuals"]
    noted = [
        (line.entry.base, line.entry.action, line.entry.detail) for line in ann.audit(kind="base")
    ]
    assert ("manuals", "duplicate", "mine") in noted
