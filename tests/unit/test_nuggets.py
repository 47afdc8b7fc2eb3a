"""Parts of an answer (nuggets), and passages that mislead: labels, files and figures."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import MISLEADING, InvalidInput, Question
from rag.evaluation import Judge, evidence_figures, measured, udcg
from rag.types import Evidence
from tests.workspaces import QUICK, stocked

SPANS = {"a": [(1, 0, 10), (2, 10, 20), (3, 20, 30)], "b": [(4, 0, 10)]}
KEYS = {"a": [1, 2, 3], "b": [4]}
PARTS = Question(
    "q1",
    "When and how much?",
    (
        Evidence("a", 0, 10, 2, nugget="deadline"),
        Evidence("b", 0, 10, 1, nugget="amount"),
        Evidence("lost:c.pdf", 0, 10, 1, nugget="form"),
        Evidence("a", 20, 30, MISLEADING),
    ),
)
PLAIN = Question("q2", "How much?", (Evidence("b", 0, 10, 1),))


def judge() -> Judge:
    import numpy as np

    return Judge(SPANS, {name: np.array(keys, np.int64) for name, keys in KEYS.items()})


def judged(question: Question, *keys: int) -> object:
    import numpy as np

    ranked = np.array(keys, np.int64)
    return judge().judge(question, ranked, np.zeros(len(keys)), 10)


def test_recall_of_parts_counts_each_part_once_and_lost_ones_too():
    figures = evidence_figures([judged(PARTS, 1, 3, 4), judged(PLAIN, 2)], (1, 3))
    assert figures["q1"]["nugget_recall@1"] == pytest.approx(1 / 3)
    assert figures["q1"]["nugget_recall@3"] == pytest.approx(2 / 3)
    assert "nugget_recall@1" not in figures["q2"]


def test_what_misleads_is_graded_and_counted_apart():
    ranking = judged(PARTS, 3, 1, 2)
    assert ranking.grades == (MISLEADING, 2, 0)
    assert ranking.ideal == (2, 1, 1)
    results, means = measured([ranking, judged(PLAIN, 4)], (1, 3))
    assert [row.metrics["misleading@3"] for row in results] == [1.0, 0.0]
    assert (means["misleading@1"], means["misleading@3"]) == (0.5, 0.5)
    assert results[0].first_relevant == 2
    plain, _ = measured([judged(PLAIN, 3, 4)], (3,))
    assert "udcg@3" not in plain[0].metrics


def test_what_misleads_counts_as_not_relevant_in_all_other_metrics():
    other = Question("q1", PARTS.text, PARTS.evidence[:3])
    with_label, _ = measured([judged(PARTS, 3, 1, 4)], (1, 3))
    without, _ = measured([judged(other, 3, 1, 4)], (1, 3))
    common = without[0].metrics.keys()
    assert {name: with_label[0].metrics[name] for name in common} == dict(without[0].metrics)


def test_a_passage_that_is_relevant_too_does_not_mislead():
    both = Question("q", "?", (Evidence("a", 0, 10, 1), Evidence("a", 2, 8, MISLEADING)))
    assert judged(both, 1).grades == (1,)


def test_documents_are_judged_by_the_same_rules():
    whole = Question(
        "q",
        "?",
        (Evidence("a", 0, None, 1, nugget="x"), Evidence("b", 0, None, MISLEADING)),
    )
    ranking = judged(whole, 4, 2)
    assert ranking.grades == (MISLEADING, 1)
    assert evidence_figures([ranking], (2,))["q"]["nugget_recall@2"] == 1.0


@given(st.lists(st.integers(-1, 3), max_size=12), st.integers(1, 12))
def test_udcg_is_that_of_its_paper(grades, k):
    weight = {-1: -1 / 3, 0: 0.0}
    hits = grades[:k]
    mean = sum(weight.get(grade, 1.0) for grade in hits) / k
    wanted = 1 / (1 + math.exp(-mean)) if hits else 0.0
    assert udcg(grades, k) == pytest.approx(wanted)


def test_a_misleading_hit_costs_a_third_of_what_a_relevant_one_gives():
    def mean(grades: list[int]) -> float:
        value = udcg(grades, 4)
        return math.log(value / (1 - value))

    assert mean([1, 0, 0, 0]) == pytest.approx(0.25)
    assert mean([0, -1, -1, -1]) == pytest.approx(-0.25)
    assert mean([0, 1, -1, 0]) == pytest.approx(1 / 6)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_files_keep_parts_and_grades(tmp_path, form):
    workspace, base = stocked(tmp_path, {"a.txt": "Due by 31 March. It was due by 31 May."})
    labels = [("by 31 March", 3, "deadline"), ("by 31 May", -1, "")]
    names = ("quote", "grade", "nugget")
    evidence = [{"document": "a.txt", **dict(zip(names, label, strict=True))} for label in labels]
    base.questions.import_file("first", "q.jsonl", json.dumps({"text": "?", "evidence": evidence}))
    base.questions.import_file("again", f"q.{form}", base.questions.export_text("first", form))
    (question,) = base.questions.labelled("again")
    assert [(one.quote, one.grade, one.nugget) for one in question.labels] == labels
    workspace.close()


def test_files_without_parts_are_read_as_before(tmp_path):
    workspace, base = stocked(tmp_path, {"a.txt": "Due by 31 March."})
    old = "id,question,document,quote,grade\nq1,When?,a.txt,by 31 March,2\n"
    base.questions.import_file("old", "q.csv", old)
    ((label,),) = (question.labels for question in base.questions.labelled("old"))
    assert (label.quote, label.grade, label.nugget) == ("by 31 March", 2, "")
    assert "nugget" not in base.questions.export_text("old", "jsonl")
    workspace.close()


def test_labels_take_a_part_and_a_grade_below_zero(tmp_path):
    files = {"claims.txt": "Claims are due by 31 March.", "old.txt": "Claims were due by 31 May."}
    workspace, base = stocked(tmp_path, files)
    document, old = (row.id for row in base.documents.documents(QUICK.index))
    base.questions.grade("mine", "When are claims due?", document, 0, 27, 3)
    ((label,),) = (question.labels for question in base.questions.labelled("mine"))
    base.questions.set_nugget("mine", label.id, "  the   deadline ")
    (passage,) = base.documents.chunks(document, QUICK.index)
    with pytest.raises(InvalidInput, match="have the part “the deadline” already"):
        base.questions.grade_words("mine", "When are claims due?", passage, 0, 27, 3, "sum")
    base.questions.label("mine", base.questions.labelled("mine")[0].id, old, 0, 26, MISLEADING)
    (question,) = base.questions.labelled("mine")
    assert [(one.grade, one.nugget) for one in question.labels] == [
        (3, "the deadline"),
        (MISLEADING, ""),
    ]
    evaluation = base.runs.evaluate("mine", QUICK, (1, 5))
    assert evaluation.run.metrics["nugget_recall@5"] == 1.0
    assert evaluation.run.metrics["misleading@5"] == 1.0
    exported = base.questions.export_text("mine", "jsonl")
    assert '"nugget": "the deadline"' in exported
    with pytest.raises(InvalidInput, match="There is no grade -2"):
        base.questions.set_grade("mine", label.id, -2)
    with pytest.raises(InvalidInput, match="at most 200 characters"):
        base.questions.set_nugget("mine", label.id, "x" * 201)
    workspace.close()


def test_a_question_with_a_missing_part_has_failed(tmp_path):
    files = {
        "claims.txt": "Claims of travel costs are due by 31 March.",
        "rates.txt": "The rate is 30 cents for a kilometre by car.",
    }
    workspace, base = stocked(tmp_path, files)
    label = '{"document": "%s", "quote": "%s", "nugget": "%s"}'
    labels = ", ".join(
        (
            label % ("claims.txt", "due by 31 March", "deadline"),
            label % ("rates.txt", "30 cents for a kilometre", "rate"),
        )
    )
    text = "When are claims of travel costs due, and what is the rate?"
    line = f'{{"id": "q", "text": "{text}", "evidence": [{labels}]}}'
    base.questions.import_file("parts", "parts.jsonl", line)
    recipe = QUICK.with_fields({"search.mode": "lexical", "search.top_k": 1})
    diagnosis = base.tuning.diagnoses.diagnose("parts", recipe)
    (failed,) = diagnosis.questions
    assert (failed.score, failed.cause, failed.document) == (1.0, "top_k", "rates.txt")
    assert failed.finding.evidence.startswith("Not found: “rate”. ")
    assert (
        base.tuning.diagnoses.diagnose("parts", recipe.with_fields({"search.top_k": 2})).questions
        == ()
    )
    workspace.close()
