"""Verbs that take one question."""

from __future__ import annotations

import argparse

from rag.cli import inputs, printing, targets
from rag.cli.asking import conversing, explaining
from rag.cli.printing import Output


def search(args: argparse.Namespace) -> Output:
    base, recipe, beside = targets.several(args)
    return printing.trace(base.search(args.question, recipe, beside))


def ask(args: argparse.Namespace) -> Output:
    if args.session is not None:
        return conversing.ask_in_session(args)
    base, recipe, beside = targets.several(args)
    stream = base.ask(args.question, recipe, beside)
    return printing.answer(stream.answer, stream.error)


def explain(args: argparse.Namespace) -> Output:
    base, recipe = targets.ready(args)
    changes = dict(inputs.assignment(text) for text in args.against)
    return explaining.explain(base, recipe, args, changes)
