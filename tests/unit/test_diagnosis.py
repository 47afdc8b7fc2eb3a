"""Causes of failed questions, each planted, and fixes measured on questions that did not choose."""

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rag import (
    Cancelled,
    Diagnosis,
    FailedQuestion,
    IndexRecipe,
    InvalidInput,
    KnowledgeBase,
    Workspace,
)
from rag.experiments.tuning.diagnosis import fixes
from rag.experiments.tuning.diagnosis.causes import Finding
from rag.experiments.tuning.diagnosis.checks import INDEXED_RANK
from rag.experiments.tuning.diagnosis.diagnosis import diagnosed
from rag.experiments.tuning.diagnosis.fixes import Trials, changes_for, index_changes_for
from rag.experiments.tuning.diagnosis.trial_builds import PartOfProgress, gain_of
from rag.library.documents.bulk_jobs import build_indexes
from rag.library.documents.ingestion import Ingestion
from rag.library.documents.remaining_time import RemainingTime
from rag.services.jobs import Reporter
from rag.services.jobs.reporter import HEARTBEAT_SECONDS, TurnOver
from rag.storage import jobs as rows
from rag.types import Floats
from rag.workspace.handlers import is_large
from tests.workspaces import QUICK, add, workspace_at

WORDS = QUICK.with_fields(
    {
        "search.mode": "lexical",
        "search.spelling": False,
        "search.top_k": 1,
        "index.chunk_size": 60,
    }
)
APART = WORDS.with_fields(
    {
        "index.chunker": "fixed",
        "index.chunk_unit": "characters",
        "index.chunk_size": 60,
        "index.context": "none",
    }
)
FILES = {
    "travel-policy-2024.md": "Travel by train needs approval when the fare exceeds 300 euros.",
    "travel-policy-2025.md": "Travel by train needs approval when the fare exceeds 450 euros.",
    "leave.md": "Unused holidays may be carried over until the end of March.",
    "sterile.md": "The autoclave sterilises glassware at 121 degrees for twenty minutes.",
    "garbled.md": "Th\ufffd c\ufffdntrif\ufffdge r\ufffdn\ufffds \ufffdt f\ufffdrty.",
    "parking.md": "Parking permits are sold at the reception desk.",
}


def _line(name: str, text: str, document: str, quote: str) -> dict[str, Any]:
    return {"id": name, "text": text, "evidence": [{"document": document, "quote": quote}]}


