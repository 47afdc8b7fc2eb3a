"""Verbs for fusions that are learned from labels."""

from __future__ import annotations

import argparse

from rag import LearnedFusion, LearnedFusionData, LearnedOutcomeData, Passport, VerbData, counted
from rag.cli import inputs, printing, targets
from rag.cli.printing import Output, RemovedData


class LearnedFusionsData(VerbData):
    """The learned fusions of a knowledge base."""

    learned_fusions: list[LearnedFusionData]


def learn_fusion(args: argparse.Namespace) -> Output:
    """Learn a fusion from labels, and store it if it gains on unseen questions or documents."""
    base, recipe = targets.ready(args)
    outcome = base.tuning.learned_fusions.learn(args.set_name, recipe, args.kind, printing.progress)
    lines = [outcome.headline, *map(_passport, outcome.passports)]
    if outcome.hash:
        lines.append(f"Use it with --set search.learned_fusion={outcome.hash}.")
    return Output(LearnedOutcomeData.of(outcome), "\n".join(lines), bool(outcome.hash))


def learned_fusions(args: argparse.Namespace) -> Output:
    """List the learned fusions of a knowledge base, or delete one."""
    store = inputs.workspace(args).base(args.kb).tuning.learned_fusions
    if args.remove:
        store.remove(args.remove)
        return Output(RemovedData(removed=args.remove), f"deleted {args.remove}")
    stored = store.list_all()
    rows = [LearnedFusionData.of(item) for item in stored]
    text = "\n".join(map(_line, stored)) or "There is no learned fusion yet."
    return Output(LearnedFusionsData(learned_fusions=rows), text)


def _passport(passport: Passport) -> str:
    return f"Unseen {passport.unit}: {passport.comparison.sentence}"


def _line(item: LearnedFusion) -> str:
    return (
        f"{item.hash}  version {item.version}  {item.kind}  "
        f"{counted(item.questions, 'question')} of {item.question_set}"
    )
