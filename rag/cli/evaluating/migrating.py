"""The verb that plans and measures a move to another embedding model."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from rag import (
    COMPARED,
    MEASURED,
    InvalidInput,
    KnowledgeBase,
    MigrationData,
    MigrationEffectData,
    MigrationPlan,
    Recipe,
    RunComparison,
    RunParity,
    SwitchParityData,
    VerbData,
    steps_after,
)
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output

_LOST = 10  # questions that are printed; JSON has all


class PlannedMigrationData(VerbData, MigrationData):
    """The plan of a move, and what came of the steps that were done."""

    effect: MigrationEffectData | None
    seconds_measured: float | None
    parity: SwitchParityData | None


class RemovedIndexData(VerbData):
    """The index of the former embedder, which was deleted."""

    removed: str
    embedder: str


def migrate_embedder(args: argparse.Namespace) -> Output:
    """Plan the move to another embedder, check the stored vectors, measure what changes, switch."""
    workspace = inputs.workspace(args)
    base = workspace.base(args.kb)
    if args.remove_old:
        removed = base.tuning.embedder_switch.remove_previous(args.keep_days)
        removed_data = RemovedIndexData(removed=removed.build_hash, embedder=removed.embedder)
        return Output(removed_data, f"removed the index of {removed.embedder}")
    if args.switch and args.set_name is None:
        raise InvalidInput("A switch needs a measurement.", "Give --set SET.")
    saved, recipe = base.recipe(), base.tuning.migration.target(args.embedder)
    targets.build(workspace, base, saved)
    plan = base.tuning.migration.plan(recipe, args.sample)
    effect = seconds = parity = None
    if args.set_name is not None:
        started = time.monotonic()
        targets.build(workspace, base, recipe)
        seconds = time.monotonic() - started
        effect = base.tuning.migration.measure(args.set_name, recipe, printing.progress)
        done = MEASURED
        if args.switch:
            parity = _switch(base, saved, recipe, effect, args.set_name)
            done = COMPARED
        plan = replace(plan, steps=steps_after(recipe, done)).advised(effect.figures.verdict)
    data = MigrationData.of(plan).extend(
        PlannedMigrationData,
        effect=effect and MigrationEffectData.of(effect),
        seconds_measured=seconds,
        parity=parity and SwitchParityData(equal=parity.equal, questions=len(parity.questions)),
    )
    lines = [*_cost_lines(plan), *_check_lines(plan), *(_effect_lines(effect) if effect else [])]
    lines += [f"Built in {seconds:,.1f} s."] if seconds is not None else []
    lines += (
        [f"Switched. {parity.equal:,} of {len(parity.questions):,} rankings are those measured."]
        if parity
        else []
    )
    marks = {"done": "x", "next": ">", "later": " "}
    lines += [f"[{marks[step.state]}] {step.title}" for step in plan.steps]
    sound = not plan.check.foreign and (parity is None or parity.equal == len(parity.questions))
    return Output(data, "\n".join(lines), sound)


def _switch(
    base: KnowledgeBase, saved: Recipe, recipe: Recipe, effect: RunComparison, set_name: str
) -> RunParity:
    """Save the new recipe, and compare what it returns now with what was measured."""
    if effect.figures.verdict == "worse":
        raise InvalidInput(
            f"No switch: {effect.figures.headline}", "Save the recipe yourself to switch anyway."
        )
    base.tuning.embedder_switch.switch(recipe, saved)
    return base.tuning.embedder_switch.verify(set_name)


def _cost_lines(plan: MigrationPlan) -> list[str]:
    return [
        f"{plan.before.index.embedder} to {plan.after.index.embedder}: {plan.cost.work}",
        plan.cost.size,
    ]


def _check_lines(plan: MigrationPlan) -> list[str]:
    foreign = plan.check.foreign
    rows = [f"  {item.cosine:.3f}  {item.document}  {item.passage}" for item in foreign]
    return [plan.check_sentence, *rows[:_LOST]]


def _effect_lines(effect: RunComparison) -> list[str]:
    figures = effect.figures
    lost = [row for row in effect.rows if row.outcome == "lost"]
    lines = [figures.headline, f"{figures.won} won, {figures.lost} lost, {figures.tied} equal."]
    return lines + [f"  {row.before:.3f} -> {row.after:.3f}  {row.text}" for row in lost[:_LOST]]