LINES = [
    _line("gone", "Who pays for lunch?", "lunch.md", "Lunch is paid by the firm."),
    _line("typed", "autoclvae", "sterile.md", FILES["sterile.md"]),
    _line("broken", "How fast is the spinner?", "garbled.md", FILES["garbled.md"]),
    _line("good", "Where are parking permits sold?", "parking.md", FILES["parking.md"]),
    _line(
        "edition",
        "When does travel by train need approval?",
        "travel-policy-2025.md",
        FILES["travel-policy-2025.md"],
    ),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace_at(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def base(workspace: Workspace) -> KnowledgeBase:
    base = workspace.create("manuals", WORDS)
    add(workspace, base, FILES)
    base.questions.import_file("checks", "x.jsonl", "\n".join(map(json.dumps, LINES)))
    return base


def _causes(diagnosis: Diagnosis) -> Mapping[str, str]:
    return {question.id: question.cause for question in diagnosis.questions}


def test_each_failed_question_has_the_cause_that_was_planted(base):
    diagnosis = base.tuning.diagnoses.diagnose("checks", WORDS)
    assert _causes(diagnosis) == {
        "gone": "missing",
        "typed": "misspelt",
        "broken": "misread",
        "edition": "superseded",
    }
    assert diagnosis.asked == 5


def test_a_filter_and_a_threshold_are_causes(base):
    filtered = WORDS.with_fields({"search.documents": ["leave.md"]})
    assert _causes(base.tuning.diagnoses.diagnose("checks", filtered))["good"] == "filter"
    strict = WORDS.with_fields({"search.threshold": 1.0})
    (good,) = (
        one
        for one in base.tuning.diagnoses.diagnose("checks", strict).questions
        if one.id == "good"
    )
    assert good.cause == "threshold"
    assert good.finding.figures["threshold"] == 1.0
    assert (good.document, good.score) == ("parking.md", 0.0)


def test_notes_of_releases_that_stand_before_the_guide_are_a_cause_with_a_filter(workspace):
    base = workspace.create("releases", WORDS)
    topics = [f"{one}{other}" for one in ("berth", "crane", "fuel", "gate") for other in "klmnprst"]
    notes = "\n".join(f"{topic}: sorted lists, sorted lists." for topic in topics)
    files = {f"releases/2026-{n:02}.md": f"Notes {n}. {notes}" for n in range(1, 4)}
    guide = {f"guide/{topic}.md": f"Press {topic} to have lists in any order." for topic in topics}
    add(workspace, base, {**files, **guide})
    lines = [
        _line(topic, f"{topic} sorted lists", f"guide/{topic}.md", guide[f"guide/{topic}.md"])
        for topic in topics
    ]
    base.questions.import_file("checks", "x.jsonl", "\n".join(map(json.dumps, lines)))
    diagnosis = base.tuning.diagnoses.diagnose("checks", WORDS)
    assert set(_causes(diagnosis).values()) == {"crowded"}
    assert "of the folder releases. Without it the rank is 1." in (
        diagnosis.questions[0].finding.evidence
    )
    (fix,) = diagnosis.trials.fixes
    assert (fix.changes, fix.gains) == ({"search.documents": ("guide/*",)}, True)


def test_a_report_has_the_diagnosis_of_its_run(workspace, base):
    run = base.runs.evaluate("checks", WORDS, (1, 3, 10)).run.id
    workspace.jobs.run(base.tuning.diagnoses.start("checks", WORDS))
    page = base.runs.report(run)
    assert "4 of 5 questions failed. Each counts under its first cause." in page
    assert "<td>Misspelt</td>" in page
    other = base.runs.evaluate("checks", WORDS.with_fields({"search.k1": 2}), (1, 3, 10)).run
    assert "Why questions failed" not in base.runs.report(other.id)


def test_changes_are_within_the_bounds_of_their_fields():
    strict = QUICK.with_fields({"search.threshold": 0.95, "search.candidates": 500})
    assert {"search.threshold": 1.05} not in changes_for("answered", strict, 0.95)
    candidates = [
        change["search.candidates"]
        for change in changes_for("not_found", strict, 0.95)
        if "search.candidates" in change
    ]
    assert candidates == []
    assert {"search.candidates": 300} in changes_for("not_found", QUICK, None)
    long = QUICK.with_fields({"answer.context_tokens": 900_000})
    assert changes_for("budget", long, None) == []


def test_a_label_is_cut_apart_where_its_words_are_in_the_passage_that_has_less_of_it(workspace):
    base = workspace.create("cut", APART)
    sentence = (
        "The cooling pump of the older centrifuge is checked by colleagues of the nightshift."
    )
    add(workspace, base, {"rounds.md": f"Rounds begin at eight o'clock. {sentence}"})
    line = _line("cut", "Who sees to the older cooling pump?", "rounds.md", sentence)
    base.questions.import_file("checks", "x.jsonl", json.dumps(line))
    assert _causes(base.tuning.diagnoses.diagnose("checks", APART)) == {"cut": "cut"}


def test_an_unanswerable_question_fails_only_if_it_is_answered_without_doubt(base, monkeypatch):
    lines = [*LINES[3:4], {"id": "none", "text": "Who sells RX-77 permits?", "answerable": False}]
    base.questions.import_file("mixed", "x.jsonl", "\n".join(map(json.dumps, lines)))
    measured = base.runs.evaluate("mixed", WORDS).run.metrics
    assert (measured["correct_refusal"], measured["correct_doubt"]) == (0.0, 1.0)
    assert _causes(base.tuning.diagnoses.diagnose("mixed", WORDS)) == {}
    monkeypatch.setattr("rag.experiments.runs.quality.failing.FLAGGED", ())
    diagnosis = base.tuning.diagnoses.diagnose("mixed", WORDS)
    assert _causes(diagnosis) == {"none": "answered"}
    assert WORDS.search.refuse == "auto"
    (fix,) = diagnosis.trials.fixes
    assert (fix.causes, fix.comparison.difference) == (("answered",), 0.0)
    without = replace(diagnosis.trials, fixes=(), without_gain=("answered",))
    for tried in (diagnosis, replace(diagnosis, trials=without)):
        assert "Not tried: read what the answer rests on" in tried.advice("answered")
        assert "off-topic limit" in tried.advice("answered")
        assert "Raise the threshold" not in tried.advice("answered")
    untried = replace(diagnosis, trials=replace(diagnosis.trials, fixes=()))
    assert untried.advice("answered").startswith("Read what the answer rests on. Raise")
    lax = replace(untried, recipe=WORDS.with_fields({"search.refuse": "off"}))
    assert lax.advice("answered") == "Set off-topic questions to Auto."


def test_a_question_whose_passage_is_found_fails_if_its_answer_was_doubted(base):
    base.questions.import_file("doubted", "x.jsonl", json.dumps(LINES[3]))
    name = str(LINES[3]["id"])
    base.runs.evaluate("doubted", WORDS, beside={name: {"false_doubt": 0.0}})
    assert _causes(base.tuning.diagnoses.diagnose("doubted", WORDS)) == {}
    base.runs.evaluate("doubted", WORDS, beside={name: {"false_doubt": 1.0}})
    other = WORDS.with_fields({"search.top_k": 7})
    assert _causes(base.tuning.diagnoses.diagnose("doubted", other)) == {}
    diagnosis = base.tuning.diagnoses.diagnose("doubted", WORDS)
    assert _causes(diagnosis) == {name: "doubted"}
    assert base.tuning.diagnoses.changes(diagnosis, WORDS) == ()
    general = WORDS.with_fields({"answer.mode": "general"})
    assert base.tuning.diagnoses.changes(diagnosis, general) == ("the recipe of the answers",)
    assert base.tuning.diagnoses.changes(diagnosis, other) == ("the recipe",)
    base.runs.evaluate("doubted", WORDS)
    assert base.tuning.diagnoses.changes(diagnosis, WORDS) == ()
    base.runs.evaluate("doubted", WORDS, beside={name: {"false_doubt": 1.0}})  # as before
    assert base.tuning.diagnoses.changes(diagnosis, WORDS) == ()
    base.runs.evaluate("doubted", WORDS, beside={name: {"false_doubt": 0.0}})
    assert base.tuning.diagnoses.changes(diagnosis, WORDS) == ("the scores of answers",)
    base.questions.rename_set("doubted", "doubts")
    assert base.tuning.diagnoses.changes(diagnosis, WORDS) == ("the questions or the documents",)


def test_an_answer_without_the_expected_one_is_a_failure_of_its_own_kind(workspace):
    base = workspace.create("pay", WORDS)
    text = "Severance pay is at most 6 months of salary."
    add(workspace, base, {"severance.md": text})
    line = _line("pay", "How much severance pay is there at most?", "severance.md", text)
    other = {**line, "id": "right", "answer": "6 months"}
    lines = [{**line, "answer": "Four months"}, other]
    base.questions.import_file("pay", "x.jsonl", "\n".join(map(json.dumps, lines)))
    assert _causes(base.tuning.diagnoses.diagnose("pay", WORDS)) == {}
    job = base.runs.start_answers("pay", WORDS)
    assert workspace.jobs.run(job).status == "done"
    (run,) = base.runs.list_all()
    assert (run.metrics["answer_containment"], run.metrics["correct_decision"]) == (0.5, 1.0)
    assert "first token" not in run.environment["answers"]
    diagnosis = base.tuning.diagnoses.diagnose("pay", WORDS)
    assert _causes(diagnosis) == {"pay": "unexpected"}
    assert diagnosis.questions[0].finding.evidence == (
        "Expected: “Four months”. Answered: “Severance pay is at most 6 months of salary.”."
    )
    another = WORDS.with_fields({"index.chunk_size": 90}).index  # changes no answer of this recipe
    assert workspace.jobs.run(base.documents.build(another)).status == "done"
    assert _causes(base.tuning.diagnoses.diagnose("pay", WORDS)) == {"pay": "unexpected"}
    assert base.tuning.diagnoses.changes(diagnosis, WORDS) == ()


@pytest.mark.parametrize("expected", ["9:00", "at 9:30 on weekdays"])
def test_an_expected_answer_that_only_a_folded_quote_has_is_not_the_answer(workspace, expected):
    two = WORDS.with_fields({"search.top_k": 2})
    base = workspace.create(f"folded {len(expected)}", two)
    first, second = (
        "On Saturdays, the library opens at 11:00.",
        "The library opens at 9:00 on weekdays.",
    )
    add(workspace, base, {"saturdays.md": first, "weekdays.md": second})
    question = "When does the library open?"
    answer = base.ask(question, two).answer
    assert [citation.quote for citation in answer.citations if citation.answers] == [first]
    assert second in answer.text
    line = {**_line("open", question, "saturdays.md", first), "answer": expected}
    base.questions.import_file("folded", "x.jsonl", json.dumps(line))
    assert workspace.jobs.run(base.runs.start_answers("folded", two)).status == "done"
    (run,) = base.runs.list_all()
    assert run.metrics["answer_containment"] == 0.0
    (failure,) = base.tuning.diagnoses.diagnose("folded", two).questions
    assert failure.cause == "unexpected"
    assert f"Answered: “{first}”" in failure.finding.evidence
    assert second not in failure.finding.evidence


def test_synonyms_are_a_fix_where_the_label_has_one(workspace):
    off = WORDS.with_fields({"index.chunk_size": 400, "search.synonyms": False})
    base = workspace.create("rentals", off)
    names = [f"{letter}orth" for letter in "BCDFGHJKLMNPRSTV"]
    let = {name: f"In {name} a bicycle is let out by Ann." for name in names}
    places = [*names, *(name.replace("o", vowel) for name in names for vowel in "aei")]
    boats = {f"{name} boats.md": f"In {name} a boat is let by Ann." for name in places}
    add(workspace, base, boats | {f"{name}.md": let[name] for name in names})
    lines = [_line(name, f"a bike in {name}", f"{name}.md", let[name]) for name in names]
    base.questions.import_file("rentals", "x.jsonl", "\n".join(map(json.dumps, lines)))
    diagnosis = base.tuning.diagnoses.diagnose("rentals", off)
    assert diagnosis.causes == {"synonym": 16}
    (fix,) = diagnosis.trials.fixes
    assert (fix.changes, fix.comparison.verdict) == ({"search.synonyms": True}, "better")
    assert _causes(base.tuning.diagnoses.diagnose("rentals", off.with_fields(fix.changes))) == {}


def _cut_apart(workspace: Workspace, name: str) -> KnowledgeBase:
    """A base whose labels are all cut apart by APART, and its questions in a set of its name."""
    base = workspace.create(name, APART)
    names = [f"{letter}ellow{letter}" for letter in "bcdfghjklmnprstw"]
    label = "The cooling pump of {} is checked by colleagues of the nightshift."
    add(
        workspace,
        base,
        {f"{name}.md": f"Rounds begin at eight o'clock. {label.format(name)}" for name in names},
    )
    lines = [
        _line(name, f"Who sees to the pump of {name}?", f"{name}.md", label.format(name))
        for name in names
    ]
    base.questions.import_file(name, "x.jsonl", "\n".join(map(json.dumps, lines)))
    return base


RECURSIVE, LARGER, OVERLAPPING = CHANGES = (
    {"index.chunker": "recursive"},
    {"index.chunk_size": 120},
    {"index.chunk_overlap": 15},
)


def _index(change: Mapping[str, Any]) -> IndexRecipe:
    return APART.with_fields(change).index


def _built(base: KnowledgeBase) -> set[IndexRecipe]:
    return {row.recipe for row in base.documents.builds()}


def test_an_index_is_rebuilt_and_tried_where_labels_are_cut_apart(workspace):
    base = _cut_apart(workspace, "apart")
    diagnosis = base.tuning.diagnoses.diagnose("apart", APART)
    assert diagnosis.causes == {"cut": 16}
    assert diagnosis.trials.fixes == ()
    assert diagnosis.rebuild.changes == CHANGES
    assert (diagnosis.rebuild.questions, diagnosis.rebuild.gain) == (16, None)  # words alone
    assert [step.kind for step in diagnosis.next_steps] == ["rebuild"]

    workspace.jobs.run(base.tuning.diagnoses.start("apart", APART, rebuild=True))
    rebuilt = base.tuning.diagnoses.result("apart")
    (fix,) = rebuilt.trials.fixes
    assert fix.changes == LARGER
    assert (fix.comparison.difference, fix.comparison.verdict) == (1.0, "better")
    assert [(step.kind, step.gain) for step in rebuilt.next_steps] == [("fix", 1.0)]
    assert _built(base) == {APART.index, _index(LARGER)}  # those that gain nothing are gone
    assert rebuilt.note == ""


def test_the_progress_of_a_rebuild_never_goes_back(workspace, monkeypatch):
    base = _cut_apart(workspace, "bar")
    complete, ends, shares = Ingestion.complete, [TurnOver()], list[float]()
    report, messages = Reporter.report, dict[str, list[float]]()

    def complete_some(ingestion: Ingestion, recipe: IndexRecipe, *given: Any) -> None:
        if recipe == _index(LARGER) and ends:
            time.sleep(2 * HEARTBEAT_SECONDS)  # the progress of this turn is stored
            raise ends.pop()
        complete(ingestion, recipe, *given)

    def note(reporter: Reporter, done: int, total: int, message: str, *given: Any) -> None:
        shares.append(done / total if total else 0.0)
        messages.setdefault(message[:5], []).append(shares[-1])
        report(reporter, done, total, message, *given)

    monkeypatch.setattr(Ingestion, "complete", complete_some)
    monkeypatch.setattr(Reporter, "report", note)
    assert workspace.jobs.run(base.tuning.diagnoses.start("bar", APART, rebuild=True))
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert 0.1 <= messages["index"][0] <= messages["index"][-1] <= 0.9
    examined = messages["exami"]
    assert (examined[0], min(share for share in examined if share > 0.1)) == (0.0, 0.9)


@pytest.mark.parametrize(("start", "end"), [(0.0, 0.1), (0.1, 0.9), (0.0, 1.0)])
def test_a_turn_goes_on_from_the_very_share_where_another_ended(start, end):
    told = list[int]()
    reporter = SimpleNamespace(report=lambda done, *_: told.append(done))
    part = PartOfProgress(reporter, start, end)
    for done in range(10_001):
        part.report(done, 10_000, "")
        floor = part.share(told[-1], 10_000)
        part.report(*RemainingTime({}, floor).estimate()[:2], "")
    assert told[::2] == told[1::2]


def test_a_rebuild_deletes_no_index_that_somebody_needs(workspace, monkeypatch):
    base = _cut_apart(workspace, "needed")
    database = workspace._services.database
    job = base.tuning.diagnoses.start("needed", APART, rebuild=True)
    workspace.jobs.run(base.documents.build(_index(RECURSIVE)))  # meanwhile

    def build_and_store(*given: Any) -> None:
        build_indexes(*given)
        with database.write() as connection:  # a diagnosis of another set, with a fix
            fix = {"changes": OVERLAPPING}
            stored = {"recipe": APART.model_dump(mode="json"), "trials": {"fixes": [fix]}}
            about = {"about": {"set": "another"}}
            other = rows.create(connection, base.id, "diagnose", "", about)
            rows.claim(connection, "test", other)
            rows.finish(connection, other, "test", "done", "", stored)

    monkeypatch.setattr(
        "rag.experiments.tuning.diagnosis.trial_builds.build_indexes", build_and_store
    )
    assert workspace.jobs.run(job).status == "done"
    assert _built(base) == {APART.index, *map(_index, CHANGES)}


def test_a_rebuild_deletes_no_index_that_waits_to_be_built(workspace, monkeypatch):
    base = _cut_apart(workspace, "waits")

    def build_and_queue(*given: Any) -> None:
        build_indexes(*given)
        base.documents.build(_index(RECURSIVE))
        base.recipes.save(APART.with_fields(OVERLAPPING))

    monkeypatch.setattr(
        "rag.experiments.tuning.diagnosis.trial_builds.build_indexes", build_and_queue
    )
    assert (
        workspace.jobs.run(base.tuning.diagnoses.start("waits", APART, rebuild=True)).status
        == "done"
    )
    assert _built(base) == {APART.index, *map(_index, CHANGES)}


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (Cancelled("Stopped."), "cancelled"),
        (InvalidInput("It is away."), "failed"),
        (TurnOver(), "done"),
    ],
)
def test_a_rebuild_that_ends_early_deletes_what_it_built(workspace, monkeypatch, end, status):
    base = _cut_apart(workspace, status)
    job = base.tuning.diagnoses.start(status, APART, rebuild=True)
    complete, ends, examined = Ingestion.complete, [end], []

    def complete_some(ingestion: Ingestion, recipe: IndexRecipe, *given: Any) -> None:
        if recipe == _index(LARGER) and ends:
            assert _index(RECURSIVE) in _built(base)
            if isinstance(end, Cancelled):
                workspace.jobs.cancel(job)
            raise ends.pop()
        complete(ingestion, recipe, *given)

    def diagnose(*given: Any) -> Diagnosis:
        examined.append(1)
        return diagnosed(*given)

    monkeypatch.setattr(Ingestion, "complete", complete_some)
    monkeypatch.setattr("rag.experiments.tuning.diagnosis.job.diagnosed", diagnose)
    assert workspace.jobs.run(job).status == status
    gained = {_index(LARGER)} if status == "done" else set()
    assert _built(base) == {APART.index, *gained}
    assert len(examined) == (2 if status == "done" else 1)  # none again after giving way


