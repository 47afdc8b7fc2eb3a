"""The verb that lays hands on passages."""

from __future__ import annotations

import argparse

from rag import EditKind, KnowledgeBase, StoredEdit, VerbData, attribute, counted
from rag.cli import inputs
from rag.cli.printing import Output, snippet

_KINDS: tuple[EditKind, ...] = ("exclude", "split", "join")
_MEANING = {
    "exclude": "left out",
    "split": "a passage begins at",
    "join": "kept together",
    "words": "has additional search terms",
}


class EditData(VerbData):
    """An edit of passages, at its place in a document."""

    id: int
    kind: str
    start: int
    end: int
    quote: str
    words: str


class LostEditData(EditData):
    """An edit whose text is in no document, with the name of the document that had it."""

    document: str = attribute("document_name")


class EditsData(VerbData):
    """The edits of a document, and all whose text is lost."""

    document: str
    edits: list[EditData]
    lost: list[LostEditData]


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
    data = EditsData(
        document=args.document,
        edits=[EditData.of(edit) for edit in edits],
        lost=[LostEditData.of(edit) for edit in lost],
    )
    lines = [_line(edit) for edit in edits] or [f"No edit of {args.document}."]
    if lost:
        lines.append(f"{counted(len(lost), 'edit')} whose text is in no document:")
        lines += [f"{_line(edit)}  in {edit.document_name}" for edit in lost]
    return Output(data, "\n".join(lines))


def _span(base: KnowledgeBase, document: str, quote: str) -> tuple[int, int]:
    return base.documents.find_quote(document, quote)


def _line(edit: StoredEdit) -> str:
    words = f" ({edit.words})" if edit.words else ""
    return f"{edit.id:4}  {_MEANING[edit.kind]}{words}: “{snippet(edit.quote, 80)}”"
