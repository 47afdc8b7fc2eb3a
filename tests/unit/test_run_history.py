"""Runs know what they measured, are compared question by question, and keep notes."""

import hashlib
import json
from dataclasses import replace

import pytest

from pages.components.metrics.cards import style
from pages.components.runs.questions import sorted_by_gain, takeaway
from rag import VERSION, InvalidInput, KnowledgeBase, NotFound, Recipe, comparison_stop
from rag.experiments.runs.differences import differences, recipe_chips
from rag.types.results import EDITED, EDITS
from tests.runs import DOCUMENTS, QUESTIONS, SET, VECTORS, WORDS, handbook
from tests.workspaces import QUICK, add


def _run(base: KnowledgeBase, recipe: Recipe = WORDS) -> str:
    return base.runs.evaluate(SET, recipe, (1, 3, 10)).run.id


def test_a_run_knows_what_it_measured_and_with_what(base):
    run = base.runs.get(_run(base))
    ids = sorted(hashlib.sha256(text.encode()).hexdigest() for text in DOCUMENTS.values())
    assert run.documents_hash == hashlib.sha256("\n".join(ids).encode()).hexdigest()
    assert (run.documents, run.questions, run.question_set, run.set_version) == (3, 5, SET, 1)
    assert (run.recipe, run.build_hash) == (WORDS, WORDS.index.hash)
    assert run.code_version.startswith(VERSION)
    assert set(run.environment) >= {"touchstone", "python", "machine", "numpy"}


def test_what_is_too_long_or_unknown_is_refused(base):
    run = _run(base)
    with pytest.raises(InvalidInput, match="2,000 characters"):
        base.runs.describe(run, note="x" * 2001)
    with pytest.raises(InvalidInput, match="20 tags"):
        base.runs.describe(run, tags=["x" * 41])
    for act in (base.runs.pin, base.runs.remove, base.runs.get):
        with pytest.raises(NotFound, match="no run 'unknown'"):
            act("unknown")


def test_a_question_set_has_one_baseline_until_it_is_unpinned_or_deleted(base):
    first, second = _run(base), _run(base)
    assert base.runs.baseline(SET) is None
    base.runs.pin(first)
    base.runs.pin(second)
    pinned = base.runs.baseline(SET)
    assert pinned.id == second
    base.runs.remove(second)
    assert base.runs.baseline(SET) is None
    base.runs.pin(first)
    base.runs.unpin(SET)
    assert base.runs.baseline(SET) is None


def test_the_leaderboard_ranks_runs_and_names_what_their_recipes_change(base):
    words, vectors = _run(base), _run(base, VECTORS)
    base.runs.pin(words)
    rows = base.runs.leaderboard(SET, "ndcg@3")
    figures = {run.id: run.metrics["ndcg@3"] for run in base.runs.list_all(SET)}
    assert [row.value for row in rows] == sorted(figures.values(), reverse=True)
    by_id = {row.run.id: row for row in rows}
    assert {name: row.value for name, row in by_id.items()} == figures
    assert (by_id[words].is_baseline, by_id[words].chips) == (True, ())
    assert (by_id[vectors].is_baseline, by_id[vectors].chips) == (False, ("mode lexical → dense",))
    for row in rows:
        assert row.value is not None
        assert row.interval.low <= row.value <= row.interval.high
        assert row.comparable


def test_a_run_without_the_metric_stands_last(base):
    shallow = base.runs.evaluate(SET, WORDS, (1,)).run.id
    deep = _run(base)
    rows = base.runs.leaderboard(SET)
    assert [(row.run.id, row.value is None) for row in rows] == [(deep, False), (shallow, True)]
    assert rows[1].interval is None
    with pytest.raises(InvalidInput, match="did not measure ndcg@10"):
        base.runs.compare([deep], shallow)
    with pytest.raises(InvalidInput):
        base.runs.compare([deep], shallow, "answer_relevance")
    assert base.questions.tried(SET) == []


