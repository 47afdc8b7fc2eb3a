"""The tuner: the figures of the ordinary pipeline, by question, and an honest best recipe."""

import contextlib

import numpy as np
import pytest

from rag import Best, Grid, InvalidInput, KnowledgeBase, QuestionFigures, Selection, Tuner
from tests.runs import SET, VECTORS, WORDS, handbook

HYBRID = WORDS.with_fields({"search.mode": "hybrid", "search.threshold": 0.2, "search.top_k": 2})
RECIPES = [
    WORDS,
    VECTORS,
    HYBRID,
    HYBRID.with_fields({"search.dense_weight": 0.1, "search.threshold": 0.35}),
    HYBRID.with_fields({"search.fusion": "rrf", "search.threshold": None}),
    HYBRID.with_fields({"search.candidates": 3, "search.top_k": 1}),
    WORDS.with_fields({"search.candidates": 2, "search.top_k": 3, "search.threshold": 0.2}),
    VECTORS.with_fields({"search.candidates": 1}),
]
METRICS = ["ndcg@3", "mrr@3", "recall@3", "precision@1"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return handbook(tmp_path_factory.mktemp("home"))[1]


@pytest.fixture(scope="module")
def tuner(base: KnowledgeBase) -> Tuner:
    return base.tuning.tuner(SET)


def test_figures_are_those_of_an_evaluation_question_by_question(base, tuner):
    figures = tuner.figures(RECIPES, METRICS)
    for number, recipe in enumerate(RECIPES):
        found = base.runs.evaluate(SET, recipe, (1, 3, 20))
        by_id = {result.question_id: result for result in found.results}
        for name in METRICS:
            values = figures.metrics[name][number]
            assert values.tolist() == [by_id[key].metrics[name] for key in figures.labelled]
            assert _mean(figures, name, number) == found.run.metrics[name]
        refused = found.run.metrics["correct_refusal"], found.run.metrics["false_refusal"]
        assert _mean(figures, "correct_refusal", number) == refused[0]
        assert _mean(figures, "answered", number) == pytest.approx(1 - refused[1])


def test_precision_of_what_is_shown_counts_passages(base, tuner):
    figures = tuner.figures([HYBRID, HYBRID.with_fields({"search.threshold": 1.0})], METRICS)
    means = figures.means("shown_precision")
    assert means[0] == figures.relevant[0].sum() / figures.shown[0].sum()
    assert 0 < figures.relevant[0].sum() <= 4
    assert np.isnan(means[1])


def test_a_part_has_its_questions_only(base, tuner):
    parts = base.questions.split(SET)
    everything = tuner.figures([HYBRID], METRICS)
    all_ids = list(everything.labelled)
    for part, ids in (("tuning", parts.tuning), ("held-out", parts.held_out)):
        some = tuner.figures([HYBRID], METRICS, part, with_context=True)
        assert list(some.labelled) == [name for name in ids if name in all_ids]
        places = [all_ids.index(name) for name in some.labelled]
        assert (
            some.metrics["ndcg@3"][0].tolist() == everything.metrics["ndcg@3"][0][places].tolist()
        )
        assert tuner.counted(part) == len(ids) == len(some.above[0])


def test_a_change_is_paired(tuner):
    ours, theirs = tuner.figures([HYBRID], METRICS), tuner.figures([WORDS], METRICS)
    change = ours.changes(["ndcg@3", "correct_refusal"], theirs)
    expected = _mean(ours, "ndcg@3", 0) - _mean(theirs, "ndcg@3", 0)
    assert change["ndcg@3"].difference == pytest.approx(expected)
    assert list(change) == ["ndcg@3", "correct_refusal"]
    same = ours.changes(["ndcg@3"], ours)["ndcg@3"]
    assert (same.difference, same.verdict) == (0.0, "undecided")
    assert same.interval.low < 0.0 < same.interval.high
    # Corrected for two figures that are shown side by side.
    assert (change["ndcg@3"].compared, same.compared) == (2, 1)


def test_intervals_are_those_of_the_lab(base, tuner):
    run = base.runs.evaluate(SET, HYBRID, (1, 3, 20)).run
    names = [*METRICS, "correct_refusal"]
    expected = base.runs.intervals(run.id)
    found = tuner.figures([HYBRID], METRICS).intervals(names)
    assert set(found) == set(names)
    for name in names:
        assert tuple(found[name]) == pytest.approx(tuple(expected[name]))


def test_the_best_is_chosen_on_all_questions_and_worth_what_others_say(base, tuner):
    grid = Grid.parse({"search.mode": ["dense", "lexical"], "search.threshold": [None, 1.0]}, WORDS)
    empty = WORDS.with_fields({"search.threshold": 1.0})
    best = tuner.search(grid, empty, "ndcg@3")
    recipes = [grid.recipe(number) for number in range(4)]
    every = tuner.figures([*recipes, empty], ["ndcg@3"])
    means = every.means("ndcg@3")
    assert best.recipe == recipes[int(np.argmax(means[:4]))]
    found = best.selection
    assert isinstance(found, Selection)
    assert found.tried == best.sweep.distinct == 3  # both with the threshold of 1 are alike
    assert found.lead == pytest.approx(means[:4].max() - means[4])
    assert found.gain == pytest.approx(1.0)
    assert tuple(found.comparison.differences) == every.labelled
    assert (best.attempt.number, found.comparison.alpha) == (1, 0.02)


def test_a_search_that_finds_the_same_counts_once_and_others_need_more(tmp_path):
    base = handbook(tmp_path)[1]
    tuner = base.tuning.tuner(SET)
    grid = Grid.parse({"search.mode": ["dense", "lexical"]}, WORDS)
    tuner.search(grid, WORDS, "ndcg@3")
    other = tuner.search(grid, WORDS, "recall@1")
    again = tuner.search(grid, WORDS, "ndcg@3")
    assert (other.attempt.number, other.selection.comparison.alpha) == (2, 0.015)
    assert (again.attempt.number, again.selection.comparison.alpha) == (1, 0.02)
    looks = base.questions.tried(SET)
    assert [(each.kind, each.metric, each.alternatives) for each in looks] == [
        ("search", "ndcg@3", 2),
        ("search", "recall@1", 2),
    ]
    assert WORDS.hash in looks[0].recipes


def test_another_split_is_counted_and_said(tmp_path):
    base = handbook(tmp_path)[1]
    grid = Grid.parse({"search.mode": ["dense"]}, WORDS)
    seeds = iter(range(200))
    found = list[Best]()
    while len(found) < 3:
        base.questions.set_split(SET, next(seeds), 0.5)
        with contextlib.suppress(InvalidInput):  # a part without labels
            found.append(base.tuning.tuner(SET).search(grid, WORDS, "ndcg@3", held_out=True))
    assert [each.attempt.split for each in found] == [1, 2, 3]
    assert [each.attempt.number for each in found] == [1, 2, 3]
    assert found[2].selection.comparison.alpha == pytest.approx(0.005)
    assert found[0].attempt.sentence == ""


def test_the_best_is_chosen_on_tuning_questions(base, tuner):
    grid = Grid.parse({"search.mode": ["dense", "lexical"], "search.threshold": [None, 1.0]}, WORDS)
    empty = WORDS.with_fields({"search.threshold": 1.0})
    best = tuner.search(grid, empty, "ndcg@3", held_out=True)
    tuned = tuner.figures([grid.recipe(number) for number in range(4)], ["ndcg@3"], "tuning")
    means = tuned.means("ndcg@3")
    assert means is not None
    assert best.sweep.figures[:, best.sweep.names.index("ndcg@3")] == pytest.approx(means)
    assert best.recipe == grid.recipe(int(np.argmax(means)))
    assert best.selection.tried == 3
    assert best.selection.comparison.kind == "held-out"
    held_out = set(base.questions.split(SET).held_out)
    assert set(best.selection.comparison.differences) <= held_out


def test_nothing_better_leaves_the_baseline(tuner):
    grid = Grid.parse({"search.threshold": [1.0]}, WORDS)
    best = tuner.search(grid, WORDS, "ndcg@3")
    assert best.recipe == WORDS


def test_a_set_too_small_is_not_split(base):
    question = (
        '{"id": "a", "text": "Hotel?", "evidence": [{"document": "travel.txt", "quote": "Hotels"}]}'
    )
    base.questions.import_file("one", "one.jsonl", question)
    tuner = base.tuning.tuner("one")
    assert tuner.split is None
    assert tuner.figures([WORDS], METRICS).labelled == ("a",)
    with pytest.raises(InvalidInput, match="too few"):
        tuner.search(Grid.parse({}, WORDS), WORDS, "ndcg@3", held_out=True)
    with pytest.raises(InvalidInput, match=r"Too few questions to choose a recipe \(1\)"):
        tuner.search(Grid.parse({}, WORDS), WORDS, "ndcg@3")


def _mean(figures: QuestionFigures, name: str, number: int) -> float:
    means = figures.means(name)
    return float(means[number])


def _only_unanswerable_to_choose_on(base: KnowledgeBase) -> None:
    """Splits the set so that nothing can be found for any of its tuning questions."""
    for number in range(1, 5):  # a group stays whole: too many to be the fifth of the set
        base.questions.edit_question(SET, f"q{number}", group="one")
    base.questions.set_split(SET, 0, 0.5)
    assert base.questions.split(SET).tuning == ("q5",)


@pytest.mark.parametrize("judged", [False, True])
def test_a_search_without_labels_to_choose_by_says_so(tmp_path, judged):
    base = handbook(tmp_path)[1]
    _only_unanswerable_to_choose_on(base)
    if judged:
        [hit, *_] = base.search("Who won the cup in 1954?", VECTORS).hits
        base.questions.label(SET, "q5", hit.chunk.document_id, 0, hit.chunk.end, 0)
    tuner = base.tuning.tuner(SET)
    grid = Grid.parse({"search.k1": [0.9, 1.2]}, WORDS)
    with pytest.raises(InvalidInput, match="label"):
        tuner.search(grid, WORDS, "ndcg@10", held_out=True)


def test_a_half_without_labels_is_not_said_to_need_a_build(tmp_path):
    base = handbook(tmp_path)[1]
    _only_unanswerable_to_choose_on(base)
    with pytest.raises(InvalidInput, match="None of these questions has a label"):
        base.tuning.calibrator.fit(SET, WORDS)
