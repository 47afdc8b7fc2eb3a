"""Verbs that look after a home and its knowledge bases."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from rag import Backup, Problem, Recipe, Settings, counted, restore_backup
from rag.cli import inputs, printing
from rag.cli.printing import Output


def rename(args: argparse.Namespace) -> Output:
    inputs.workspace(args).rename(args.kb, args.name)
    data = {"renamed": args.kb, "name": args.name.strip()}
    return Output(data, f"renamed to {args.name}")


def duplicate(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    copy, job = workspace.duplicate(args.kb, args.name)
    printing.follow(workspace.jobs, job)
    number = len(copy.documents.documents(copy.recipe().index))
    data = {"duplicated": args.kb, "name": copy.name, "documents": number}
    return Output(data, f"{copy.name}: {counted(number, 'document')}, copied from {args.kb}")


def schema(args: argparse.Namespace) -> Output:
    definition = Recipe.model_json_schema()
    return Output(definition, json.dumps(definition, indent=2))


def completion(args: argparse.Namespace) -> Output:
    import shtab  # for this verb alone

    root = args.complete()
    root.prog = "rag"
    script = shtab.complete(root, args.shell)
    return Output({"shell": args.shell, "script": script}, script)


def check(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    problems = workspace.check(repair=args.repair)
    freed = workspace.compact() if args.compact else 0
    unrepaired = [problem for problem in problems if not problem.repaired]
    data = {"problems": problems, "left": len(unrepaired), "freed": freed}
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
    data = {**_contents(backup), "file": str(args.file), "bytes": size}
    return Output(data, f"{args.file}, {size / 1000:,.0f} kB\n{_report(backup)}", not backup.lost)


def restore(args: argparse.Namespace) -> Output:
    settings = Settings.from_env(home=args.home)
    backup, aside = restore_backup(settings, args.file, force=args.force)
    moved = f"\nthe previous contents are in {aside}" if aside else ""
    data = {
        **_contents(backup),
        "home": str(settings.home),
        "set_aside": str(aside or "") or None,
    }
    return Output(data, f"{settings.home}\n{_report(backup)}{moved}")


def _contents(backup: Backup) -> dict[str, Any]:
    return {
        "knowledge_bases": backup.knowledge_bases,
        "documents": backup.documents,
        "files": len(backup.files),
        "lost": backup.lost,
    }


def _report(backup: Backup) -> str:
    lines = [
        f"{counted(backup.knowledge_bases, 'knowledge base')}, "
        f"{counted(backup.documents, 'document')}, {counted(len(backup.files), 'original')}"
    ]
    return "\n".join([*lines, *(f"missing or damaged: {name}" for name in backup.lost)])
