"""Traffic of other systems: received over OTLP, listed, collected into sets and measured."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from starlette.testclient import TestClient

from rag import InvalidInput, KnowledgeBase, NotFound, Settings, Workspace
from rag.__main__ import main
from rag.api.resources.traffic import LARGEST_REQUEST
from rag.storage.quality import traffic as rows
from rag.systems.traces import received_spans, trace_filter
from rag.systems.traffic import Reception, UnstoredSpans
from tests.api import client, served
from tests.runs import SET, handbook
from tests.spans import attribute, encoded, request, span

NOISE = "Why is there a grinding noise?"
GRINDING = "The Hollin pump makes a grinding noise when its bearing is dry."
GREASE = "Grease the bearing every 500 hours with lithium grease."
OTHER = "Bread is baked at 220 degrees for hours, until its crust is brown."
PROTOBUF = "application/x-protobuf"
PATH = "/api/v1/knowledge-bases/handbook/otlp/v1/traces"


def opened(home: Path, **variables: str) -> tuple[Workspace, KnowledgeBase]:
    handbook(home)[0].close()
    workspace = Workspace(Settings.from_env(variables, home=home))
    return workspace, workspace.base("handbook")


def receive(base: KnowledgeBase, *spans: Mapping[str, Any]) -> Reception:
    return base.traffic.receive(received_spans(request(*spans)))


AGENT = (
    span(1, 1, NOISE, None),
    span(1, 2, "noise of pumps", [OTHER, GREASE], started=2),
    span(1, 3, "bearing", [GREASE], started=3),
    span(1, 4, "Hollin pump", [GRINDING], started=4),
)


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_a_real_exporter_sends_traffic_that_is_measured(
    home: Path, compression: Compression
) -> None:
    workspace, base = handbook(home)
    secret, _ = workspace.access.tokens.create("exporter", ["traces"])
    with served(workspace) as url:
        exporter = OTLPSpanExporter(
            url + PATH,
            headers={"Authorization": f"Bearer {secret}"},
            timeout=120,  # the first request loads the API
            compression=compression,
        )
        provider = TracerProvider(resource=Resource({"service.name": "assistant"}))
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("test")
        with tracer.start_as_current_span("agent") as top:
            top.set_attribute("input.value", json.dumps({"question": NOISE}))
            with tracer.start_as_current_span("retrieve") as retriever:
                retriever.set_attribute("openinference.span.kind", "RETRIEVER")
                retriever.set_attribute("input.value", "noise")
                retriever.set_attribute("retrieval.documents.0.document.content", OTHER)
                retriever.set_attribute("retrieval.documents.0.document.score", 0.9)
            with tracer.start_as_current_span("retrieval") as retriever:
                retriever.set_attribute("gen_ai.operation.name", "retrieval")
                retriever.set_attribute("gen_ai.retrieval.query.text", "grinding")
                documents = json.dumps([{"id": "7", "content": GRINDING, "score": 0.8}])
                retriever.set_attribute("gen_ai.retrieval.documents", documents)
            with tracer.start_as_current_span("chat") as model:
                model.set_attribute("openinference.span.kind", "LLM")
        provider.shutdown()
    (system,) = base.traffic.list_all()
    assert (system.name, system.retrievals, system.requests) == ("assistant", 2, 1)
    assert (system.multi_hop, system.mean_hops, system.redundant_calls) == (1, 2.0, 0)
    (question,) = base.traffic.questions("assistant")
    assert (question.text, question.requests, question.retrievals) == (NOISE, 1, 2)
    measured = base.traffic.evaluate(SET, "assistant")
    run = measured.evaluation.run
    assert (run.questions, run.metrics["mrr@10"], run.metrics["recall@1"]) == (1, 0.5, 0.0)
    assert run.system is not None
    assert (run.system.kind, run.system.located) == ("traces", {"foreign": 1, "exact": 1})
    assert run.system.hops == {
        "questions": 1,
        "hops": 2.0,
        "first_evidence": 0.0,
        "last_evidence": 1.0,
        "first_useful": 2.0,
        "redundant": 0,
    }


def test_the_exporter_learns_that_its_token_lacks_the_scope(home: Path) -> None:
    workspace, base = handbook(home)
    secret, _ = workspace.access.tokens.create("reader", ["read", "write", "admin"])
    provider = TracerProvider()
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("retrieve") as ended:
        pass
    with served(workspace) as url:
        headers = {"Authorization": f"Bearer {secret}"}
        exporter = OTLPSpanExporter(url + PATH, headers=headers, timeout=120)
        assert exporter.export([ended]) is SpanExportResult.FAILURE
        exporter.shutdown()
    assert base.traffic.list_all() == []


def sent(api: TestClient, content: bytes, **headers: str) -> Any:
    names = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return api.post(PATH, content=content, headers=names)


def test_requests_in_json_are_answered_as_otlp_says(home: Path) -> None:
    workspace, base = handbook(home)
    api = client(workspace, "traces")
    mute = span(2, 9, "", [OTHER])
    content = json.dumps(request(span(1, 2, NOISE, [GRINDING]), mute)).encode()
    for _ in range(2):  # a repeated request is stored once
        answer = sent(api, gzip.compress(content), Content_Encoding="gzip")
        partial = {"rejectedSpans": "1", "errorMessage": "1 without a question or texts"}
        assert (answer.status_code, answer.json()) == (200, {"partialSuccess": partial})
    (system,) = base.traffic.list_all()
    assert (system.retrievals, system.requests) == (1, 1)
    answer = sent(api, json.dumps(request()).encode())
    assert (answer.status_code, answer.json()) == (200, {})


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", {}, 422),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"{}", {"Content_Encoding": "br"}, 415),
        (b"{}", {"Content_Encoding": "gzip"}, 422),
        (b"\xff\xff", {"Content_Type": "application/x-protobuf"}, 422),
        (gzip.compress(bytes(LARGEST_REQUEST + 1)), {"Content_Encoding": "gzip"}, 422),
        (bytes(LARGEST_REQUEST + 1), {}, 413),
    ],
)
def test_bad_requests_are_problems(
    home: Path, content: bytes, headers: dict[str, str], status: int
) -> None:
    api = client(handbook(home)[0], "traces")
    answer = sent(api, content, **headers)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )


def test_the_budget_of_a_day_ends_what_is_stored(home: Path) -> None:
    workspace, base = opened(home, TOUCHSTONE_TRAFFIC_BUDGET="3")
    api = client(workspace, "traces")
    spans = [span(number, number, f"Question {number}?", [OTHER]) for number in range(1, 6)]
    partial = sent(api, json.dumps(request(*spans)).encode()).json()["partialSuccess"]
    assert partial == {"rejectedSpans": "2", "errorMessage": "2 beyond the budget of today"}
    assert base.traffic.remaining() == 0
    partial = sent(api, b"not even read").json()["partialSuccess"]
    assert partial["errorMessage"] == "The budget of today is spent. Nothing was stored."
    assert base.traffic.list_all()[0].retrievals == 3


def test_requests_at_once_share_a_budget(home: Path) -> None:
    _, base = opened(home, TOUCHSTONE_TRAFFIC_BUDGET="3")
    first = received_spans(request(*(span(n, n, f"{n}?", [OTHER]) for n in (1, 2))), most=3)
    tops = [span(n, n, "healthy?", None) for n in range(100, 200)]
    second = received_spans(
        request(*tops, span(5, 9, "5?", None), *(span(5, n, f"{n}?", [OTHER]) for n in (5, 6))),
        most=3,
    )
    assert base.traffic.receive(first) == Reception(2, 0, 0)
    assert base.traffic.receive(second) == Reception(1, 0, 2)
    assert base.traffic.list_all()[0].retrievals == 3


@pytest.mark.parametrize("media_type", ["application/json", PROTOBUF])
def test_a_hundred_spans_that_are_not_stored_cost_as_much_as_one(
    home: Path, media_type: str
) -> None:
    workspace, base = opened(home, TOUCHSTONE_TRAFFIC_BUDGET="4", TOUCHSTONE_TRAFFIC_SHARE="0.25")
    api, passes = client(workspace, "traces"), trace_filter(0.25)
    traces = [n for n in range(1, 1000) if not passes(f"{n:032x}")][:100]
    sampled_out = request(*(span(n, n, f"{n}?", [OTHER]) for n in traces))
    model = span(1, 1, "Why?", []) | {"attributes": [attribute("openinference.span.kind", "LLM")]}
    unknown = request(*(model | {"spanId": f"{n:016x}"} for n in range(1, 200)))
    stored = next(n for n in range(1, 1000) if passes(f"{n:032x}"))

    def send(spans: Mapping[str, Any]) -> Any:
        return sent(api, encoded(spans, media_type), Content_Type=media_type)

    for spans, remaining in ((sampled_out, 3), (unknown, 2), (request(model), 1)):
        assert send(spans).status_code == 200
        assert base.traffic.remaining() == remaining
    assert send(request(span(stored, 1, NOISE, [GRINDING]))).status_code == 200
    assert base.traffic.remaining() == 0
    assert base.traffic.list_all()[0].retrievals == 1
    assert b"The budget of today is spent" in send(unknown).content


def test_the_count_of_spans_that_are_not_stored_begins_anew_each_day() -> None:
    today, unstored = datetime(2026, 1, 31, tzinfo=UTC), UnstoredSpans()
    for base in (("a", 1), ("a", 1), ("b", 1)):
        unstored.add(base, today, 150)
    assert unstored.since(("a", 1), today) == 300
    tomorrow = today + timedelta(days=1)
    unstored.add(("b", 1), tomorrow, 7)
    assert [unstored.since((home, 1), tomorrow) for home in "ab"] == [0, 7]


def test_senders_wait_while_many_requests_are_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = client(handbook(home)[0], "traces")
    monkeypatch.setattr("rag.api.resources.traffic._MOST_WAITING", 0)
    answer = sent(api, b"{}")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")


def test_a_share_of_the_traces_is_stored_whole(home: Path) -> None:
    passes = trace_filter(0.25)
    traces = [f"{number:032x}" for number in range(4000)]
    passed = [trace for trace in traces if passes(trace)]
    assert len(passed) == 1004
    assert passed == [trace for trace in traces if passes(trace.upper())]
    assert all(map(trace_filter(1.0), traces))
    workspace, base = opened(home, TOUCHSTONE_TRAFFIC_SHARE="0.25")
    spans = [span(n, 10 * n + hop, f"{n}?", [OTHER]) for n in range(20) for hop in (1, 2)]
    sent(client(workspace, "traces"), json.dumps(request(*spans)).encode())
    (system,) = base.traffic.list_all()
    assert system.requests == system.multi_hop == sum(map(passes, traces[:20]))


def test_hops_of_an_agent_are_one_request(home: Path) -> None:
    _, base = handbook(home)
    assert receive(base, *AGENT[1:]) == Reception(3, 0, 0)
    assert receive(base, AGENT[0], span(7, 7, "No retrieval", None)) == Reception(1, 0, 0)
    (system,) = base.traffic.list_all()
    assert (system.requests, system.questions) == (1, 1)
    assert (system.multi_hop, system.mean_hops, system.redundant_calls) == (1, 3.0, 1)
    hops = base.traffic.evaluate(SET, "shop").hops
    assert hops is not None
    assert (hops.first_evidence, hops.last_evidence) == (0.0, 1.0)
    assert (hops.first_useful, hops.redundant) == (3.0, 1)


def test_a_request_whose_top_is_not_among_the_newest_keeps_its_question(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, base = handbook(home)
    receive(base, *AGENT)
    monkeypatch.setattr("rag.systems.traffic.MOST_SPANS", 3)
    assert [question.text for question in base.traffic.questions("shop")] == [NOISE]
    assert base.traffic.evaluate(SET, "shop").evaluation.run.questions == 1


def test_a_request_whose_top_comes_between_two_readings_is_left_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, base = handbook(home)
    receive(base, span(1, 2, NOISE, [GRINDING]))
    read = rows.of_traces

    def later(*arguments: Any) -> list[rows.SpanRow]:
        receive(base, span(1, 1, "Another question", None))
        return read(*arguments)

    monkeypatch.setattr(rows, "of_traces", later)
    with pytest.raises(InvalidInput):
        base.traffic.evaluate(SET, "shop")


def test_the_newest_request_of_a_question_is_measured(home: Path) -> None:
    _, base = handbook(home)
    receive(base, span(1, 1, NOISE, [GRINDING], started=1))
    receive(base, span(2, 2, f"{NOISE.upper()} ", [OTHER], started=2))
    (question,) = base.traffic.questions("shop")
    assert (question.requests, question.results) == (2, 1)
    assert base.traffic.evaluate(SET, "shop").evaluation.run.metrics["mrr@10"] == 0.0


def test_no_text_is_stored_where_it_is_switched_off(home: Path) -> None:
    workspace, base = opened(home, TOUCHSTONE_TRAFFIC_TEXT="0")
    receive(base, *AGENT)
    with workspace._services.database.read() as connection:
        stored = rows.of_traces(connection, base.id, "shop", [f"{1:032x}"])
    assert [row.question for row in stored] == [""] * 4
    words = json.dumps([[row.results, row.items] for row in stored])
    assert not any(word in words for word in ("Hollin", "Grease", "Bread", "pump"))
    (system,) = base.traffic.list_all()
    assert (system.has_text, system.redundant_calls) == (False, 1)
    with pytest.raises(InvalidInput, match="stored as text"):
        base.traffic.collect("shop", "live")
    run = base.traffic.evaluate(SET, "shop").evaluation.run
    assert (run.questions, run.metrics["mrr@10"]) == (1, 1 / 3)
    assert run.system is not None
    assert run.system.located == {"foreign": 1, "exact": 3}


def test_questions_become_a_set_once(home: Path) -> None:
    _, base = handbook(home)
    spans = [
        span(n, n, text, [OTHER]) for n, text in enumerate((NOISE, "New?", "new?", "x" * 9999))
    ]
    receive(base, *spans)
    assert base.traffic.collect("shop", SET) == 1
    assert base.traffic.collect("shop", SET) == 0
    assert base.traffic.collect("shop", "live") == 2
    assert [item.text for item in base.questions.labelled("live")] == ["New?", NOISE]


@pytest.mark.usefixtures("database")
def test_spans_are_stored_once_and_forgotten(home: Path) -> None:
    workspace, base = handbook(home)
    receive(base, *AGENT)
    assert receive(base, *AGENT).stored == 0
    database = workspace._services.database
    with database.write() as connection:
        rows.forget(connection, datetime.now(UTC) - timedelta(days=1))
    assert base.traffic.list_all()[0].retrievals == 3
    assert base.traffic.remove("shop") == 4
    with pytest.raises(NotFound, match="'shop' sent traces"):
        base.traffic.remove("shop")
    receive(base, span(1, 1, NOISE, [GRINDING], started=(1 << 62) * 2 - 2 * 10**18))
    assert base.traffic.list_all()[0].last <= datetime.now(UTC) + timedelta(days=1)
    with database.write() as connection:
        rows.forget(connection, datetime.now(UTC) + timedelta(days=1))
    assert base.traffic.list_all() == []


def test_the_command_line_lists_collects_measures_and_removes(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, base = handbook(home)
    receive(base, *AGENT)
    workspace.close()
    monkeypatch.setenv("TOUCHSTONE_HOME", str(home))

    def printed(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    assert "1 request, 1 question" in printed("traffic", "handbook")
    assert NOISE in printed("traffic", "handbook", "questions", "shop")
    collected = printed("traffic", "handbook", "collect", "shop", "--set", "live", "--json")
    assert json.loads(collected) == {"set": "live", "added": 1}
    text = printed("evaluate", "handbook", SET, "--traffic", "shop")
    assert "0% of the evidence after the first, 100% after the last" in text
    assert "deleted 4 spans" in printed("traffic", "handbook", "remove", "shop")
    assert "No system has sent traces yet." in printed("traffic", "handbook")


def test_rest_lists_collects_measures_and_deletes(home: Path) -> None:
    workspace, base = handbook(home)
    receive(base, *AGENT)
    api, kb = client(workspace), "/api/v1/knowledge-bases/handbook/traffic"
    assert [item["name"] for item in api.get(kb).json()["items"]] == ["shop"]
    (question,) = api.get(f"{kb}/questions", params={"system": "shop"}).json()["items"]
    assert (question["text"], question["retrievals"]) == (NOISE, 3)
    body = {"system": "shop", "set": "live"}
    assert api.post(f"{kb}/questions", json=body).json() == {"set": "live", "added": 1}
    run = api.post(f"{kb}/evaluations", json={"system": "shop", "set": SET}).json()
    assert (run["metrics"]["mrr@10"], run["system"]["hops"]["hops"]) == (1 / 3, 3.0)
    assert api.delete(kb, params={"system": "shop"}).status_code == 204
    assert api.get(f"{kb}/questions", params={"system": "shop"}).status_code == 404
