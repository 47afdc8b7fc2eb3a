"""The verbs for index builds: which there are, and deleting one."""

from __future__ import annotations

from typing import Any

from rag import BuildRow, InvalidInput, KnowledgeBase, NotFound
from rag.cli.printing import Output


def listed(base: KnowledgeBase) -> Output:
    active = base.recipe().index.hash
    rows = [_row(base, build, active) for build in base.documents.builds()]
    return Output({"knowledge_base": base.name, "builds": rows}, "\n".join(map(_line, rows)))


def removed(base: KnowledgeBase, beginning: str) -> Output:
    build = _named(base, beginning)
    base.documents.delete_build(build.hash)
    said = f"deleted build {build.hash}: {build.recipe.cut} with {build.recipe.embedder}"
    return Output({"removed": build.hash}, said)


def _named(base: KnowledgeBase, beginning: str) -> BuildRow:
    """The build whose hash begins so. Raises NotFound, and InvalidInput where several do."""
    builds = base.documents.builds()
    found = [build for build in builds if beginning and build.hash.startswith(beginning)]
    known = ", ".join(build.hash for build in found or builds)
    if not found:
        raise NotFound(
            f"No build of {base.name!r} begins with {beginning!r}.", f"There are: {known}."
        )
    if len(found) > 1:
        raise InvalidInput(f"Several builds begin with {beginning!r}.", f"Say which: {known}.")
    return found[0]


def _row(base: KnowledgeBase, build: BuildRow, active: str) -> dict[str, Any]:
    return {
        "hash": build.hash,
        "active": build.hash == active,
        "cut": build.recipe.cut,
        "recipe": build.recipe.model_dump(mode="json"),
        "documents": build.documents,
        "missing": base.documents.missing(build.recipe),
        "passages": build.passages,
        "created": build.created.isoformat(),
    }


def _line(row: dict[str, Any]) -> str:
    recipe = row["recipe"]
    lacking = f", {row['missing']:,} missing" if row["missing"] else ""
    return (
        f"{row['hash']}  {'active' if row['active'] else '':6}  {row['cut']}; "
        f"{recipe['embedder']}, {recipe['analyzer']}, {recipe['vector_index']}; "
        f"{row['documents']:,} documents{lacking}, {row['passages']:,} passages"
    )
