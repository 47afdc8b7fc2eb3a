"""The part of an answer that is nearest to the expected one, for people who compare both."""

from __future__ import annotations

import re

from rag.lexical import analyzer

_WORD = re.compile(r"\S+")


def nearest_part(text: str, expected: str, length: int) -> str:
    """Return whole words of a text, up to ``length`` characters, with most words of ``expected``.

    They stand in the middle where they can. An ellipsis marks an end that is left out.
    """
    words = list(_WORD.finditer(text))
    if len(text) <= length:
        return text
    cut = analyzer("auto").of(f"{expected} {text}")
    wanted = set(cut.query_tokens(expected))
    held = [wanted.intersection(cut.tokens(word.group())) for word in words]
    ends, end = list[int](), 0
    for start, word in enumerate(words):
        end = max(end, start + 1)
        while end < len(words) and words[end].end() - word.start() <= length:
            end += 1
        ends.append(end)
    counts = [len(set[str]().union(*held[start:end])) for start, end in enumerate(ends)]
    first = counts.index(max(counts))
    last = next((at for at in range(first, len(words)) if counts[at] < counts[first]), first + 1)
    start = (first + last - 1) // 2 if counts[first] else 0
    end = ends[start]
    part = text[words[start].start() : words[end - 1].end()]
    return f"{'… ' if start else ''}{part}{' …' if end < len(words) else ''}"
