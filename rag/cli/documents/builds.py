"""The verbs for index builds."""

from __future__ import annotations

import argparse

from rag import (
    BuildData,
    BuildRow,
    InvalidInput,
    KnowledgeBase,
    NotFound,
    VectorsData,
    build_data,
    counted,
)
from rag.cli import inputs
from rag.cli.printing import Output


def builds(args: argparse.Namespace) -> Output:
    base = inputs.workspace(args).base(args.kb)
    active = base.recipe().index.hash
    rows = [build_data(base.documents, build, active) for build in base.documents.builds()]
    return Output({"knowledge_base": base.name, "builds": rows}, "\n".join(map(_line, rows)))


def remove_build(args: argparse.Namespace) -> Output:
    base = inputs.workspace(args).base(args.kb)
    build = _named(base, args.build)
    base.documents.delete_build(build.hash)
    message = f"deleted build {build.hash}: {build.recipe.cut} with {build.recipe.embedder}"
    return Output({"removed": build.hash}, message)


def _named(base: KnowledgeBase, beginning: str) -> BuildRow:
    """The build whose hash begins so. Raises NotFound, and InvalidInput where several do."""
    builds = base.documents.builds()
    fitting = [build for build in builds if beginning and build.hash.startswith(beginning)]
    hashes = ", ".join(build.hash for build in fitting or builds)
    if not fitting:
        raise NotFound(
            f"No build of {base.name!r} begins with {beginning!r}.", f"There are: {hashes}."
        )
    if len(fitting) > 1:
        raise InvalidInput(f"Several builds begin with {beginning!r}.", f"Choose one of: {hashes}.")
    return fitting[0]


def _vectors(data: VectorsData) -> str:
    """``flat``, or ``auto: hnsw, beyond 260,416 vectors`` where the size decided."""
    if data.limit is None:
        return data.kind
    beyond = "" if data.kind == "flat" else f", beyond {data.limit:,} vectors"
    return f"auto: {data.kind}{beyond}"


def _line(row: BuildData) -> str:
    recipe = row.recipe
    lacking = f", {row.missing:,} missing" if row.missing else ""
    return (
        f"{row.hash}  {'active' if row.active else '':6}  {row.cut}; "
        f"{recipe.embedder}, {recipe.analyzer}, {_vectors(row.vectors)}; "
        f"{counted(row.documents, 'document')}{lacking}, {counted(row.passages, 'passage')}"
    )
