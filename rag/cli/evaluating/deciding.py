"""Verb that decides which of two runs is better by few labels."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rag import HitToJudge, InvalidFile, RunDecision, why_not_json
from rag.cli import inputs
from rag.cli.printing import Output

_SHOWN = 200  # characters of a passage
_FIELDS = {"question": str, "passage": str, "grade": int}


def decide(args: argparse.Namespace) -> Output:
    """Decide which of two runs is better, and list the hits to judge for it."""
    decisions = inputs.workspace(args).base(args.kb).decisions
    grades = _grades(args.judgements) if args.judgements else []
    decisions.start(args.run, args.against, args.metric)
    if grades:
        decisions.judge(args.run, args.against, args.metric, grades)
    most = max(args.next, 0)
    return _shown(decisions.state(args.run, args.against, args.metric, args.margin, most))


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
    state = decision.state
    data: dict[str, Any] = {
        "run": decision.run,
        "other": decision.other,
        "metric": decision.metric,
        "set": decision.question_set,
        "questions": decision.questions,
        "verdict": state.verdict,
        "difference": state.difference,
        "interval": list(state.interval),
        "margin": state.margin,
        "labels": state.labels,
        "pool": state.pool,
        "before": decision.before,
        "more": state.more,
        "steps": [[step.labels, step.difference, step.low, step.high] for step in state.steps],
        "sentence": decision.sentence,
        "next": [_hit(hit) for hit in decision.next_hits],
    }
    lines = [decision.sentence]
    for hit in decision.next_hits:
        page = "" if hit.page is None else f", page {hit.page}"
        lines += [
            "",
            f"{hit.question_id}: {hit.question}",
            f"  {hit.item}  {hit.document}{page}",
            f"  {' '.join(hit.text.split())[:_SHOWN]}",
        ]
    return Output(data, "\n".join(lines))


def _hit(hit: HitToJudge) -> dict[str, Any]:
    """A hit, with the names that a file of judgements has."""
    return {
        "question": hit.question_id,
        "question_text": hit.question,
        "passage": hit.item,
        "document_id": hit.document_id,
        "document": hit.document,
        "page": hit.page,
        "start": hit.start,
        "end": hit.end,
        "text": hit.text,
        "ranks": list(hit.ranks),
    }
