"""Verbs that hand a run to others: rankings, report, bundle."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from rag import Reproduction
from rag.cli import asked, inputs, printing
from rag.cli.printing import Output

_SHOWN = 20  # figures that differ, printed one by one


def export_run(args: argparse.Namespace) -> Output:
    """Write the rankings of a run as a TREC run file."""
    exchange = inputs.workspace(args).base(args.kb).exchange
    inputs.write(args.output, exchange.export_run(args.run).encode("utf-8", "replace"))
    if args.qrels:
        inputs.write(args.qrels, exchange.export_run_qrels(args.run).encode("utf-8", "replace"))
    return _written(args.output, run=args.run)


def report(args: argparse.Namespace) -> Output:
    """Write a run as one HTML file that opens anywhere."""
    base = asked.base_of_run(inputs.workspace(args), args)
    page = base.reports.html(args.run, args.baseline)
    inputs.write(args.output, page.encode("utf-8", "replace"))
    return _written(args.output, run=args.run)


def bundle(args: argparse.Namespace) -> Output:
    """Write a run as a zip that another machine can repeat."""
    workspace = inputs.workspace(args)
    asked.base_of_run(workspace, args).runs.get(args.run)
    workspace.bundle(args.run, args.output, with_documents=args.with_documents)
    return _written(args.output, run=args.run)


def import_bundle(args: argparse.Namespace) -> Output:
    """Repeat a bundled run and compare every figure."""
    workspace = inputs.workspace(args)
    return _reproduction(
        workspace.import_bundle(args.file, args.kb, args.documents, printing.working)
    )


def _written(path: Path, **about: str) -> Output:
    size = path.stat().st_size
    data = {**about, "file": str(path), "bytes": size}
    return Output(data, f"{path}, {size / 1000:,.0f} kB")


def _reproduction(found: Reproduction) -> Output:
    data = {
        "knowledge_base": found.base,
        "set": found.question_set,
        "run": found.run,
        "reproduced": found.exact,
        "figures": found.figures,
        "deviations": [asdict(each) for each in found.deviations],
        "rankings": found.rankings,
        "rankings_changed": found.rankings_changed,
        "largest_score_gap": found.largest_score_gap,
        "missing": list(found.missing),
        "read_differently": list(found.read_differently),
        "environment": {name: list(pair) for name, pair in found.environment.items()},
    }
    lines = [f"run {found.run} in {found.base!r}: {found.sentence}"]
    lines += [f"missing: {name}" for name in found.missing]
    lines += [f"read differently: {name}" for name in found.read_differently]
    lines += [
        f"{each.question or 'mean'} {each.metric}: {each.expected} there, {each.found} here"
        for each in found.deviations[:_SHOWN]
    ]
    lines += [
        f"{name}: {a or '-'} there, {b or '-'} here" for name, (a, b) in found.environment.items()
    ]
    return Output(data, "\n".join(lines), found.exact)
