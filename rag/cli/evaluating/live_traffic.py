"""The verb for the traffic that other systems send as traces."""

from __future__ import annotations

import argparse

from rag import (
    InvalidInput,
    TrafficQuestion,
    TrafficQuestionData,
    TrafficSystem,
    TrafficSystemData,
    VerbData,
    counted,
)
from rag.cli import inputs
from rag.cli.printing import Output

_NONE = "No system has sent traces yet. docs/systems.md says how to send them."


class TrafficData(VerbData):
    """The systems that sent traces."""

    systems: list[TrafficSystemData]


class RemovedSpansData(VerbData):
    """The number of deleted spans."""

    removed: int


class CollectedQuestionsData(VerbData):
    """The number of questions of a system that were added to a question set."""

    set: str
    added: int


class TrafficQuestionsData(VerbData):
    """The questions that a system was asked."""

    questions: list[TrafficQuestionData]


def traffic(args: argparse.Namespace) -> Output:
    """List, collect or remove what other systems were asked, as their traces say."""
    received = inputs.workspace(args).base(args.kb).traffic
    if args.action == "list":
        systems = received.list_all()
        data = TrafficData(systems=[TrafficSystemData.of(item) for item in systems])
        return Output(data, "\n".join(map(_line, systems)) or _NONE)
    if not args.name:
        raise InvalidInput("Specify the system.", f"Give a name: traffic KB {args.action} NAME.")
    if args.action == "remove":
        spans = received.remove(args.name)
        text = f"deleted {counted(spans, 'span')} of {args.name}; its runs stay"
        return Output(RemovedSpansData(removed=spans), text)
    if args.action == "collect":
        if not args.set_name:
            raise InvalidInput("Specify the question set.", "Give --set SET.")
        added = received.collect(args.name, args.set_name)
        text = f"added {counted(added, 'question')} to {args.set_name}"
        return Output(CollectedQuestionsData(set=args.set_name, added=added), text)
    questions = received.questions(args.name)
    rows = [TrafficQuestionData.of(item) for item in questions]
    return Output(TrafficQuestionsData(questions=rows), "\n".join(map(_question, questions)))


def _line(system: TrafficSystem) -> str:
    hops = (
        f", {system.multi_hop:,} with {system.mean_hops:.1f} retrievals on average, "
        f"{system.redundant_calls:,} of these without anything new"
        if system.multi_hop
        else ""
    )
    return (
        f"{system.name:20} {counted(system.requests, 'request')}, "
        f"{counted(system.questions, 'question')}, last {system.last:%Y-%m-%d %H:%M}{hops}"
    )


def _question(question: TrafficQuestion) -> str:
    return f"{question.requests:5}  {question.text or '(text not stored)'}"
