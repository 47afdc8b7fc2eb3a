"""Searches and uploads through two dashboards whose PostgreSQL takes few connections.

``python -m rag bench --only connections`` runs it, on a server of its own beside them, whose
``max_connections`` is far below what the clients would use. Clients search without a pause, while
uploads are read, some in processes of their own. ``CONNECTIONS_PROJECT`` names another checkout to
serve instead.
"""

import io
import os
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from rag import SCOPES, Settings, Workspace
from tests.dashboard import ROOT, running
from tests.postgres import serving
from tests.workspaces import QUICK, add

LIMIT, CLIENTS, SECONDS = 20, 60, 60.0
UPLOADS, FILES, LETTERS = 6, 40, 40_000
READING_SECONDS = 600.0
SEARCH = "/api/v1/knowledge-bases/handbook/search"
UPLOAD = "/api/v1/knowledge-bases/{base}/documents"
SETTINGS = {"TOUCHSTONE_API_RATE": "1000000"}


def measure(_folder: Path) -> dict[str, float]:
    """Searches by outcome, and what became of the uploaded files."""
    project = Path(os.environ.get("CONNECTIONS_PROJECT", ROOT))
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(serving(max_connections=LIMIT))
        url = server.url(server.create())
        tokens = _prepare(url, place)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in {**SETTINGS, "TOUCHSTONE_DATABASE_URL": url}.items():
            patch.setenv(name, value)
        patch.delenv("TOUCHSTONE_HOME", raising=False)
        addresses = [
            stack.enter_context(running(place / name, project))[0] for name in ("one", "two")
        ]
        for address in addresses:
            _await(f"{address}/readyz")
        return _load(addresses, tokens)


def _prepare(url: str, place: Path) -> list[str]:
    """Fill the database; return tokens, for each may have 32 requests at once."""
    settings = Settings.from_env({"TOUCHSTONE_DATABASE_URL": url}, home=place / "desk")
    workspace = Workspace(settings)
    texts = {f"{at}.txt": f"Pump number {at} leaks at its seal. " * 20 for at in range(200)}
    add(workspace, workspace.create("handbook", QUICK), texts)
    for number in range(UPLOADS):
        workspace.create(f"uploads {number}", QUICK)
    secrets = [workspace.access.tokens.create(f"bench {number}", SCOPES)[0] for number in range(6)]
    workspace.close()
    return secrets


def _await(address: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if httpx.get(address, trust_env=False, timeout=60).status_code == 200:
            return
        time.sleep(0.5)
    raise RuntimeError(f"{address} is not ready.")


def _load(addresses: list[str], tokens: list[str]) -> dict[str, float]:
    outcomes: Counter[str] = Counter()
    slowest: list[float] = []
    jobs: list[str] = []
    until = time.monotonic() + SECONDS

    def search(client: int) -> None:
        headers = {"Authorization": f"Bearer {tokens[client % len(tokens)]}"}
        address = addresses[client % len(addresses)]
        with httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=120) as api:
            while time.monotonic() < until:
                started = time.monotonic()
                reply = api.post(SEARCH, json={"question": f"Which pump leaks? {client}"})
                wait = "with" if "Retry-After" in reply.headers else "without"
                refused = f"{reply.status_code} {wait} Retry-After"
                outcomes["200" if reply.status_code == 200 else refused] += 1
                slowest.append(time.monotonic() - started)

    def upload(number: int) -> None:
        headers = {"Authorization": f"Bearer {tokens[number % len(tokens)]}"}
        address = addresses[number % len(addresses)]
        large = number % 2  # these are read in a process of their own
        texts = (f"File {number} {at}. " * (LETTERS // 12 if large else 60) for at in range(FILES))
        parts = [
            ("files", (f"{at}.txt", io.BytesIO(text.encode()))) for at, text in enumerate(texts)
        ]
        path = UPLOAD.format(base=f"uploads {number}")
        with httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=120) as api:
            while True:
                reply = api.post(path, files=parts)
                if reply.status_code != 503:
                    break
                outcomes["uploads refused"] += 1
                time.sleep(2)
            assert reply.status_code == 202, reply.text
            jobs.append(f"{address}{reply.headers['Location']}")

    threads = [threading.Thread(target=search, args=(client,)) for client in range(CLIENTS)]
    threads += [threading.Thread(target=upload, args=(number,)) for number in range(UPLOADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = _read_files(jobs, tokens[0])
    slowest.sort()
    figures = {f"searches, {outcome}": float(count) for outcome, count in outcomes.items()}
    figures["searches, seconds, p95"] = slowest[int(len(slowest) * 0.95)]
    return figures | {f"files, {status}": float(count) for status, count in files.items()}


def _read_files(jobs: list[str], token: str) -> Counter[str]:
    """What became of the files, when all jobs have ended."""
    statuses: Counter[str] = Counter()
    deadline = time.monotonic() + READING_SECONDS
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(headers=headers, trust_env=False, timeout=120) as api:
        for job in jobs:
            while (state := api.get(job).json()).get("status") not in ("done", "failed"):
                if time.monotonic() > deadline:
                    break
                time.sleep(1)
            statuses[f"jobs {state['status']}"] += 1
            statuses.update(item["status"] for item in state["items"])
    return statuses