def test_comparing_lists_every_question_with_both_rankings(base):
    words, vectors = _run(base), _run(base, VECTORS)
    (found,) = base.runs.compare([vectors], words, "mrr@10")
    before = {item.question_id: item for item in base.runs.results(words)}
    after = {item.question_id: item for item in base.runs.results(vectors)}
    assert {row.question_id for row in found.rows} == {"q1", "q2", "q3", "q4"}
    for row in found.rows:
        one, other = before[row.question_id], after[row.question_id]
        assert (row.before, row.after) == (one.metrics["mrr@10"], other.metrics["mrr@10"])
        assert row.difference == pytest.approx(row.after - row.before)
        assert row.outcome == (
            "won" if row.after > row.before else "lost" if row.after < row.before else "tied"
        )
    sizes = [abs(row.difference) for row in found.rows]
    assert sizes == sorted(sizes, reverse=True)
    figures = found.figures
    assert (figures.won, figures.lost, figures.tied) == tuple(
        sum(row.outcome == each for row in found.rows) for each in ("won", "lost", "tied")
    )
    assert found.caveats == ()


def test_one_run_is_corrected_for_those_that_are_not_shown(base):
    words, one, two = _run(base), _run(base, VECTORS), _run(base, QUICK)
    table = base.runs.compare([one, two], words)
    (alone,) = base.runs.compare([one], words)
    assert (alone.figures.p, alone.figures.compared) == (table[0].figures.p, 2)
    _run(base, VECTORS)  # the same figures again are no other look
    assert base.runs.compare([one], words)[0].figures.compared == 2
    # Nor are they if the questions stand in another order by then.
    backwards = "\n".join(reversed(QUESTIONS.splitlines()))
    base.questions.import_file(SET, "questions.jsonl", backwards)
    _run(base, VECTORS)
    assert base.runs.compare([one], words)[0].figures.compared == 2


def test_regressions_are_the_questions_that_got_worse_than_the_baseline(base):
    words, vectors = _run(base), _run(base, VECTORS)
    with pytest.raises(NotFound, match="no baseline"):
        base.runs.regressions(vectors)
    base.runs.pin(words)
    before = {item.question_id: item.metrics for item in base.runs.results(words)}
    after = {item.question_id: item.metrics for item in base.runs.results(vectors)}
    worse = {
        name
        for name, held in after.items()
        if "ndcg@10" in held and held["ndcg@10"] < before[name]["ndcg@10"]
    }
    assert worse
    assert {row.question_id for row in base.runs.regressions(vectors)} == worse
    assert base.runs.regressions(words) == []


def test_an_id_that_means_another_question_now_is_left_out(base):
    first = _run(base)
    rows = [json.loads(line) for line in QUESTIONS.splitlines()]
    rows[0]["text"] = "When does leave lapse?"
    base.questions.import_file(SET, "questions.jsonl", "\n".join(map(json.dumps, rows)))
    (found,) = base.runs.compare([_run(base)], first)
    assert {row.question_id for row in found.rows} == {"q2", "q3", "q4"}
    assert found.figures.left_out == 1
    assert found.caveats == ("1 question not the same in both runs (version 1, then 2).",)
    assert found.figures.verdict == "incomparable"


def test_relevance_by_the_cosines_of_different_embedders_is_not_compared(home):
    workspace, base = handbook(home)
    fake, other = WORDS, WORDS.with_fields({"index.embedder": "wordllama"})
    workspace.jobs.run(base.documents.build(other.index))

    def measured(recipe: Recipe, relevance: float) -> str:
        beside = {f"q{n}": {"answer_relevance": relevance} for n in range(1, 5)}
        return base.runs.evaluate(SET, recipe, (3,), beside=beside).run.id

    low, again, high = measured(fake, 0.2), measured(fake, 0.2), measured(other, 0.9)
    metric = "answer_relevance"
    (found,) = base.runs.compare([high], low, metric)
    figures = found.figures
    assert (figures.verdict, round(figures.difference, 3)) == ("incomparable", 0.7)
    assert figures.headline == "Not comparable: each run measured it with its own embedder."
    assert figures.recommend("A", "B", "B") == "Choose another metric."
    assert base.runs.paired(high, low, metric).figures.verdict == "incomparable"
    changes = base.runs.changes(high, low, ["ndcg@3", metric])
    assert {name: change.obstacle for name, change in changes.items()} == {
        "ndcg@3": "",
        metric: "each run measured it with its own embedder",
    }
    assert base.runs.compare([again], low, metric)[0].figures.obstacle == ""
    rows = {row.run.id: (row.place, row.differs) for row in base.runs.leaderboard(SET, metric)}
    assert rows == {high: (1, ()), low: (None, ("embedders",)), again: (None, ("embedders",))}


