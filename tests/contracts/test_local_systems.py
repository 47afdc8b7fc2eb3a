"""Searches of a knowledge base without an index of passages: grep, and whole documents."""

import json
from pathlib import Path

import pytest

from rag import HttpSystem, InvalidInput, KnowledgeBase, Workspace, local_system
from rag.__main__ import main
from tests.workspaces import QUICK, add, workspace_at

LEAVE = (
    "# Leave\n\nSome words.\n\n\nUnused leave may be carried over.\nUntil March.\n\n\n\nThe end."
)
TEXTS = {
    "cats.md": "Cats purr.\n\nThe leave of cats is unused.",
    "leave.md": LEAVE,
    "tax.md": "Taxes are due.",
}
QUESTION = "How long may unused leave be carried over?"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = workspace_at(tmp_path)
    base = made.create("manuals", QUICK)
    add(made, base, TEXTS)
    base.save_recipe(QUICK)
    base.questions.create_set("policies")
    question = base.questions.add_question("policies", QUESTION)
    ids = {info.name: info.id for info in base.documents.documents(QUICK.index)}
    start = LEAVE.index("Unused")
    base.questions.label("policies", question, ids["leave.md"], start, start + 34, 1)
    return made


def measured(base: KnowledgeBase, workspace: Workspace, form: str) -> tuple[list[str], float]:
    """The texts of a trial, and recall@5 of an evaluation."""
    base.systems.add(local_system(form, form))
    trial = base.systems.test(form, QUESTION)
    assert trial.located == len(trial.results)
    job = workspace.jobs.run(base.systems.start_evaluation("policies", form))
    run = base.runs.get(job.payload["run"])
    assert run.system.errors == {}
    return [result.text for result in trial.results], run.metrics["recall@5"]


def test_grep_ranks_lines_by_their_different_words(workspace):
    base = workspace.base("manuals")
    texts, recall = measured(base, workspace, "grep")
    first = "Unused leave may be carried over."
    assert first in texts[0]
    assert "# Leave" not in texts[0]  # two lines around, no more
    assert any("The leave of cats" in text for text in texts[1:])
    assert not any("Taxes" in text for text in texts)
    assert recall == 1.0
    nothing = base.systems.test("grep", "Zebras?")
    assert nothing.results == ()


def test_documents_are_those_of_the_passages_each_once(workspace):
    base = workspace.base("manuals")
    base.systems.add(local_system("whole", "documents"))
    trial = base.systems.test("whole", QUESTION)
    names = [result.document for result in trial.results]
    assert names[0] == "leave.md"
    assert len(set(names)) == len(names)
    assert trial.results[0].place == (0, len(LEAVE))


def test_they_are_added_by_their_form_alone(workspace, capsys):
    home = str(workspace.settings.home)
    added = ["systems", "manuals", "add", "grep", "--form", "grep", "--home", home, "--json"]
    assert main([*added, "--question", QUESTION]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["definition"]["protocol"] == "local"
    assert told["trial"]["located"] == len(told["trial"]["results"]) > 0
    with pytest.raises(InvalidInput):
        local_system("rival", "ripgrep")
    with pytest.raises(InvalidInput):
        HttpSystem.parse({**local_system("a", "grep").model_dump(), "url": "https://x.example"})
