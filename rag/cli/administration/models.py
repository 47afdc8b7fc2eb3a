"""The verb for models that run on this computer."""

from __future__ import annotations

import argparse

from rag import LocalServer, VerbData
from rag.cli import inputs
from rag.cli.printing import Output


class ModelsData(VerbData):
    """The model servers that run."""

    servers: list[LocalServer]


def models(args: argparse.Namespace) -> Output:
    servers = inputs.workspace(args).local_servers()
    lines = [line for server in servers for line in _lines(server)]
    none = "No model server runs here. To get one, install Ollama and run: ollama pull qwen3:1.7b"
    return Output(ModelsData(servers=servers), "\n".join(lines) or none)


def _lines(server: LocalServer) -> list[str]:
    uses = [
        f"--set answer.provider={server.provider} --set answer.model={name}"
        for name in server.chat_models
    ]
    uses += [f"--set index.embedder={server.provider}:{name}" for name in server.embedding_models]
    uses += [f"{name} has too few parameters to word answers" for name in server.too_small]
    needed = f", usable with {server.to_set}" if server.to_set else ""
    return [f"{server.label} at {server.address}{needed}", *(f"  {use}" for use in uses)]
