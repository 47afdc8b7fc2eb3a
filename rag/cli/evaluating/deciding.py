"""Verb that decides which of two runs is better by few labels."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rag import DecisionData, InvalidFile, RunDecision, why_not_json
from rag.cli import inputs
from rag.cli.printing import Output

_SHOWN = 200  # characters of a passage
_FIELDS = {"question": str, "passage": str, "grade": int}


def decide(args: argparse.Namespace) -> Output:
    runs = inputs.workspace(args).base(args.kb).runs
    grades = _grades(args.judgements) if args.judgements else []
    runs.start_decision(args.run, args.against, args.metric)
    if grades:
        runs.judge_decision(args.run, args.against, args.metric, grades)
    most = max(args.next, 0)
    return _shown(runs.decision(args.run, args.against, args.metric, args.margin, most))


def _grades(path: Path) -> list[tuple[str, str, int]]:
    """Question, passage and grade of each line that is not empty. Raises InvalidFile."""
    lines = enumerate(inputs.text_in(path).splitlines(), start=1)
    return [_grade(path, number, line) for number, line in lines if line.strip()]


def _grade(path: Path, number: int, line: str) -> tuple[str, str, int]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"Line {number} of {path} is not JSON: {why_not_json(error)}.") from error
    if not isinstance(row, dict) or any(type(row.get(n)) is not t for n, t in _FIELDS.items()):
        raise InvalidFile(
            f"Line {number} of {path} lacks a question, a passage or a grade.",
            'Write it like {"question": "q1", "passage": "00c0ffee00c0ffee", "grade": 1}.',
        )
    return row["question"], row["passage"], row["grade"]


def _shown(decision: RunDecision) -> Output:
    lines = [decision.sentence]
    for hit in decision.next_hits:
        page = "" if hit.page is None else f", page {hit.page}"
        lines += [
            "",
            f"{hit.question_id}: {hit.question}",
            f"  {hit.item}  {hit.document}{page}",
            f"  {' '.join(hit.text.split())[:_SHOWN]}",
        ]
    return Output(DecisionData.of(decision), "\n".join(lines))
