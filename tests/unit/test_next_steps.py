"""Checks of causes, next steps by gain per minute, and what advice costs or gains."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from rag import (
    AnswerRecipe,
    AuditEntry,
    Comparison,
    Cost,
    Diagnosis,
    FailedQuestion,
    Fix,
    NextStep,
    Recipe,
    Settings,
)
from rag.evaluation import compare
from rag.experiments.tuning.diagnosis.case import Figures
from rag.experiments.tuning.diagnosis.causes import Cause, Finding
from rag.experiments.tuning.diagnosis.checks import found_by_one, lost_label, too_low
from rag.experiments.tuning.diagnosis.fixes import Changes, Trials, changes_for, index_changes_for
from rag.experiments.tuning.diagnosis.next_steps import (
    APPLY_SECONDS,
    LEAST_VALUE,
    TYPICAL_SECONDS,
    Basis,
    LabellingPace,
    LargerTopK,
    labelling_pace,
    next_steps,
    pace_of,
    value_of_labels,
)
from rag.experiments.tuning.diagnosis.trial_builds import Rebuild
from rag.retrieval import Corpus, SearchQuery
from rag.retrieval.topic import Topic, TopicEvidence
from rag.services.services import Models
from rag.storage.access import audit
from rag.types import LOST, Evidence
from tests.unit.test_reanchoring import TEXT
from tests.workspaces import QUICK, add

RECIPE = Recipe().with_fields({"search.threshold": 0.5, "index.chunk_size": 100})
OFF: Changes = {"search.threshold": None}
WORDS: Changes = {"search.mode": "lexical"}


def _comparison(*differences: float) -> Comparison:
    before = {str(number): 0.5 for number in range(len(differences))}
    after = {str(number): 0.5 + value for number, value in enumerate(differences)}
    return compare("ndcg@10", after, before, kind="held-out")


def _fix(changes: Changes, *differences: float) -> Fix:
    return Fix(changes, ("threshold",), 3, 20, 0.1, _comparison(*differences))


def _steps(
    *fixes: Fix, rebuild: Rebuild | None = None, note: str = "", tried: int = 0
) -> list[NextStep]:
    trials = Trials("ndcg@10", fixes, note=note, tried=tried)
    return next_steps(Basis(RECIPE, 40, 80, trials, rebuild, LabellingPace()))


def test_steps_are_ranked_by_gain_per_minute():
    small, sure = [0.1, 0.1, 0.1, 0.1, 0.1] * 4, [0.4, 0.4, 0.3, 0.4, 0.4] * 4
    rebuild = Rebuild(({"index.chunk_size": 200},), ("cut",), 4, 3, 0.2, 90.0)
    steps = _steps(_fix(OFF, *small), _fix(WORDS, *sure), rebuild=rebuild)
    assert [(step.kind, step.title) for step in steps] == [
        ("fix", "mode hybrid → lexical"),
        ("fix", "threshold 0.5 → off"),
        ("rebuild", "Build and try 1 variant of the index"),
    ]
    assert steps[0].gain == pytest.approx(0.38)
    assert steps[0].gain_per_minute == pytest.approx(60 * 0.38 / APPLY_SECONDS)
    assert steps[0].reason == ("20 held-out questions better, 0 worse, 0 the same.")


def test_a_rebuild_names_what_it_costs():
    rebuild = Rebuild(({"index.chunk_size": 200},), ("cut",), 4, 3, 0.2, 90.0, 12_000)
    (step,) = _steps(rebuild=rebuild)
    assert step.reason.endswith(" It embeds about 12,000 tokens.")
    priced = replace(rebuild, price=Cost(0.024, "USD"))
    (step,) = _steps(rebuild=priced)
    assert step.reason.endswith(" It embeds about 12,000 tokens, for about 0.0240 USD.")


def test_labels_gain_what_they_decide():
    fix = _fix(OFF, *([0.5, -0.5] * 10))
    assert fix.comparison.verdict == "undecided"
    (step,) = _steps(fix)
    assert step.kind == "label"
    # Half of the questions are held out: 10 more, beside 20.
    spread = math.sqrt(0.25 * 20 / 19 * 10 / (20 * 30))
    assert step.gain == pytest.approx(spread / math.sqrt(2 * math.pi))  # the mean is 0
    assert step.seconds == 20 * 2 * TYPICAL_SECONDS  # two labels a question


def test_an_undecided_gain_is_used_or_labelled():
    fix, label = _steps(_fix(OFF, *([0.4, 0.4, -0.3, -0.3] * 5)))
    assert (fix.kind, label.kind) == ("fix", "label")
    assert (fix.gain or 0.0) > (label.gain or 0.0) >= LEAST_VALUE


def test_labels_that_would_decide_nothing_are_not_asked_for():
    (fix,) = _steps(_fix(OFF, *([0.4, 0.4, 0.0, -0.3] * 5)))
    assert fix.kind == "fix"
    assert fix.fix.comparison.verdict == "undecided"


def test_what_lost_where_it_was_measured_is_not_offered():
    loss = _fix(WORDS, *([0.5, -0.6] * 10))
    assert loss.comparison.verdict == "undecided"
    assert value_of_labels(loss.comparison, 10) > 0.001
    rebuild = Rebuild(({"index.chunk_size": 200},), ("cut",), 4, 0, -0.083, 90.0)
    (step,) = _steps(loss, rebuild=rebuild)
    assert step.kind == "nothing"


def test_no_gain_is_seen_in_what_is_equal():
    fix = _fix(OFF, *([0.001, -0.001] * 10))
    (step,) = _steps(fix)
    assert (step.kind, step.gain) == ("nothing", 0.0)
    assert "0.5 → off" in step.title
    (step,) = _steps(_fix(OFF, *([0.0] * 10)))


@pytest.mark.parametrize(
    ("differences", "kinds"),
    [
        ([0.02, 0.01, 0.01, -0.01, -0.01, -0.01, 0.0, 0.0, 0.0, 0.0], ["nothing"]),
        ([0.02, 0.01, 0.01, -0.01, -0.01, 0.0, 0.0, 0.0, 0.0, 0.0], ["fix"]),
        ([0.011, 0.012, -0.022, 0.0], ["label"]),  # more win than lose, by +0.000
    ],
)
def test_an_undecided_gain_that_is_as_good_as_none_is_no_step(differences, kinds):
    fix = _fix(OFF, *differences)
    assert fix.comparison.verdict == "undecided"
    assert fix.comparison.difference > 0
    assert [step.kind for step in _steps(fix)] == kinds


def test_a_set_that_is_too_small_to_try_fixes_needs_labels():
    (step,) = _steps(note="The set is too small.")
    assert (step.kind, step.gain) == ("label", None)


def test_steps_of_unknown_gain_come_after_the_others():
    unknown = Rebuild(({"index.chunk_size": 200},), ("cut",), 4, 0, None, 10.0)
    kinds = [step.kind for step in _steps(_fix(OFF, *([0.2] * 20)), rebuild=unknown)]
    assert kinds == ["fix", "rebuild"]


def test_the_value_of_labels_falls_with_what_is_known():
    open_, clear = _comparison(*([0.5, -0.5] * 10)), _comparison(*([0.9, 0.1] * 10))
    assert value_of_labels(open_, 10) > 100 * value_of_labels(clear, 10)
    assert value_of_labels(open_, 10) < value_of_labels(open_, 40)
    assert value_of_labels(_comparison(0.5), 10) == 0.0


def test_the_pace_of_labels_is_the_median_of_gaps_without_pauses():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    seconds = [0, 20, 40, 60, 80, 100, 130, 160, 190, 220, 250]
    mine = [("a", start + timedelta(seconds=at)) for at in seconds]
    after_lunch = ("a", start + timedelta(hours=2))
    assert pace_of([*mine, after_lunch]) == LabellingPace(25.0, 10)
    assert pace_of(mine[:5]) == LabellingPace(TYPICAL_SECONDS, 0)
    others = [(str(number), start) for number in range(40)]
    assert pace_of(others).measured == 0


def test_labels_of_programs_are_no_pace(workspace):
    base_id = workspace.create("notes", RECIPE).id
    start = datetime(2026, 1, 1, tzinfo=UTC)

    def entry(via: str, seconds: float) -> AuditEntry:
        at = start + timedelta(seconds=seconds)
        return AuditEntry(at, "ann", via, "", base_id, "notes", "labels", "questions.label")

    with workspace._services.database.write() as connection:
        audit.add(connection, [entry("api", number / 10) for number in range(40)])
        assert labelling_pace(connection, base_id) == LabellingPace(TYPICAL_SECONDS, 0)
        audit.add(connection, [entry("page", 30.0 * number) for number in range(12)])
        assert labelling_pace(connection, base_id) == LabellingPace(30.0, 11)


def test_an_index_is_changed_where_passages_are_cut_apart():
    fixed = RECIPE.with_fields({"index.chunker": "fixed"})
    assert index_changes_for("cut", fixed) == [
        {"index.chunker": "recursive"},
        {"index.chunk_size": 200},
        {"index.chunk_overlap": 25},
    ]
    assert index_changes_for("cut", RECIPE.with_fields({"index.chunker": "whole"})) == []
    bare = RECIPE.with_fields({"index.context": "none"})
    assert index_changes_for("table_row", bare) == [{"index.context": "table"}]
    assert index_changes_for("threshold", RECIPE) == []


def test_labels_come_after_a_change_with_a_higher_gain_per_minute():
    better = replace(_fix(OFF, *([0.08] * 20)), causes=("answered",))
    open_ = replace(_fix(WORDS, *([0.5, -0.5] * 10)), causes=("top_k",))
    trials = Trials("ndcg@10", (open_, better), tried=2)
    causes: dict[Cause, int] = {"top_k": 5, "answered": 1}
    steps = next_steps(Basis(RECIPE, 40, 80, trials, None, LabellingPace(), causes=causes))
    assert [step.kind for step in steps] == ["advice", "fix", "label"]
    assert (steps[1].gain_per_minute or 0.0) > (steps[2].gain_per_minute or 0.0)


def test_the_largest_group_of_failures_comes_first():
    ranked = _fix(WORDS, *([0.4] * 20))
    trials = Trials("ndcg@10", (ranked,), tried=3)
    basis = Basis(RECIPE, 40, 80, trials, None, LabellingPace())
    counts: dict[Cause, int] = {"answered": 5, "threshold": 2}
    advice, fix = next_steps(replace(basis, causes=counts))
    assert (advice.kind, advice.gain, fix.kind) == ("advice", None, "fix")
    assert advice.title == "5 of 7 failed questions: answered, though no document does"
    assert advice.reason.startswith("Raise the threshold, or the limit of off-topic questions")
    # The advice is for all questions of the group: it speaks of none.
    doubted, *_ = next_steps(replace(basis, causes={"doubted": 4}))
    assert doubted.reason.startswith("Ask in the words")
    # A change against the group that was measured takes the place of the advice.
    refusal = replace(_fix({"search.threshold": 0.6}, *([0.1] * 20)), causes=("answered",))
    measured = replace(trials, fixes=(ranked, refusal))
    steps = next_steps(replace(basis, trials=measured, causes=counts))
    assert [step.title for step in steps[:2]] == ["threshold 0.5 → 0.6", "mode hybrid → lexical"]
    # As many failures: the gain decides.
    equal: dict[Cause, int] = {"answered": 2, "threshold": 2}
    assert [step.kind for step in next_steps(replace(basis, causes=equal))] == ["fix"]
    # Nor is it advised where it gained on the tuning questions alone.
    lost = replace(trials, fixes=(replace(refusal, comparison=_comparison(*([-0.2] * 20))),))
    advice, nothing = next_steps(replace(basis, trials=lost, causes=counts))
    assert (advice.reason, nothing.title) == (
        "Raise the limit of off-topic questions.",
        "Nothing that was tried helps",
    )
    # Advice that was tried without gain is none.
    failed = replace(trials, without_gain=("top_k", "misspelt"))
    spelling = replace(basis, trials=failed, causes={"misspelt": 5, "threshold": 2})
    assert [step.kind for step in next_steps(spelling)] == ["fix"]
    (advice, _) = next_steps(replace(spelling, causes={"top_k": 5, "threshold": 2}))
    assert advice.reason == "Add a reranker."
    # Nor is a reranker, where none can be added or the recipe has one.
    low: dict[Cause, int] = {"ranked_low": 5, "threshold": 2}
    (advice, _) = next_steps(replace(basis, causes=low, can_rerank=False))
    assert advice.reason == "Change the fusion."
    reranked = basis.recipe.with_fields({"search.rerank": "service"})
    (advice, _) = next_steps(replace(basis, causes=low, recipe=reranked))
    assert advice.reason == "Change the fusion."
    (advice, _) = next_steps(replace(basis, causes=low))
    assert advice.reason == "Add a reranker, or change the fusion."
    none_here = replace(spelling, causes={"top_k": 5, "threshold": 2}, can_rerank=False)
    assert [step.kind for step in next_steps(none_here)] == ["fix"]


def test_a_larger_top_k_comes_first_where_most_questions_are_below_it():
    weight = replace(_fix({"search.dense_weight": 0.8}, *([0.3] * 20)), causes=("top_k",))
    off = _fix(OFF, *([0.4] * 20))
    trials = Trials("ndcg@10", (off, weight), tried=3)
    larger = LargerTopK(10, 3, 3)
    basis = Basis(RECIPE, 40, 80, trials, None, LabellingPace(), larger=larger)
    most: dict[Cause, int] = {"top_k": 3, "threshold": 1}
    kinds = [(step.kind, step.causes) for step in next_steps(replace(basis, causes=most))]
    assert kinds == [("top_k", ("top_k",)), ("fix", ("top_k",)), ("fix", ("threshold",))]
    # Where others are more, it stands behind gains that were measured.
    few: dict[Cause, int] = {"top_k": 1, "threshold": 3}
    kinds = [(step.kind, step.causes) for step in next_steps(replace(basis, causes=few))]
    assert kinds == [("fix", ("threshold",)), ("fix", ("top_k",)), ("top_k", ("top_k",))]


def test_a_reranker_is_advised_where_one_can_work(tmp_path):
    quotes, written = AnswerRecipe(), AnswerRecipe(provider="ollama")
    bare = Models(Settings.from_env({}, home=tmp_path))
    url = {"TOUCHSTONE_RERANK_URL": "http://127.0.0.1:9"}
    with_service = Models(Settings.from_env(url, home=tmp_path))
    assert [bare.can_rerank(quotes), bare.can_rerank(written)] == [False, True]
    assert with_service.can_rerank(quotes)


@pytest.mark.parametrize(
    ("near", "lexical", "cause", "evidence"),
    [
        (6, 4, None, ""),  # both have it, though one alone would return it
        (40, 12, None, ""),
        (6, 70, "meaning_only", "Only dense search has it in the first 50: dense rank 6, lexical"),
        (60, 4, "words_only", "Only lexical search has it in the first 50: dense rank 60, lexical"),
        (None, 4, "words_only", "Only lexical search has it in the first 50: dense not at all"),
        (60, None, "not_found", "Neither search has it in the first 50: dense rank 60, lexical"),
    ],
)
def test_a_passage_is_found_by_one_search_if_the_other_has_it_not_among_its_candidates(
    near, lexical, cause, evidence
):
    case: Any = SimpleNamespace(
        search=Recipe().search.model_copy(update={"candidates": 50, "top_k": 5}),
        figures=Figures(0.5, near, lexical, ()),
        rank=6,
        shown_rank=None,
        corpus=SimpleNamespace(lexical=SimpleNamespace(spellings=lambda _text: {})),
        question=SimpleNamespace(text="Who?"),
        setting=SimpleNamespace(recipe=Recipe()),
    )
    finding = found_by_one(case)
    assert (finding.cause if finding else None) == cause
    assert evidence in (finding.evidence if finding else "")
    if cause is None:
        assert too_low(case).cause == "top_k"


def test_a_larger_top_k_is_what_returns_passages_below_it():
    recipe = Recipe().with_fields({"search.mode": "lexical", "search.top_k": 5})

    def below(*ranks: int | None) -> Diagnosis:
        failed = [
            FailedQuestion(
                str(rank), "Who?", 0.0, Finding("top_k", "", {"rank": rank} if rank else {})
            )
            for rank in ranks
        ]
        trials = Trials("ndcg@10", without_gain=("top_k",))
        return Diagnosis("checks", recipe, "", 9, tuple(failed), trials, can_rerank=False)

    assert below(6, 9).larger == LargerTopK(10, 2, 2)
    assert below(6, 9, 70).larger == LargerTopK(10, 2, 3)
    assert below(6, 18, 31).larger == LargerTopK(20, 2, 3)
    assert below().larger is None
    assert below(21).larger is None  # a better ranking helps more
    assert below(20).larger == LargerTopK(20, 1, 1)
    assert below(6, None).larger == LargerTopK(10, 1, 1)  # which is no candidate
    (step, *_) = below(6, 6, 6).next_steps
    assert (step.kind, step.changes) == ("top_k", ({"search.top_k": 10},))
    assert {"search.top_k": 10} not in changes_for("top_k", recipe, None)


@pytest.mark.parametrize(
    ("name", "quote", "cause", "message"),
    [
        (
            "leave.md",
            "Up to eight days of “unused” leave",
            "doubtful",
            "leave.md has these words, but the label is not placed there.",
        ),
        (
            "leave.md",
            "leave lapses over eight days",
            "doubtful",
            "leave.md has the words of the label, but not as one quote.",
        ),
        (
            "leave.pdf",
            "leave lapses over eight days",
            "misread",
            "leave.pdf has the words of the label, but not as one quote.",
        ),
    ],
)
def test_a_text_file_is_not_called_read_wrongly(name, quote, cause, message):
    label = Evidence(LOST + name, 0, len(quote), 2, quote)
    finding = lost_label(label, {name: TEXT}, [])
    assert (finding.cause, finding.evidence) == (cause, message)


LEXICAL = QUICK.with_fields({"search.mode": "lexical", "search.top_k": 1})
PARKING = "Parking permits are sold at the reception desk."


def test_a_limit_is_advised_where_it_refuses_no_question_with_an_answer(workspace, monkeypatch):
    base = workspace.create("permits", LEXICAL)
    add(workspace, base, {"parking.md": PARKING})
    asked, label = "Where are parking permits sold", {"document": "parking.md", "quote": PARKING}
    lines: list[dict[str, Any]] = [
        {"id": f"{n}", "text": f"{asked}{n * '?'}", "evidence": [label]} for n in range(20)
    ]
    lines.append({"id": "none", "text": "Who sells RX-77 permits?", "answerable": False})
    base.questions.import_file("limited", "x.jsonl", "\n".join(map(json.dumps, lines)))
    monkeypatch.setattr("rag.experiments.runs.quality.failing.FLAGGED", ())

    def advised(on_topic: float) -> tuple[str, str]:
        def topic(query: SearchQuery, _corpus: Corpus) -> Topic:
            evidence = TopicEvidence(0.5, 0.1, 0.5, 0.1, 0.5, 0.5)
            return Topic(evidence, on_topic if "RX-77" in query.words else 0.6, 0.275)

        with monkeypatch.context() as patch:
            patch.setattr("rag.experiments.tuning.candidates.topic_of", topic)
            diagnosis = base.tuning.diagnoses.diagnose("limited", LEXICAL)
        (failed,) = diagnosis.questions
        untried = replace(diagnosis, trials=replace(diagnosis.trials, fixes=(), without_gain=()))
        return failed.finding.evidence.partition("on-topic: ")[2], untried.advice("answered")

    evidence, advice = advised(0.4)
    assert evidence == "0.400; questions with an answer have at least 0.600."
    assert advice.startswith("Raise the threshold, or the limit of off-topic questions, only if")
    assert "refuses no question with an answer" in advice
    evidence, advice = advised(0.99)
    assert evidence == "0.990; questions with an answer have at least 0.600."
    assert advice.startswith("Read what the answer rests on. Raise the threshold")
    assert "refuses no question with an answer" in advice


def test_a_question_with_the_expected_answer_does_not_fail_by_its_rank(workspace):
    base = workspace.create("answered", LEXICAL)
    add(workspace, base, {"parking.md": PARKING})
    label = {"document": "parking.md", "quote": PARKING}
    line = {"id": "p", "text": "Where are permits sold?", "evidence": [label]}
    base.questions.import_file("answered", "x.jsonl", json.dumps(line))
    strict = LEXICAL.with_fields({"search.threshold": 1.0})
    right = {"false_doubt": 0.0, "answer_containment": 1.0}
    for beside, causes in (({}, {"threshold": 1}), ({"p": right}, {})):
        base.runs.evaluate("answered", strict, beside=beside)
        assert base.tuning.diagnoses.diagnose("answered", strict).causes == causes
