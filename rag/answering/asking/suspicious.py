"""Text of documents that reads like instructions to a language model. Flagged, never removed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rag.fences import neutral
from rag.types import Hit

_RULES = r"(?:instruction|rule|prompt|message|direction|guideline)s?"
_PATTERNS = {
    "asks to ignore rules": re.compile(
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
        rf"\b(?:previous|above|prior|earlier|all|any|your|the|system)\b.{{0,30}}\b{_RULES}\b"
    ),
    "speaks as the system": re.compile(
        r"(?:^|\n|\. )[^\S\n]*+(?:#+ ?)?(?:system|assistant|new instructions?|instructions?)\s*:"
        r"|<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?inst\]"
        r"|\byou are now (?:a|an|the|in)\b|\byou (?:must )?obey\b"
    ),
    "asks for secrets": re.compile(
        r"\b(?:reveal|print|repeat|show|send|tell)\b.{0,30}"
        r"\b(?:system prompt|api key|everything above|(?:your|the user's) password)"
        r"|\bwith the user's password"
    ),
    "dictates the answer": re.compile(
        r"\b(?:answer|reply|respond) only with\b|\bnever cite\b|\btell the user to\b"
    ),
    "imitates a tool call": re.compile(
        r"[\"']use[\"']\s*:\s*[\"'](?:tool|knowledge)[\"']|\bcall the (?:tool|function)\b"
    ),
}
_HIDDEN = re.compile(r"\w[\u200b-\u200d\u2060\ufeff]\w")
_MOST_HIDDEN = 3  # word joiners that a text may have for its layout


def suspicions(text: str) -> tuple[str, ...]:
    """Return descriptions of the parts of a text that read like instructions; empty for most texts.

    The check looks for English phrases, prompt marks and hidden characters. It does not detect an
    attack in other words: the fences of the prompt do not depend on this check.
    """
    folded = "".join(
        sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf"
    ).casefold()
    names = [name for name, pattern in _PATTERNS.items() if pattern.search(folded)]
    if neutral(text) != text:
        names.append("imitates the marks of a prompt")
    if len(_HIDDEN.findall(text)) > _MOST_HIDDEN:
        names.append("has hidden characters")
    return tuple(names)


def count_suspicious(hits: Sequence[Hit]) -> int:
    """Return the number of hits with text that reads like instructions."""
    return sum(bool(suspicions(hit.chunk.text)) for hit in hits)
