"""Counts and times of a turn, as stored, logged and plotted."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from rag import telemetry
from rag.types import Answer, Trace

log = logging.getLogger("touchstone.turns")

Metrics = Mapping[str, float | str | None]


def turn_metrics(answer: Answer) -> Metrics:
    """Figures of a turn by name; None where there was nothing to measure.

    ``retrieved`` and ``cited`` count passages, ``unsupported`` citations that none has,
    ``unsupported_sentences`` those that no cited passage supports. ``mean_relevance`` and
    ``mean_score`` are means over those retrieved. ``budget_tokens`` may be filled, ``budget_share``
    of them was, by passages.
    ``from_cache`` is 1 where the search was done before: it then took no time. Times are seconds:
    of the retrieval, until the first piece of text after it, and of both together to the end.
    Tokens are those that the provider reports, 0 where it reports none; ``unread_tokens`` of the
    prompt were cut by its server. ``cost`` is what they cost
    by the table of prices at the time, in ``currency``. ``decision`` says how the
    turn ended, ``state`` how far its answer can be relied on.
    """
    trace = answer.trace
    cached = _figure(trace, "question", "from_cache") == 1
    searched = 0.0 if cached else trace.seconds
    spent, budget = (_figure(trace, "context", name) for name in ("tokens", "budget"))
    return {
        "mode": answer.mode,
        "decision": answer.status,
        "state": answer.state,
        "retrieved": len(trace.hits),
        "mean_relevance": _mean([hit.relevance for hit in trace.hits]),
        "mean_score": _mean([hit.score for hit in trace.hits]),
        "budget_tokens": budget,
        "budget_share": spent / budget if spent is not None and budget else None,
        "from_cache": int(cached),
        "retrieval_seconds": searched,
        "first_token_seconds": answer.first_token,
        "total_seconds": searched + answer.seconds,
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "unread_tokens": answer.usage.unread_tokens,
        "cost": answer.cost.amount if answer.cost else None,
        "currency": answer.cost.currency if answer.cost else None,
        "cited": len(answer.citations),
        "unsupported": len(answer.unsupported),
        "unsupported_sentences": sum(not one.borne_out for one in answer.sentences),
        "examples": len(answer.examples),
    }


def log_turn(base_id: int, turn_id: int | None, answer: Answer) -> None:
    """Write the figures of a turn as one line of JSON: no text of anybody, and no key.

    An answer outside a conversation has no ``turn_id``. Where traces are kept, the line names the
    one of the turn; of a request, its id.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    record = {"event": "turn", "knowledge_base": base_id, "turn": turn_id, **turn_metrics(answer)}
    if trace := telemetry.trace_id():
        record["trace_id"] = trace
    if request := telemetry.REQUEST_ID.get():
        record["request_id"] = request
    log.info("%s", json.dumps(record, sort_keys=True))


def write_log() -> None:
    """Let those lines go to standard error, whatever else is logged; once is enough."""
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False


def _figure(trace: Trace, stage: str, name: str) -> float | None:
    return next(
        (candidate.figures.get(name) for candidate in trace.stages if candidate.name == stage), None
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
