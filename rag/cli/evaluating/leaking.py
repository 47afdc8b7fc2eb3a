"""The verb that shows what comes back to users who must not see it."""

from __future__ import annotations

import argparse

from rag import AccessMatrix, InvalidInput, PermissionReport, PermissionReportData, counted
from rag.cli import inputs, printing, targets
from rag.cli.printing import FileData, Output

_SHOWN = 20  # leaks that are printed; JSON has all
_SNIPPET = 100


def leaks(args: argparse.Namespace) -> Output:
    """Ask as each user, and exit 1 if a passage comes back to one who must not see it."""
    if args.template:
        text = inputs.workspace(args).base(args.kb).permission_audits.template()
        inputs.write(args.template, text.encode())
        return Output(FileData(file=str(args.template)), f"wrote {args.template}")
    if args.matrix is None:
        raise InvalidInput(
            "Specify who may see what.",
            "Give --matrix FILE; --template FILE writes one to fill in.",
        )
    report = audited(args)
    data = PermissionReportData.of(report)
    return Output(data, "\n".join(_lines(report)), report.outcome == "passed")


def audited(args: argparse.Namespace) -> PermissionReport:
    """Audit the system or the recipe of the arguments with their matrix."""
    matrix = AccessMatrix.read(inputs.text_in(args.matrix))
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    audits = base.permission_audits
    set_name, probes = args.set_name, getattr(args, "probes", 50)
    if args.system:
        job = audits.start(matrix, None, args.system, set_name, probes)
    else:
        recipe = targets.recipe(args, base.recipe())
        targets.build(workspace, base, recipe)
        job = audits.start(matrix, recipe, "", set_name, probes)
    printing.follow(workspace.jobs, job)
    return audits.result_of(job)


def _lines(report: PermissionReport) -> list[str]:
    lines = [report.headline, *filter(None, [report.reach])]
    for user in report.users:
        failed = f", {counted(user.errors, 'question')} failed: {user.error}" if user.errors else ""
        lines.append(
            f"{user.user:20} {counted(user.results, 'result'):>14}, "
            f"{counted(user.leaks, 'leak')}{failed}"
        )
    for leak in report.listed[:_SHOWN]:
        page = f", page {leak.page}" if leak.page else ""
        place = f"{leak.document}{page}" if leak.document else "canary passage"
        kind = " (canary passage)" if leak.kind == "passage" and leak.document else ""
        lines += [
            f"LEAK {leak.user}, rank {leak.rank}: {place}{kind}",
            f"     {printing.snippet(leak.question, _SNIPPET)}",
        ]
    if report.leaks > _SHOWN:
        lines.append(f"{report.leaks - _SHOWN:,} more: see --json.")
    return lines
