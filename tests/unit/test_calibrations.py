"""Probabilities of relevance from labels to search, evaluation and sweep."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag import InvalidFile, InvalidInput, KnowledgeBase, NotEnoughLabels, Recipe, Workspace
from rag.__main__ import main
from tests.bundles import parts_of, written
from tests.workspaces import QUICK, add, workspace_at

SET = "parts"
PROBABILITY = {"search.relevance": "probability"}
_PARTS = [f"{first}{second}" for first in ("bel", "cor", "dra", "fen", "gul", "hym", "jas", "kov")
          for second in ("ato", "ine", "umar", "ylla", "osk", "ervi", "ando", "iqu")]  # fmt: skip


def _workspace(home: Path, questions: int = 60) -> tuple[Workspace, KnowledgeBase]:
    """A part a passage; the questions name one, or one that no passage has."""
    workspace = workspace_at(home)
    base = workspace.create("parts", QUICK)
    lines = [f"The {name} valve costs {number + 10} crowns." for number, name in enumerate(_PARTS)]
    add(workspace, base, {"parts.txt": "\n\n".join(lines)})
    rows: list[dict[str, object]] = [
        {
            "id": f"q{number}",
            "text": f"What does the {name} valve cost?",
            "evidence": [{"document": "parts.txt", "quote": lines[number]}],
            "group": "-",  # by itself, though its neighbours stand in the same paragraph
        }
        for number, name in enumerate(_PARTS[:questions])
    ]
    rows += [
        {"id": f"n{number}", "text": f"Who painted the {name}ix?", "answerable": False}
        for number, name in enumerate(_PARTS[:10])
    ]
    base.questions.import_file(SET, "parts.jsonl", "\n".join(map(json.dumps, rows)))
    return workspace, base


RECIPE = QUICK.with_fields({"index.chunk_size": 8, "search.candidates": 20})


def _build(workspace: Workspace, base: KnowledgeBase, recipe: Recipe) -> None:
    workspace.jobs.run(base.documents.build(recipe.index))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    workspace, base = _workspace(tmp_path_factory.mktemp("home"))
    _build(workspace, base, RECIPE)
    base.tuning.calibrator.fit(SET, RECIPE)
    return base


def test_a_diagnosis_leaves_out_changes_that_the_calibration_excludes(parts, monkeypatch):
    changes = [{"search.fuzzy": True}, {"search.threshold": 0.5}]
    monkeypatch.setattr("rag.experiments.tuning.diagnosis.fixes.changes_for", lambda *_: changes)
    by_probability = RECIPE.with_fields(
        {"search.relevance": "probability", "search.threshold": 0.99, "search.top_k": 1}
    )
    diagnosis = parts.tuning.diagnoses.diagnose(SET, by_probability)
    assert diagnosis.questions
    assert diagnosis.trials.tried == 1


def test_it_is_fitted_on_the_tuning_questions_and_kept(parts):
    fitted, curve = parts.tuning.calibrator.fit(SET, RECIPE)
    stored = parts.tuning.calibrator.fitted(RECIPE.index)
    assert stored is not None
    assert replace(stored, created=fitted.created) == fitted
    tuning = parts.questions.split(SET).tuning
    assert fitted.questions == len(tuning)
    assert (fitted.question_set, fitted.set_version) == (SET, parts.questions.named(SET).version)
    assert len(curve.answerable) + len(curve.unanswerable) == len(tuning)
    assert fitted.bm25 == {"k1": 1.2, "b": 0.75, "fuzzy": False, "prefix": False}
    assert fitted.quality.useful
    assert set(fitted.model.weights) == {"cosine", "bm25"}


def test_another_build_has_none_and_says_what_to_do(parts):
    other = RECIPE.with_fields({"index.chunk_size": 9, **PROBABILITY})
    assert parts.tuning.calibrator.fitted(other.index) is None
    with pytest.raises(InvalidInput, match="need a calibration"):
        parts.search("?", other)


def test_hits_carry_the_probability_and_the_threshold_is_compared_with_it(parts):
    model = parts.tuning.calibrator.fitted(RECIPE.index)
    recipe = RECIPE.with_fields({**PROBABILITY, "search.threshold": 0.5, "search.top_k": 20})
    trace = parts.search("What does the fenato valve cost?", recipe)
    weights = model.model.weights
    dropped = [drop.hit for stage in trace.stages for drop in stage.dropped]
    assert trace.hits
    assert dropped
    for hit in [*trace.hits, *dropped]:
        logit = weights["cosine"] * hit.parts["dense"] + weights["bm25"] * np.log1p(
            hit.parts["bm25"]
        )
        expected = 1 / (1 + np.exp(-(logit + model.model.intercept)))
        assert hit.relevance == pytest.approx(expected)
    assert min(hit.relevance for hit in trace.hits) >= 0.5 > max(hit.relevance for hit in dropped)
    stage = trace.stage("threshold")
    assert stage.note == "probability ≥ 0.5"
    assert stage.dropped[0].reason.startswith("probability 0.")


def test_a_passage_has_one_probability_in_every_mode(parts):
    found = {}
    for mode in ("hybrid", "dense", "lexical"):
        changes = {**PROBABILITY, "search.threshold": None, "search.mode": mode}
        recipe = RECIPE.with_fields({**changes, "search.top_k": 40})
        hits = parts.search("What does the fenato valve cost?", recipe).hits
        found[mode] = {hit.chunk.id: hit.relevance for hit in hits}
    for mode in ("dense", "lexical"):
        shared = found[mode].keys() & found["hybrid"].keys()
        assert shared
        assert all(found[mode][each] == found["hybrid"][each] for each in shared)


def test_auto_is_what_half_of_the_passages_deserve(parts):
    fitted, curve = parts.tuning.calibrator.fit(SET, RECIPE)
    point = curve.aim(0.5)
    auto = RECIPE.with_fields({**PROBABILITY, "search.threshold": "auto"})
    assert parts.recipes.threshold(auto) == fitted.threshold == point.threshold
    lexical = auto.with_fields({"search.mode": "lexical"})
    assert parts.recipes.threshold(lexical) == fitted.threshold
    assert parts.recipes.threshold(auto.with_fields({"search.threshold": 0.25})) == 0.25
    assert parts.recipes.threshold(auto.with_fields({"search.threshold": None})) is None


def test_another_bm25_than_the_fitted_one_is_refused(parts):
    recipe = RECIPE.with_fields({**PROBABILITY, "search.b": 0.5})
    with pytest.raises(InvalidInput, match=r"fitted with search.b=0.75"):
        parts.search("?", recipe)
    assert parts.recipes.threshold(recipe.with_fields({"search.relevance": "cosine"})) is None


def test_a_sweep_of_probabilities_without_a_calibration_is_refused(parts):
    recipe = RECIPE.with_fields({"index.chunk_size": 24})
    with pytest.raises(InvalidInput, match="need a calibration"):
        parts.tuning.sweep(SET, {"search.relevance": ["probability"]}, recipe, [1])


def test_floors_of_probabilities_are_read_on_held_out_questions(parts):
    held_out = parts.questions.split(SET).held_out
    tuner = parts.tuning.tuner(SET)
    curve = tuner.threshold_curve(RECIPE.with_fields(PROBABILITY))
    assert len(curve.answerable) + len(curve.unanswerable) == len(held_out)
    every = tuner.threshold_curve(RECIPE)
    assert len(every.answerable) + len(every.unanswerable) == 70
    best = curve.aim(0.9)
    assert best.precision is not None
    assert best.precision >= 0.9


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"search.mode": "dense", "search.candidates": 3},
        {"search.mode": "lexical", "search.k1": 0.4},
        PROBABILITY,
        {**PROBABILITY, "search.candidates": 2},
    ],
)
def test_values_of_floors_are_what_a_search_compares(parts, changes):
    recipe = RECIPE.with_fields({"search.matched_words": False, **changes})
    everything = recipe.with_fields({"search.threshold": None, "search.top_k": 100})
    curve = parts.tuning.tuner(SET).threshold_curve(recipe)
    counted = len(curve.answerable) + len(curve.unanswerable)
    held_out = parts.questions.split(SET).held_out
    asked = [one for one in parts.questions.usable(SET) if counted == 70 or one.id in held_out]
    hits = [hit for one in asked for hit in parts.search(one.text, everything).hits]
    assert sorted(set(curve.values)) == sorted({hit.relevance for hit in hits})


def test_a_report_tells_whether_probabilities_come_true(parts):
    fitted = parts.tuning.calibrator.fitted(RECIPE.index)
    assert fitted is not None
    run = parts.runs.evaluate(SET, RECIPE.with_fields(PROBABILITY), (1, 5)).run
    page = parts.runs.report(run.id)
    assert "Are the probabilities right?" in page
    assert "The threshold of this run is compared with it." in page
    for each in fitted.bins:
        assert f"<td>{each.predicted:.0%}</td>" in page
    plain = parts.runs.report(parts.runs.evaluate(SET, RECIPE, (1, 5)).run.id)
    assert "with the cosine instead" in plain


def test_too_few_labels_are_refused(home):
    workspace, base = _workspace(home, questions=12)
    with pytest.raises(NotEnoughLabels):
        base.tuning.calibrator.fit(SET, QUICK)
    assert base.tuning.calibrator.fitted(QUICK.index) is None
    workspace.close()


def test_deleting_the_build_deletes_its_calibration(home):
    workspace, base = _workspace(home)
    _build(workspace, base, RECIPE)
    base.tuning.calibrator.fit(SET, RECIPE)
    base.documents.delete_build(RECIPE.index.hash)
    _build(workspace, base, RECIPE)
    assert base.tuning.calibrator.fitted(RECIPE.index) is None
    workspace.close()


def test_a_run_with_probabilities_is_repeated_from_its_bundle(home):
    workspace, base = _workspace(home)
    _build(workspace, base, RECIPE)
    fitted, _ = base.tuning.calibrator.fit(SET, RECIPE)
    run = base.runs.evaluate(SET, RECIPE.with_fields({**PROBABILITY, "search.threshold": "auto"}))
    assert run.run.environment["calibration"] == fitted.digest
    workspace.bundle(run.run.id, home / "run.zip", with_documents=True)
    found = workspace.import_bundle(home / "run.zip", "again")
    assert found.exact, found.sentence
    again = workspace.base("again").tuning.calibrator.fitted(RECIPE.index)
    assert again.digest == fitted.digest
    base.tuning.calibrator.fit(SET, RECIPE.with_fields({"search.k1": 0.9}))
    with pytest.raises(InvalidInput, match="The calibration changed since run"):
        workspace.bundle(run.run.id, home / "late.zip")
    workspace.close()


def test_a_damaged_calibration_in_a_bundle_is_refused(home):
    workspace, base = _workspace(home)
    _build(workspace, base, RECIPE)
    base.tuning.calibrator.fit(SET, RECIPE)
    run = base.runs.evaluate(SET, RECIPE.with_fields(PROBABILITY), (1,))
    workspace.bundle(run.run.id, home / "run.zip", with_documents=True)
    parts = parts_of(home / "run.zip")
    learned = json.loads(parts["calibration.json"])
    learned["model"]["weights"]["cosine"] = -1.0
    parts["calibration.json"] = json.dumps(learned).encode()
    with pytest.raises(InvalidFile, match=r"calibration\.json of the bundle is damaged"):
        workspace.import_bundle(written(home / "bad.zip", parts), "again")
    assert [info.name for info in workspace.bases()] == ["parts"]
    workspace.close()


def test_probabilities_of_questions_that_taught_them_are_cross_validated(parts):
    _, curve = parts.tuning.calibrator.fit(SET, RECIPE)
    recipe = RECIPE.with_fields(PROBABILITY)
    tuner = parts.tuning.tuner(SET)
    curves, checking = tuner.promise_curves(recipe), tuner.threshold_curve(recipe)
    assert curves.choosing.values == pytest.approx(curve.values)
    assert curves.choosing.hits.tolist() == curve.hits.tolist()
    assert curves.checking.values.tolist() == checking.values.tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--precision", "90"], "--precision 90"), (["--set", "search.k1=0.5"], "")],
)
def test_the_command_checks_its_input(home, capsys, arguments, said):
    workspace, _ = _workspace(home, questions=8)
    workspace.close()
    assert main(["calibrate", "parts", SET, *arguments]) == 2
