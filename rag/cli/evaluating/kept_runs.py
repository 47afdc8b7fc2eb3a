"""Kept runs with their answers, judgements and gates, as JSON for scripts and text for people."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rag import (
    EVERYBODY,
    LOCAL,
    Budget,
    Evaluation,
    GateResult,
    Jobs,
    KnowledgeBase,
    LeaderboardRow,
    MeasuredData,
    NotFound,
    PairedGate,
    PermissionReport,
    PermissionReportData,
    QuestionDifference,
    Recipe,
    Run,
    Workspace,
    answers_spent_data,
    counted,
    decision_data,
)
from rag.cli import printing
from rag.cli.printing import Output


def listed(runs: Sequence[Run], boards: Mapping[str, LeaderboardRow]) -> Output:
    """``boards`` has each run as its question set's leaderboard has it, by id."""
    rows = [
        {
            "run": run.id,
            "name": boards[run.id].name,
            "set": run.question_set,
            "recipe": run.recipe_hash,
            "system": run.system.label if run.system else None,
            "place": boards[run.id].place,
            "differs": list(boards[run.id].differs),
            "questions": run.questions,
            "metrics": dict(run.metrics),
            "created": run.created.isoformat(),
            "seconds": run.seconds,
            "prompts": run.prompts,
        }
        for run in runs
    ]
    lines = [
        f"{run.id}  {run.created:%Y-%m-%d %H:%M}  {run.question_set:20} {run.source}"
        f"  {_leading(run)}  {boards[run.id].name}"
        + (f"  (other {' and '.join(boards[run.id].differs)})" if boards[run.id].differs else "")
        + (f"  prompts {run.prompts}" if run.prompts else "")
        for run in runs
    ]
    return Output({"runs": rows}, "\n".join(lines) or "No run yet: `python -m rag evaluate`.")


def _leading(run: Run) -> str:
    """The figure that stands for a run in a list; of refusals alone their share."""
    for name, title in (("ndcg@10", "nDCG@10"), ("correct_refusal", "refused")):
        if name in run.metrics:
            return f"{title} {run.metrics[name]:.4f}"
    return "nDCG@10 –"


def gate(result: GateResult, permissions: PermissionReport | None) -> Output:
    run = result.evaluation.run
    data = {
        "passed": result.passed and (permissions is None or permissions.outcome == "passed"),
        **MeasuredData.of(run).dump(),
        "failures": [
            {
                "metric": failure.metric,
                "value": failure.value,
                "required": failure.required,
                "of": "baseline" if failure.baseline else "min",
            }
            for failure in result.failures
        ],
        "minimums": [
            {
                "metric": minimum.metric,
                "value": minimum.value,
                "required": minimum.required,
                "passed": minimum.passed,
            }
            for minimum in result.minimums
        ],
        "regressions": {
            metric: [_regression(row) for row in rows]
            for metric, rows in result.regressions.items()
        },
        "comparable": result.differences.comparable if result.differences else None,
        "differences": result.differences.phrase if result.differences else None,
        "outcome": result.outcome,
        "paired": {metric: _paired(paired_gate) for metric, paired_gate in result.paired.items()},
        "decisions": [decision_data(decision).dump() for decision in result.decisions],
        "permissions": permissions and PermissionReportData.of(permissions).dump(),
    }
    lines = [printing.headline(run)]
    lines += [
        f"passed {minimum.metric} {minimum.value:.4f}, at least {minimum.required:g}"
        for minimum in result.minimums
        if minimum.passed
    ]
    if result.differences:
        lines.append(f"against the baseline: {result.differences.phrase}")
    for metric, paired_gate in result.paired.items():
        figures = paired_gate.comparison
        if figures.differences:
            lines.append(f"{metric} {figures.mean:.4f}, the baseline has {figures.baseline:.4f}")
        sentence = paired_gate.sentence
        if paired_gate.outcome == "incomparable":
            sentence = f"{sentence} Evaluate the baseline again."
        lines.append(sentence)
    lines += [
        f"by few labels: {decision.headline('this run', 'the baseline')}"
        for decision in result.decisions
    ]
    lines += [
        f"FAILED {failure.metric} {failure.value:.4f}, "
        + (
            f"the baseline has {failure.required:.4f}"
            if failure.baseline
            else f"at least {failure.required}"
        )
        for failure in result.failures
    ]
    for metric, rows in result.regressions.items():
        lines.append(f"{counted(len(rows), 'question')} with a lower {metric} than the baseline")
        lost_rows = rows[:_LOST]
        lines += [f"  {row.before:.4f} -> {row.after:.4f}  {row.text}" for row in lost_rows]
        lines += [f"  {len(rows) - _LOST:,} more"] if len(rows) > _LOST else []
    lines += [permissions.headline] if permissions else []
    if permissions and permissions.outcome != "passed" and result.outcome != "failed":
        lines.append("not passed: see the permissions")
        return Output(data, "\n".join(lines), passed=False)
    lines.append(_ENDINGS[result.outcome])
    return Output(data, "\n".join(lines), result.passed, _FAILING.get(result.outcome, 1))


_LOST = 10  # questions that are printed; JSON has all
_ENDINGS = {
    "passed": "passed",
    "failed": "not passed",
    "undecided": "not passed: these questions are too few to tell",
    "unjudged": "not passed, not failed: judge the open hits first",
    "incomparable": "not passed: there is nothing to compare",
}
_FAILING = {"failed": 1, "undecided": 3, "incomparable": 4, "unjudged": 5}


def _paired(paired_gate: PairedGate) -> dict[str, Any]:
    figures = paired_gate.comparison
    return {
        "outcome": paired_gate.outcome,
        "difference": figures.difference,
        "interval": list(paired_gate.interval),
        "confidence": paired_gate.confidence,
        "p": figures.p,
        "questions": len(figures.differences),
        "left_out": figures.left_out,
        "tolerance": paired_gate.tolerance,
        "unjudged": list(figures.open_hits.shares) if figures.open_hits else None,
    }


def _regression(row: QuestionDifference) -> dict[str, Any]:
    return {
        "id": row.question_id,
        "question": row.text,
        "before": row.before,
        "after": row.after,
        "first_before": row.first_before,
        "first_after": row.first_after,
    }


def evaluated(base: KnowledgeBase, evaluation: Evaluation, cutoffs: Sequence[int]) -> Output:
    """A run with its uncertainty."""
    run, leading = evaluation.run, f"ndcg@{10 if 10 in cutoffs else cutoffs[-1]}"
    return printing.evaluation(
        evaluation,
        base.run_figures.intervals(run.id),
        base.run_figures.unjudged(run.id),
        base.run_figures.by_tag(run.id, [leading, "correct_refusal"]),
        base.questions.lost_labels(run.question_set),
        base.run_figures.plan(run.question_set, leading),
    )


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
    of_set = [run.id for run in base.runs.list_all(args.set_name)]
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
