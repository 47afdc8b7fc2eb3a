"""What is brought in, asked, judged and measured by the API."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from openai import NotFoundError, OpenAI
from starlette.testclient import TestClient

from rag import Settings, Workspace
from tests.api import client, served
from tests.contracts.test_api_access import BASES, problem
from tests.workspaces import QUICK, stocked

LEAVE = "Unused leave may be carried over until the end of March."
TRAVEL = "Trains are booked by the office. Flights need the consent of the board."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return stocked(tmp_path, {"leave.md": LEAVE, "travel.md": TRAVEL}, name="manuals")[0]


@pytest.fixture
def manuals(workspace: Workspace) -> str:
    return f"{BASES}/{workspace.base('manuals').id}"


def events(text: str) -> Iterator[tuple[str, Any]]:
    """(name, data) of the events of a stream."""
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        yield fields["event"], json.loads(fields["data"])


def test_a_text_is_read_again_in_another_encoding(api, workspace, manuals):
    files = [("files", ("fees.txt", "fünf".encode("mac_roman")))]
    workspace.jobs.run(api.post(f"{manuals}/documents", files=files).json()["id"])
    rows = api.get(f"{manuals}/documents").json()["items"]
    fees = f"{manuals}/documents/{next(row['id'] for row in rows if row['name'] == 'fees.txt')}"
    problem(api.post(f"{fees}/readings", json={"encoding": "no-such"}), 422)
    queued = api.post(f"{fees}/readings", json={"encoding": "mac_roman"})
    assert queued.status_code == 202
    workspace.jobs.run(queued.json()["id"])
    assert api.get(fees).json()["text"] == "fünf"


def test_files_texts_and_pages_are_added_by_jobs(api, workspace, manuals):
    files = [("files", ("a.txt", b"Cats purr.")), ("files", ("b.exe", b"MZ\x90\x00"))]
    queued = api.post(f"{manuals}/documents", files=files)
    assert queued.status_code == 202
    job = queued.json()
    assert [each["name"] for each in job["items"]] == ["a.txt", "b.exe"]
    assert job["status"] == "queued"
    address = queued.headers["location"]
    workspace.jobs.run(job["id"])
    done = api.get(address).json()
    assert done["status"] == "done"
    assert [each["status"] for each in done["items"]] == ["added", "failed"]
    assert done["items"][1]["reason"]
    text = api.post(f"{manuals}/documents/text", json={"title": "Dogs", "text": "Dogs bark."})
    workspace.jobs.run(text.json()["id"])
    page = api.post(f"{manuals}/documents/urls", json={"urls": ["http://127.0.0.1/x"]})
    assert page.status_code == 202
    problem(api.post(f"{manuals}/documents/urls", json={"urls": ["http://a:b@host/"]}), 422)
    problem(api.post(f"{manuals}/documents/urls", json={"urls": []}), 422)
    problem(api.post(f"{manuals}/documents/text", json={"title": " ", "text": "x"}), 422)
    listed = api.get(f"{manuals}/documents").json()
    assert [each["name"] for each in listed["items"]] == ["Dogs", "a.txt", "leave.md", "travel.md"]
    dogs = f"{manuals}/documents/{listed['items'][0]['id']}"
    assert api.get(dogs).json()["text"] == "Dogs bark."
    assert api.delete(dogs).status_code == 204
    problem(api.get(dogs), 404)
    problem(api.delete(dogs), 404)
    jobs = api.get(f"{manuals}/jobs?limit=1").json()
    assert jobs["items"][0]["id"] == page.json()["id"]
    assert jobs["total"] == 4


def test_a_job_is_cancelled_and_its_events_end(api, workspace, manuals):
    job = api.post(f"{manuals}/documents/text", json={"title": "a", "text": "b"}).json()["id"]
    assert api.post(f"/api/v1/jobs/{job}/cancel").json()["status"] == "cancelled"
    stream = api.get(f"/api/v1/jobs/{job}/events")
    assert stream.headers["content-type"].startswith("text/event-stream")
    ((name, data),) = events(stream.text)
    assert (name, data["id"], data["status"]) == ("end", job, "cancelled")
    for path in ("/api/v1/jobs/999", "/api/v1/jobs/999/events"):
        problem(api.get(path), 404)
    problem(api.get("/api/v1/jobs/0"), 422)
    problem(api.post("/api/v1/jobs/999/cancel"), 404)


def test_a_large_upload_is_refused_while_it_comes(tmp_path):
    settings = Settings.from_env({"TOUCHSTONE_MAX_UPLOAD_MB": "1"}, home=tmp_path)
    workspace = Workspace(settings)
    base = workspace.create("manuals", QUICK)
    api = client(workspace)
    documents, search = f"{BASES}/{base.id}/documents", f"{BASES}/{base.id}/search"
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    taken = 0

    async def endless() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        body = head if taken == 1 else b"a" * (1 << 20)
        return {"type": "http.request", "body": body, "more_body": True}

    told: list[Any] = []

    async def hear(message: Any) -> None:
        told.append(message)

    form = "multipart/form-data; boundary=x"
    names = {"content-type": form, "authorization": api.headers["authorization"]}
    headers = [(name.encode(), value.encode()) for name, value in names.items()]
    scope = {"type": "http", "method": "POST", "path": documents, "headers": headers}
    anyio.run(api.app, scope | {"query_string": b"", "root_path": ""}, endless, hear)
    assert told[0]["status"] == 413
    assert json.loads(told[1]["body"])["detail"] == "The body is too large."
    assert taken == 3  # the head and two megabytes: there is room for two in all

    announced = {"Content-Type": form, "Content-Length": str(64 << 20)}
    problem(api.post(documents, content=b"--x", headers=announced), 413)
    problem(api.post(search, json={"question": "a" * (17 << 20)}), 413)
    assert workspace.jobs.recent(base.id) == []
    assert not (tmp_path / "files").exists() or list((tmp_path / "files").iterdir()) == []
    workspace.close()


def test_a_real_client_hears_of_a_job_and_an_answer_as_they_go_on(workspace, manuals):
    secret, _ = workspace.access.tokens.create("test", ["read", "write", "ask"])
    allowed = {"Authorization": f"Bearer {secret}"}
    with (
        served(workspace) as address,
        httpx.Client(base_url=address, headers=allowed, trust_env=False, timeout=60) as real,
    ):
        given = {"title": "Cats", "text": "Cats purr."}
        job = real.post(f"{manuals}/documents/text", json=given).json()["id"]
        heard = []
        with real.stream("GET", f"/api/v1/jobs/{job}/events") as stream:
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    heard.append(line.removeprefix("event: "))
                if heard == ["progress"] and line.startswith("data: "):
                    assert json.loads(line.removeprefix("data: "))["status"] == "queued"
                    workspace.jobs.run(job)  # begun only when the first event was heard
        assert heard[-1] == "end"
        asked = {"question": "When is unused leave lost?", "stream": True}
        with real.stream("POST", f"{manuals}/ask", json=asked) as stream:
            told = list(events("\n".join(stream.iter_lines())))
        assert [name for name, _ in told][0 :: len(told) - 1] == ["passages", "answer"]


def test_no_request_is_sent_into_a_connection_that_the_server_ends(workspace, manuals):
    secret, _ = workspace.access.tokens.create("test", ["read"])
    given = {"Authorization": f"Bearer {secret}"}
    real = httpx.Client(headers=given, trust_env=False, timeout=60)  # the first request imports
    with served(workspace) as address, real:
        for path in (manuals, "/mcp", "/api/v1/nothing"):
            with real.stream("GET", address + path) as reply:
                assert reply.headers["connection"] == "close"
        assert real.post(f"{address}{manuals}/search", json={"question": "leave"}).json()["hits"]


def test_answers_have_citations_whole_and_in_pieces(api, manuals):
    asked = {"question": "When is unused leave lost?"}
    answer = api.post(f"{manuals}/ask", json=asked).json()
    assert (answer["status"], answer["mode"]) == ("complete", "quotes")
    assert answer["citations"][0]["document"] == "leave.md"
    stream = api.post(f"{manuals}/ask", json=asked | {"stream": True})
    assert stream.headers["content-type"].startswith("text/event-stream")
    told = list(events(stream.text))
    assert told[0][0] == "passages"
    assert told[0][1][0]["document"] == "leave.md"
    assert "".join(data for name, data in told if name == "text") == answer["answer"]
    assert told[-1] == ("answer", answer)
    problem(api.post(f"{manuals}/ask", json={"question": "", "stream": True}), 422)


def test_a_provider_that_fails_is_told_of(api, manuals):
    asked = {"question": "leave", "fields": {"answer.provider": "openai"}}
    problem(api.post(f"{manuals}/ask", json=asked), 502)


def test_question_sets_and_labels_are_edited(api, workspace, manuals):
    sets = f"{manuals}/question-sets"
    made = api.post(sets, json={"name": "policies"})
    assert made.status_code == 201
    problem(api.post(sets, json={"name": "policies"}), 409)
    address = made.headers["location"]
    question = api.post(f"{address}/questions", json={"question": "How long?"}).json()
    document = api.get(f"{manuals}/documents").json()["items"][0]
    judged = {
        "question_id": question["id"],
        "document_id": document["id"],
        "start": 0,
        "end": 12,
        "grade": 1,
    }
    label = api.post(f"{address}/labels", json=judged).json()
    assert (label["quote"], label["grade"]) == (LEAVE[:12], 1)
    changed = api.patch(f"{address}/labels/{label['id']}", json={"grade": 2}).json()
    assert changed == label | {"grade": 2}
    (held,) = api.get(f"{address}/questions").json()["items"]
    assert held["labels"] == [changed]
    assert api.get(address).json()["questions"] == 1
    edited = {"question": "How long is it?", "tags": ["leave"]}
    asked = f"{address}/questions/{question['id']}"
    assert api.patch(asked, json=edited).json() == held | edited
    problem(api.patch(asked, json={"answerable": False}), 422)  # a label says where
    problem(api.patch(f"{address}/questions/none", json=edited), 404)
    assert api.patch(asked, json={"question": "How long?"}).json()["tags"] == ["leave"]
    assert api.patch(address, json={"name": "rules"}).json()["name"] == "rules"
    problem(api.patch(address, json={"name": " "}), 422)
    exported = api.get(f"{address}/export").text
    assert "How long?" in exported
    copied = api.post(
        f"{sets}/import", data={"name": "copy"}, files={"file": ("q.jsonl", exported.encode())}
    )
    assert (copied.status_code, copied.json()["questions"]) == (201, 1)
    assert api.delete(f"{address}/labels/{label['id']}").status_code == 204
    problem(api.delete(f"{address}/labels/{label['id']}"), 404)
    assert api.delete(asked).status_code == 204
    problem(api.delete(asked), 404)
    assert api.get(address).json()["questions"] == 0
    problem(api.patch(f"{address}/labels/99", json={"grade": 2}), 404)
    problem(api.post(f"{address}/labels", json=judged | {"question_id": "none"}), 404)
    problem(api.post(f"{address}/labels", json=judged | {"end": 9999}), 422)
    bad = {"file": ("q.jsonl", b"{")}
    problem(api.post(f"{sets}/import", data={"name": "copy"}, files=bad), 422)
    assert api.delete(address).status_code == 204
    assert [each["name"] for each in api.get(sets).json()["items"]] == ["copy"]


def test_recipes_are_evaluated_swept_compared_and_reported(api, workspace, manuals):
    lines = [
        {"question": "unused leave", "evidence": [{"document": "leave.md", "quote": LEAVE}]},
        {"question": "trains", "evidence": [{"document": "travel.md", "quote": TRAVEL[:32]}]},
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    files = {"file": ("q.jsonl", content)}
    api.post(f"{manuals}/question-sets/import", data={"name": "q"}, files=files)
    ids = []
    for top_k in (1, 2):
        asked = {"set": "q", "fields": {"search.top_k": top_k}}
        job = api.post(f"{manuals}/evaluations", json=asked)
        assert job.status_code == 202
        workspace.jobs.run(job.json()["id"])
        ids.append(job.json()["run"])
    listed = api.get(f"{manuals}/runs?set=q").json()
    assert [each["run"] for each in listed["items"]] == ids[::-1]
    run = api.get(f"{manuals}/runs/{ids[0]}").json()
    stored = workspace.base("manuals").runs.get(ids[0])
    assert run["metrics"] == stored.metrics
    assert run["recipe_fields"]["search"]["top_k"] == 1
    results = api.get(f"{manuals}/runs/{ids[0]}/questions").json()
    assert [each["question"] for each in results["items"]] == ["unused leave", "trains"]
    compared = api.get(f"{manuals}/runs/{ids[1]}/comparison?baseline={ids[0]}").json()
    assert compared["baseline_mean"] == run["metrics"]["ndcg@10"]
    assert compared["verdict"] == "undecided"
    report = api.get(f"{manuals}/runs/{ids[0]}/report")
    assert report.headers["content-type"].startswith("text/html")
    assert report.text == workspace.base("manuals").runs.report(ids[0])
    assert api.get(f"{manuals}/sweeps/q").json() == {"result": None}
    grid = {"set": "q", "grid": {"search.top_k": [1, 2]}, "metric": "ndcg@3"}
    sweep = api.post(f"{manuals}/sweeps", json=grid)
    assert sweep.status_code == 202
    assert api.delete(f"{manuals}/runs/{ids[0]}").status_code == 204
    problem(api.get(f"{manuals}/runs/{ids[0]}"), 404)
    problem(api.post(f"{manuals}/evaluations", json={"set": "none"}), 404)
    problem(api.post(f"{manuals}/sweeps", json=grid | {"grid": {"search.tpo_k": [1]}}), 422)
    told = problem(api.post(f"{manuals}/sweeps", json=grid | {"metric": "ndgc@10"}), 422)
    assert told["detail"] == "'ndgc@10' is not a metric."


def test_dify_gets_records_and_its_codes(api, workspace, manuals):
    asked = {
        "knowledge_id": "manuals",
        "query": "unused leave",
        "retrieval_setting": {"top_k": 1, "score_threshold": 0.0},
    }
    (record,) = api.post("/api/v1/retrieval", json=asked).json()["records"]
    recipe = QUICK.with_fields({"search.top_k": 1})
    hit = workspace.base("manuals").search("unused leave", recipe).hits[0]
    assert (record["content"], record["title"]) == (LEAVE, "leave.md")
    assert record["score"] == hit.relevance
    assert record["metadata"]["document_id"] == hit.chunk.document_id
    strict = asked | {"retrieval_setting": {"top_k": 3, "score_threshold": 0.999}}
    assert api.post("/api/v1/retrieval", json=strict).json() == {"records": []}
    unknown = problem(api.post("/api/v1/retrieval", json=asked | {"knowledge_id": "none"}), 404)
    assert unknown["error_code"] == 2001
    assert unknown["error_msg"] == unknown["detail"]
    outside = TestClient(api.app).post("/api/v1/retrieval", json=asked)
    assert problem(outside, 401)["error_code"] == 1002


def test_scores_for_others_fall_with_the_rank_and_relevance_stands_beside(api, workspace, manuals):
    base = workspace.base("manuals")
    base.recipes.save(base.recipe().with_fields({"search.dense_weight": 0.0}))
    by_relevance = set[bool]()
    for question in ("unused leave trains", "second class on the train of unused leave"):
        hits = base.search(question, base.recipe().with_fields({"search.top_k": 5})).hits
        relevances = [hit.relevance for hit in hits]
        assert len(hits) >= 2
        dify = api.post(
            "/api/v1/retrieval",
            json={
                "knowledge_id": "manuals",
                "query": question,
                "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
            },
        ).json()["records"]
        asked = {"query": question, "max_num_results": 5}
        page = api.post("/api/v1/vector_stores/manuals/search", json=asked).json()["data"]
        for rows, beside in ((dify, "metadata"), (page, "attributes")):
            assert [row[beside]["chunk_id"] for row in rows] == [hit.chunk.id for hit in hits]
            assert [row[beside]["relevance"] for row in rows] == relevances
            scores = [row["score"] for row in rows]
            assert scores == sorted(scores, reverse=True)
            assert (scores[0], scores[-1]) == (max(relevances), min(relevances))
        by_relevance.add(relevances == sorted(relevances, reverse=True))
    assert False in by_relevance


def test_the_client_of_openai_searches_a_knowledge_base(api, workspace, manuals):
    api.base_url = "http://testserver/api/v1/"
    secret = api.headers["authorization"].removeprefix("Bearer ")
    speaks = OpenAI(api_key=secret, base_url="http://testserver/api/v1", http_client=api)
    page = speaks.vector_stores.search("manuals", query="unused leave", max_num_results=1)
    (found,) = page.data
    assert (found.filename, found.content[0].text) == ("leave.md", LEAVE)
    assert found.attributes["start"] == 0
    both = speaks.vector_stores.search("manuals", query=["unused leave", "trains"])
    assert {each.filename for each in both.data} == {"leave.md", "travel.md"}
    with pytest.raises(NotFoundError, match="no knowledge base named"):
        speaks.vector_stores.search("none", query="leave")
