"""Verbs for models of this computer, and for services that are asked beside the documents."""

from __future__ import annotations

import argparse
from typing import Any

from rag import HttpTool, InvalidInput, LocalServer, Workspace
from rag.cli import inputs, printing
from rag.cli.printing import Output, encodable

_PLACES = ("results", "text", "title", "link", "score")


def tools(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    registered = workspace.tools.list_all()
    rows = [_row(workspace, tool) for tool in registered]
    lines = [
        f"{tool.name:20} {tool.method} {tool.url}"
        + (f"  not set: {', '.join(row['unset'])}" if row["unset"] else "")
        for tool, row in zip(registered, rows, strict=True)
    ]
    return Output({"tools": rows}, "\n".join(lines) or "There is no tool yet.")


def add_tool(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    fields = ("name", "url", "body", "description", "most", "seconds")
    values = {name: getattr(args, name) for name in (*fields, *_PLACES)}
    values["method"] = "POST" if args.body else "GET"
    values["headers"] = dict(_header(text) for text in args.header)
    tool = HttpTool.parse(values)
    workspace.tools.save(tool)
    row = _row(workspace, tool)
    use = f'use it with --set search.tools=["{tool.name}"]'
    needs = [f"set {name} in the environment" for name in row["unset"]]
    return Output(row, "\n".join([f"kept {tool.name}", *needs, use]))


def test_tool(args: argparse.Namespace) -> Output:
    registry = inputs.workspace(args).tools
    outcome = registry.ask(registry.named(args.name), args.question)
    data = {"tool": args.name, **encodable(outcome)}
    lines = [
        f"{rank:3}  {result.title or '(no title)'}  {result.url}"
        + ("" if result.score is None else f"  score {result.score:g}")
        + f"\n     {printing.snippet(result.text, 160)}"
        for rank, result in enumerate(outcome.results, start=1)
    ]
    return Output(data, "\n".join(lines) or "The tool responds, but without results.")


def remove_tool(args: argparse.Namespace) -> Output:
    inputs.workspace(args).tools.remove(args.name)
    return Output({"removed": args.name}, f"deleted {args.name}")


def _row(workspace: Workspace, tool: HttpTool) -> dict[str, Any]:
    return {**tool.model_dump(mode="json"), "unset": workspace.tools.unset(tool)}


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(
            "A --header has no value.", "Write it like --header 'X-Api-Key=TOUCHSTONE_TOOL_KEY'."
        )
    return name.strip(), value.strip()


def models(args: argparse.Namespace) -> Output:
    servers = inputs.workspace(args).local_servers()
    lines = [line for server in servers for line in _lines(server)]
    none = "No model server runs here. To get one, install Ollama and run: ollama pull qwen3:1.7b"
    return Output({"servers": servers}, "\n".join(lines) or none)


def _lines(server: LocalServer) -> list[str]:
    uses = [
        f"--set answer.provider={server.provider} --set answer.model={name}"
        for name in server.chat_models
    ]
    uses += [f"--set index.embedder={server.provider}:{name}" for name in server.embedding_models]
    uses += [f"{name} has too few parameters to word answers" for name in server.too_small]
    needed = f", usable with {server.to_set}" if server.to_set else ""
    return [f"{server.label} at {server.address}{needed}", *(f"  {use}" for use in uses)]
