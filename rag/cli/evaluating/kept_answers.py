"""Answers of runs, what a judge says, and whether memory helps: for scripts and for people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rag import (
    EVERYBODY,
    LOCAL,
    Budget,
    Evaluation,
    Jobs,
    KnowledgeBase,
    NotFound,
    Recipe,
    Workspace,
    answers_spent_data,
)
from rag.cli import printing
from rag.cli.printing import Output


def answered(
    jobs: Jobs,
    base: KnowledgeBase,
    recipe: Recipe,
    cutoffs: Sequence[int],
    args: argparse.Namespace,
) -> Output:
    """Does an evaluation with answers; one that paused ends with exit code 1."""
    job = base.answer_evaluations.start(
        args.set_name,
        recipe,
        judge=args.judge,
        budget=_budget(args),
        cutoffs=cutoffs,
        by_tokens=args.by_tokens,
        ignore_identical=args.ignore_identical_ids,
        without_users=args.without_users,
    )
    printing.follow(jobs, job)
    job_state = jobs.get(job)
    run_id = str(job_state.payload["run"])
    answers_by_id = base.answer_evaluations.answers(run_id)
    try:
        evaluation = Evaluation(base.runs.get(run_id), tuple(base.runs.results(run_id)))
    except NotFound:
        paused = {"run": None, "answers": len(answers_by_id), "paused": job_state.message}
        return Output(paused, job_state.message, passed=False)
    leading = f"ndcg@{10 if 10 in cutoffs else cutoffs[-1]}"
    output = printing.evaluation(
        evaluation,
        base.run_figures.intervals(run_id),
        base.run_figures.unjudged(run_id),
        base.run_figures.by_tag(run_id, [leading, "groundedness"]),
        base.questions.lost_labels(args.set_name),
        base.run_figures.plan(args.set_name, leading),
    )
    answers = {name: asdict(stored_answer) for name, stored_answer in answers_by_id.items()}
    spent = answers_spent_data(answers_by_id.values()).dump()
    data: dict[str, Any] = {**output.data, "answers": answers, "answers_spent": spent}
    return Output(data, f"{output.text}\nanswers: {evaluation.run.environment.get('answers', '')}")


def judged(workspace: Workspace, args: argparse.Namespace) -> Output:
    """Lets a model grade the hits of a run, and says what came of it and what people say."""
    base = workspace.base(args.kb)
    of_set = [run.id for run in base.runs.every(args.set_name)]
    run_id = args.run or next(iter(of_set), None)
    if run_id is None:
        raise NotFound(
            f"{args.set_name!r} has no run.", f"`python -m rag evaluate {args.kb} {args.set_name}`."
        )
    if args.against:
        return _preferred(workspace, base, run_id, args)
    job = base.judgements.start(run_id, args.judge, repeat=args.repeat, budget=_budget(args))
    printing.follow(workspace.jobs, job)
    open_hits = base.estimates.open_hits(run_id, judge=args.judge)
    data: dict[str, Any] = {"run": run_id, "judged": workspace.jobs.get(job).message}
    data["open_hits"] = asdict(open_hits)
    return Output(data, "\n".join([str(data["judged"]), *open_hits.sentences]))


def _preferred(
    workspace: Workspace, base: KnowledgeBase, run_id: str, args: argparse.Namespace
) -> Output:
    """Lets a model compare the answers of two runs."""
    job = base.preferences.start(run_id, args.against, args.judge, budget=_budget(args))
    printing.follow(workspace.jobs, job)
    preference = base.preferences.between(run_id, args.against, args.judge)
    message = workspace.jobs.get(job).message
    data = {
        "judged": message,
        "preference": {**asdict(preference), "sentence": preference.sentence},
    }
    spent = f"{preference.tokens:,} tokens, {preference.cost}" if preference.tokens else ""
    return Output(data, "\n".join(filter(None, [message, preference.sentence, spent])))


def memory(workspace: Workspace, recipe: Recipe, args: argparse.Namespace) -> Output:
    """Answers a set without past interactions and with them, and says what came of it."""
    base = workspace.base(args.kb, EVERYBODY if args.everyone else LOCAL)
    trials, name, judge = base.memory_trials, args.set_name, args.judge
    jobs = trials.start(name, recipe, judge=judge, budget=_budget(args))
    for job in jobs:
        printing.follow(workspace.jobs, job)
    effect = trials.effect(name, recipe, judge)
    if effect is None:
        message = "\n".join(workspace.jobs.get(job).message for job in jobs)
        return Output({"set": name, "memory": None, "paused": message}, message, passed=False)
    figures = {effect.figures.metric: effect.figures, **effect.others}
    data = {
        "run": effect.run,
        "without": effect.without,
        "questions": effect.questions,
        "with_examples": effect.shown,
        "verdict": effect.figures.verdict,
        "decided_by": effect.figures.metric,
        "sentence": effect.sentence,
        "measures": {
            metric: {
                "with": comparison.mean,
                "without": comparison.baseline,
                "difference": comparison.difference,
                "interval": list(comparison.interval),
                "confidence": comparison.confidence,
                "p": comparison.p,
            }
            for metric, comparison in figures.items()
        },
    }
    lines = [
        effect.sentence,
        *(f"  {comparison.sentence}" for comparison in effect.others.values()),
    ]
    return Output({"set": name, "memory": data}, "\n".join(lines))


def _budget(args: argparse.Namespace) -> Budget:
    return Budget(args.most, args.most_tokens, args.most_money)
