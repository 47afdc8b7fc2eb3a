"""The verbs for index builds."""

from __future__ import annotations

import argparse

from rag import (
    BuildData,
    InvalidInput,
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
    # The build whose hash begins so.
    builds = base.documents.builds()
    fitting = [build for build in builds if args.build and build.hash.startswith(args.build)]
    hashes = ", ".join(build.hash for build in fitting or builds)
    if not fitting:
        raise NotFound(
            f"No build of {base.name!r} begins with {args.build!r}.", f"There are: {hashes}."
        )
    if len(fitting) > 1:
        raise InvalidInput(
            f"Several builds begin with {args.build!r}.", f"Choose one of: {hashes}."
        )
    build = fitting[0]
    base.documents.delete_build(build.hash)
    message = f"deleted build {build.hash}: {build.recipe.cut} with {build.recipe.embedder}"
    return Output({"removed": build.hash}, message)


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
