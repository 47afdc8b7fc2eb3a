"""Traces as a collector gets them: by OTLP over HTTP, from a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from rag import InvalidInput, MissingDependency, Settings, telemetry
from rag.workspace import tracing
from rag.workspace.tracing import export
from rag.workspace.tracing.attributes import Content
from tests.runs import WORDS, handbook
from tests.servers import Handler, http_server
from tests.workspaces import surroundings

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "How long may unused leave be carried over?"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@contextmanager
def collecting(receive: Callable[[str, bytes], None]) -> Iterator[str]:
    """The address of a collector that hands path and body of what comes to ``receive``."""

    class Collector(Handler):
        def respond(self) -> None:
            receive(self.path, self.body())
            self.answer()

    with http_server(Collector) as address:
        yield address


def run(home: Path, variables: Mapping[str, str], *arguments: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "rag", *arguments, "--json"],
        cwd=ROOT,
        env=surroundings(home, **variables),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_collector_gets_the_spans_of_a_process(home):
    handbook(home)[0].close()
    bodies: list[tuple[str, bytes]] = []
    with collecting(lambda *each: bodies.append(each)) as address:
        variables = {ENDPOINT: address, "OTEL_SERVICE_NAME": "handbooks", CAPTURE: "true"}
        answer = run(home, variables, "ask", "handbook", QUESTION)
    assert {path for path, _ in bodies} == {"/v1/traces"}
    told = [ExportTraceServiceRequest.FromString(body) for _, body in bodies]
    resources = [each for one in told for each in one.resource_spans]
    names = {one.value.string_value for each in resources for one in each.resource.attributes}
    assert "handbooks" in names
    spans = [span for each in resources for scope in each.scope_spans for span in scope.spans]
    by_name = {span.name: span for span in spans}
    assert sorted(by_name) == ["answer", "ask", "embeddings fake", "retrieve"]
    assert len({span.trace_id for span in spans}) == 1
    ask = by_name["ask"]
    assert by_name["retrieve"].parent_span_id == by_name["answer"].parent_span_id == ask.span_id
    assert by_name["embeddings fake"].parent_span_id == by_name["retrieve"].span_id
    said = {each.key: each.value.string_value for each in ask.attributes}
    assert said["input.value"] == QUESTION
    assert said["output.value"] == answer["answer"]


def test_a_collector_that_hangs_delays_and_fails_no_question(home, monkeypatch):
    base = handbook(home)[1]
    asked, released = Event(), Event()

    def hang(_path: str, _body: bytes) -> None:
        asked.set()
        released.wait(60)

    monkeypatch.setattr(export, "LONGEST_END", 0.01)
    with collecting(hang) as address:
        exporter = OTLPSpanExporter(endpoint=f"{address}/v1/traces")
        queue = BatchSpanProcessor(
            exporter, max_queue_size=8, max_export_batch_size=2, schedule_delay_millis=1
        )
        tracer = export.Tracer(Content(), queue)
        telemetry.follow(tracer)
        try:
            assert base.ask(QUESTION, WORDS).answer.status == "complete"
            assert asked.wait(120)  # the collector has it, and says nothing
            statuses = [base.ask(QUESTION, WORDS).answer.status for _ in range(10)]
            assert statuses == ["complete"] * 10
            tracer.close()  # which does not wait for it either
            assert not released.is_set()
        finally:
            telemetry.follow(None)
            released.set()


def test_the_setting_without_the_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rag.workspace.tracing.export", None)
    with pytest.raises(MissingDependency) as raised:
        tracing.start(Settings.from_env({ENDPOINT: "http://127.0.0.1:4318"}))
    assert "requirements-otel.txt" in raised.value.hint
    assert not telemetry.is_followed()


def test_without_the_setting_nothing_of_it_is_imported(home):
    handbook(home)[0].close()
    code = (
        "import sys; from rag import Workspace; base = Workspace.from_env().base('handbook');"
        f"assert base.ask({QUESTION!r}, base.recipe()).answer.status == 'complete';"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=surroundings(home),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({}, False),
        ({ENDPOINT: "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({ENDPOINT: "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({ENDPOINT: "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_standard_variables_turn_traces_on(variables, on):
    assert Settings.from_env(variables).traces is on


@pytest.mark.parametrize(
    ("variables", "inputs", "outputs"),
    [
        ({}, False, False),
        ({CAPTURE: "true"}, True, True),
        ({CAPTURE: "SPAN_ONLY"}, True, True),
        ({CAPTURE: "NO_CONTENT"}, False, False),
        ({CAPTURE: "EVENT_ONLY"}, False, False),
        ({CAPTURE: "true", "OPENINFERENCE_HIDE_INPUTS": "true"}, False, True),
        ({CAPTURE: "true", "OPENINFERENCE_HIDE_OUTPUTS": "1"}, True, False),
    ],
)
def test_content_is_told_where_it_is_asked_for_and_not_hidden(variables, inputs, outputs):
    found = Settings.from_env(variables)
    assert (found.trace_inputs, found.trace_outputs) == (inputs, outputs)
    assert Settings.from_json(json.loads(json.dumps(found.as_json()))) == found


@pytest.mark.parametrize(
    "variables",
    [
        {CAPTURE: "perhaps"},
        {ENDPOINT: "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
)
def test_a_variable_that_makes_no_sense_is_refused_by_name(variables):
    with pytest.raises(InvalidInput) as raised:
        Settings.from_env(variables)
    assert [name for name in variables if name in raised.value.message]
