"""The verb that writes a recipe for another engine."""

from __future__ import annotations

import argparse

from rag import RecipeExportData
from rag.cli import inputs, targets
from rag.cli.printing import Output


def export_recipe(args: argparse.Namespace) -> Output:
    """Write a recipe as requests or SQL for another engine."""
    base = inputs.workspace(args).base(args.kb)
    export = base.recipe_exports.export(targets.recipe(args, base.recipe()), args.target)
    data = RecipeExportData.of(export).dump()
    if args.output is None:
        return Output(data, export.text.rstrip())
    inputs.write(args.output, export.text.encode())
    words = ", ".join(
        f"{export.count(fidelity)} {fidelity}"
        for fidelity in ("exact", "approximate", "not expressible")
    )
    return Output(data | {"file": str(args.output)}, f"{args.output}, fields: {words}")
