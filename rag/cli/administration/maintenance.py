"""Verbs that look after a home: checks, backups, models, tools, benchmarks."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from rag import (
    Backup,
    DocumentData,
    HttpTool,
    InvalidInput,
    LocalServer,
    Problem,
    Recipe,
    Settings,
    ToolResult,
    VerbData,
    Workspace,
    counted,
    restore_backup,
)
from rag.cli import inputs, printing
from rag.cli.printing import Output, RemovedData


class RenamedBaseData(VerbData):
    """The former and the new name of a knowledge base."""

    renamed: str
    name: str


class DuplicatedBaseData(VerbData):
    """A copy of a knowledge base."""

    duplicated: str
    name: str
    documents: int


class CheckData(VerbData):
    """The problems of a home, the number of those that are left, and the bytes that were freed."""

    problems: list[Problem]
    left: int
    freed: int


class BackupContentsData(VerbData):
    """The contents of a backup; ``lost`` are files that were missing or damaged."""

    knowledge_bases: int
    documents: int
    files: int
    lost: list[str]


class BackupData(BackupContentsData):
    """A backup that was written."""

    file: str
    bytes: int


class RestoredData(BackupContentsData):
    """A home that was filled from a backup; ``set_aside`` has its previous contents."""

    home: str
    set_aside: str | None


def rename(args: argparse.Namespace) -> Output:
    inputs.workspace(args).rename(args.kb, args.name)
    data = RenamedBaseData(renamed=args.kb, name=args.name.strip())
    return Output(data, f"renamed to {args.name}")


def duplicate(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    copy, job = workspace.duplicate(args.kb, args.name)
    printing.follow(workspace.jobs, job)
    number = len(copy.documents.documents(copy.recipe().index))
    data = DuplicatedBaseData(duplicated=args.kb, name=copy.name, documents=number)
    return Output(data, f"{copy.name}: {counted(number, 'document')}, copied from {args.kb}")


def schema(args: argparse.Namespace) -> Output:
    definition = Recipe.model_json_schema()
    return Output(DocumentData(**definition), json.dumps(definition, indent=2))


def completion(args: argparse.Namespace) -> Output:
    import shtab  # for this verb alone

    root = args.complete()
    root.prog = "rag"
    script = shtab.complete(root, args.shell)
    return Output(DocumentData(shell=args.shell, script=script), script)


def check(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    problems = workspace.check(repair=args.repair)
    freed = workspace.compact() if args.compact else 0
    unrepaired = [problem for problem in problems if not problem.repaired]
    data = CheckData(problems=problems, left=len(unrepaired), freed=freed)
    lines = [_line(problem) for problem in problems]
    lines += [f"the database is {freed / 1000:,.0f} kB smaller"] if args.compact else []
    counts = Counter("repaired" if problem.repaired else problem.kind for problem in problems)
    summary = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    return Output(data, "\n".join([*lines, summary or "no problems found"]), not unrepaired)


def _line(problem: Problem) -> str:
    size = f", {problem.bytes / 1000:,.0f} kB" if problem.bytes else ""
    state = f"{problem.kind}, repaired" if problem.repaired else problem.kind
    return f"{state:18} {problem.what}: {problem.name}{size}"


def backup(args: argparse.Namespace) -> Output:
    backup = inputs.workspace(args).back_up(args.file, allow_empty=args.allow_empty)
    size = args.file.stat().st_size
    data = _contents(backup).extend(BackupData, file=str(args.file), bytes=size)
    return Output(data, f"{args.file}, {size / 1000:,.0f} kB\n{_report(backup)}", not backup.lost)


def restore(args: argparse.Namespace) -> Output:
    settings = Settings.from_env(home=args.home)
    backup, aside = restore_backup(settings, args.file, force=args.force)
    moved = f"\nthe previous contents are in {aside}" if aside else ""
    data = _contents(backup).extend(
        RestoredData, home=str(settings.home), set_aside=str(aside or "") or None
    )
    return Output(data, f"{settings.home}\n{_report(backup)}{moved}")


def _contents(backup: Backup) -> BackupContentsData:
    return BackupContentsData(
        knowledge_bases=backup.knowledge_bases,
        documents=backup.documents,
        files=len(backup.files),
        lost=list(backup.lost),
    )


def _report(backup: Backup) -> str:
    lines = [
        f"{counted(backup.knowledge_bases, 'knowledge base')}, "
        f"{counted(backup.documents, 'document')}, {counted(len(backup.files), 'original')}"
    ]
    return "\n".join([*lines, *(f"missing or damaged: {name}" for name in backup.lost)])


BENCHMARKS = Path(__file__).resolve().parents[3] / "tests" / "bench"


class BenchmarksData(VerbData):
    """The figures of each benchmark, by name."""

    benchmarks: dict[str, dict[str, float | int]]


def bench(args: argparse.Namespace) -> Output:
    return _ratios(run(args.data, args.only, args.model))


def names() -> list[str]:
    """The benchmarks there are."""
    return sorted(path.stem for path in BENCHMARKS.glob("*.py") if path.stem != "__init__")


def run(
    data: Path | None, only: str | None, model: str | None = None
) -> dict[str, Mapping[str, float]]:
    """Figures by benchmark; those of answers ask the model at an address.

    Raises InvalidInput for an unknown name or absent data.
    """
    chosen = [name for name in names() if only in (None, name)]
    if not chosen:
        raise InvalidInput(f"No benchmark is called {only!r}.", "There are: " + ", ".join(names()))
    folder = data or BENCHMARKS.parents[2] / "shared" / "datasets"
    return {name: _measure(name, folder, model) for name in chosen}


def load(name: str) -> ModuleType:
    """A benchmark, by the name under which processes that it starts import it again."""
    root = str(BENCHMARKS.parents[1])
    if root not in sys.path:
        sys.path.insert(0, root)
    return importlib.import_module(f"tests.bench.{name}")


def _measure(name: str, folder: Path, model: str | None) -> Mapping[str, float]:
    measure = load(name).measure
    asks = model and "model" in inspect.signature(measure).parameters
    try:
        figures: Mapping[str, float] = measure(folder, **({"model": model} if asks else {}))
    except FileNotFoundError as error:
        raise InvalidInput(
            f"The benchmark {name!r} needs {error.filename}.", "Name BEIR collections with --data."
        ) from error
    return figures


def _ratios(measured: Mapping[str, Mapping[str, float]]) -> Output:
    lines = []
    for name, figures in measured.items():
        lines.append(name)
        lines += _crossed(figures) or [
            f"  {what:60} {value:10.3f}" for what, value in figures.items()
        ]
    data = BenchmarksData(benchmarks={name: dict(measured[name]) for name in measured})
    return Output(data, "\n".join(lines))


def _crossed(figures: Mapping[str, float]) -> list[str]:
    """Figures whose names are all ``ROW | COLUMN`` as one table; nothing for others."""
    names = [what.split(" | ") for what in figures]
    if any(len(name) != 2 for name in names):
        return []
    columns = list(dict.fromkeys(column for _, column in names))
    rows: dict[str, list[str]] = {}
    for (row, _), value in zip(names, figures.values(), strict=True):
        rows.setdefault(row, []).append(f"{value:16.3f}")
    head = "".join(f"{column:>16}" for column in columns)
    return [f"  {'':44}{head}", *(f"  {row:44}{''.join(cells)}" for row, cells in rows.items())]


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


_PLACES = ("results", "text", "title", "link", "score")


class ToolData(HttpTool, VerbData):
    """A tool, and the variables of its headers that are not set."""

    unset: list[str]


class ToolsData(VerbData):
    """The tools that recipes may name."""

    tools: list[ToolData]


class ToolOutcomeData(VerbData):
    """The results of a tool for a question; ``empty`` counts those without a text."""

    tool: str
    results: list[ToolResult]
    empty: int
    seconds: float


def tools(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    registered = workspace.tools.list_all()
    rows = [_row(workspace, tool) for tool in registered]
    lines = [
        f"{tool.name:20} {tool.method} {tool.url}"
        + (f"  not set: {', '.join(row.unset)}" if row.unset else "")
        for tool, row in zip(registered, rows, strict=True)
    ]
    return Output(ToolsData(tools=rows), "\n".join(lines) or "There is no tool yet.")


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
    needs = [f"set {name} in the environment" for name in row.unset]
    return Output(row, "\n".join([f"kept {tool.name}", *needs, use]))


def test_tool(args: argparse.Namespace) -> Output:
    registry = inputs.workspace(args).tools
    outcome = registry.ask(registry.named(args.name), args.question)
    data = ToolOutcomeData(
        tool=args.name,
        results=list(outcome.results),
        empty=outcome.empty,
        seconds=outcome.seconds,
    )
    lines = [
        f"{rank:3}  {result.title or '(no title)'}  {result.url}"
        + ("" if result.score is None else f"  score {result.score:g}")
        + f"\n     {printing.snippet(result.text, 160)}"
        for rank, result in enumerate(outcome.results, start=1)
    ]
    return Output(data, "\n".join(lines) or "The tool responds, but without results.")


def remove_tool(args: argparse.Namespace) -> Output:
    inputs.workspace(args).tools.remove(args.name)
    return Output(RemovedData(removed=args.name), f"deleted {args.name}")


def _row(workspace: Workspace, tool: HttpTool) -> ToolData:
    return ToolData(**dict(tool), unset=workspace.tools.unset(tool))


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(
            "A --header has no value.", "Write it like --header 'X-Api-Key=TOUCHSTONE_TOOL_KEY'."
        )
    return name.strip(), value.strip()
