"""What Prometheus reads of a server, by the parser of its own client."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rag import SCOPES, ProviderError, Settings, StorageError, Workspace, providers, telemetry
from rag.api.mounting import Api
from rag.providers import RetryPolicy
from tests.runs import WORDS, handbook
from tests.servers import openai_error, openai_vectors, scripted

QUESTION = "May unused leave be carried over?"
Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def workspace(home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(telemetry, "_listeners", [])
    return handbook(home)[0]


@pytest.fixture
def monitored(workspace: Workspace) -> TestClient:
    app = Starlette(routes=Api(lambda: workspace, figures=True).routes())
    secret, _ = workspace.access.tokens.create("monitoring", SCOPES)
    return TestClient(app, headers={"Authorization": f"Bearer {secret}"})


def read(client: TestClient) -> Figures:
    reply = client.get("/prometheus", headers={"Authorization": ""})
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=")
    assert "leave" not in reply.text
    assert "handbook" not in reply.text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }


def of(found: Figures, name: str, **labels: str) -> float | None:
    return found.get((f"touchstone_{name}", frozenset(labels.items())))


def test_searches_answers_and_requests_are_counted_and_timed(workspace, monitored):
    before = read(monitored)
    assert of(before, "search_seconds_count") == 0.0
    base = workspace.base("handbook")
    base.search(QUESTION, WORDS)
    asked = [base.ask(text, WORDS) for text in (QUESTION, "Zebra?")]
    assert ["".join(stream) != "" for stream in asked] == [True, True]
    assert [stream.answer.status for stream in asked] == ["complete", "refused"]
    path = "/api/v1/knowledge-bases"
    assert monitored.get(path).status_code == 200
    assert monitored.get(f"{path}/handbook").status_code == 200
    assert monitored.get(f"{path}/none").status_code == 404
    found = read(monitored)
    assert of(found, "search_seconds_count") == 3.0
    assert 0 < (of(found, "search_seconds_sum") or 0) < 60
    assert of(found, "search_seconds_bucket", le="+Inf") == 3.0
    assert of(found, "answer_seconds_count", status="complete") == 1.0
    assert of(found, "answer_seconds_count", status="refused") == 1.0
    one = {"method": "GET", "route": "/knowledge-bases/{kb}"}
    assert of(found, "request_seconds_count", **one, status="200") == 1.0
    assert of(found, "request_seconds_count", **one, status="404") == 1.0
    assert (of(found, "index_bytes") or 0) > 0
    assert of(found, "database_up") == 1.0


def test_whoever_has_no_token_makes_no_figures_of_his_own(monitored):
    for method in ("BREW", "X-1", "X-2"):
        reply = monitored.request(method, "/api/v1/knowledge-bases", headers={"Authorization": ""})
        assert reply.status_code == 401
    found = {dict(labels).get("method") for _, labels in read(monitored)}
    assert found == {None, "other"}


def test_requests_to_providers_are_counted_by_their_outcome(monitored):
    replies = [openai_vectors([1.0, 0.0]), openai_error(401, "no"), openai_error(503, "down")]
    with scripted(*replies) as script:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{script.url}/v1"}
        once = RetryPolicy(timeout=60, tries=1)
        model = providers.embedder("openai:m", Settings.from_env(variables), once)
        model.embed(["leave"], "query")
        for _ in range(2):
            with pytest.raises(ProviderError):
                model.embed(["leave"], "query")
    found = read(monitored)
    asked = {"provider": "openai", "service": "embedding"}
    for outcome in ("answered", "refused", "failed"):
        assert of(found, "provider_seconds_count", **asked, outcome=outcome) == 1.0


def test_jobs_that_wait_are_counted_and_a_database_that_is_down_is_told(
    workspace, monitored, monkeypatch
):
    base = workspace.base("handbook")
    base.documents.maps.draw(WORDS.index)
    workspace.jobs.run(workspace.create("empty", WORDS).documents.maps.draw(WORDS.index))
    figures = read(monitored)
    assert of(figures, "jobs", kind="map", state="queued") == 1.0
    assert of(figures, "failed_jobs", kind="map") == 1.0

    def down() -> None:
        raise StorageError("The database does not answer.")

    monkeypatch.setattr(workspace.jobs, "active", down)
    found = read(monitored)
    assert of(found, "database_up") == 0.0
    assert of(found, "search_seconds_count") is not None


def test_without_the_setting_nothing_is_shown_or_kept(workspace):
    app = Starlette(routes=Api(lambda: workspace).routes())
    assert TestClient(app).get("/prometheus").status_code == 404
    workspace.base("handbook").search(QUESTION, WORDS)
    assert telemetry._listeners == []
