"""Words that match: a passage with enough of them reaches the default threshold."""

from typing import Any

import pytest

from rag import KnowledgeBase, Recipe, providers
from tests.workspaces import QUICK, add, workspace_at

DEFAULT = providers.default_threshold(QUICK.index.embedder)
QUESTION = "bereavement"
SHARE = "at least 30% of the weight of the question's words"
LEAVE = "Bereavement: three days, with pay. " + " ".join(f"word{n}" for n in range(150))
ON = QUICK.with_fields(
    {
        "index.chunk_size": 400,
        "search.mode": "hybrid",
        "search.threshold": "auto",
        "search.matched_words": True,
    }
)
OFF = ON.with_fields({"search.matched_words": False})
FILES = {
    "leave.txt": LEAVE,
    "rooms.txt": "Room 214 is on the second floor, beside the lift and the stairs.",
    "hours.txt": "Everybody may leave at four on Fridays.",
}
LINE = '{"id": "q", "text": "%s", "evidence": [{"document": "leave.txt", "quote": "three days"}]}'


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    workspace = workspace_at(tmp_path_factory.mktemp("home"))
    base = workspace.create("words", ON)
    add(workspace, base, FILES)
    base.questions.import_file("words", "words.jsonl", LINE % QUESTION)
    return base


def texts(base: KnowledgeBase, recipe: Recipe, **search: Any) -> list[str]:
    changed = recipe.with_fields({f"search.{name}": value for name, value in search.items()})
    return [hit.chunk.text for hit in base.search(QUESTION, changed).hits]


def test_what_has_the_words_reaches_the_default_threshold(base):
    assert texts(base, OFF) == []
    trace = base.search(QUESTION, ON)
    [hit] = trace.hits
    assert (hit.chunk.text, hit.parts["matched_words"]) == (LEAVE, 1.0)
    assert hit.relevance == hit.parts["dense"] < DEFAULT
    stage = trace.stage("threshold")
    assert stage.note == f"relevance ≥ {DEFAULT:.3g}; 1 below it with {SHARE}"


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_it_does_so_in_every_mode(base, mode):
    assert texts(base, ON, mode=mode, threshold=DEFAULT) == [LEAVE]


def test_a_higher_threshold_is_not_reached_by_words(base):
    assert texts(base, ON, threshold=DEFAULT + 0.01) == []


def test_an_explanation_says_what_lets_it_pass(base):
    [hit] = base.search(QUESTION, ON).hits
    explainer = base.explanations.explain(QUESTION, ON)
    steps = {step.stage: step.words for step in explainer.standing(hit.chunk.key).steps}
    assert steps["threshold"].endswith(f"it passes because it has {SHARE}")
    changes = {change.field: change for change in explainer.changes(hit.chunk.key)}
    assert changes["threshold"].value == DEFAULT + 0.01
