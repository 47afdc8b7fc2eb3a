"""Fusions learned from labels: stored with a gain, refused without, and used by recipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag import InvalidInput, KnowledgeBase, NotFound, Workspace
from rag.__main__ import main
from rag.questions.snapshot import read_questions
from rag.recipe import Recipe
from rag.services import Services
from rag.tuning.learning.labelled import labelled_questions, training_rows
from rag.tuning.learning.learned import is_untried
from rag.tuning.learning.passports import document_folds, question_folds
from rag.tuning.sweeper import Sweeper
from tests.workspaces import QUICK, add, workspace_at

SET = "valves"
_NAMES = [f"{first}{second}" for first in ("bel", "cor", "dra", "fen", "gul", "hym", "jas", "kov")
          for second in ("ato", "ine", "umar", "ylla", "osk", "ervi", "ando", "iqu")]  # fmt: skip
RECIPE = QUICK.with_fields(
    {
        "index.chunker": "recursive",
        "index.chunk_size": 12,
        "search.candidates": 10,
        "search.threshold": None,
        "search.refuse": "off",
    }
)


def _filled(home: Path, questions: int = 64) -> tuple[Workspace, KnowledgeBase]:
    """The first passage of a document answers; the second one has the words more often."""
    workspace = workspace_at(home)
    base = workspace.create(SET, RECIPE)
    opening = {name: f"Here the {name} valve is described in a few words." for name in _NAMES}
    files: dict[str, str | bytes] = {
        f"{number}.txt": f"{opening[name]}\n\n{name} valve, {name} valve, {name} valve"
        for number, name in enumerate(_NAMES)
    }
    add(workspace, base, files)
    rows = [
        {
            "id": f"q{number}",
            "text": f"{name} valve",
            "evidence": [{"document": f"{number}.txt", "quote": opening[name]}],
            "group": "-",
        }
        for number, name in enumerate(_NAMES[:questions])
    ]
    base.exchange.import_file(SET, "valves.jsonl", "\n".join(map(json.dumps, rows)))
    return workspace, base


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return _filled(tmp_path_factory.mktemp("home"))[0]


@pytest.fixture(scope="module")
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base(SET)


@pytest.fixture(scope="module")
def learned(base: KnowledgeBase) -> Recipe:
    outcome = base.tuning.learned_fusions.learn(SET, RECIPE)
    assert outcome.version == 1
    return RECIPE.with_fields({"search.learned_fusion": outcome.hash})


def test_a_gain_is_shown_on_unseen_questions_and_documents(
    base: KnowledgeBase, learned: Recipe
) -> None:
    (stored,) = base.tuning.learned_fusions.list_all()
    assert stored.hash == learned.search.learned_fusion
    assert [passport.unit for passport in stored.passports] == ["questions", "documents"]
    assert all(passport.gains for passport in stored.passports)
    assert all(passport.comparison.difference > 0.2 for passport in stored.passports)
    assert (stored.kind, stored.questions, stored.question_set) == ("linear", 64, SET)


def test_a_diagnosis_proposes_to_learn_one_where_none_was_tried(
    workspace: Workspace, base: KnowledgeBase, learned: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = base.diagnoses.diagnose(SET, RECIPE)
    assert (diagnosis.learnable, len(diagnosis.questions) > 0) == (0, True)
    monkeypatch.setattr("rag.storage.quality.learned_fusions.list_all", lambda *_: [])
    diagnosis = base.diagnoses.diagnose(SET, RECIPE)
    assert diagnosis.learnable == 64
    assert "Learn a fusion from your labels" in [step.title for step in diagnosis.next_steps]
    place = workspace._services, base.id, SET
    words = RECIPE.with_fields({"search.mode": "lexical"})
    assert [is_untried(*place, RECIPE, labelled) for labelled in (59, 60)] == [False, True]
    assert not is_untried(*place, words, 64)
    assert not is_untried(*place, learned, 64)
    monkeypatch.setattr("rag.storage.jobs.latest", lambda *_, **__: object())
    assert not is_untried(*place, RECIPE, 64)


def test_the_recipe_that_names_it_ranks_by_it(base: KnowledgeBase, learned: Recipe) -> None:
    before, after = (base.search("gulosk valve", recipe).hits[0] for recipe in (RECIPE, learned))
    assert before.chunk.order == 1
    assert after.chunk.order == 0
    assert after.score == after.parts["learned"]
    assert "fused" in after.parts


def test_its_parts_add_up_to_the_score(base: KnowledgeBase, learned: Recipe) -> None:
    hit = base.search("gulosk valve", learned).hits[0]
    explainer = base.explain("gulosk valve", learned)
    parts = explainer.learned_parts(hit.chunk.key)
    assert sum(part.part for part in parts) == pytest.approx(hit.score)
    assert {"cosine", "position"} <= {part.name for part in parts}
    assert base.explain("gulosk valve", RECIPE).learned_parts(hit.chunk.key) == ()
    changes = {change.field: change for change in explainer.changes(hit.chunk.key)}
    assert changes["dense_weight"].value is None


def test_a_sweep_has_the_figures_of_an_evaluation(base: KnowledgeBase, learned: Recipe) -> None:
    grid = {"search.learned_fusion": [None, learned.search.learned_fusion]}
    sweep = base.tuning.sweep(SET, grid, RECIPE, (10,))
    plain, best = (sweep.metrics(number)["ndcg@10"] for number in (0, 1))
    evaluated = base.evaluator.evaluate(SET, learned, (10,)).run.metrics["ndcg@10"]
    assert best == evaluated
    assert best > plain + 0.2


def test_a_job_that_learns_the_same_again_adds_no_version(
    workspace: Workspace, base: KnowledgeBase, learned: Recipe
) -> None:
    job = workspace.jobs.run(base.tuning.learned_fusions.start(SET, learned))
    outcome = base.tuning.learned_fusions.result(SET, RECIPE)
    assert outcome is not None
    assert (outcome.hash, outcome.version) == (learned.search.learned_fusion, 1)
    assert job.message == outcome.headline
    assert "gains on unseen questions and documents" in outcome.headline


def test_folds_of_documents_teach_nothing_of_what_they_measure(base: KnowledgeBase) -> None:
    services = Services.start(base._services.settings)
    with services.database.read() as connection:
        sweeper = Sweeper(services, read_questions(connection, base.id, SET))
    items = labelled_questions(services, base.id, sweeper, RECIPE, lambda _done, _total: None)
    folds = document_folds(items)
    assert sorted(place for fold in folds for place in fold.places) == list(range(64))
    for fold in folds:
        rest = [items[place] for place in range(64) if place not in fold.places]
        rows = training_rows(rest, fold.unseen)
        assert fold.unseen
        assert rows.questions == len(rest)
        everything = training_rows(rest)
        assert len(rows.grades) < len(everything.grades)
        measured = {name for place in fold.places for name in items[place].labelled_documents}
        assert measured <= fold.unseen
    assert document_folds(items[:9]) == []
    assert len(question_folds(items, {})) == 5


def test_a_fusion_without_a_gain_is_refused_with_both_figures(
    base: KnowledgeBase, learned: Recipe
) -> None:
    rows = [
        {
            "id": f"p{number}",
            "text": f"{name} valve",
            "evidence": [{"document": f"{number}.txt", "quote": f"{name} valve, {name} valve"}],
            "group": "-",
        }
        for number, name in enumerate(_NAMES)
    ]
    base.exchange.import_file("plain", "plain.jsonl", "\n".join(map(json.dumps, rows)))
    outcome = base.tuning.learned_fusions.learn("plain", RECIPE)
    assert outcome.hash == ""
    assert outcome.headline.startswith("Refused: neither test shows a gain. nDCG@10 ")
    assert "on unseen questions" in outcome.headline
    assert "on unseen documents" in outcome.headline
    assert len(base.tuning.learned_fusions.list_all()) == 1


def test_too_few_labels_are_refused(tmp_path: Path) -> None:
    _, base = _filled(tmp_path, 59)
    with pytest.raises(InvalidInput, match="needs 60 labelled questions, and 59"):
        base.tuning.learned_fusions.learn(SET, RECIPE)


def test_trees_need_more_labels(base: KnowledgeBase) -> None:
    pytest.importorskip("xgboost")
    with pytest.raises(InvalidInput, match="needs 150 labelled questions, and 64"):
        base.tuning.learned_fusions.learn(SET, RECIPE, "trees")


@pytest.mark.parametrize("changes", [{"search.mode": "dense"}, {"search.rerank": "chat"}])
def test_recipes_that_cannot_be_learned_from_are_refused(
    base: KnowledgeBase, changes: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput):
        base.tuning.learned_fusions.start(SET, RECIPE.with_fields(changes))


@pytest.mark.parametrize("changes", [{"search.k1": 0.9}, {"search.learned_fusion": "0" * 12}])
def test_a_fusion_of_something_else_is_refused(
    base: KnowledgeBase, learned: Recipe, changes: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput, match="learned fusion"):
        base.search("gulosk valve", learned.with_fields(changes))


def test_the_saved_recipe_always_has_its_fusion(base: KnowledgeBase, learned: Recipe) -> None:
    other = learned.with_fields({"index.embedder": "wordllama"})
    for save in (base.save_recipe, base.save_and_build):
        with pytest.raises(InvalidInput, match="was learned with"):
            save(other)
        with pytest.raises(InvalidInput, match="has no learned fusion"):
            save(RECIPE.with_fields({"search.learned_fusion": "0" * 12}))
    name = learned.search.learned_fusion
    assert name
    base.save_recipe(learned)
    try:
        with pytest.raises(InvalidInput, match="The saved recipe ranks by"):
            base.tuning.learned_fusions.remove(name)
        target = base.tuning.migration.target("wordllama")
        assert target.search.learned_fusion is None
    finally:
        base.save_recipe(RECIPE)
    assert base.tuning.learned_fusions.find(name).hash == name


def test_one_retriever_is_ranked_as_ever(base: KnowledgeBase, learned: Recipe) -> None:
    changes = {"search.mode": "lexical"}
    plain, named = (recipe.with_fields(changes) for recipe in (RECIPE, learned))
    keys = [[hit.chunk.key for hit in base.search("gulosk valve", r).hits] for r in (plain, named)]
    assert keys[0] == keys[1]


def test_a_recipe_without_one_keeps_its_hash() -> None:
    assert "learned_fusion" in RECIPE.search.left_out


def test_the_verbs_learn_list_and_delete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, _ = _filled(tmp_path)
    workspace.close()
    monkeypatch.setenv("TOUCHSTONE_HOME", str(tmp_path))
    assert main(["learn-fusion", SET, SET, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert main(["learned-fusions", SET, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["learned_fusions"]
    assert (row["hash"], row["version"]) == (outcome["hash"], 1)
    assert main(["learned-fusions", SET, "--remove", row["hash"]]) == 0
    assert main(["learned-fusions", SET, "--remove", row["hash"]]) == 2


def test_an_unheard_hash_is_not_found(base: KnowledgeBase) -> None:
    with pytest.raises(NotFound):
        base.tuning.learned_fusions.find("0" * 12)
