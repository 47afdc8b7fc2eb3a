"""Files of other tools are read as what their retrievers returned."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow
import pytest
import pytrec_eval
from pyarrow import parquet

from rag.errors import InvalidFile, InvalidInput
from rag.evaluation.formats.trec import write_run
from rag.evaluation.metrics import Ranked, evaluate
from rag.systems.alignment import Aligner, Source
from rag.systems.formats import read_returned
from rag.systems.formats.shapes import Paths
from rag.systems.returned import Returned, ReturnedText

FOLDER = Path(__file__).parents[1] / "golden" / "systems"
RANKINGS: dict[str, list[str]] = dict(json.loads((FOLDER / "rankings.json").read_text()))
FILES = {
    "ragas.jsonl": "ragas",
    "ragas.csv": "ragas",
    "deepeval.json": "deepeval",
    "langsmith.jsonl": "langsmith",
    "langfuse.jsonl": "langfuse",
    "phoenix.parquet": "phoenix",
}
TEXTS = {
    f"d{place}": text
    for place, text in enumerate(sorted({text for texts in RANKINGS.values() for text in texts}))
}
GRADES = {question: {texts[-1]: 2, texts[0]: 1} for question, texts in RANKINGS.items()}


def one(row: object, **options: object) -> Returned:
    content = json.dumps(row).encode()
    return read_returned("file.jsonl", content, **options).retrievals[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "form"), FILES.items())
def test_a_file_is_recognised_and_has_the_rankings(name: str, form: str) -> None:
    file = read_returned(name, (FOLDER / name).read_bytes())
    assert (file.form, file.skipped, file.warnings) == (form, (), ())
    rankings = {item.question: [text.text for text in item.texts] for item in file.retrievals}
    assert rankings == RANKINGS


def test_the_same_rankings_have_the_same_metrics_in_every_form() -> None:
    sources = [Source(name, name, len(text)) for name, text in TEXTS.items()]
    aligner, ids = Aligner(sources, TEXTS.__getitem__), {text: name for name, text in TEXTS.items()}
    qrels = {
        question: {ids[text]: grade for text, grade in grades.items()}
        for question, grades in GRADES.items()
    }
    rankings = dict[str, dict[str, list[str]]]()
    for name in FILES:
        rankings[name] = {
            item.question: [aligner.align(text.text).document_id for text in item.texts]
            for item in read_returned(name, (FOLDER / name).read_bytes()).retrievals
        }
    run = write_run(
        {
            question: [(name, -float(rank)) for rank, name in enumerate(ranking)]
            for question, ranking in rankings["ragas.csv"].items()
        },
        "run",
    )
    rankings["trec"] = {
        item.question_id: [text.id for text in item.texts]
        for item in read_returned("run.txt", run.encode()).retrievals
    }
    judged = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.2", "recip_rank", "map_cut.3"})
    for ranking in rankings.values():
        metrics = _metrics(ranking, qrels)
        scores = {
            question: {name: -float(rank) for rank, name in enumerate(names)}
            for question, names in ranking.items()
        }
        figures = judged.evaluate(scores)
        for place, question in enumerate(ranking):
            expected = figures[question]
            assert metrics["ndcg@2"][place] == pytest.approx(expected["ndcg_cut_2"], abs=1e-12)
            assert metrics["map@3"][place] == pytest.approx(expected["map_cut_3"], abs=1e-12)
            assert metrics["mrr@10"][place] == expected["recip_rank"]
    figures = [_metrics(ranking, qrels) for ranking in rankings.values()]
    assert all(other == figures[0] for other in figures)


def _metrics(
    ranking: dict[str, list[str]], qrels: dict[str, dict[str, int]]
) -> dict[str, list[float]]:
    grades = [[qrels[question].get(name, 0) for name in ranking[question]] for question in ranking]
    ideals = [sorted(qrels[question].values(), reverse=True) for question in ranking]
    ranked = Ranked.of(grades, ideals, 10)
    names = ("ndcg@2", "map@3", "mrr@10")
    return {name: values.tolist() for name, values in evaluate(ranked, names).items()}


def test_ids_references_and_a_reference_of_ragas_are_read() -> None:
    row = {
        "id": "q7",
        "user_input": "Why?",
        "retrieved_contexts": ["a", "b"],
        "retrieved_context_ids": ["x"],
        "reference_contexts": ["b", ""],
    }
    texts = (ReturnedText("a", id="x"), ReturnedText("b"))
    assert one(row) == Returned("Why?", texts, question_id="q7", references=("b",))


def test_contexts_of_deepeval_may_name_their_source() -> None:
    row = {"input": "Why?", "retrieval_context": ["a", {"context": "b", "source": "b.pdf"}]}
    assert one(row).texts == (ReturnedText("a"), ReturnedText("b", title="b.pdf"))


def test_observations_of_a_trace_are_hops_in_the_order_of_time() -> None:
    rows = [
        {"type": kind, "traceId": trace, "startTime": start, "input": text, "output": '["a"]'}
        for kind, trace, start, text in (
            ("RETRIEVER", "t", "2026-01-01T00:00:09Z", "second"),
            ("GENERATION", "t", "2026-01-01T00:00:05Z", "none"),
            ("RETRIEVER", "t", "2026-01-01T00:00:01Z", "first"),
            ("RETRIEVER", "u", "2026-01-01T00:00:03Z", "other"),
        )
    ]
    content = json.dumps(rows).encode()
    hops = {item.question: item.hop for item in read_returned("f.json", content).retrievals}
    assert hops == {"second": 1, "first": 0, "other": 0}


def test_paths_read_rows_of_any_shape() -> None:
    row = {"ask": {"q": "Why?"}, "out": '{"found": [{"body": "a", "s": "0.5", "key": 3}]}'}
    paths = Paths("ask.q", "out.found", "body", "s", "key")
    assert one(row, paths=paths) == Returned("Why?", (ReturnedText("a", 0.5, "3"),))
    with pytest.raises(InvalidInput, match="not a JMESPath expression"):
        one(row, paths=Paths("ask..", "out"))


def test_scores_order_a_trec_run_and_ranks_that_disagree_are_reported() -> None:
    run = b"q1 Q0 a%20b 1 0.2 r\nq1 Q0 c 2 0.9 r\nq2 Q0 a 1 2 r\nq2 Q0 b 2 1 r\n"
    file = read_returned("run", run)
    assert [text.id for text in file.retrievals[0].texts] == ["c", "a b"]
    assert len(file.warnings) == 1
    assert file.warnings[0].startswith("The ranks of 1 of 2 questions disagree")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no form that is recognised"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"input": "Why?"', "not JSON"),
        (b'{"input": "Why?", "retrieval_context": 7}', "line 1 has no list of texts"),
        (b'{"input": "", "retrieval_context": []}', "line 1 has no question"),
        (b'{"input": "Why?", "retrieval_context": [{"score": NaN}]}', "number beyond all bounds"),
        (b"[" * 100_000, "nested too deep"),
        (b"PAR1 and no more", "cannot be read as Parquet"),
        (b"input,retrieval_context\nWhy?,a,b,c\n", "line 2 has more cells"),
        (b"q1 Q0 a 1 0.5 r\nq1 Q0 b\n", "line 2: expected question, Q0"),
        (b'{"run_type": "llm"}', "no form that is recognised"),
    ],
)
def test_bad_files_have_an_error_with_a_hint(content: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as raised:
        read_returned("file", content)
    assert raised.value.hint


def test_bad_rows_are_left_out_on_request() -> None:
    content = b'{"input": "Why?", "retrieval_context": 7}\n{"input": "A", "retrieval_context": []}'
    file = read_returned("file", content, skip_bad=True)
    assert [item.question for item in file.retrievals] == ["A"]
    assert len(file.skipped) == 1


def test_parquet_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pyarrow.Table.from_pylist([{"input": "a" * 50_000, "retrieval_context": []}] * 20)
    target = io.BytesIO()
    parquet.write_table(table, target, use_dictionary=False)
    monkeypatch.setattr("rag.systems.formats.tables.LARGEST", 100_000)
    with pytest.raises(InvalidFile, match="unpacks to more than"):
        read_returned("file.parquet", target.getvalue())