def test_an_index_that_could_not_be_tried_is_kept(workspace, monkeypatch):
    base = _cut_apart(workspace, "untried")
    measure = fixes._measured

    def measured(*given: Any) -> Floats:
        if given[3].index == _index(OVERLAPPING):
            raise InvalidInput("It cannot be searched.")
        return measure(*given)

    monkeypatch.setattr("rag.experiments.tuning.diagnosis.fixes._measured", measured)
    job = workspace.jobs.run(base.tuning.diagnoses.start("untried", APART, rebuild=True))
    assert _built(base) == {APART.index, _index(LARGER), _index(OVERLAPPING)}
    sentence = "1 index was built and could not be tried. It is kept: delete it on Documents."
    assert job.message.endswith(sentence)
    diagnosis = base.tuning.diagnoses.result("untried")
    assert diagnosis.note == sentence


def test_an_index_is_not_changed_where_its_calibration_is_lost(base):
    by_probability = APART.with_fields({"search.relevance": "probability"})
    assert index_changes_for("cut", APART)
    assert index_changes_for("cut", by_probability) == []
    failure = FailedQuestion("a", "a", 0.0, Finding("cut", ""))
    trials = Trials("ndcg@10")
    diagnosis = Diagnosis("checks", by_probability, "", 9, (failure,), trials)
    advice, step = diagnosis.next_steps
    assert (advice.kind, advice.title) == ("advice", "1 of 1 failed question: cut apart")
    assert step.reason == diagnosis.note


