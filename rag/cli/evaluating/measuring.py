"""Verbs that measure recipes on a question set, or hold one against what is demanded."""

from __future__ import annotations

import argparse
from dataclasses import replace

from rag import MOST_ROWS, Budget, Grid, InvalidInput
from rag.cli import inputs, printing, targets
from rag.cli.evaluating import kept_runs, systems, tuning
from rag.cli.printing import Output


def evaluate(args: argparse.Namespace) -> Output:
    output = _evaluated(args)
    run = dict(output.data)["run"]
    if args.name and run:  # None where the evaluation paused
        inputs.workspace(args).base(args.kb).runs.describe(run, note=args.name)
    if args.judge_hits and run:
        # Have a model grade what is new among the first hits of a run.
        workspace = inputs.workspace(args)
        runs = workspace.base(args.kb).runs
        job = runs.start_judging(run, args.judge_hits, depth=args.depth, budget=Budget(args.most))
        printing.follow(workspace.jobs, job)
        state = workspace.jobs.get(job)
        if state.paused:
            return printing.paused(output.data, [state])
        return replace(output, text=f"{output.text}\n{state.message}")
    return output


def _evaluated(args: argparse.Namespace) -> Output:
    cutoffs = inputs.cutoffs(args.k)
    if args.judge and not args.answers:
        raise InvalidInput(
            "--judge grades answers, and this evaluation makes none.",
            "Add --answers. To grade the hits of a run, use the verb judge.",
        )
    if args.returned or args.callable or args.system:
        return systems.evaluated(inputs.workspace(args), cutoffs, args)
    base, recipe = targets.ready(args)
    if args.answers:
        return kept_runs.answered(inputs.workspace(args), recipe, cutoffs, args)
    evaluation = base.runs.evaluate(
        args.set_name,
        recipe,
        cutoffs,
        printing.progress,
        by_tokens=args.by_tokens,
        ignore_identical=args.ignore_identical_ids,
        without_users=args.without_users,
    )
    return kept_runs.evaluated(base, evaluation, cutoffs)


def judge(args: argparse.Namespace) -> Output:
    return kept_runs.judged(inputs.workspace(args), args)


def sweep(args: argparse.Namespace) -> Output:
    cutoffs, workspace = inputs.cutoffs(args.k), inputs.workspace(args)
    base = workspace.base(args.kb)
    grid = Grid.parse(inputs.json_in(args.grid), targets.recipe(args, base.recipe()))
    compared = any(grid.builds) and len(grid) <= MOST_ROWS and not args.as_shown
    if args.by_tokens and not compared:
        raise InvalidInput(
            "--by-tokens is for sweeps that compare chunking, and this sweep does not.",
            f"Give a grid with index fields, of up to {MOST_ROWS} recipes, without --as-shown.",
        )
    needed = [recipe.index for recipe in (*grid.indexes(), grid.base)]
    job = base.documents.build_several(needed)
    if job is not None:
        printing.follow(workspace.jobs, job)
    sweeper = base.tuning.sweeper(args.set_name)
    by = args.by or ("ndcg@10" if 10 in cutoffs else f"ndcg@{cutoffs[-1]}")
    result = sweeper.sweep(
        grid,
        cutoffs,
        as_shown=args.as_shown,
        with_context=args.context,
        apart=None if args.held_out else sweeper.tellable(by, cutoffs, grid),
        on_progress=printing.progress,
    )
    if by not in result.names:
        raise InvalidInput(f"{by!r} was not measured.", "There are: " + ", ".join(result.names))
    best = base.tuning.judged(result, sweeper, by, held_out=args.held_out)
    rows = (
        base.tuning.build_table.rows(args.set_name, grid, cutoffs, by_tokens=args.by_tokens)
        if compared
        else []
    )
    if args.verify < 1:
        return tuning.sweep(result, best, (), None, by, rows)
    mismatches = sweeper.verify(result, args.verify, on_progress=printing.progress)
    return tuning.sweep(result, best, mismatches, min(args.verify, len(grid)), by, rows)


def calibrate(args: argparse.Namespace) -> Output:
    precision = inputs.precision(args.precision)
    base, recipe = targets.ready(args)
    fitted, _ = base.tuning.calibrator.fit(args.set_name, recipe)
    learned = recipe.with_fields({"search.relevance": "probability"})
    tuner = base.tuning.tuner(args.set_name)
    topics = tuner.topic_probabilities(recipe)
    refusal = None if topics is None else topics.chosen(tuning.REFUSAL_COST)
    return tuning.calibration(fitted, tuner.promise_curves(learned).promise(precision), refusal)


def threshold(args: argparse.Namespace) -> Output:
    precision = inputs.precision(args.precision)
    base, recipe = targets.ready(args)
    tuner = base.tuning.tuner(args.set_name)
    curves = tuner.threshold_curve(recipe), tuner.promise_curves(recipe)
    return tuning.threshold(base.recipes.threshold(recipe), *curves, precision)


def gate(args: argparse.Namespace) -> Output:
    least = dict(inputs.least(text) for text in args.min)
    demands = least, args.baseline, args.tolerance, printing.progress
    notes: tuple[str, ...] = ()
    if args.traffic:
        base = inputs.workspace(args).base(args.kb)
        result, notes = systems.gated_traffic(base, demands, args)
    elif args.max_calls is not None:
        raise InvalidInput("--max-calls needs --traffic.", "Name a file of traces.")
    elif args.system:
        result = (
            inputs.workspace(args)
            .base(args.kb)
            .systems.gate(args.set_name, args.system, *demands, allow_trivial=args.allow_trivial)
        )
    else:
        base, recipe = targets.ready(args)
        result = base.runs.gate(args.set_name, recipe, *demands, allow_trivial=args.allow_trivial)
    if args.name:
        runs = inputs.workspace(args).base(args.kb).runs
        runs.describe(result.evaluation.run.id, note=args.name)
    output = kept_runs.gate(result)
    return replace(output, text="\n".join([output.text, *notes]))


def runs(args: argparse.Namespace) -> Output:
    store = inputs.workspace(args).base(args.kb).runs
    stored = store.list_all()
    sets = dict.fromkeys(run.question_set for run in stored)
    rows = {row.run.id: row for name in sets for row in store.leaderboard(name)}
    return kept_runs.listed(stored, rows)