def test_places_are_given_within_comparable_runs_alone(base):
    old = [_run(base), _run(base, VECTORS)]
    base.questions.import_file(SET, "questions.jsonl", QUESTIONS.replace("30 June", "leave may"))
    new = [_run(base), _run(base, VECTORS)]
    rows = base.runs.leaderboard(SET)
    assert {row.run.id for row in rows[:2]} == set(new)
    places = {row.run.id: row.place for row in rows}
    by_value = sorted(new, key=lambda run: -base.runs.get(run).metrics["ndcg@10"])
    assert [places[run] for run in by_value] == [1, 2]
    assert [places[run] for run in old] == [None, None]
    assert {row.run.id: row.differs for row in rows if row.differs} == dict.fromkeys(
        old, ("labels",)
    )
    base.runs.pin(old[0])
    assert {row.run.id for row in base.runs.leaderboard(SET) if row.place} == set(old)


def test_runs_are_compared_by_the_labels_of_today(base):
    """The stored rankings of both are graded anew, also where they have other passages."""
    old, other = base.runs.get(_run(base)), base.runs.get(_run(base, VECTORS))
    (judged,) = (item for item in base.questions.labelled(SET) if item.id == "q2")
    document = judged.labels[0].document_id
    base.questions.label(SET, "q1", document, 0, 40, 3)
    new = base.runs.get(_run(base))
    assert new.metrics["ndcg@10"] != old.metrics["ndcg@10"]
    same, changed = base.runs.compare([old.id, other.id], new.id)
    assert same.figures.obstacle == changed.figures.obstacle == ""
    assert same.figures.mean == same.figures.baseline == new.metrics["ndcg@10"]
    again = base.runs.get(_run(base, VECTORS))
    assert changed.figures.mean == again.metrics["ndcg@10"]
    assert "version 2" in " ".join(same.caveats)
    assert base.runs.differences(new.id, old.id).comparable
    changes = base.runs.changes(new.id, old.id, ["ndcg@10", "span_recall@3"])
    assert {name: one.obstacle for name, one in changes.items()} == {
        "ndcg@10": "",
        "span_recall@3": "the labels differ",
    }
    assert base.runs.paired(new.id, old.id, "mrr@10").figures.difference == 0
    base.documents.delete_documents([document])
    assert "labels" in base.runs.differences(new.id, old.id).data


def test_all_that_differs_is_named(base):
    run = base.runs.get(_run(base))
    other = replace(
        run,
        recipe=VECTORS,
        documents_hash="0" * 64,
        set_version=2,
        environment={**run.environment, "touchstone": "9.9", "numpy": "1.0", "calibration": "ab"},
    )
    asked = {"q1": "What?"}
    between = differences(other, run, asked, asked)
    assert between.recipe == ("mode lexical → dense",)
    assert between.obstacle == "the labels and the documents differ"
    alike = differences(run, run, asked, asked)
    assert (alike.comparable, alike.obstacle) == (True, "")


def test_chips_are_short_and_leave_answers_out():
    changed = QUICK.with_fields(
        {
            "search.top_k": 9,
            "search.dense_weight": 0.8,
            "search.threshold": 0.3,
            "search.fuzzy": True,
            "answer.max_tokens": 100,
        }
    )
    assert recipe_chips(QUICK, changed) == (
        "top-k 5 → 9",
        "threshold off → 0.3",
        "dense weight 0.6 → 0.8",
        "forgive misspellings off → on",
    )
    settled = QUICK.with_fields({"search.threshold": "auto"})
    assert recipe_chips(settled, changed)[1] == "threshold 0.3"  # "auto" is no value