def test_a_rebuild_gains_by_the_metric_of_the_fixes():
    finding = Finding("cut", "", {INDEXED_RANK: 2.0})
    failure = FailedQuestion("a", "a", 0.4, finding)
    assert gain_of(failure, 0.25, top_k=2) == pytest.approx(1 / math.log2(3) - 0.25)
    assert gain_of(failure, 0.7, top_k=2) == 0.0
    assert gain_of(failure, 0.25, top_k=1) == 0.0  # the results end before


def test_a_diagnosis_that_builds_has_a_process_of_its_own(workspace, base, monkeypatch):
    jobs = [
        workspace.jobs.get(base.tuning.diagnoses.start(name, WORDS, rebuild=name == "builds"))
        for name in ("builds", "reads")
    ]
    monkeypatch.setattr("rag.workspace.handlers.LARGE", 100)
    assert [is_large(workspace._services, job) for job in jobs] == [True, False]
    for job in jobs:
        workspace.jobs.cancel(job.id)


@pytest.mark.parametrize("threshold", [0.35, None])
def test_the_rank_of_a_cause_is_the_one_of_the_run(workspace, threshold):
    question = "Where are parking permits sold?"
    recipe = WORDS.with_fields(
        {"search.mode": "hybrid", "search.matched_words": False, "search.threshold": threshold}
    )
    base = workspace.create(f"ranks {threshold}", recipe)
    names = ("amber", "basil", "cedar", "daisy")
    files = {
        f"{name}.md": f"Parking {' '.join(name + end for end in ('', *'xyzabcd'))} permits."
        for name in names
    }
    files["first.md"] = question
    files["words.md"] = "Parking is at the desk, and sold there."  # rare words, and a low cosine
    add(workspace, base, files)
    line = _line("sold", question, "basil.md", files["basil.md"])
    base.questions.import_file("ranks", "x.jsonl", json.dumps(line))
    (result,) = base.runs.results(base.runs.evaluate("ranks", recipe).run.id)
    (failure,) = base.tuning.diagnoses.diagnose("ranks", recipe).questions
    assert failure.finding.figures["rank"] == result.first_relevant
    assert result.first_relevant == (3 if threshold is None else 2)


