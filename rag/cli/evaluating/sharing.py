"""Verbs that compare a run with another, or hand it to others: rankings, report, bundle."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag import Deviation, InvalidInput, ParityData, Reproduction, VerbData, attribute
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output

_SHOWN = 20  # figures or questions that differ, printed one by one


class WrittenRunData(VerbData):
    """A file that a run was written to."""

    run: str
    file: str
    bytes: int


class ReproductionData(VerbData):
    """The result of repeating a bundled run; ``reproduced`` if nothing differs."""

    knowledge_base: str = attribute("base")
    set: str = attribute("question_set")
    run: str
    reproduced: bool = attribute("exact")
    figures: int
    deviations: list[Deviation]
    rankings: int
    rankings_changed: int
    largest_score_gap: float
    missing: list[str]
    read_differently: list[str]
    environment: dict[str, tuple[str, str]]


def export_run(args: argparse.Namespace) -> Output:
    exchange = inputs.workspace(args).base(args.kb).questions
    inputs.write(args.output, exchange.export_run(args.run).encode("utf-8", "replace"))
    if args.qrels:
        inputs.write(args.qrels, exchange.export_run_qrels(args.run).encode("utf-8", "replace"))
    return _written(args.output, args.run)


def parity(args: argparse.Namespace) -> Output:
    parity = inputs.workspace(args).base(args.kb).runs.parity(args.run, args.other, args.k)
    lines = [
        f"overlap@{parity.k} {parity.overlap:.4f}, "
        f"rank-biased overlap {parity.rank_biased_overlap:.4f}, "
        f"{parity.equal:,} of {len(parity.questions):,} questions equal"
    ]
    if parity.left_out:
        lines.append(f"left out, since only one run asked them: {parity.left_out:,}")
    differing = [row for row in parity.questions if row.first_difference is not None]
    lines += [
        f"  {row.overlap:.4f}  from rank {row.first_difference}  {row.text}"
        for row in differing[:_SHOWN]
    ]
    lines += [f"  {len(differing) - _SHOWN:,} more"] if len(differing) > _SHOWN else []
    passed = args.min is None or parity.overlap >= args.min
    if not passed:
        lines.append(f"FAILED overlap@{parity.k} {parity.overlap:.4f}, at least {args.min}")
    return Output(ParityData.of(parity), "\n".join(lines), passed)


def report(args: argparse.Namespace) -> Output:
    if args.output.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(
            f"A report is HTML, and {args.output.name} is named otherwise.",
            "Name a file that ends in .html; a browser prints it as PDF.",
        )
    base = targets.base_of_run(inputs.workspace(args), args)
    page = base.runs.report(args.run, args.baseline)
    inputs.write(args.output, page.encode("utf-8", "replace"))
    return _written(args.output, args.run)


def bundle(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    targets.base_of_run(workspace, args).runs.get(args.run)
    workspace.bundle(args.run, args.output, with_documents=args.with_documents)
    return _written(args.output, args.run)


def import_bundle(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    return _reproduction(
        workspace.import_bundle(args.file, args.kb, args.documents, printing.working)
    )


def _written(path: Path, run: str) -> Output:
    size = path.stat().st_size
    data = WrittenRunData(run=run, file=str(path), bytes=size)
    return Output(data, f"{path}, {size / 1000:,.0f} kB")


def _reproduction(reproduction: Reproduction) -> Output:
    lines = [f"run {reproduction.run} in {reproduction.base!r}: {reproduction.sentence}"]
    lines += [f"missing: {name}" for name in reproduction.missing]
    lines += [f"read differently: {name}" for name in reproduction.read_differently]
    lines += [
        f"{deviation.question or 'mean'} {deviation.metric}: "
        f"{deviation.expected} there, {deviation.actual} here"
        for deviation in reproduction.deviations[:_SHOWN]
    ]
    lines += [
        f"{name}: {a or '-'} there, {b or '-'} here"
        for name, (a, b) in reproduction.environment.items()
    ]
    return Output(ReproductionData.of(reproduction), "\n".join(lines), reproduction.exact)
