"""Verbs that look after a home."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict

from rag import Backup, Problem, Settings, counted, restore_backup
from rag.cli import inputs
from rag.cli.printing import Output


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
