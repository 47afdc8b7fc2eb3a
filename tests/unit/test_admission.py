"""How many requests of a token are under way, and what is told and changed of each answer."""

import asyncio
import threading
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rag import SCOPES, Work, Workspace, telemetry
from rag.api import problems
from rag.api.admission import Admission
from rag.api.mounting import Api
from tests.runs import SET, handbook

PATIENCE = 60.0


def _client(app: ASGIApp, workspace: Workspace) -> httpx.AsyncClient:
    secret, _ = workspace.access.tokens.create("test", SCOPES)
    headers = {"Authorization": f"Bearer {secret}"}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers)


def _answer(app: ASGIApp, workspace: Workspace) -> httpx.Response:
    async def get() -> httpx.Response:
        async with _client(Admission(app, workspace), workspace) as client:
            return await client.get("/")

    return asyncio.run(get())


def test_requests_under_way_are_bounded_for_each_token(workspace):
    async def attempt() -> None:
        release, begun = asyncio.Event(), asyncio.Semaphore(0)

        async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
            begun.release()
            await release.wait()
            await PlainTextResponse("done")(scope, receive, send)

        app = Admission(waiting, workspace)
        async with _client(app, workspace) as one, _client(app, workspace) as other:
            under_way = [asyncio.create_task(one.get("/")) for _ in range(32)]
            for _ in under_way:
                await begun.acquire()
            refused = await one.get("/")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            elsewhere = asyncio.create_task(other.get("/"))
            await begun.acquire()
            release.set()
            answers = await asyncio.gather(*under_way, elsewhere)
            assert {answer.status_code for answer in answers} == {200}
            assert (await one.get("/")).status_code == 200

    asyncio.run(asyncio.wait_for(attempt(), PATIENCE))


def test_cheap_requests_do_not_wait_behind_dear_ones(home, monkeypatch):
    """Four reports of a token are taken, of which two are made at a time; other tokens wait."""
    workspace, base = handbook(home)
    workspace.jobs.run(base.runs.start_evaluation(SET, base.recipe()))
    [run] = base.runs.list_all()
    release, begun = threading.Event(), threading.Semaphore(0)

    def blocked(_report: object) -> str:
        begun.release()
        assert release.wait(PATIENCE)
        return "report"

    monkeypatch.setattr("rag.experiments.runs.reporting.render", blocked)

    async def attempt() -> None:
        app = Starlette(routes=Api(lambda: workspace).routes())
        runs = "/api/v1/knowledge-bases/handbook/runs"
        async with _client(app, workspace) as one, _client(app, workspace) as other:
            every = [one, other, one, one, one, one, *[other] * 4]
            reports = [asyncio.create_task(each.get(f"{runs}/{run.id}/report")) for each in every]
            for _ in range(2):
                assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
            listed = [await each.get(runs) for each in (one, other)]
            assert [answer.json()["total"] for answer in listed] == [1, 1]
            ended, waiting = set[asyncio.Task[httpx.Response]](), set(reports)
            while len(ended) < 2:  # the fifth of each token is refused
                more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                ended |= more
            assert not begun.acquire(blocking=False)
            release.set()
            answers = await asyncio.gather(*reports)
            statuses = sorted(answer.status_code for answer in answers)
            assert statuses == [200] * 8 + [429] * 2
            refused = [answer for answer in answers if answer.status_code == 429]
            assert [answer.headers["retry-after"] for answer in refused] == ["1", "1"]

    try:
        asyncio.run(asyncio.wait_for(attempt(), PATIENCE))
    finally:
        release.set()
        workspace.close()


def test_the_status_of_an_answer_in_parts_is_told(workspace, monkeypatch):
    told: list[Work] = []
    monkeypatch.setattr(telemetry, "_listeners", [told.append])
    app = StreamingResponse(iter(["one ", "two"]), status_code=207)
    assert _answer(app, workspace).text == "one two"
    [work] = told
    assert work.kind == "request"
    assert work.labels == {"method": "GET", "route": "unknown", "status": "207"}


def _problem(_: object = None) -> ASGIApp:
    return problems.answer("/", problems.problem(413, "Mine."))


@pytest.mark.parametrize(
    ("make", "detail"),
    [(_problem, "Mine."), (lambda: PlainTextResponse("no", 413), "The body is too large.")],
)
def test_a_body_that_is_too_large_is_refused_as_a_problem(workspace, make, detail):
    answer = _answer(make(), workspace)
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["detail"]) == (413, detail)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_request_without_a_token_is_not_told_that_one_has_ended(workspace):
    async def get(headers: dict[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(Admission(PlainTextResponse("in"), workspace))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/", headers=headers)

    secret, token = workspace.access.tokens.create("test", SCOPES)
    workspace.access.tokens.revoke(token.id)
    none, unknown, ended = (
        asyncio.run(get({"Authorization": sent} if sent else {}))
        for sent in ("", f"Bearer {secret}x", f"Bearer {secret}")
    )
    for answer in (none, unknown):
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="Touchstone"'
    assert ended.headers["WWW-Authenticate"] == 'Bearer realm="Touchstone", error="invalid_token"'
