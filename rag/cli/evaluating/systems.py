"""Evaluation of other systems: what a file says that they returned, or a retriever in Python."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag import (
    Evaluation,
    GateResult,
    HopSummary,
    InvalidInput,
    KnowledgeBase,
    SystemEvaluation,
    SystemSource,
    Workspace,
    ask_callable,
    callable_source,
    counted,
    percent,
    read_returned,
    retriever,
)
from rag.cli import inputs, printing
from rag.cli.evaluating import kept_runs
from rag.cli.printing import Output

_METHODS = {
    "exact": "exact",
    "normalised": "but for white space, markup or hyphens",
    "shingles": "in part",
    "ambiguous": "at several places",
    "foreign": "not in these documents",
}


def evaluated(workspace: Workspace, cutoffs: Sequence[int], args: argparse.Namespace) -> Output:
    """Measure what another system returned, in the place of a recipe, and keep the run."""
    if sum(map(bool, (args.returned, args.callable, args.system))) > 1:
        raise InvalidInput("--returned, --callable and --system exclude each other.", "Give one.")
    base = workspace.base(args.kb)
    if args.system:
        job = base.systems.start_evaluation(args.set_name, args.system, cutoffs)
        printing.follow(workspace.jobs, job)
        run = base.runs.get(str(workspace.jobs.get(job).payload["run"]))
        evaluation = Evaluation(run, tuple(base.runs.results(run.id)))
        return measured_output(base, SystemEvaluation(evaluation), cutoffs)
    notes: tuple[str, ...] = ()
    complete = args.complete
    started = time.perf_counter()
    if args.returned:
        content = inputs.bytes_in(args.returned)
        file = read_returned(args.returned.name, content, args.form)
        retrievals, notes = file.retrievals, (*file.warnings, *file.skipped)
        complete = complete or file.complete
        source = SystemSource("file", args.returned.name, hashlib.sha256(content).hexdigest())
    else:
        sys.path.insert(0, str(Path.cwd()))
        call = retriever(args.callable)
        questions = base.systems.questions(args.set_name)
        retrievals, errors = ask_callable(call, questions, printing.progress)
        source = replace(callable_source(args.callable), errors=errors)
    measured = base.systems.evaluate(
        args.set_name,
        retrievals,
        source,
        cutoffs,
        printing.progress,
        spent=time.perf_counter() - started,
        complete=complete,
    )
    return measured_output(base, measured, cutoffs, notes, complete=complete)


def gated_traffic(
    base: KnowledgeBase, demands: tuple[Any, ...], args: argparse.Namespace
) -> tuple[GateResult, tuple[str, ...]]:
    """Return a gate on the traces of a file, in the place of a recipe, and notes on the file."""
    if args.system:
        raise InvalidInput("--traffic and --system exclude each other.", "Give one.")
    content = inputs.bytes_in(args.traffic)
    file = read_returned(args.traffic.name, content, args.form)
    result = base.systems.gate_traffic(
        args.set_name,
        file.retrievals,
        SystemSource("file", args.traffic.name, hashlib.sha256(content).hexdigest()),
        *demands,
        max_calls=args.max_calls,
        allow_trivial=args.allow_trivial,
    )
    return result, (*file.warnings, *file.skipped)


def measured_output(
    base: KnowledgeBase,
    measured: SystemEvaluation,
    cutoffs: Sequence[int],
    notes: Sequence[str] = (),
    *,
    complete: bool = False,
) -> Output:
    """A run of a system: what ``evaluate`` prints, and how its texts were located."""
    output = kept_runs.evaluated(base, measured.evaluation, cutoffs)
    data = {
        **dict(output.data),
        "unasked": measured.unasked,
        "unmatched": measured.unmatched,
        "unlabelled": measured.unlabelled,
        "hops": measured.hops,
        "notes": notes,
        "complete": complete,
    }
    source = measured.evaluation.run.system
    lines = [output.text, *(_located(source) if source else ())]
    if unmatched := len(measured.unmatched):
        lines += [f"{counted(unmatched, 'question')} of the system that the set does not have."]
    if unlabelled := len(measured.unlabelled):
        lines += [f"{counted(unlabelled, 'question')} of the set without a relevant label."]
    lines += [_hops(measured.hops)] if measured.hops else []
    missing = _missing(len(measured.unasked), complete=complete)
    return Output(data, "\n".join([*lines, *notes, *missing]))


def _missing(count: int, *, complete: bool) -> list[str]:
    """The last line, on questions without a ranking."""
    questions = f"{counted(count, 'question')} of the set without a ranking"
    if not count:
        return []
    if complete:
        return [f"{questions}: counted as without results, like trec_eval -c."]
    return [f"{questions}: left out. To count them as without results, use --complete."]


def _hops(hops: HopSummary) -> str:
    useful = "" if hops.first_useful is None else f", first useful hop {hops.first_useful:.1f}"
    return (
        f"{counted(hops.questions, 'question')} with several retrievals, {hops.hops:.1f} on "
        f"average: {percent(hops.first_evidence)} of the evidence after the first, "
        f"{percent(hops.last_evidence)} after the last{useful}, {hops.redundant} without anything "
        "new"
    )


def _located(source: SystemSource) -> list[str]:
    counts = [f"{count} {_METHODS[method]}" for method, count in source.located.items()]
    texts = counted(sum(source.located.values()), "returned text")
    errors = list(source.errors.items())
    failed = [f"{counted(len(errors), 'question')} failed and left out, such as:"] if errors else []
    return [
        f"{texts}: {', '.join(counts)}" if counts else texts,
        *failed,
        *(f"  {question}: {error}" for question, error in errors[:10]),
    ]
