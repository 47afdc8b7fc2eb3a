"""Files of other tools, and results of 13 public ones, read as what retrievers returned."""

import io
import json
from dataclasses import replace
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from rag import InvalidFile, InvalidInput, read_returned
from rag.experiments.systems.formats.shapes import Paths
from rag.experiments.systems.formats.tables import Returned, ReturnedText
from rag.experiments.systems.mcp_endpoints import recognised
from tests.ranked_texts import FOLDER, QUESTIONS, RANKINGS

FILES = {
    "ragas.jsonl": "ragas",
    "ragas.csv": "ragas",
    "ragas.parquet": "ragas",
    "deepeval.json": "deepeval",
    "deepeval-goldens.json": "deepeval",
    "deepeval-goldens.jsonl": "deepeval",
    "deepeval-goldens.csv": "deepeval",
    "langfuse.json": "langfuse",
}


def one(row: object, **options: object) -> Returned:
    content = json.dumps(row).encode()
    return read_returned("file.jsonl", content, **options).retrievals[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "form"), FILES.items())
def test_a_file_is_recognised_and_has_the_rankings(name, form):
    file = read_returned(name, (FOLDER / name).read_bytes())
    assert (file.form, file.skipped, file.warnings) == (form, (), ())
    rankings = {item.question: [text.text for text in item.texts] for item in file.retrievals}
    assert rankings == {
        QUESTIONS[question]: [item.text for item in items] for question, items in RANKINGS.items()
    }


def test_a_text_that_is_json_stays_a_text():
    texts = ['{"port": 8080}', '["monday", "friday"]', '{"text": "in JSON", "score": 0.5}', "7"]
    row = {"user_input": "Why?", "retrieved_contexts": texts}
    assert one(row).texts == (
        ReturnedText('{"port": 8080}'),
        ReturnedText('["monday", "friday"]'),
        ReturnedText("in JSON", 0.5),
        ReturnedText("7"),
    )


def test_rows_of_a_page_are_read_and_lists_of_a_row_are_none():
    rows = [{"input": text, "retrieval_context": [text]} for text in ("a", "b")]
    page = json.dumps({"data": rows, "meta": {"page": 1}})
    for content in (page, f"{page}\n{page}", json.dumps(json.loads(page), indent=1)):
        read = read_returned("file", content.encode()).retrievals
        assert {item.question for item in read} == {"a", "b"}
    row = {"run_type": "retriever", "inputs": {"query": "a"}, "events": [{"name": "start"}]}
    row["outputs"] = {"documents": [{"page_content": "b"}]}
    for indent in (None, 1):
        content = json.dumps(row, indent=indent)
        (item,) = read_returned("file", content.encode()).retrievals
        assert (item.question, item.texts) == ("a", (ReturnedText("b"),))


def test_results_of_a_step_of_a_pipeline_are_read():
    history = {"chat_history": [], "context": ["a"]}
    pipeline = {"retriever": {"documents": ["a"]}}
    for output in (history, pipeline):
        row = {"type": "RETRIEVER", "input": "Why?", "output": output}
        assert one(row).texts == (ReturnedText("a"),)


def test_ids_references_and_a_reference_of_ragas_are_read():
    row = {
        "id": "q7",
        "user_input": "Why?",
        "retrieved_contexts": ["a", "b"],
        "retrieved_context_ids": ["x"],
        "reference_contexts": ["b", ""],
    }
    texts = (ReturnedText("a", id="x"), ReturnedText("b"))
    assert one(row) == Returned("Why?", texts, question_id="q7", references=("b",))


def test_contexts_of_deepeval_may_name_their_source():
    row = {"input": "Why?", "retrieval_context": ["a", {"context": "b", "source": "b.pdf"}]}
    assert one(row).texts == (ReturnedText("a"), ReturnedText("b", title="b.pdf"))


def test_observations_of_a_trace_are_hops_in_the_order_of_time():
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


def _span(trace, start, question, *texts):
    values = {"openinference.span.kind": "RETRIEVER", "input.value": question}
    values |= {f"retrieval.documents.{at}.document.content": text for at, text in enumerate(texts)}
    attributes = [{"key": key, "value": {"stringValue": text}} for key, text in values.items()]
    return {"traceId": trace, "startTimeUnixNano": start, "attributes": attributes}


def test_spans_of_an_otlp_export_are_hops_of_their_traces():
    batches = [
        [_span("7f", "20", "second", "b", "c"), {"traceId": "7f"}, _span("7f", "21", "")],
        [_span("7f", "10", "first", "a"), _span("8e", "30", "nothing")],
    ]
    lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": s}]}]}) for s in batches]
    file = read_returned("traces.json", "\n".join(lines).encode())
    assert [(one.question, one.trace, one.hop) for one in file.retrievals] == [
        ("second", "7f", 1),
        ("first", "7f", 0),
        ("nothing", "8e", 0),
    ]
    assert [[text.text for text in one.texts] for one in file.retrievals] == [["b", "c"], ["a"], []]
    for broken in ([{}], {"scopeSpans": 1}, [{"scopeSpans": [{"spans": [{"attributes": [1]}]}]}]):
        with pytest.raises(InvalidFile):
            read_returned("traces.json", json.dumps({"resourceSpans": broken}).encode())


