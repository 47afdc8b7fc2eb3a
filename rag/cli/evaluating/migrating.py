"""The verb that plans and measures a move to another embedding model."""

from __future__ import annotations

import argparse

from rag import MigrationData, MigrationPlan, RunComparison, counted, money
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output

_LOST = 10  # questions that are printed; JSON has all


def migrate_embedder(args: argparse.Namespace) -> Output:
    """Plan the move to another embedder, check the stored vectors, and measure what changes."""
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    recipe = base.tuning.migration.target(args.embedder)
    effect = None
    if args.set_name is not None:
        targets.build(workspace, base, base.recipe())
        targets.build(workspace, base, recipe)
        effect = base.tuning.migration.measure(args.set_name, recipe, printing.progress)
    plan = base.tuning.migration.plan(recipe, args.sample)
    data = MigrationData.of(plan).dump() | {"effect": effect and _effect(effect)}
    lines = [*_cost_lines(plan), *_check_lines(plan), *(_effect_lines(effect) if effect else [])]
    marks = {"done": "x", "next": ">", "later": " "}
    lines += [f"[{marks[step.state]}] {step.title}" for step in plan.steps]
    return Output(data, "\n".join(lines), not plan.check.foreign)


def _effect(effect: RunComparison) -> dict[str, object]:
    figures = effect.figures
    return {
        "before": effect.baseline.id,
        "after": effect.run.id,
        "metric": figures.metric,
        "difference": figures.difference,
        "interval": list(figures.interval),
        "confidence": figures.confidence,
        "p": figures.p,
        "verdict": figures.verdict,
        "sentence": figures.headline,
        "won": figures.won,
        "lost": figures.lost,
        "questions": [
            {"id": row.question_id, "question": row.text, "before": row.before, "after": row.after}
            for row in effect.rows
        ],
    }


def _cost_lines(plan: MigrationPlan) -> list[str]:
    cost = plan.cost
    time = "unknown time" if cost.seconds is None else f"about {cost.seconds:,.0f} s"
    price = f", {money(cost.price.amount, cost.price.currency)}" if cost.price else ""
    return [
        f"{plan.before.index.embedder} to {plan.after.index.embedder}: "
        f"{cost.to_embed:,} of {counted(cost.passages, 'passage')} to embed, "
        f"about {cost.tokens:,} tokens, {time}{price}.",
        f"Vectors: {cost.bytes_before / 1e6:,.1f} MB now, {cost.bytes_after / 1e6:,.1f} MB then.",
    ]


def _check_lines(plan: MigrationPlan) -> list[str]:
    check = plan.check
    if not check.sampled:
        return ["No vectors are stored yet, so there is nothing to check."]
    low, high = check.share
    if not check.foreign:
        return [
            f"All {check.sampled} sampled vectors are of {plan.before.index.embedder} "
            f"(at most {high:.1%} of the index are not)."
        ]
    rows = [f"  {item.cosine:.3f}  {item.document}  {item.passage}" for item in check.foreign]
    return [
        f"{len(check.foreign)} of {check.sampled} sampled vectors are not of "
        f"{plan.before.index.embedder}: {low:.1%} to {high:.1%} of the index. "
        "Build the index again.",
        *rows[:_LOST],
    ]


def _effect_lines(effect: RunComparison) -> list[str]:
    figures = effect.figures
    lost = [row for row in effect.rows if row.outcome == "lost"]
    lines = [figures.headline, f"{figures.won} won, {figures.lost} lost, {figures.tied} equal."]
    return lines + [f"  {row.before:.3f} -> {row.after:.3f}  {row.text}" for row in lost[:_LOST]]
