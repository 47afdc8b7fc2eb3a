"""Spans of requests to services that embed and rerank, and of what the threads of jobs ask."""

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from rag import Answer, AnswerStream, Settings, Trace, Workspace, telemetry
from rag.errors import ProviderRejected
from rag.types import AnswerStatus, Delta, Usage
from tests.remote import embedder
from tests.runs import SET, WORDS, handbook
from tests.servers import openai_error, openai_stream, openai_vectors, scripted
from tests.traces import traced

ASKED = ("ask", [("retrieve", [("embeddings fake", [])]), ("answer", [])])


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_request_for_vectors():
    with scripted(openai_vectors([3.0, 4.0], [0.0, 2.0])) as script, traced() as spans:
        embedder(script).embed(["unused leave", "trains"], "document")
    (span,) = spans.list_all()
    assert (span.name, span.kind) == ("embeddings m", SpanKind.CLIENT)
    assert attributes(span) == {
        "openinference.span.kind": "EMBEDDING",
        "embedding.model_name": "m",
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "openai",
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.embeddings.dimension.count": 2,
        "touchstone.texts": 2,
    }


def test_each_request_is_a_span_and_one_that_fails_says_so():
    first = openai_vectors(*([float(i + 1), 1.0] for i in range(64)))
    with scripted(first, openai_error(401, "no such key")) as script, traced() as spans:
        model = embedder(script)
        with pytest.raises(ProviderRejected):
            model.embed(["x"] * 65, "document")
    found = [
        (each.status.status_code, attributes(each)["touchstone.texts"]) for each in spans.list_all()
    ]
    assert found == [(StatusCode.UNSET, 64), (StatusCode.ERROR, 1)]
    assert attributes(spans.list_all()[1])["error.type"] == "ProviderRejected"


def test_the_questions_of_an_evaluation_are_parts_of_its_job(home):
    workspace, base = handbook(home)
    with traced() as spans:
        job = base.runs.start_answers(SET, WORDS)
        assert workspace.jobs.run(job).status == "done"
    assert spans.tree() == [("job evaluate-answers", [ASKED] * 5)]


def test_what_a_judge_is_asked_is_a_part_of_its_job(home):
    workspace, base = handbook(home)
    workspace.jobs.run(base.runs.start_evaluation(SET, WORDS))
    (run,) = base.runs.list_all()
    workspace.close()
    with scripted(openai_stream('{"reason": "so", "grade": 1}')) as script, traced() as spans:
        variables = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": f"{script.url}/v1"}
        workspace = Workspace(Settings.from_env(variables, home=home))
        job = workspace.base("handbook").runs.start_judging(run.id, "openai:m")
        assert workspace.jobs.run(job).status == "done"
    assert script.requests
    assert spans.tree() == [("job judge", [("chat m", [])] * len(script.requests))]


def test_the_checks_of_an_answer_are_parts_of_it():
    seen = list[str]()

    def finish(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        under_way = telemetry.current()
        seen.append(under_way.kind if under_way else "")
        return Answer(text, (), trace, "quotes", status, usage, note=note)

    trace = Trace("why?", "", 0, None, (), (), 0.0)
    with traced():
        assert AnswerStream((Delta(text) for text in ("So.",)), finish, trace).answer.text == "So."
    assert seen == ["answer"]
