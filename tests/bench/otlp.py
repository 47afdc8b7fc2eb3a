"""A dashboard that receives 1,000 spans a second for a minute while tabs are open.

``python -m rag bench --only otlp`` serves the sample, twice: with the budget of spans that it has
by default, and with one that has room for all of them. One of five spans is a retrieval with ten
results. Tabs ask questions on changing pages meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.bench.users import ROOT, SessionOwner
from tests.dashboard import running

RATE = 1000  # spans a second
SECONDS = 60
BATCH = 500
TABS = 3
BUDGETS: Mapping[str, str] = {"default budget": "", "room for all": "1000000"}
_RETRIEVALS = 5  # one of so many spans
_RESULTS = 10
_WORDS = "The centrifuge is calibrated once a year by the service of its maker. " * 10
_PATH = "/api/v1/knowledge-bases/sample/otlp/v1/traces"


def measure(_folder: Path) -> dict[str, float]:
    """By budget: spans a second, refused requests, errors and seconds of pages, memory in MB."""
    figures: dict[str, float] = {}
    for name, budget in BUDGETS.items():
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            _rag("demo", "--home", str(home))
            made = _rag("token", "create", "b", "--scope", "traces", "--json", "--home", str(home))
            token = str(json.loads(made)["token"])
            with (
                patch.dict(os.environ, {"TOUCHSTONE_TRAFFIC_BUDGET": budget}),
                running(home) as (url, process),
            ):
                result = asyncio.run(_load(url, process, token))
            stored = json.loads(_rag("traffic", "sample", "--json", "--home", str(home)))
            result["stored retrievals"] = float(sum(s["retrievals"] for s in stored["systems"]))
        figures |= {f"{name} | {figure}": value for figure, value in result.items()}
    return figures


def _rag(*arguments: str) -> str:
    command = [sys.executable, "-m", "rag", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


async def _load(url: str, process: int, token: str) -> dict[str, float]:
    await SessionOwner(url, 0).stay(time.monotonic() + 5)  # loads models and pages
    before = _megabytes(process)
    until = time.monotonic() + SECONDS
    tabs = [SessionOwner(url, seed) for seed in range(1, TABS + 1)]
    sending = asyncio.create_task(_send(url, token, process))
    outcomes = await asyncio.gather(*(tab.stay(until) for tab in tabs), return_exceptions=True)
    sent, refused, seconds, memory = await sending
    quarter = len(memory) // 4
    failed = sum(isinstance(outcome, BaseException) for outcome in outcomes)
    pages = [taken for tab in tabs for taken in (*tab.seconds["inspector"], *tab.seconds["chat"])]
    return {
        "spans a second": sent / seconds,
        "refused requests": float(refused),
        "errors of pages": float(failed + sum(len(tab.errors) for tab in tabs)),
        "reruns of pages": float(len(pages)),
        "rerun s (median)": statistics.median(pages) if pages else float("nan"),
        "rerun s (worst)": max(pages, default=float("nan")),
        "MB before": before,
        "MB at most": max(memory),
        "MB in the second quarter": statistics.median(memory[quarter : 2 * quarter]),
        "MB in the last quarter": statistics.median(memory[-quarter:]),
    }


async def _send(url: str, token: str, process: int) -> tuple[int, int, float, list[float]]:
    """Send batches at their times.

    Returns spans, refused requests, seconds, and the memory in MB after each batch.
    """
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-protobuf"}
    sent = refused = 0
    memory, started = list[float](), time.monotonic()
    async with httpx.AsyncClient(timeout=120, headers=headers, trust_env=False) as client:
        for number in range(RATE * SECONDS // BATCH):
            await asyncio.sleep(max(0.0, started + number * BATCH / RATE - time.monotonic()))
            response = await client.post(url + _PATH, content=_request(number))
            refused += response.status_code != httpx.codes.OK
            sent += BATCH
            memory.append(_megabytes(process))
    return sent, refused, time.monotonic() - started, memory


def _request(number: int) -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(_attribute("service.name", "assistant"))
    spans = resource.scope_spans.add().spans
    for place in range(number * BATCH, (number + 1) * BATCH):
        span = spans.add(name="span", start_time_unix_nano=time.time_ns())
        span.trace_id = (place // _RETRIEVALS + 1).to_bytes(16)
        span.span_id = span.parent_span_id = (place + 1).to_bytes(8)
        is_retrieval = place % _RETRIEVALS == 0
        kind = "RETRIEVER" if is_retrieval else "LLM"
        span.attributes.append(_attribute("openinference.span.kind", kind))
        span.attributes.append(_attribute("input.value", f"How is device {place} calibrated?"))
        for result in range(_RESULTS if is_retrieval else 0):
            name = f"retrieval.documents.{result}.document.content"
            span.attributes.append(_attribute(name, f"{result} {_WORDS}"))
    return request.SerializeToString()


def _attribute(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def _megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
