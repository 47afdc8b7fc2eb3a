"""Verbs that tell why questions fail, and which of two runs is better."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rag import (
    DecisionData,
    Diagnosis,
    FixData,
    InvalidFile,
    KnowledgeBase,
    NextStepData,
    Recipe,
    counted,
    diagnosis_data,
    metric_title,
    signed,
    why_not_json,
)
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output

_SHOWN = 20  # questions that are printed; JSON has all


def diagnose(args: argparse.Namespace) -> Output:
    base, recipe = targets.ready(args)
    rebuilt = _rebuilt(args, base, recipe) if args.rebuild else None
    diagnosis = rebuilt or base.tuning.diagnoses.diagnose(args.set_name, recipe)
    data = diagnosis_data(diagnosis)
    metrics = [metric_title(step.metric or data.metric) for step in diagnosis.next_steps]
    steps = zip(data.next_steps, metrics, strict=True)
    lines = [line for number, step in enumerate(steps, 1) for line in _step(number, *step)]
    lines += [f"{row.questions:5}  {row.title}. {row.advice}" for row in data.causes]
    for question in data.questions[:_SHOWN]:
        place = question.document + (f", page {question.page}" if question.page else "")
        lines += [f"{question.cause}: {question.question}", f"    {question.evidence} {place}"]
    if len(data.questions) > _SHOWN:
        lines.append(f"{len(data.questions) - _SHOWN:,} more: see --json.")
    lines += [line for fix in data.fixes for line in _fix(fix)]
    if data.note:
        lines.append(data.note)
    return Output(data, "\n".join([diagnosis.headline, *lines]))


def _rebuilt(args: argparse.Namespace, base: KnowledgeBase, recipe: Recipe) -> Diagnosis | None:
    """A diagnosis that tried the changes of the index that it proposes."""
    job = base.tuning.diagnoses.start(args.set_name, recipe, rebuild=True)
    printing.follow(inputs.workspace(args).jobs, job)
    return base.tuning.diagnoses.result(args.set_name)


def _step(number: int, step: NextStepData, metric: str) -> list[str]:
    """A step of the list, with the gain of its change and the minutes that it takes."""
    figures = [] if step.gain is None or step.kind == "label" else [f"{signed(step.gain)} {metric}"]
    if step.minutes:
        figures.append("under a minute" if step.minutes < 1 else f"{step.minutes:.0f} min")
    expected = f" ({', '.join(figures)})" if step.kind != "nothing" and figures else ""
    return [f"Next {number}: {step.title}{expected}.", f"    {step.reason}"]


def _fix(fix: FixData) -> list[str]:
    changes = ", ".join(f"{name}={value}" for name, value in fix.changes.items())
    tally = f"{counted(fix.won, 'question')} better, {fix.lost:,} worse"
    against = f" (against {', '.join(fix.causes)})" if fix.causes else ""
    return [f"{changes}{against}: {tally}.", f"    {fix.sentence}"]


_SHOWN_HITS = 200  # characters of a passage
_FIELDS = {"question": str, "passage": str, "grade": int}


def decide(args: argparse.Namespace) -> Output:
    runs = inputs.workspace(args).base(args.kb).runs
    grades = _grades(args.judgements) if args.judgements else []
    runs.start_decision(args.run, args.against, args.metric)
    if grades:
        runs.judge_decision(args.run, args.against, args.metric, grades)
    most = max(args.next, 0)
    decision = runs.decision(args.run, args.against, args.metric, args.margin, most)
    lines = [decision.sentence]
    for hit in decision.next_hits:
        page = "" if hit.page is None else f", page {hit.page}"
        lines += [
            "",
            f"{hit.question_id}: {hit.question}",
            f"  {hit.item}  {hit.document}{page}",
            f"  {' '.join(hit.text.split())[:_SHOWN_HITS]}",
        ]
    return Output(DecisionData.of(decision), "\n".join(lines))


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
