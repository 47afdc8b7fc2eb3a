"""The verb that writes a recipe for another engine."""

from __future__ import annotations

import argparse

from rag import RecipeExportData, VerbData
from rag.cli import inputs, targets
from rag.cli.printing import Output


class WrittenRecipeData(VerbData, RecipeExportData):
    """A recipe for another engine, and the file that has it."""

    file: str


def export_recipe(args: argparse.Namespace) -> Output:
    """Write a recipe as requests or SQL for another engine."""
    base = inputs.workspace(args).base(args.kb)
    export = base.recipe_exports.export(targets.recipe(args, base.recipe()), args.target)
    data = RecipeExportData.of(export)
    if args.output is None:
        return Output(data, export.text.rstrip())
    inputs.write(args.output, export.text.encode())
    words = ", ".join(
        f"{export.count(fidelity)} {fidelity}"
        for fidelity in ("exact", "approximate", "not expressible")
    )
    written = data.extend(WrittenRecipeData, file=str(args.output))
    return Output(written, f"{args.output}, fields: {words}")
