"""Evaluation of other systems: what a file says that they returned, or a retriever in Python."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag import (
    InvalidInput,
    KnowledgeBase,
    ResultData,
    SystemMeasurement,
    ask_callable,
    counted,
    read_returned,
    retriever,
)
from rag.cli import inputs, printing
from rag.cli.printing import Output

_METHODS = {
    "exact": "exact",
    "normalised": "but for white space, markup or hyphens",
    "shingles": "in part",
    "ambiguous": "at several places",
    "foreign": "not in these documents",
}


def evaluated(base: KnowledgeBase, cutoffs: Sequence[int], args: argparse.Namespace) -> Output:
    """Measure what another system returned, in the place of a recipe. No run is stored."""
    if args.returned and args.callable:
        raise InvalidInput("Both --returned and --callable are given.", "Give one of them.")
    errors: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    if args.returned:
        file = read_returned(args.returned.name, inputs.bytes_in(args.returned), args.form)
        retrievals, notes = file.retrievals, (*file.warnings, *file.skipped)
    else:
        sys.path.insert(0, str(Path.cwd()))
        answers = ask_callable(
            retriever(args.callable), base.systems.questions(args.set_name), printing.progress
        )
        retrievals, errors = answers.retrievals, answers.errors
    measurement = base.systems.measure(args.set_name, retrievals, cutoffs, printing.progress)
    return _output(
        args.returned.name if args.returned else args.callable, measurement, errors, notes
    )


def _output(
    name: str, measurement: SystemMeasurement, errors: Mapping[str, str], notes: Sequence[str]
) -> Output:
    data = {
        "system": name,
        "set": measurement.question_set,
        "questions": len(measurement.results),
        "metrics": dict(measurement.metrics),
        "located": dict(measurement.methods),
        "unasked": list(measurement.unasked),
        "unmatched": list(measurement.unmatched),
        "errors": dict(errors),
        "notes": list(notes),
        "per_question": [ResultData.of(result).dump() for result in measurement.results],
    }
    texts = sum(measurement.methods.values())
    lines = [
        f"{name}, {counted(len(measurement.results), 'question')}. No run is stored.",
        *printing.metric_table(measurement.metrics),
        f"{counted(texts, 'returned text')}: "
        + ", ".join(f"{count} {_METHODS[method]}" for method, count in measurement.methods.items()),
    ]
    for count, what in (
        (len(measurement.unasked), "of the set without a ranking, left out"),
        (len(measurement.unmatched), "of the system that the set does not have"),
    ):
        lines += [f"{counted(count, 'question')} {what}."] if count else []
    lines += [f"failed: {question}: {error}" for question, error in list(errors.items())[:10]]
    return Output(data, "\n".join([*lines, *notes]))
