"""Streams of the API end with the right to them."""

import httpx

from rag.workspace import scoped
from tests.api import served
from tests.contracts.test_api_access import BASES
from tests.contracts.test_api_work import events
from tests.workspaces import QUICK, workspace_at


def test_events_of_a_job_end_with_the_token(tmp_path, monkeypatch):
    workspace = workspace_at(tmp_path)
    manuals = f"{BASES}/{workspace.create('manuals', QUICK).id}"
    monkeypatch.setattr(scoped, "_LET_IN_SECONDS", 0.0)
    secret, row = workspace.access.tokens.create("test", ["read", "write"])
    allowed = {"Authorization": f"Bearer {secret}"}
    with (
        served(workspace) as address,
        httpx.Client(base_url=address, headers=allowed, trust_env=False, timeout=30) as real,
    ):
        given = {"title": "Cats", "text": "Cats purr."}
        job = real.post(f"{manuals}/documents/text", json=given).json()["id"]
        with real.stream("GET", f"/api/v1/jobs/{job}/events") as stream:
            lines = stream.iter_lines()
            heard = [next(lines) for _ in range(3)]
            assert "event: progress" in heard
            workspace.access.tokens.revoke(row.id)
            told = dict(events("\n".join(each for each in lines if each)))
        assert list(told) == ["problem"]
        assert told["problem"]["status"] == 403
        assert "revoked" in told["problem"]["detail"]
        assert real.get(f"/api/v1/jobs/{job}").status_code == 401