def test_further_metrics_and_splits_share_one_risk_and_are_kept(base):
    before, after = (base.runs.evaluate(SET, each).run for each in (WORDS, VECTORS))
    ids = [after.id]
    (first,) = base.runs.compare(ids, before.id, "ndcg@10")
    (second,) = base.runs.compare(ids, before.id, "recall@10")
    held_out = base.questions.split(SET).held_out
    (third,) = base.runs.compare(ids, before.id, "ndcg@10", held_out)
    (again,) = base.runs.compare(ids, before.id, "ndcg@10")
    found = [each.figures.alpha for each in (first, second, third, again)]
    assert found == pytest.approx([0.02, 0.015, 0.005, 0.02])
    assert (first.attempt.split, third.attempt.split) == (0, 1)
    base.runs.report(after.id, before.id)
    base.runs.gate(SET, WORDS, {"ndcg@10": 0.0}, before.id)
    kinds = [(each.kind, each.metric, each.split_seed) for each in base.questions.tried(SET)]
    assert kinds == [
        ("comparison", "ndcg@10", None),
        ("comparison", "recall@10", None),
        ("comparison", "ndcg@10", 0),
        ("report", "ndcg@10", None),
        ("gate", "ndcg@10", None),
    ]
    base.questions.rename_set(SET, "other")
    assert len(base.questions.tried("other")) == 5
    assert base.questions.tried(SET) == []


def test_a_relevant_passage_that_the_threshold_cuts_is_told_from_one_that_is_not_found(base):
    ids = [question.id for question in base.questions.usable(SET) if question.answerable]
    open_ended, strict = (
        {result.question_id: result for result in base.runs.results(run)}
        for run in (
            _run(base, WORDS),
            _run(base, WORDS.with_fields({"search.threshold": 1.0, "search.exact_codes": False})),
        )
    )
    assert [open_ended[name].cut_rank for name in ids] == [None] * 4
    assert [strict[name].first_relevant for name in ids] == [None] * 4
    assert [strict[name].cut_rank for name in ids] == [
        open_ended[name].first_relevant for name in ids
    ]
    assert strict["q5"].cut_rank is None


def _leave_out(base: KnowledgeBase, name: str) -> int:
    return base.documents.edit_passages(name, "exclude", (0, len(DOCUMENTS[name])))


def test_a_document_that_was_left_out_is_named_and_the_other_questions_are_compared(base):
    first = _run(base)
    edit = _leave_out(base, "travel.txt")
    second = _run(base)
    between = base.runs.differences(second, first)
    assert not between.comparable
    changes = base.runs.changes(second, first, ["ndcg@10", "mrr@10"])
    assert {name: sorted(found.differences) for name, found in changes.items()} == {
        "ndcg@10": ["q1", "q2"],
        "mrr@10": ["q1", "q2"],
    }
    assert {found.verdict for found in changes.values()} == {"undecided"}
    (compared,) = base.runs.compare([second], first)
    assert compared.figures.verdict == "undecided"
    assert sorted(compared.figures.differences) == ["q1", "q2"]
    assert (compared.figures.left_out, compared.figures.obstacle) == (0, "")
    (compared,) = base.runs.compare([second], first, held_out=["q1", "q3"])
    assert sorted(compared.figures.differences) == ["q1"]
    (compared,) = base.runs.compare([second], first, held_out=["q4"])
    assert compared.figures.obstacle == "the documents left out of search differ"
    base.documents.remove_edit(edit)
    third = _run(base)
    assert base.runs.differences(third, first).comparable


def test_runs_are_not_compared_if_more_than_the_documents_left_out_changed(home):
    workspace, base = handbook(home)
    first = _run(base)
    _leave_out(base, "pump.txt")
    _leave_out(base, "travel.txt")
    add(workspace, base, {"canteen.txt": "Lunch is served from eleven to two."})
    second = _run(base)
    between = base.runs.differences(second, first)
    assert (between.data, between.sentences) == (
        ("documents",),
        (
            "pump.txt, travel.txt were left out of search between the two runs. Other documents "
            "changed too.",
        ),
    )
    found = base.runs.changes(second, first, ["ndcg@10"])["ndcg@10"]
    assert (found.verdict, found.obstacle) == ("incomparable", "the documents differ")


def test_the_questions_of_documents_with_other_edits_are_compared(base):
    base.documents.edit_passages("pump.txt", "words", (0, 10), "bellows")
    first = _run(base)
    base.documents.edit_passages("travel.txt", "exclude", (0, 33))
    second = _run(base)
    between = base.runs.differences(second, first)
    assert between.data == ("edits of passages",)
    found = base.runs.changes(second, first, ["ndcg@10"])["ndcg@10"]
    assert (sorted(found.differences), found.obstacle) == (["q1", "q2"], "")


