"""Verbs that look after a home."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict

from rag import Problem
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
