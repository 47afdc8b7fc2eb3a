"""The verb that examines documents and settles findings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rag import (
    EVERYBODY,
    KIND_TITLES,
    ExaminationData,
    InvalidInput,
    KnowledgeBase,
    counted,
    examination_data,
)
from rag.cli import inputs
from rag.cli.printing import Output


def examine(args: argparse.Namespace) -> Output:
    base = inputs.workspace(args).base(args.kb, EVERYBODY)
    if args.settle:
        _settle(base, args)
    elif args.keep or args.both_right or args.ignore or args.reopen:
        raise InvalidInput("Which finding is meant?", "Name it with --settle ID.")
    data = examination_data(base.documents.examinations.examine())
    return Output(data, "\n".join(_lines(data)))


def _settle(base: KnowledgeBase, args: argparse.Namespace) -> None:
    if args.reopen:
        base.documents.examinations.reopen(args.settle)
    elif args.keep:
        base.documents.examinations.settle(args.settle, "keep", args.keep)
    elif args.both_right:
        base.documents.examinations.settle(args.settle, "both", reason=args.both_right)
    elif args.ignore:
        base.documents.examinations.settle(args.settle, "ignore")
    else:
        raise InvalidInput(
            "The decision is missing.", "Add --keep, --both-right, --ignore or --reopen."
        )


def _lines(data: ExaminationData) -> Iterator[str]:
    opened = [finding for finding in data.findings if finding.settlement is None]
    settled = len(data.findings) - len(opened)
    yield (
        f"{counted(data.documents, 'document')}: {counted(len(opened), 'open finding')}, "
        f"{settled} settled"
    )
    for kind, title in KIND_TITLES.items():
        of_kind = [finding for finding in opened if finding.kind == kind]
        if of_kind:
            yield f"\n{title} ({len(of_kind)})"
        for finding in of_kind:
            yield f"{finding.id}  {finding.summary}"
            for place in finding.places:
                if place.text or len(finding.places) > 2:
                    page = f", page {place.page}" if place.page is not None else ""
                    yield f"  {place.document}{page}" + (f": {place.text}" if place.text else "")
