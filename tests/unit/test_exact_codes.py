"""Codes: a passage with a rare one of the question passes the threshold, everywhere alike."""

import numpy as np
import pytest

from rag import KnowledgeBase, Recipe, Workspace
from rag.lexical import LexicalIndex
from rag.retrieval import holds_code, rare_codes, relevance_of_words
from tests.workspaces import QUICK, add, workspace_at

QUESTION = "Does it follow from IS-214 that anybody may leave at four?"
STRICT = QUICK.with_fields({"search.threshold": 0.9, "search.mode": "hybrid"})
LOOSE = STRICT.with_fields({"search.exact_codes": False})
CODE = "Rule IS-214 says nothing about hours."
FILES = {
    "rules.txt": CODE,
    "rooms.txt": "Room 214 is on the second floor.",
    "leave.txt": "Everybody may leave at four on Fridays.",
}
LINE = '{"id": "q", "text": "%s", "evidence": [{"document": "rules.txt", "quote": "Rule IS-214"}]}'


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    workspace: Workspace = workspace_at(tmp_path_factory.mktemp("home"))
    base = workspace.create("codes", STRICT)
    add(workspace, base, FILES)
    base.questions.import_file("codes", "codes.jsonl", LINE % QUESTION)
    return base


def texts(base: KnowledgeBase, recipe: Recipe) -> list[str]:
    return [hit.chunk.text for hit in base.search(QUESTION, recipe).hits]


def words(*passages: str) -> LexicalIndex:
    return LexicalIndex.empty("english").added(enumerate(passages))


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("What does IS-214 say?", ["is214"]),
        ("What does is 214 say?", ["214"]),
        ("Which pump takes TX-4410-B or TX-9?", ["tx4410b"]),
        ("How many hours a week?", []),
        ("Is it in ISO27001?", ["iso27001"]),
    ],
)
def test_whole_words_with_digits_that_the_base_has_are_codes(question, codes):
    passages = ["IS-214 and ISO27001", "seal TX-4410-B", "hours a week", "a pump"]
    assert rare_codes(question, words(*passages), len(passages)) == codes


@pytest.mark.parametrize(("holders", "rare"), [(1, True), (3, True), (4, False)])
def test_a_code_is_rare_where_one_passage_in_a_hundred_has_it(holders, rare):
    passages = [f"R2D2 number {n}" if n < holders else "nothing of the kind" for n in range(300)]
    index = words(*passages)
    assert rare_codes("Where is R2D2?", index, 300) == (["r2d2"] if rare else [])


def test_only_passages_with_the_whole_code_hold_it():
    index = words("IS-214", "214", "IS 214", "IS-214-B")
    held = holds_code(["is214"], np.arange(4), index)
    assert held.tolist() == [True, False, False, False]


def test_a_rare_code_passes_the_threshold(base):
    assert texts(base, LOOSE) == []
    trace = base.search(QUESTION, STRICT)
    [hit] = trace.hits
    assert (hit.chunk.text, hit.parts["exact"]) == (CODE, 1.0)
    assert hit.relevance == hit.parts["dense"] < 0.9
    stage = trace.stage("threshold")
    assert (stage.taken, stage.given) == (3, 1)


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_it_does_so_in_every_mode(base, mode):
    assert texts(base, STRICT.with_fields({"search.mode": mode, "search.threshold": 1.0})) == [CODE]


@pytest.mark.parametrize(("recipe", "passes"), [(STRICT, True), (LOOSE, False)])
def test_curves_of_the_threshold_know_it(base, recipe, passes):
    curve = base.tuning.tuner("codes").threshold_curve(recipe)
    assert (curve.values[0] == 1.0) == passes


def test_an_explanation_says_what_lets_it_pass(base):
    [hit] = base.search(QUESTION, STRICT).hits
    explainer = base.explanations.explain(QUESTION, STRICT)
    told = {step.stage: step.words for step in explainer.standing(hit.chunk.key).steps}
    assert told["threshold"].endswith("it passes because it has a rare code of the question")
    changes = {change.field: change for change in explainer.changes(hit.chunk.key)}
    assert changes["threshold"].value is None
    assert changes["threshold"].words == "No change of the threshold alone removes it."


def test_a_dropped_passage_is_told_by_its_relevance(base):
    trace = base.search(QUESTION, LOOSE)
    explainer = base.explanations.explain(QUESTION, LOOSE)
    key = next(hit.chunk.key for hit in trace.candidates if hit.chunk.text == CODE)
    changes = {change.field: change for change in explainer.changes(key)}
    value = changes["threshold"].value
    assert value is not None
    assert value < 0.9


def test_three_tenths_of_the_weight_of_the_words_are_a_match():
    # idf by Lucene among three: ln(1 + (3 - n + .5) / (n + .5)) is .98 for one passage, .47 for
    # two, 2.08 for none. Of all three words, the first passage has 13 %, the third 28 %.
    index = LexicalIndex.empty("english").added(
        enumerate(["pump seal", "pump", "seal valve gasket"])
    )
    keys = np.arange(3)
    assert relevance_of_words("pump valve zeppelin", keys, index, 3, 0.2) is None
    relevance = relevance_of_words("seal valve", keys, index, 3, 0.2)
    assert relevance.tolist() == [0.2, -1.0, 0.2]
    assert relevance_of_words("seal valve", keys, index, 3, None) is None
