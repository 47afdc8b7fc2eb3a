"""Verbs that look after a home and its knowledge bases."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict

from rag import Backup, Problem, Recipe, Settings, counted, restore_backup
from rag.cli import inputs, printing
from rag.cli.printing import Output


def rename(args: argparse.Namespace) -> Output:
    """Give a knowledge base another name."""
    inputs.workspace(args).rename(args.kb, args.name)
    return Output({"renamed": args.kb, "name": args.name.strip()}, f"renamed to {args.name}")


def duplicate(args: argparse.Namespace) -> Output:
    """Copy a knowledge base with documents, recipes, prompts, question sets and labels."""
    workspace = inputs.workspace(args)
    made, job = workspace.duplicate(args.kb, args.name)
    printing.follow(workspace.jobs, job)
    number = len(made.documents.documents(made.recipe().index))
    data = {"duplicated": args.kb, "name": made.name, "documents": number}
    return Output(data, f"{made.name}: {counted(number, 'document')}, copied from {args.kb}")


def schema(args: argparse.Namespace) -> Output:
    """Print the JSON Schema of a recipe."""
    definition = Recipe.model_json_schema()
    return Output(definition, json.dumps(definition, indent=2))


def check(args: argparse.Namespace) -> Output:
    """Compare the database with files, indexes and maps; exit 1 on a problem."""
    problems = inputs.workspace(args).check(repair=args.repair)
    left = [each for each in problems if not each.repaired]
    data = {"problems": [asdict(each) for each in problems], "left": len(left)}
    lines = [_line(each) for each in problems]
    counts = Counter("repaired" if each.repaired else each.kind for each in problems)
    found = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    return Output(data, "\n".join([*lines, found or "nothing is wrong"]), not left)


def _line(problem: Problem) -> str:
    size = f", {problem.bytes / 1000:,.0f} kB" if problem.bytes else ""
    state = f"{problem.kind}, repaired" if problem.repaired else problem.kind
    return f"{state:18} {problem.what}: {problem.name}{size}"


def backup(args: argparse.Namespace) -> Output:
    """Write all of a home into one file, also while it is in use."""
    made = inputs.workspace(args).back_up(args.file)
    size = args.file.stat().st_size
    data = {"file": str(args.file), "bytes": size, **_figures(made)}
    return Output(data, f"{args.file}, {size / 1000:,.0f} kB\n{_told(made)}", not made.lost)


def restore(args: argparse.Namespace) -> Output:
    """Fill a home from a backup."""
    settings = Settings.from_env(home=args.home)
    made, aside = restore_backup(settings, args.file, force=args.force)
    moved = f"\nwhat was there is in {aside}" if aside else ""
    data = {"home": str(settings.home), "set_aside": str(aside or "") or None, **_figures(made)}
    return Output(data, f"{settings.home}\n{_told(made)}{moved}")


def _figures(made: Backup) -> dict[str, object]:
    return {
        "knowledge_bases": made.knowledge_bases,
        "documents": made.documents,
        "files": len(made.files),
        "lost": list(made.lost),
    }


def _told(made: Backup) -> str:
    lines = [
        f"{counted(made.knowledge_bases, 'knowledge base')}, "
        f"{counted(made.documents, 'document')}, {counted(len(made.files), 'original')}"
    ]
    return "\n".join([*lines, *(f"missing or damaged: {name}" for name in made.lost)])