def test_edits_that_a_run_of_an_earlier_version_does_not_name_are_counted(base):
    base.documents.edit_passages("travel.txt", "exclude", (0, 33))
    texts = {question.id: question.text for question in base.questions.usable(SET)}
    run = base.runs.get(_run(base))
    same = {name: value for name, value in run.environment.items() if name != EDITED}
    other = replace(run, environment={**same, EDITS: "1 words (1a)"}, documents_hash="0" * 64)
    between = differences(run, other, texts, texts)
    assert (between.data, between.edited) == (("edits of passages",), frozenset())
    between = differences(run, replace(other, environment=same), texts, texts)


FAULTS = "misleading@3"
STRICT = VECTORS.with_fields({"search.threshold": 0.99})
ASKED = [
    ("m1", "How long may unused leave be carried over?", "leave.md", "until 30 June", "travel.txt"),
    ("m2", "Why does the Hollin pump make a noise?", "pump.txt", "bearing is dry", "travel.txt"),
]


def _misled(base: KnowledgeBase) -> tuple[str, str]:
    """Return the ids of a run with misleading hits and of one without any hit."""
    rows = [
        {
            "id": key,
            "text": text,
            "evidence": [
                {"document": name, "quote": right},
                {"document": misleading, "quote": "Train journeys", "grade": -1},
            ],
        }
        for key, text, name, right, misleading in ASKED
    ]
    base.questions.import_file("misled", "misled.jsonl", "\n".join(map(json.dumps, rows)))
    loose = VECTORS.with_fields({"search.threshold": None})
    first, second = (base.runs.evaluate("misled", recipe, (3,)).run for recipe in (loose, STRICT))
    assert (first.metrics[FAULTS], second.metrics[FAULTS]) == (1.0, 0.0)
    return first.id, second.id


def test_a_question_with_fewer_misleading_hits_is_won(base):
    misled, empty = _misled(base)
    (fewer,) = base.runs.compare([empty], misled, FAULTS)
    assert [(row.difference, row.gain, row.outcome) for row in fewer.rows] == [
        (-1.0, 1.0, "won")
    ] * 2
    assert (fewer.figures.won, fewer.figures.lost, fewer.regressions) == (2, 0, ())
    assert takeaway(fewer) == "Better on 2 questions, worse on 0, the same on 0."
    (more,) = base.runs.compare([misled], empty, FAULTS)
    assert len(more.regressions) == 2
    assert takeaway(more) == "Better on 0 questions, worse on 2, the same on 0."
    rows = [replace(more.rows[0], gain=gain) for gain in (-1.0, 1.0)]
    assert [row.gain for row in sorted_by_gain(rows)] == [1.0, -1.0]


def test_the_run_with_fewer_misleading_hits_leads(base):
    misled, empty = _misled(base)
    rows = base.runs.leaderboard("misled", FAULTS)
    assert [(row.run.id, row.place) for row in rows] == [(empty, 1), (misled, 2)]
    rows = base.runs.leaderboard("misled", "ndcg@3")
    assert [(row.run.id, row.place) for row in rows] == [(misled, 1), (empty, 2)]


def test_a_fall_of_faults_is_green():
    assert style(-0.1, "false_doubt") == {"delta_color": "green", "delta_arrow": "down"}
    assert style(0.1, "false_doubt") == {"delta_color": "red", "delta_arrow": "up"}
    assert style(0.1, "ndcg@10") == {"delta_color": "green", "delta_arrow": "up"}


def test_a_comparison_without_a_difference_has_no_interval(base):
    first, second = (base.runs.evaluate(SET, WORDS).run for _ in range(2))
    (compared,) = base.runs.compare([second.id], first.id, "ndcg@10", None)
    stop = comparison_stop(compared, {first.id: "Words", second.id: "Again"}, WORDS)
    assert [(row.label, row.value, row.detail) for row in stop.values[2:]] == [
        ("Difference", "+0.000", ""),
        ("Questions", "0 won", "0 lost, 4 tied"),
    ]
    assert not any("interval" in text for text in (stop.tested, *stop.points))
