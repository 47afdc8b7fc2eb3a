"""Kept runs with their answers, judgements and gates, as JSON for scripts and text for people."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from rag import (
    EVERYBODY,
    LOCAL,
    Budget,
    DecisionData,
    Evaluation,
    GateResult,
    KnowledgeBase,
    LeaderboardRow,
    MeasuredData,
    NotFound,
    PairedGate,
    Recipe,
    Run,
    Workspace,
    answers_spent_data,
    counted,
)
from rag.cli import printing
from rag.cli.printing import Output


def listed(runs: Sequence[Run], boards: Mapping[str, LeaderboardRow]) -> Output:
    """``boards`` has each run as its question set's leaderboard has it, by id."""
    rows = [_row(boards[run.id]) for run in runs]
    lines = [
        f"{run.id}  {run.created:%Y-%m-%d %H:%M}  {run.question_set:20} {run.source}"
        f"  {_leading(run)}  {boards[run.id].name}"
        + (f"  (other {' and '.join(boards[run.id].differs)})" if boards[run.id].differs else "")
        + (f"  prompts {run.prompts}" if run.prompts else "")
        + (f"  made for {run.purpose}" if run.purpose else "")
        for run in runs
    ]
    return Output({"runs": rows}, "\n".join(lines) or "No run yet: `python -m rag evaluate`.")


def _row(board: LeaderboardRow) -> dict[str, Any]:
    run = board.run
    return {
        "run": run.id,
        "name": board.name,
        "set": run.question_set,
        "recipe": run.recipe_hash,
        "system": run.system.label if run.system else None,
        "place": board.place,
        "differs": board.differs,
        "questions": run.questions,
        "metrics": run.metrics,
        "context_tokens": run.context_tokens,
        "created": run.created,
        "seconds": run.seconds,
        "prompts": run.prompts,
    }


def _leading(run: Run) -> str:
    """The figure that stands for a run in a list; of refusals alone their share."""
    for name, title in (("ndcg@10", "nDCG@10"), ("correct_refusal", "refused")):
        if name in run.metrics:
            return f"{title} {run.metrics[name]:.4f}"
    return "nDCG@10 –"


def gate(result: GateResult) -> Output:
    run = result.evaluation.run
    data = _gate_data(result)
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
    lines += run.cautions
    if result.blind:
        lines.append(f"FAILED {', '.join(result.blind)}: lower k, or allow it by --allow-trivial")
    many = result.too_many_calls
    lines += [f"FAILED {counted(len(many), 'trace')} with too many calls, such as:"] if many else []
    lines += [f"  {trace.calls} calls  {trace.question}" for trace in many[:_LOST]]
    for metric, rows in result.regressions.items():
        lines.append(f"{counted(len(rows), 'question')} with a lower {metric} than the baseline")
        lost_rows = rows[:_LOST]
        lines += [f"  {row.before:.4f} -> {row.after:.4f}  {row.text}" for row in lost_rows]
        lines += [f"  {len(rows) - _LOST:,} more"] if len(rows) > _LOST else []
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
GATE_EXITS = {
    1: "a mean is too low, or the loss against the baseline is beyond the tolerance",
    3: "these questions cannot show that the loss is within the tolerance",
    4: "labels or documents differ from those of the baseline, so the runs are not comparable",
    5: "judging the open hits could turn passed into failed, or failed into passed",
}


def _gate_data(result: GateResult) -> dict[str, Any]:
    return MeasuredData.of(result.evaluation.run).extend(
        passed=result.passed,
        failures=[
            {
                "metric": failure.metric,
                "value": failure.value,
                "required": failure.required,
                "of": "baseline" if failure.baseline else "min",
            }
            for failure in result.failures
        ],
        minimums=[
            {
                "metric": minimum.metric,
                "value": minimum.value,
                "required": minimum.required,
                "passed": minimum.passed,
            }
            for minimum in result.minimums
        ],
        regressions={
            metric: [
                {
                    "id": row.question_id,
                    "question": row.text,
                    "before": row.before,
                    "after": row.after,
                    "first_before": row.first_before,
                    "first_after": row.first_after,
                }
                for row in rows
            ]
            for metric, rows in result.regressions.items()
        },
        comparable=result.differences.comparable if result.differences else None,
        differences=result.differences.phrase if result.differences else None,
        outcome=result.outcome,
        paired={metric: _paired(paired_gate) for metric, paired_gate in result.paired.items()},
        decisions=list(map(DecisionData.of, result.decisions)),
        blind=result.blind,
        too_many_calls=result.too_many_calls,
    )


def _paired(paired_gate: PairedGate) -> dict[str, Any]:
    figures = paired_gate.comparison
    return {
        "outcome": paired_gate.outcome,
        "difference": figures.difference,
        "interval": paired_gate.interval,
        "confidence": paired_gate.confidence,
        "p": figures.p,
        "questions": len(figures.differences),
        "left_out": figures.left_out,
        "tolerance": paired_gate.tolerance,
        "unjudged": figures.open_hits.shares if figures.open_hits else None,
    }


