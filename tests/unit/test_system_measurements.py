"""Metrics of what another system returned: located texts, graded by the labels of a set."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rag import (
    HopSummary,
    InvalidInput,
    KnowledgeBase,
    Question,
    SystemEvaluation,
    SystemSource,
    ask_callable,
    retriever,
)
from rag.__main__ import main
from rag.evaluation import evidence_figures
from rag.experiments.systems.alignment import AlignedText
from rag.experiments.systems.callables import FailedRetrieval
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.experiments.systems.measuring import HopFigures, hop_figures, judged_texts, match_questions
from rag.types import Evidence
from tests.runs import DOCUMENTS, SET, WORDS, handbook
from tests.verbs import output_of
from tests.workspaces import add

NOISE = "Why is there a grinding noise?"
GRINDING = "The Hollin pump makes a grinding noise when its bearing is dry."
FOREIGN = "Bread is baked at 220 degrees for three quarters of an hour, then left to cool."


def measure(
    base: KnowledgeBase, returned: list[Returned], cutoffs: tuple[int, ...] = (1, 2)
) -> SystemEvaluation:
    return base.systems.evaluate(SET, returned, SystemSource("file", "f", "0" * 64), cutoffs)


def test_a_foreign_text_keeps_its_rank(base):
    texts = (ReturnedText(FOREIGN), ReturnedText(f"**{GRINDING}**"))
    measured = measure(base, [Returned(NOISE, texts)])
    run, results = measured.evaluation.run, measured.evaluation.results
    assert run.metrics["mrr@2"] == 0.5
    assert run.metrics["recall@2"] == 1.0
    assert run.system
    assert run.system.located["foreign"] == 1
    assert measured.unasked == ("q1", "q3", "q4", "q5")
    assert results[0].ranking[0][0].startswith("foreign:")
    length = len(GRINDING) + len(FOREIGN)
    assert run.metrics["span_precision@2"] == pytest.approx(len("when its bearing is dry") / length)


def test_hops_of_one_request_are_measured_one_by_one(base):
    returned = [
        Returned(NOISE, (ReturnedText(FOREIGN),), hop=0),
        Returned(NOISE, (ReturnedText(FOREIGN),), hop=1),
        Returned(NOISE, (ReturnedText(FOREIGN), ReturnedText(GRINDING)), hop=2),
        Returned("What may a hotel cost?", (ReturnedText(FOREIGN),)),
    ]
    assert measure(base, returned).hops == HopSummary(1, 3.0, 0.0, 1.0, 3.0, 1)
    assert measure(base, returned[2:]).hops is None


def test_own_rankings_have_the_metrics_of_the_run(base):
    run = base.runs.evaluate(SET, WORDS, (1, 3)).run
    deep = WORDS.with_fields({"search.top_k": 3})
    questions = base.systems.questions(SET)
    returned = [
        Returned(
            item.text,
            tuple(ReturnedText(hit.chunk.text) for hit in base.search(item.text, deep).hits),
        )
        for item in questions
    ]
    other = measure(base, returned, (1, 3)).evaluation.run
    shared = run.metrics.keys() & other.metrics.keys()
    assert {"ndcg@3", "mrr@3", "span_iou@3", "correct_refusal"} <= shared
    assert {name: other.metrics[name] for name in shared} == pytest.approx(
        {name: run.metrics[name] for name in shared}, abs=1e-12
    )
    parity = base.runs.parity(other.id, run.id, 3)
    assert (parity.overlap, parity.equal) == (1.0, 5)
    assert base.runs.get(other.id).system == other.system


def test_a_text_that_merely_touches_a_label_is_not_relevant():
    question = Question("q", "?", evidence=(Evidence("d", 100, 200, quote="x"),))
    texts = [ReturnedText("a"), ReturnedText("b")]
    places = [AlignedText("d", 0, 110, "exact", 1.0), AlignedText("d", 150, 400, "exact", 1.0)]
    judged = judged_texts(question, texts, places, 10).judged
    assert judged.grades == (0, 1)
    assert judged.ideal == (1,)
    apart = judged_texts(question, texts[:1], places[:1], 10).judged
    assert (apart.grades, apart.ideal) == ((0,), (1,))


def test_results_of_a_system_have_the_parts_and_mislead():
    labels = (
        Evidence("d", 0, 10, quote="x", nugget="one"),
        Evidence("d", 100, 110, quote="x", nugget="two"),
        Evidence("d", 200, 210, quote="x", grade=-1),
    )
    starts = (0, 200, 95, 300)
    places = [AlignedText("d", start, start + 20, "exact", 1.0) for start in starts]
    texts = [ReturnedText(str(start)) for start in starts]
    judged = judged_texts(Question("q", "?", evidence=labels), texts, places, 10).judged
    assert judged.grades == (1, -1, 1, 0)
    assert [*map(sorted, judged.nuggets)] == [["one"], [], ["two"], []]
    figures = evidence_figures([judged], (1, 3))["q"]
    assert (figures["nugget_recall@1"], figures["nugget_recall@3"]) == (0.5, 1.0)
    assert (figures["misleading@1"], figures["misleading@3"]) == (0.0, 1.0)
    whole = (Evidence("d", 0, None, nugget="one"), Evidence("e", 0, None, grade=-1))
    places = [replace(places[0], document_id=name) for name in "edf"]
    judged = judged_texts(Question("q", "?", evidence=whole), texts[:3], places, 10).judged
    assert judged.grades == (-1, 1, 0)
    assert [*map(sorted, judged.nuggets)] == [[], ["one"], []]


def test_a_file_is_measured_on_the_command_line(base, tmp_path, capsys):
    row = {"user_input": NOISE, "retrieved_contexts": [GRINDING], "reference": ""}
    (tmp_path / "file.jsonl").write_text(json.dumps(row))
    arguments = ["evaluate", "handbook", SET, "--returned", str(tmp_path / "file.jsonl")]
    result = output_of(capsys, *arguments)
    assert (result["questions"], result["metrics"]["hit@1"]) == (1, 1.0)
    assert result["system"]["located"] == {"exact": 1}
    (run,) = base.runs.list_all()
    assert (run.id, run.recipe, result["recipe"]) == (result["run"], None, None)
    assert run.system
    assert (run.system.name, run.system.kind, len(run.system.hash)) == ("file.jsonl", "file", 64)
    assert main([*arguments, "--callable", "json:loads"]) == 2
    assert "Give one" in capsys.readouterr().err


def test_a_text_of_two_documents_is_located_by_the_file_that_its_metadata_names(home):
    workspace, base = handbook(home)
    add(workspace, base, {"old-leave.md": f"{DOCUMENTS['leave.md']}\n\nUntil 2024."})
    text = "Unused leave may be carried over until 30 June."
    texts = tuple(ReturnedText(text, metadata={"source": n}) for n in ("old-leave.md", "leave.md"))
    returned = [Returned("How long may unused leave be carried over?", texts)]
    assert measure(base, returned).evaluation.run.metrics["mrr@2"] == 0.5


def test_ids_of_documents_stand_for_texts(base):
    returned = [Returned(NOISE, (ReturnedText("", id="leave.md"), ReturnedText("", id="pump.txt")))]
    assert measure(base, returned, (2,)).evaluation.run.metrics["mrr@2"] == 0.5
    with pytest.raises(InvalidInput, match="None of the retrievals"):
        measure(base, [Returned("Something else?", ())])


LANGCHAIN = SimpleNamespace(
    invoke=lambda _question: [SimpleNamespace(page_content=GRINDING, metadata={"source": "p"})]
)
LLAMA_INDEX = SimpleNamespace(
    retrieve=lambda _question: [
        SimpleNamespace(node=SimpleNamespace(get_content=lambda: GRINDING), score=0.5)
    ]
)
HAYSTACK = SimpleNamespace(
    run=lambda query: {"documents": [SimpleNamespace(content=GRINDING, score=0.5, meta={})]}
)


def pairs(_question: str) -> list[tuple[str, float]]:
    return [(GRINDING, 0.5)]


@pytest.mark.parametrize("name", ["LANGCHAIN", "LLAMA_INDEX", "HAYSTACK", "pairs"])
def test_retrievers_are_recognised(name):
    call = retriever(f"{__name__}:{name}")
    (returned,), _ = ask_callable(call, [Question("q", NOISE)])
    assert [text.text for text in returned.texts] == [GRINDING]
    assert returned.texts[0].score in (0.5, None)


def test_a_question_that_fails_does_not_end_the_others():
    def call(question: str) -> list[str]:
        if question == "b":
            raise RuntimeError("no connection\0\ud800")
        return [question]

    retrievals, errors = ask_callable(call, [Question("1", "a"), Question("2", "b")])
    assert errors == {"2": "RuntimeError: no connection?"}
    assert [item.question for item in retrievals] == ["a"]
    with pytest.raises(FailedRetrieval, match="no connection"):
        ask_callable(call, [Question("2", "b")])


@pytest.mark.parametrize("name", ["nothing", "missing_module:f", "json:absent", "math:pi"])
def test_what_is_no_retriever_is_refused(name):
    with pytest.raises(InvalidInput):
        retriever(name)


def test_evidence_grows_by_hop_and_calls_without_news_are_redundant():
    hops = [["a", "b"], ["b", "c"], ["c", "a"], ["d"], []]
    assert hop_figures(hops, {"c", "d"}) == HopFigures((0.0, 0.5, 0.5, 1.0, 1.0), 2, 2)


def test_hops_without_evidence_are_not_useful():
    assert hop_figures([["a"]], ["c"]) == HopFigures((0.0,), None, 0)
    assert hop_figures([], ["c"]) == HopFigures((), None, 0)


def test_figures_need_something_relevant():
    with pytest.raises(ValueError, match="nothing is relevant"):
        hop_figures([["a"]], [])


ASKED = [
    Question(id="q1", text="Why does the pump stop?", evidence=()),
    Question(id="q2", text="Who is Ann?", evidence=()),
    Question(id="q3", text="who is ANN", evidence=()),
    Question(id="q4", text="???", evidence=()),
]


def matched(*retrievals: Returned) -> dict[str, list[int]]:
    found, unmatched = match_questions(retrievals, ASKED)
    places = {id(item): place for place, item in enumerate(retrievals)}
    rows = {name: [places[id(item)] for item in items] for name, items in found.items()}
    return rows | {"none": [places[id(item)] for item in unmatched]}


def test_a_question_is_matched_by_its_text_however_it_is_written():
    other = Returned("Why did it stop?", ())
    assert matched(Returned(" why does\nthe pump stop", ()), other) == {"q1": [0], "none": [1]}
    assert matched(Returned("???", ())) == {"q4": [0], "none": []}


def test_an_id_decides_between_questions_with_one_text():
    asked = Returned("Who is Ann?", (), question_id="q3")
    assert matched(asked, Returned("Who is Ann?", ())) == {"q3": [0], "none": [1]}


def test_a_run_without_texts_is_matched_by_id_and_another_text_outweighs_an_id():
    run = Returned("", (), question_id="q2")
    other = Returned("Who is Ann?", (), question_id="q1")
    assert matched(run, other) == {"q2": [0], "none": [1]}


def test_hops_are_in_their_order():
    text = "Why does the pump stop?"
    assert matched(Returned(text, (), hop=1), Returned(text, (), hop=0))["q1"] == [1, 0]
