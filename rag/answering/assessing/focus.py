"""The key term that a question asks about: the cats of "how many cats may be kept"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.answering.assessing.key_terms import KeyTerm

_COUNTED = re.compile(
    r"\b(?:how (?:many|much)|wie ?viele?|cu[aá]nt[ao]s?|combien d[e’'])\s(?:of (?:the|my|our)\s)?",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:(?:what|which)(?:['’]s| is| are| was| were) (?:the|my|our|your|an?)"
    r"|was (?:ist|sind) (?:der|die|das)|wie (?:hoch|lang|groß|schwer) (?:ist|sind) (?:der|die|das)"
    r"|(?P<noun_first>cu[aá]l(?:es)? (?:es|son) (?:el|la|los|las)"
    r"|quel(?:le)?s? (?:est|sont) (?:les?|la|l['’])))\s",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"[?!.,;:]|\s(?:of|for|in|on|at|to|per|from|with|when|if|that|who|between|by|and|or|an?|the|i|you|we|der|des|von|vom"
    r"|für|im|in|bei|zum|zur|mit|de|del|para|por|en|con|du|des|pour|au|aux|dans)\b",
    re.IGNORECASE,
)
"""What ends the words for the thing itself: "the highest fare [of] a taxi"."""
_WIDTH = 60


def focus_of(question: str, wanted: Sequence[KeyTerm]) -> KeyTerm | None:
    """The key term for what a question asks: the last one behind "what is the", before "of".

    In languages whose adjectives follow their noun, and behind "how many", it is the first. None
    where the question has another form.
    """
    if counted := _COUNTED.search(question):
        return next((term for term in wanted if term.start >= counted.end()), None)
    named = _NAMED.search(question)
    if named is None:
        return None
    bound = _BOUND.search(question, named.end(), named.end() + _WIDTH)
    end = bound.start() if bound else named.end() + _WIDTH
    inner = [term for term in wanted if named.end() <= term.start < end]
    if not inner:
        return None
    return inner[0] if named["noun_first"] else inner[-1]
