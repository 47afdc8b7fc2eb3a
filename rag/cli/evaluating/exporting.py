"""The verb that writes a recipe for another engine."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from rag import InvalidInput, RecipeExportData, VerbData, counted
from rag.cli import inputs, targets
from rag.cli.printing import Output


class WrittenRecipeData(VerbData, RecipeExportData):
    """A recipe for another engine, and the file that has it."""

    file: str


class ExportedPassagesData(VerbData):
    """The file with the passages of a recipe's index, and their number."""

    file: str
    recipe: str
    passages: int


def export_passages(args: argparse.Namespace) -> Output:
    base, recipe = targets.ready(args)
    number = 0
    try:
        with args.output.open("w", encoding="utf-8") as file:
            for passage in base.recipe_exports.passages(recipe, vectors=args.vectors):
                row = asdict(passage)
                if passage.vector is None:
                    del row["vector"]
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                number += 1
    except OSError as error:
        raise InvalidInput(f"{args.output} cannot be written: {error.strerror}.") from error
    data = ExportedPassagesData(file=str(args.output), recipe=recipe.hash, passages=number)
    return Output(data, f"{args.output}, {counted(number, 'passage')}")


def export_recipe(args: argparse.Namespace) -> Output:
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
