"""Verbs that compare a run with another, or hand it to others: rankings, report, bundle."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag import (
    InvalidInput,
    TraceData,
    counted,
)
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output

_SHOWN = 20  # figures or questions that differ, printed one by one
_OF_TRACES = frozenset(["chunk_id", "document_id", "name", "relevance", "recipe"])
"""Texts of a trace that come from no question and no document."""
_OF_OWNERS = {
    "search.documents": (),
    "search.tags": (),
    "search.heading": "",
    "search.tools": (),
    "answer.tools": (),
}
"""Fields of recipes that name documents, tags and services of their owner, emptied."""


def export_run(args: argparse.Namespace) -> Output:
    exchange = inputs.workspace(args).base(args.kb).questions
    inputs.write(args.output, exchange.export_run(args.run).encode("utf-8", "replace"))
    if args.qrels:
        inputs.write(args.qrels, exchange.export_run_qrels(args.run).encode("utf-8", "replace"))
    return _written(args.output, args.run)


def parity(args: argparse.Namespace) -> Output:
    store = inputs.workspace(args).base(args.kb).runs
    parity = store.parity(args.run, args.other, args.k)
    lines = [
        f"overlap@{parity.k} {parity.overlap:.4f}, "
        f"rank-biased overlap {parity.rank_biased_overlap:.4f}, "
        f"{parity.equal:,} of {len(parity.questions):,} questions equal"
    ]
    if parity.left_out:
        lines.append(f"left out, since only one run asked them: {parity.left_out:,}")
    tokens = store.get(args.run).tokens_beside(store.get(args.other))
    lines += [tokens] if tokens else []
    differing = [row for row in parity.questions if row.first_difference is not None]
    lines += [
        f"  {row.overlap:.4f}  from rank {row.first_difference}  {row.question}"
        for row in differing[:_SHOWN]
    ]
    lines += [f"  {len(differing) - _SHOWN:,} more"] if len(differing) > _SHOWN else []
    passed = args.min is None or parity.overlap >= args.min
    if not passed:
        lines.append(f"FAILED overlap@{parity.k} {parity.overlap:.4f}, at least {args.min}")
    return Output(parity, "\n".join(lines), passed)


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
    base = targets.base_of_run(workspace, args)
    run = base.runs.get(args.run)
    if args.question is None:
        workspace.bundle(args.run, args.output, with_documents=args.with_documents)
    elif args.with_documents:
        raise InvalidInput("--question and --with-documents exclude each other.", "Give one.")
    else:
        # What explains one question of a run, without its words or those of documents.
        results = {result.question_id: result for result in base.runs.results(run.id)}
        if run.recipe is None or args.question not in results:
            raise InvalidInput(
                f"Run {run.id} has no question {args.question!r} that a recipe answered.",
                "List the ids of its questions with export-questions.",
            )
        result = results[args.question]
        trace = TraceData.of(base.search(result.text, run.recipe)).model_dump(mode="json")
        content = json.dumps(
            {
                "made_with": dict(run.environment),
                "documents_changed": base.documents.hash() != run.documents_hash,
                "recipe": run.recipe.with_fields(_OF_OWNERS).stored(),
                "metrics": dict(result.metrics),
                "first_relevant": result.first_relevant,
                "cut_rank": result.cut_rank,
                "ranking": [list(hit) for hit in result.ranking],
                "trace": _redacted(trace),
            },
            indent=1,
        )
        inputs.write(args.output, content.encode())
    return _written(args.output, args.run)


def _redacted(value: Any, key: str = "") -> Any:
    """Return JSON of a trace whose texts have x for each letter and 0 for each digit."""
    if isinstance(value, dict):
        return {name: _redacted(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, key) for item in value]
    if isinstance(value, str) and key not in _OF_TRACES:
        return re.sub(r"[^\W\d_]", "x", re.sub(r"\d", "0", value))
    return value


def import_bundle(args: argparse.Namespace) -> Output:
    workspace = inputs.workspace(args)
    reproduction = workspace.import_bundle(args.file, args.kb, args.documents, printing.working)
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
    data = {
        "knowledge_base": reproduction.base,
        "set": reproduction.question_set,
        "run": reproduction.run,
        "reproduced": reproduction.exact,
        "figures": reproduction.figures,
        "deviations": reproduction.deviations,
        "rankings": reproduction.rankings,
        "rankings_changed": reproduction.rankings_changed,
        "largest_score_gap": reproduction.largest_score_gap,
        "missing": reproduction.missing,
        "read_differently": reproduction.read_differently,
        "environment": reproduction.environment,
    }
    return Output(data, "\n".join(lines), reproduction.exact)


def _written(path: Path, run: str) -> Output:
    size = path.stat().st_size
    data = {"run": run, "file": str(path), "bytes": size}
    return Output(data, f"{path}, {size / 1000:,.0f} kB")


def export_passages(args: argparse.Namespace) -> Output:
    base, recipe = targets.ready(args)
    number = 0
    try:
        with args.output.open("w", encoding="utf-8") as file:
            for passage in base.recipes.passages(recipe, vectors=args.vectors):
                row = asdict(passage)
                if passage.vector is None:
                    del row["vector"]
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                number += 1
    except OSError as error:
        raise InvalidInput(f"{args.output} cannot be written: {error.strerror}.") from error
    data = {"file": str(args.output), "recipe": recipe.hash, "passages": number}
    return Output(data, f"{args.output}, {counted(number, 'passage')}")


def export_recipe(args: argparse.Namespace) -> Output:
    base = inputs.workspace(args).base(args.kb)
    export = base.recipes.export(targets.recipe(args, base.recipe()), args.target)
    if args.output is None:
        return Output(export, export.text.rstrip())
    inputs.write(args.output, export.text.encode())
    words = ", ".join(
        f"{export.count(fidelity)} {fidelity}"
        for fidelity in ("exact", "approximate", "not expressible")
    )
    return Output(export.extend(file=str(args.output)), f"{args.output}, fields: {words}")
