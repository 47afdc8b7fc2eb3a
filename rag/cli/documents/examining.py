"""Verbs that examine documents, settle findings, and edit passages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from rag import (
    EVERYBODY,
    KIND_TITLES,
    EditKind,
    ExaminationData,
    InvalidInput,
    KnowledgeBase,
    StoredEdit,
    counted,
    examination_data,
)
from rag.cli import inputs
from rag.cli.printing import Output, snippet


def examine(args: argparse.Namespace) -> Output:
    base = inputs.workspace(args).base(args.kb, EVERYBODY)
    if args.settle:
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
    elif args.keep or args.both_right or args.ignore or args.reopen:
        raise InvalidInput("Which finding is meant?", "Name it with --settle ID.")
    data = examination_data(base.documents.examinations.examine())
    return Output(data, "\n".join(_lines(data)))


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


_KINDS: tuple[EditKind, ...] = ("exclude", "split", "join")
_MEANING = {
    "exclude": "left out",
    "split": "a passage begins at",
    "join": "kept together",
    "words": "has additional search terms",
}


def edit_passages(args: argparse.Namespace) -> Output:
    base = inputs.workspace(args).base(args.kb)
    for number in args.remove:
        base.documents.remove_edit(number)
    for kind in _KINDS:
        for quote in getattr(args, kind):
            base.documents.edit_passages(args.document, kind, _span(base, args.document, quote))
    for quote, words in args.words:
        base.documents.edit_passages(
            args.document, "words", _span(base, args.document, quote), words
        )
    edits = base.documents.passage_edits(args.document)
    lost = base.documents.lost_edits()
    data = {
        "document": args.document,
        "edits": list(map(_edit, edits)),
        "lost": [{**_edit(edit), "document": edit.document_name} for edit in lost],
    }
    lines = [_line(edit) for edit in edits] or [f"No edit of {args.document}."]
    if lost:
        lines.append(f"{counted(len(lost), 'edit')} whose text is in no document:")
        lines += [f"{_line(edit)}  in {edit.document_name}" for edit in lost]
    return Output(data, "\n".join(lines))


def _edit(edit: StoredEdit) -> dict[str, Any]:
    return {
        "id": edit.id,
        "kind": edit.kind,
        "start": edit.start,
        "end": edit.end,
        "quote": edit.quote,
        "words": edit.words,
    }


def _span(base: KnowledgeBase, document: str, quote: str) -> tuple[int, int]:
    return base.documents.find_quote(document, quote)


def _line(edit: StoredEdit) -> str:
    words = f" ({edit.words})" if edit.words else ""
    return f"{edit.id:4}  {_MEANING[edit.kind]}{words}: “{snippet(edit.quote, 80)}”"
