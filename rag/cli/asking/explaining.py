"""The verb that explains a retrieval."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rag import (
    Attribution,
    Explainer,
    Finding,
    InvalidInput,
    KnowledgeBase,
    RankedPassage,
    Recipe,
    Schema,
    Standing,
    VectorsData,
    changed_recipe,
    compared_data,
    findings_data,
    passage_data,
    passage_key,
    signed,
    stage_title,
)
from rag.cli import inputs, targets
from rag.cli.printing import Output, indexed_with, located, progress, snippet

_SNIPPET = 110


def explain(args: argparse.Namespace) -> Output:
    """One passage, those that hold a text or a document, or the recipe against a changed one."""
    base, recipe = targets.ready(args)
    changes = dict(inputs.assignment(text) for text in args.against)
    if args.against or args.against_run:
        start = _recipe_of(base, args.against_run) if args.against_run else recipe
        other = changed_recipe(start, fields=changes)
        if base.documents.missing(other.index):
            raise InvalidInput(
                "The other recipe needs an index that is not built.",
                "Run `search` once with these fields (--set) to build it.",
            )
        comparison = base.explanations.compare(
            args.question, recipe, other, _set_with(base, args.question)
        )
        before, after = comparison.shown_labels()
        lines = [f"rank-biased overlap {comparison.overlap:.3f}", "", "as it is"]
        lines += list(map(_line, comparison.sides.before)) or ["  nothing"]
        lines += ["", "changed"]
        lines += list(map(_line, comparison.sides.after)) or ["  nothing"]
        if comparison.labels:
            lines += ["", f"labels found: {before} and {after} of {len(comparison.labels)}"]
        return Output(compared_data(comparison), "\n".join(lines))
    explainer = base.explanations.explain(args.question, recipe)
    if args.chunk:
        data, text = _passage(explainer, passage_key(args.chunk), args.attribution)
    elif args.find:
        data, text = _finding(explainer, explainer.find(args.find))
    elif args.document:
        data, text = _finding(
            explainer, explainer.in_document(explainer.document_id(args.document))
        )
    else:
        raise InvalidInput(
            "Specify what to explain.",
            "Use --chunk ID, --find TEXT, --document NAME or --against F=V.",
        )
    # Add the vector index to the output, in words only if its search is approximate
    choice = base.documents.vector_index(recipe.index)
    vectors = f"\n\nVectors, {choice.kind}: {choice.headline} {choice.details}"
    line = "" if choice.kind == "flat" else vectors
    return Output(data.extend(vectors=VectorsData.of(choice)), text + line)


def _recipe_of(base: KnowledgeBase, run_id: str) -> Recipe:
    run = base.runs.get(run_id)
    if run.recipe is None:
        raise InvalidInput(
            f"Run {run.id} measured a system, which has no recipe.",
            "`compare` shows the rankings of two runs side by side.",
        )
    return run.recipe


def _set_with(base: KnowledgeBase, question: str) -> str | None:
    """The first question set that has the question."""
    index = base.recipe().index
    for question_set in base.questions.list_all():
        if base.questions.labels_of(question_set.name, question, index).question_id is not None:
            return question_set.name
    return None


def _passage(explainer: Explainer, key: int, attributed: bool) -> tuple[Schema, str]:
    standing, changes = explainer.standing(key), explainer.changes(key)
    attribution = explainer.attribution(key, progress) if attributed else None
    lines = [
        *_standing_lines(standing),
        "",
        "Changes that would change this result, each on its own:",
    ]
    lines += [f"  {change.words}" for change in changes]
    lines += ["", *_attribution_lines(attribution)] if attribution else []
    return passage_data(explainer, standing, changes, attribution), "\n".join(lines)


def _finding(explainer: Explainer, findings: Sequence[Finding]) -> tuple[Schema, str]:
    changes = [explainer.changes(finding.standing.chunk.key) for finding in findings]
    lines = []
    for finding, finding_changes in zip(findings, changes, strict=True):
        lines += [
            f"{finding.match} match",
            *_standing_lines(finding.standing),
            *_gap_lines(finding),
        ]
        lines += [*(f"  {change.words}" for change in finding_changes), ""]
    text = "\n".join(lines).rstrip() or "The document has no passage."
    return findings_data(explainer, findings, changes), text


def _standing_lines(standing: Standing) -> Iterator[str]:
    yield f"{standing.chunk.id}  {located(standing.document, standing.chunk)}"
    yield f"  {snippet(standing.chunk.text, _SNIPPET)}"
    yield from indexed_with(standing.chunk, _SNIPPET)
    yield f"  {standing.summary}"
    for step in standing.steps:
        yield f"    {stage_title(step.stage):12} {step.outcome:10} {step.words}"
    if standing.figures.lacking:
        yield f"    lacks: {', '.join(standing.figures.lacking)}"


def _gap_lines(finding: Finding) -> Iterator[str]:
    gap = finding.gap
    if gap is None:
        return
    parts = [f"cosine {signed(gap.dense)}"]
    parts += [f"BM25 {signed(gap.bm25, 2)}"] if gap.bm25 is not None else []
    parts += [f"score {signed(gap.score)}"] if gap.score is not None else []
    yield f"  the last returned passage ({gap.last.document}) leads by: {', '.join(parts)}"


def _attribution_lines(attribution: Attribution) -> Iterator[str]:
    yield f"Contributions to the cosine of {attribution.cosine:.3f} (its loss without each part):"
    for part in (*attribution.words, *attribution.sentences):
        yield f"  {signed(part.change)}  {snippet(part.text, _SNIPPET)}"
    if attribution.context:
        around = " · ".join(attribution.context.text.splitlines())
        change = signed(attribution.context.change)
        yield f"  {change}  {snippet(around, _SNIPPET)} (indexed with it)"


def _line(place: RankedPassage) -> str:
    other = "–" if place.other is None else str(place.other)
    words = snippet(place.chunk.text, 70) if place.chunk else ""
    return f"{place.rank:3}  (other {other:>3})  {place.document}  {words}"
