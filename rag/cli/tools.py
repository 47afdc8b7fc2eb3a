"""The verbs for HTTP tools, and how tools and their answers are told."""

from __future__ import annotations

import argparse
from typing import Any

from rag import HttpTool, InvalidInput, ToolOutcome, Workspace
from rag.cli.printing import Output


def listed(workspace: Workspace) -> Output:
    found = workspace.tools.every()
    rows = [_row(workspace, tool) for tool in found]
    lines = [
        f"{tool.name:20} {tool.method} {tool.url}"
        + (f"  not set: {', '.join(row['unset'])}" if row["unset"] else "")
        for tool, row in zip(found, rows, strict=True)
    ]
    return Output({"tools": rows}, "\n".join(lines) or "There is no tool yet.")


def added(workspace: Workspace, args: argparse.Namespace) -> Output:
    tool = HttpTool.parse(
        {
            "name": args.name,
            "url": args.url,
            "method": "POST" if args.body else "GET",
            "body": args.body,
            "headers": dict(_header(text) for text in args.header),
            "results": args.results,
            "text": args.text,
            "title": args.title,
            "link": args.link,
            "score": args.score,
            "most": args.most,
            "seconds": args.seconds,
        }
    )
    workspace.tools.save(tool)
    row = _row(workspace, tool)
    use = f'use it with --set search.tools=["{tool.name}"]'
    needs = [f"set {name} in the environment" for name in row["unset"]]
    return Output(row, "\n".join([f"kept {tool.name}", *needs, use]))


def tested(name: str, outcome: ToolOutcome) -> Output:
    rows = [
        {"text": each.text, "title": each.title, "url": each.url, "score": each.score}
        for each in outcome.results
    ]
    data = {"tool": name, "results": rows, "empty": outcome.empty, "seconds": outcome.seconds}
    lines = [
        f"{place:3}  {each.title or '(no title)'}  {each.url}"
        + ("" if each.score is None else f"  score {each.score:g}")
        + f"\n     {' '.join(each.text.split())[:160]}"
        for place, each in enumerate(outcome.results, start=1)
    ]
    return Output(data, "\n".join(lines) or "It answers, with no result.")


def removed(name: str) -> Output:
    return Output({"removed": name}, f"deleted {name}")


def _row(workspace: Workspace, tool: HttpTool) -> dict[str, Any]:
    return {**tool.model_dump(mode="json"), "unset": workspace.tools.unset(tool)}


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(
            "A --header has no value.", "Write it like --header 'X-Api-Key=TOUCHSTONE_TOOL_KEY'."
        )
    return name.strip(), value.strip()