def evaluated(base: KnowledgeBase, evaluation: Evaluation, cutoffs: Sequence[int]) -> Output:
    """A run with its uncertainty."""
    run, leading = evaluation.run, f"ndcg@{10 if 10 in cutoffs else cutoffs[-1]}"
    return printing.evaluation(
        evaluation,
        base.runs.intervals(run.id),
        base.runs.unjudged(run.id),
        base.runs.by_tag(run.id, [leading, "correct_refusal"]),
        base.questions.lost_labels(run.question_set),
        base.runs.plan(run.question_set, leading),
    )


def answered(
    workspace: Workspace, recipe: Recipe, cutoffs: Sequence[int], args: argparse.Namespace
) -> Output:
    """Do an evaluation with answers; one that paused ends with exit code 1."""
    jobs, base = workspace.jobs, workspace.base(args.kb, EVERYBODY if args.everyone else LOCAL)
    job = base.runs.start_answers(
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
    answers_by_id = base.runs.answers(run_id)
    try:
        evaluation = Evaluation(base.runs.get(run_id), tuple(base.runs.results(run_id)))
    except NotFound:
        paused = {"run": None, "answers": len(answers_by_id), "paused": job_state.message}
        return printing.paused(paused, [job_state])
    leading = f"ndcg@{10 if 10 in cutoffs else cutoffs[-1]}"
    output = printing.evaluation(
        evaluation,
        base.runs.intervals(run_id),
        base.runs.unjudged(run_id),
        base.runs.by_tag(run_id, [leading, "groundedness"]),
        base.questions.lost_labels(args.set_name),
        base.runs.plan(args.set_name, leading),
    )
    data = {
        **dict(output.data),
        "answers": answers_by_id,
        "answers_spent": answers_spent_data(answers_by_id.values()),
    }
    return Output(data, f"{output.text}\nanswers: {evaluation.run.environment.get('answers', '')}")


def judged(workspace: Workspace, args: argparse.Namespace) -> Output:
    """Let a model grade the hits of a run, and say what came of it and what people say."""
    base = workspace.base(args.kb)
    if args.trial is not None:
        trial = base.runs.try_judge(args.set_name, args.judge, args.trial)
        lines = [
            trial.sentence,
            *([f"Answered by {', '.join(trial.models)}."] * bool(trial.models)),
        ]
        data = {
            "judge": trial.judge,
            "agreed": trial.agreement.agreed,
            "hits": trial.agreement.hits,
            "kappa": trial.agreement.kappa,
            "relevant": trial.relevant,
            "irrelevant": trial.irrelevant,
            "missed": trial.missed,
            "invented": trial.invented,
            "failed": trial.failed,
            "tokens": trial.tokens,
            "models": trial.models,
            "sentence": trial.sentence,
        }
        return Output(data, "\n".join(lines))
    of_set = [run.id for run in base.runs.list_all(args.set_name)]
    run_id = args.run or next(iter(of_set), None)
    if run_id is None:
        raise NotFound(
            f"{args.set_name!r} has no run.", f"`python -m rag evaluate {args.kb} {args.set_name}`."
        )
    if args.against:
        return _preferred(workspace, base, run_id, args)
    job = base.runs.start_judging(
        run_id, args.judge, repeat=args.repeat, depth=args.depth, budget=_budget(args)
    )
    printing.follow(workspace.jobs, job)
    open_hits = base.runs.open_hits(run_id, judge=args.judge)
    state = workspace.jobs.get(job)
    calibration = base.runs.judge_calibration(run_id, args.judge)
    data = {
        "run": run_id,
        "judged": state.message,
        "open_hits": open_hits,
        "calibration": calibration,
    }
    sentences = [*open_hits.sentences, *([calibration.sentence] if calibration else [])]
    if state.paused:
        return printing.paused(data, [state], sentences)
    return Output(data, "\n".join([state.message, *sentences]))


def _preferred(
    workspace: Workspace, base: KnowledgeBase, run_id: str, args: argparse.Namespace
) -> Output:
    """Let a model compare the answers of two runs."""
    job = base.runs.start_preferences(run_id, args.against, args.judge, budget=_budget(args))
    printing.follow(workspace.jobs, job)
    preference = base.runs.preferences(run_id, args.against, args.judge)
    state = workspace.jobs.get(job)
    data = {"judged": state.message, "preference": preference.public()}
    spent = f"{preference.tokens:,} tokens, {preference.cost}" if preference.tokens else ""
    lines = [*filter(None, [preference.sentence, spent])]
    if state.paused:
        return printing.paused(data, [state], lines)
    return Output(data, "\n".join([state.message, *lines]))


def _budget(args: argparse.Namespace) -> Budget:
    return Budget(args.most, args.most_tokens, args.most_money)
