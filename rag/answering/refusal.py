"""Refusal messages for questions without relevant passages, or with possibly missed passages."""

from __future__ import annotations

from rag.types import Dropped, Stage, Trace, page_name

NEAREST = 3


def refusal(trace: Trace) -> tuple[str, str]:
    """(text, note) for a trace without passages to answer from. No model is asked."""
    if trace.passages == 0:
        return "There is nothing to search yet: no document has been indexed.", "no passages"
    refusal_stage = trace.stage("refuse")
    if refusal_stage is not None and refusal_stage.dropped:
        return _of_another_topic(refusal_stage)
    stage = trace.stage("threshold")
    misses = sorted(
        stage.dropped if stage else (), key=lambda drop: (-drop.hit.relevance, drop.hit.chunk.key)
    )
    if trace.threshold is None or not misses:
        return "No passage was found for this question.", "no passage was found"
    lines = "\n".join(_miss(drop, trace.threshold) for drop in misses[:NEAREST])
    text = (
        "No passage is relevant enough for this question. The nearest ones are below the "
        f"threshold of {trace.threshold:.2f}:\n\n{lines}"
    )
    return text, f"no passage reaches the threshold of {trace.threshold:.2f}"


def of_language(trace: Trace) -> str:
    """Return the message for a question in a language that the embedder does not support."""
    stage = trace.stage("language")
    return f"{stage.note[0].upper()}{stage.note[1:]}." if stage else ""


def _of_another_topic(stage: Stage) -> tuple[str, str]:
    """For an off-topic question."""
    ranked = sorted(stage.dropped, key=lambda drop: drop.hit.rank)
    places = list(dict.fromkeys(map(_where, ranked)))  # two passages of one page are one place
    lines = "\n".join(f"- {place}" for place in places[:NEAREST])
    return (
        f"Nothing in these documents answers this. The nearest passages are in:\n\n{lines}",
        f"the question is off-topic: {stage.note.partition(': ')[2]}",
    )


def _where(drop: Dropped) -> str:
    hit = drop.hit
    return hit.document + page_name(hit.document, hit.chunk.page, hit.chunk.heading, ", ")


def _miss(drop: Dropped, threshold: float) -> str:
    short = threshold - drop.hit.relevance
    return f"- {_where(drop)}: relevance {drop.hit.relevance:.3f}, {short:.3f} below"
