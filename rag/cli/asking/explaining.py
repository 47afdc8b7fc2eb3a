"""Output of the explanations of a retrieval."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag import (
    Attribution,
    Explainer,
    Finding,
    InvalidInput,
    KnowledgeBase,
    NotFound,
    RankedPassage,
    Recipe,
    RetrievalComparison,
    Standing,
    VectorChoice,
    compared_data,
    findings_data,
    passage_data,
    passage_key,
    signed,
    stage_title,
    vectors_data,
)
from rag.cli.printing import Output, indexed_with, located, progress, snippet

_SNIPPET = 110


def explain(
    base: KnowledgeBase, recipe: Recipe, args: argparse.Namespace, changes: Mapping[str, Any]
) -> Output:
    """One passage, those that hold a text or a document, or the recipe against a changed one."""
    if args.against or args.against_run:
        start = base.runs.get(args.against_run).recipe if args.against_run else recipe
        return _beside(base, args.question, recipe, start.with_fields(changes))
    explainer = base.explain(args.question, recipe)
    if args.chunk:
        found = _passage(explainer, passage_key(args.chunk), args.attribution)
    elif args.find:
        found = _found(explainer, explainer.find(args.find))
    elif args.document:
        found = _found(explainer, explainer.in_document(_document(base, recipe, args.document)))
    else:
        raise InvalidInput(
            "Say what to explain.", "Use --chunk ID, --find TEXT, --document NAME or --against F=V."
        )
    return _with_vectors(found, base.documents.vector_index(recipe.index))


def _with_vectors(found: Output, choice: VectorChoice) -> Output:
    """Add the vector index to the output, in words only if its search is approximate."""
    told = "" if choice.kind == "flat" else f"\n\nVectors, {choice.kind}: {choice.why}"
    data = {**found.data, "vectors": vectors_data(choice)}
    return replace(found, data=data, text=found.text + told)


def _beside(base: KnowledgeBase, question: str, recipe: Recipe, other: Recipe) -> Output:
    if base.documents.missing(other.index):
        raise InvalidInput(
            "The other recipe needs an index that is not built.",
            "Search once with these fields given by --set: that builds it.",
        )
    return _compared(base.compare(question, recipe, other, _set_with(base, question)))


def _set_with(base: KnowledgeBase, question: str) -> str | None:
    """The first question set that has the question."""
    index = base.recipe().index
    for each in base.questions.every():
        if base.passage_labels.of(each.name, question, index).question_id is not None:
            return each.name
    return None


def _document(base: KnowledgeBase, recipe: Recipe, name: str) -> str:
    for info in base.documents.documents(recipe.index):
        if name in (info.name, info.id):
            return info.id
    raise NotFound(f"No document is called {name!r}.")


def _passage(explainer: Explainer, key: int, attributed: bool) -> Output:
    standing, changes = explainer.standing(key), explainer.changes(key)
    attribution = explainer.attribution(key, progress) if attributed else None
    lines = [*_standing_lines(standing), "", "What would change it, each alone:"]
    lines += [f"  {each.words}" for each in changes]
    lines += ["", *_attribution_lines(attribution)] if attribution else []
    data = passage_data(explainer, standing, changes, attribution)
    return Output(data, "\n".join(lines))


def _found(explainer: Explainer, findings: Sequence[Finding]) -> Output:
    changes = [explainer.changes(each.standing.chunk.key) for each in findings]
    lines = []
    for each, found in zip(findings, changes, strict=True):
        lines += [f"{each.match} match", *_standing_lines(each.standing), *_gap_lines(each)]
        lines += [*(f"  {change.words}" for change in found), ""]
    data = findings_data(explainer, findings, changes)
    return Output(data, "\n".join(lines).rstrip() or "The document has no passage.")


def _standing_lines(found: Standing) -> Iterator[str]:
    yield f"{found.chunk.id}  {located(found.document, found.chunk)}"
    yield f"  {snippet(found.chunk.text, _SNIPPET)}"
    yield from indexed_with(found.chunk, _SNIPPET)
    yield f"  {found.summary}"
    for step in found.steps:
        yield f"    {stage_title(step.stage):12} {step.outcome:10} {step.words}"
    if found.figures.lacking:
        yield f"    lacks: {', '.join(found.figures.lacking)}"


def _gap_lines(each: Finding) -> Iterator[str]:
    gap = each.gap
    if gap is None:
        return
    parts = [f"cosine {signed(gap.dense)}"]
    parts += [f"BM25 {signed(gap.bm25, 2)}"] if gap.bm25 is not None else []
    parts += [f"score {signed(gap.score)}"] if gap.score is not None else []
    yield f"  the last shown ({gap.last.document}) is ahead by: {', '.join(parts)}"


def _attribution_lines(found: Attribution) -> Iterator[str]:
    yield f"What carries the cosine of {found.cosine:.3f} (its loss without each part):"
    for part in (*found.words, *found.sentences):
        yield f"  {signed(part.change)}  {snippet(part.text, _SNIPPET)}"
    if found.context:
        around = " · ".join(found.context.text.splitlines())
        yield f"  {signed(found.context.change)}  {snippet(around, _SNIPPET)} (indexed with it)"


def _compared(found: RetrievalComparison) -> Output:
    before, after = found.shown_labels()
    lines = [f"rank-biased overlap {found.overlap:.3f}", "", "as it is"]
    lines += list(map(_line, found.sides.before)) or ["  nothing"]
    lines += ["", "changed"]
    lines += list(map(_line, found.sides.after)) or ["  nothing"]
    if found.labels:
        lines += ["", f"labels found: {before} and {after} of {len(found.labels)}"]
    return Output(compared_data(found), "\n".join(lines))


def _line(place: RankedPassage) -> str:
    other = "–" if place.other is None else str(place.other)
    words = snippet(place.chunk.text, 70) if place.chunk else ""
    return f"{place.rank:3}  (other {other:>3})  {place.document}  {words}"
