"""The verb of the drift watch."""

from __future__ import annotations

import argparse

from rag import VerbData, WatchLook, WatchLookData
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output

_FAILING = {"drifted": 1, "incomparable": 4}


class WatchLooksData(VerbData):
    """The looks of a drift watch, newest first."""

    looks: list[WatchLookData]


def watch(args: argparse.Namespace) -> Output:
    """Look whether vectors, metrics, canaries or questions drift; exit 1 if so."""
    if args.looks:
        looks = inputs.workspace(args).base(args.kb).watches.looks(args.set_name)
        rows = [WatchLookData.of(look) for look in looks]
        return Output(
            WatchLooksData(looks=rows), "\n".join(map(_line, looks)) or "There is no look yet."
        )
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    recipe = targets.recipe(args, base.recipe())
    targets.build(workspace, base, recipe)
    job = base.watches.start(args.set_name, recipe, reset=args.reset)
    printing.follow(workspace.jobs, job)
    look = base.watches.look_of(job)
    report, message = look.report, workspace.jobs.get(job).message
    lines = [message, *report.findings[1:]]
    if report.metrics is not None and report.metrics.verdict != "worse":
        lines.append(report.metrics.sentence)
    lines += [*(report.obstacles if report.findings else report.obstacles[1:]), *report.notes]
    data = WatchLookData.of(look)
    failing = _FAILING.get(report.outcome)
    return Output(data, "\n".join(lines), failing is None, failing or 1)


def _line(look: WatchLook) -> str:
    report = look.report
    return f"{look.id}  {look.created:%Y-%m-%d %H:%M}  {report.outcome:12}  {report.headline}"