def test_the_passage_of_a_cause_is_the_most_relevant_one_where_all_are_returned(workspace):
    recipe = WORDS.with_fields({"search.top_k": 20})
    base = workspace.create("graded", recipe)
    question = "Where are parking permits sold?"
    files = {f"{number}.md": f"Parking permits for bay {number}." for number in range(18)}
    files |= {"first.md": question, "last.md": "Permits."}
    add(workspace, base, files)
    labels = [
        {"document": name, "quote": files[name], "grade": grade}
        for name, grade in (("first.md", 1), ("last.md", 3))
    ]
    row = {"id": "graded", "text": question, "evidence": labels}
    base.questions.import_file("graded", "x.jsonl", json.dumps(row))
    (failure,) = base.tuning.diagnoses.diagnose("graded", recipe).questions
    assert (failure.cause, failure.document) == ("ranked_low", "last.md")


def test_a_cause_says_of_which_relevant_passage_it_is(workspace):
    base = workspace.create("two labels", WORDS)
    question = "Where are parking permits sold?"
    files = {"first.md": question, "other.md": "Permits are sold here.", "third.md": "Permits."}
    add(workspace, base, files)
    labels = [
        {"document": name, "quote": text, "grade": grade}
        for (name, text), grade in zip(files.items(), (1, 3, 3), strict=True)
    ]
    row = {"id": "two", "text": question, "evidence": labels}
    base.questions.import_file("two", "x.jsonl", json.dumps(row))
    (failure,) = base.tuning.diagnoses.diagnose("two", WORDS).questions
    assert (failure.cause, failure.document) == ("top_k", "other.md")
    assert "returns 1 of 3 relevant passages" in failure.finding.evidence


def test_synonyms_that_a_passage_lacks_are_words_not_stems(workspace):
    hybrid = WORDS.with_fields({"search.mode": "hybrid", "search.synonyms": True})
    base = workspace.create("how often", hybrid)
    files = {f"{n}.md": f"Credentials, rule {n}: a frequency." for n in range(3)}
    add(workspace, base, files | {"label.md": "Keys are to be new each week."})
    question = "How often must credentials change?"
    line = _line("often", question, "label.md", "Keys are to be new each week.")
    base.questions.import_file("often", "x.jsonl", json.dumps(line))
    few = hybrid.with_fields({"search.candidates": 2})
    (failure,) = base.tuning.diagnoses.diagnose("often", few).questions
    words = re.findall(r"\w+", failure.finding.evidence)
    assert "frequency" in words
    assert "frequenc" not in words
