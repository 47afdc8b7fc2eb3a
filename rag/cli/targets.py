"""The knowledge base and the recipe that a command is about, built where that is missing."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rag import (
    FederatedBase,
    FurtherBase,
    KnowledgeBase,
    Recipe,
    Workspace,
    changed_recipe,
)
from rag.cli import inputs, printing


def ready(args: argparse.Namespace) -> tuple[KnowledgeBase, Recipe]:
    """The base and the recipe asked for, with every document built for it."""
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    resolved = recipe(args, base.recipe())
    build(workspace, base, resolved)
    return base, resolved


def several(
    args: argparse.Namespace,
    begun: Callable[[KnowledgeBase], Recipe] = KnowledgeBase.recipe,
) -> tuple[KnowledgeBase, Recipe, list[FederatedBase]]:
    """Return the base, the recipe and other bases, with every document built for them.

    The function does not wait for vectors that another process makes. ``begun`` returns the recipe
    that the arguments change.
    """
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    resolved = recipe(args, begun(base))
    named = [FurtherBase.parse(text) for text in args.also]
    names = {base.name, *(further.name for further in named)}
    rest = [
        FurtherBase(info.name) for info in workspace.bases() if args.all and info.name not in names
    ]
    beside = workspace.beside(base.name, [*named, *rest])
    for searched, by in [(base, resolved), *((further.base, further.recipe) for further in beside)]:
        late = searched.documents.by_words(by.index)
        if late and len(late) == searched.documents.missing(by.index) and workspace.jobs.attended():
            printing.by_words(late)  # a question need not wait for the rest
        else:
            build(workspace, searched, by)
    return base, resolved, beside


def build(workspace: Workspace, base: KnowledgeBase, recipe: Recipe) -> None:
    """Build a recipe's index for the documents that it lacks."""
    printing.unread(workspace.jobs, base)
    if base.documents.missing(recipe.index):
        printing.follow(workspace.jobs, base.documents.build(recipe.index))


def recipe(args: argparse.Namespace, saved: Recipe) -> Recipe:
    """The saved recipe, or a new one, with the fields of a file and those that were set."""
    start = Recipe() if args.new else saved
    data = inputs.json_in(args.recipe) if args.recipe else {}
    fields = dict(inputs.assignment(text) for text in args.set)
    if getattr(args, "mode", None):
        fields["answer.mode"] = args.mode
    return changed_recipe(start, data, fields)


def base_of_run(workspace: Workspace, args: argparse.Namespace) -> KnowledgeBase:
    """The base that is named, or the one that a run is of."""
    return workspace.base(args.kb) if args.kb else workspace.base_of_run(args.run)
