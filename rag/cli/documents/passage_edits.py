"""The verb that lays hands on passages."""

from __future__ import annotations

import argparse
from typing import Any

from rag import EditKind, KnowledgeBase, StoredEdit, counted
from rag.cli import inputs
from rag.cli.printing import Output, snippet

_KINDS: tuple[EditKind, ...] = ("exclude", "split", "join")
_MEANING = {
    "exclude": "left out",
    "split": "a passage begins at",
    "join": "kept together",
    "words": "has additional search terms",
}


def edit_passages(args: argparse.Namespace) -> Output:
    """Leave text of a document out of search, set or remove boundaries, or add words."""
    base = inputs.workspace(args).base(args.kb)
    for number in args.remove:
        base.passage_edits.remove(number)
    for kind in _KINDS:
        for quote in getattr(args, kind):
            base.passage_edits.add(args.document, kind, _span(base, args.document, quote))
    for quote, words in args.words:
        base.passage_edits.add(args.document, "words", _span(base, args.document, quote), words)
    return _listed(args.document, base.passage_edits.of(args.document), base.passage_edits.lost())


def _span(base: KnowledgeBase, document: str, quote: str) -> tuple[int, int]:
    return base.passage_edits.find(document, quote)


def _listed(document: str, edits: list[StoredEdit], lost: list[StoredEdit]) -> Output:
    data = {
        "document": document,
        "edits": [_data(edit) for edit in edits],
        "lost": [{**_data(edit), "document": edit.document_name} for edit in lost],
    }
    lines = [_line(edit) for edit in edits] or [f"No edit of {document}."]
    if lost:
        lines.append(f"{counted(len(lost), 'edit')} whose text is in no document:")
        lines += [f"{_line(edit)}  in {edit.document_name}" for edit in lost]
    return Output(data, "\n".join(lines))


def _data(edit: StoredEdit) -> dict[str, Any]:
    names = ("id", "kind", "start", "end", "quote", "words")
    return {name: getattr(edit, name) for name in names}


def _line(edit: StoredEdit) -> str:
    words = f" ({edit.words})" if edit.words else ""
    return f"{edit.id:4}  {_MEANING[edit.kind]}{words}: “{snippet(edit.quote, 80)}”"
