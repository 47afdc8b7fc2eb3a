"""Retrievals and answers as plain data. The shapes are a contract of CLI and API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rag.types import Answer, Citation, Hit, Trace


def trace_data(found: Trace) -> dict[str, Any]:
    """A search: its hits, and what each stage did."""
    return {
        "question": found.question,
        "reading": found.searched,
        "corrections": [asdict(each) for each in found.corrections],
        "hits": [hit_data(hit) for hit in found.hits],
        "stages": [
            {
                "name": stage.name,
                "taken": stage.taken,
                "given": stage.given,
                "seconds": stage.seconds,
                "note": stage.note,
                "failed": stage.failed,
                "figures": dict(stage.figures),
                "dropped": [
                    {"chunk_id": drop.hit.chunk.id, "reason": drop.reason} for drop in stage.dropped
                ],
            }
            for stage in found.stages
        ],
        "threshold": found.threshold,
        "relevance": found.relevance,
        "passages": found.passages,
        "seconds": found.seconds,
        "recipe": found.recipe,
    }


def hit_data(hit: Hit) -> dict[str, Any]:
    """A passage that was found, with every figure."""
    return {
        "rank": hit.rank,
        "chunk_id": hit.chunk.id,
        "knowledge_base": hit.base,
        "document": hit.document,
        "document_id": hit.chunk.document_id,
        "url": hit.url,
        "page": hit.chunk.page,
        "heading": hit.chunk.heading,
        "start": hit.chunk.start,
        "end": hit.chunk.end,
        "score": hit.score,
        "relevance": hit.relevance,
        "parts": dict(hit.parts),
        "text": hit.chunk.text,
        "context": hit.chunk.context,
    }


def answer_data(given: Answer) -> dict[str, Any]:
    """An answer with its citations, and how it came about."""
    return {
        "answer": given.text,
        "citations": [_citation_data(each) for each in given.citations],
        "mode": given.mode,
        "status": given.status,
        "state": given.state,
        "assessment": asdict(given.assessment) if given.assessment else None,
        "note": given.note,
        "unsupported": list(given.unsupported),
        "sentences": [
            {"text": given.text[check.start : check.end], **asdict(check)}
            for check in given.sentences
        ],
        "decisions": [asdict(each) for each in given.decisions],
        "budget": [asdict(each) for each in given.budget],
        "prompt": given.prompt_version,
        "quotes": [_citation_data(each) for each in given.quotes],
        "reading": given.trace.searched,
        "corrections": [asdict(each) for each in given.trace.corrections],
        "examples": [
            {
                "turn": each.turn,
                "question": each.question,
                "cosine": each.similarity,
                "score": each.score,
                "thumb": each.thumb,
            }
            for each in given.examples
        ],
        "usage": asdict(given.usage),
        "cost": asdict(given.cost) if given.cost else None,
        "recipe": given.trace.recipe,
    }


def _citation_data(citation: Citation) -> dict[str, Any]:
    return {
        "n": citation.n,
        "chunk_id": citation.hit.chunk.id,
        "knowledge_base": citation.hit.base,
        "document": citation.hit.document,
        "page": citation.page or citation.hit.chunk.page,
        "text": citation.hit.chunk.text,
        "quote": citation.quote,
        "checked": citation.checked,
    }