def test_paths_read_rows_of_any_shape():
    row = {"ask": {"q": "Why?"}, "out": '{"found": [{"body": "a", "s": "0.5", "key": 3}]}'}
    paths = Paths("ask.q", "out.found", "body", "s", "key")
    assert one(row, paths=paths) == Returned("Why?", (ReturnedText("a", 0.5, "3"),))
    with pytest.raises(InvalidInput, match="not a JMESPath expression"):
        one(row, paths=Paths("ask..", "out"))


def test_scores_order_a_trec_run_and_ranks_that_disagree_are_reported():
    run = b"q1 Q0 a%20b 1 0.2 r\nq1 Q0 c 2 0.9 r\nq2 Q0 a 1 2 r\nq2 Q0 b 2 1 r\n"
    file = read_returned("run", run)
    assert [text.id for text in file.retrievals[0].texts] == ["c", "a b"]
    assert len(file.warnings) == 1


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
def test_bad_files_have_an_error_with_a_hint(content, message):
    with pytest.raises(InvalidFile, match=message) as raised:
        read_returned("file", content)
    assert raised.value.hint


def test_bad_rows_are_left_out_on_request():
    content = b'{"input": "Why?", "retrieval_context": 7}\n{"input": "A", "retrieval_context": []}'
    file = read_returned("file", content, skip_bad=True)
    assert [item.question for item in file.retrievals] == ["A"]
    assert len(file.skipped) == 1


def test_parquet_that_unpacks_to_too_much_is_refused(monkeypatch):
    table = pyarrow.Table.from_pylist([{"input": "a" * 50_000, "retrieval_context": []}] * 20)
    target = io.BytesIO()
    parquet.write_table(table, target, use_dictionary=False)
    monkeypatch.setattr("rag.experiments.systems.formats.tables.LARGEST", 100_000)
    with pytest.raises(InvalidFile, match="unpacks to more than"):
        read_returned("file.parquet", target.getvalue())


def test_lists_of_a_row_with_a_question_are_its_results_and_other_exports_are_unpacked():
    texts = [{"text": "One."}, {"text": "Two."}]
    line = json.dumps({"q": "Why?", "data": texts}).encode()
    paths = Paths("q", "data", "text")
    (row,) = read_returned("rows.jsonl", line, paths=paths).retrievals
    assert (row.question, [text.text for text in row.texts]) == ("Why?", ["One.", "Two."])
    page = json.dumps({"search_query": "Why?", "data": texts}).encode()
    (row,) = read_returned(
        "page.jsonl", page, paths=replace(paths, question="search_query")
    ).retrievals
    assert [text.text for text in row.texts] == ["One.", "Two."]
    export = {"made": "today", "results": [{"question": "Why?", "contexts": ["One."]}]}
    (row,) = read_returned("export.json", json.dumps(export, indent=1).encode()).retrievals
    assert (row.question, [text.text for text in row.texts]) == ("Why?", ["One."])


TEXT = "The warranty of the pump lasts for three years."
URL = "https://docs.example.com/pump"
SCORED = {"relevance_score": 0.5}
SHAPES: list[tuple[Any, tuple[str, str, float | None]]] = [
    (
        {
            "results": [{"title": "Pump", "url": URL, "content": TEXT, "score": 0.5}],
            "metadata": {"total_results": 1, "query": "q"},
        },
        ("Pump", URL, 0.5),
    ),
    ({"results": [{"title": "Pump", "url": URL, "snippet": TEXT}]}, ("Pump", URL, None)),
    ([json.dumps([{"title": "Pump", "url": URL, "snippet": TEXT}])], ("Pump", URL, None)),
    (
        {
            "results": [{"content": TEXT, "score": 0.5, "metadata": {"source": "pump.md"}}],
            "query_expansion": ["a", "b"],
        },
        ("pump.md", "", 0.5),
    ),
    (
        {
            "response": "Based on your documents",
            "sources": [{"chunk_id": "1-1", "title": "Pump", "excerpt": TEXT, **SCORED}],
        },
        ("Pump", "1-1", 0.5),
    ),
    (
        {
            "answer": "Three years",
            "citations": [{"document_id": "d1", "document_name": "Pump", "chunk": TEXT, **SCORED}],
        },
        ("Pump", "d1", 0.5),
    ),
    ({"retrieved_docs": [{"content": TEXT, "filename": "Pump", **SCORED}]}, ("Pump", "", 0.5)),
    (
        {"sources": [{"filename": "Pump", "page_numbers": [3], "chunk_text": TEXT, **SCORED}]},
        ("Pump", "", 0.5),
    ),
    (
        [{"title": "Pump", "description": TEXT, "category": "A", "url": URL, **SCORED}],
        ("Pump", URL, 0.5),
    ),
    ([{"title": "Pump", "source": "Times", "url": URL, "summary": TEXT}], ("Pump", URL, None)),
    (
        {"results": [{"path": "pump.md", "title": "Pump", "excerpt": TEXT, "size": 3}]},
        ("Pump", "pump.md", None),
    ),
    (
        {"results": [{"name": "Pump", "description": TEXT, "example": "call it"}], "count": 1},
        ("Pump", "", None),
    ),
]


@pytest.mark.parametrize(("content", "expected"), SHAPES)
def test_texts_titles_ids_and_scores_are_found(content, expected):
    (result,) = recognised(content)
    assert (result.text, result.title, result.id, result.score) == (TEXT, *expected)


def test_a_result_without_a_text_has_its_id_by_which_the_text_is_fetched():
    (result,) = recognised([json.dumps({"results": [{"id": "d1", "title": "Pump", "url": URL}]})])
    assert (result.text, result.title, result.id) == ("", "Pump", "d1")
