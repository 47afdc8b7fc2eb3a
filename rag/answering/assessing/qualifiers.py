"""Qualifiers of a question that quotes contradict or lack: "after probation", "the default"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rag.answering.assessing.key_terms import ARTICLE, REACH, WORD, KeyTerm, words_in
from rag.answering.assessing.question_forms import default_pattern

_BEFORE = "before prior until till advance ahead beforehand vor bis"
_AFTER = "after afterwards then thereafter following once since past nach danach dann seit"
_DURING = "during while within throughout on in während im"
_GROUPS: Sequence[Mapping[str, frozenset[str]]] = tuple(
    {word: frozenset(words.split()) for words in group for word in words.split()}
    for group in (
        (_BEFORE, _AFTER, _DURING),
        ("with including mit", "without excluding except ohne"),
        ("above over beyond exceeding über", "below under beneath unter"),
    )
)
"""Prepositions by what they are the opposite of; those of one kind mean the same."""
_ASKED = re.compile(
    r"\b(before|until|after|during|with|without|above|below|vor|bis|nach|während|mit|ohne)\s"
    rf"{ARTICLE}\Z",
    re.IGNORECASE,
)
_ASKS_ACRONYM = re.compile(
    r"\b(?:[Hh]ow (?:much|many)|[Ww]hich|[Ww]hat|[Ww]ie ?viel|[Ww]elche[rs]?) ([A-ZÄÖÜ]{2,6})\b"
)
_PRONOUNS = frozenset({"vous", "nous", "elle", "elles", "ils", "moi", "toi", "leur"})
"""What is no noun behind the verb of a French question ("avez-vous")."""
_COMPOUND = re.compile(r"(?<![\w-])([^\W\d_]{3,})-([^\W\d_]{3,})(?![\w-])")
NEAR = 3
"""Words from a preposition to its noun."""


def contradicted(question: str, wanted: Sequence[KeyTerm], first: str, shown: str) -> str:
    """The words of a question of which the first quote has only the opposite; "" for none.

    What is shown may have them in another quote, or in other words ("then" for "after").
    """
    spoken = words_in(f"{first} {shown}")
    if sibling := _sibling(question, first):
        return sibling
    words = WORD.findall(first.casefold())
    for term in wanted:
        match = _ASKED.search(question, max(term.start - REACH, 0), term.start)
        if match is None or term.kind in ("code", "figure"):
            continue
        preposition = match.group(1).casefold()
        group = next((group for group in _GROUPS if preposition in group), None)
        if group is None:  # letters without a small form of their own, as in "WİTH"
            continue
        if not group[preposition].isdisjoint(spoken):
            continue
        places = (at for at, word in enumerate(words) if term.is_like(word))
        if any(group.keys() & set(words[max(at - NEAR, 0) : at]) for at in places):
            return f"“{preposition} {term.text}”"
    return ""


def _sibling(question: str, first: str) -> str:
    """A compound of a question of which the first quote has a sibling only; "" for none.

    The maximum of a "pre-capture" is not that of a "post-capture". A quote with both parts apart
    ("at the end of each month" for "month-end") has it in words of its own.
    """
    spoken = WORD.findall(first.casefold())
    compounds = [match.groups() for match in _COMPOUND.finditer(first.casefold())]
    for match in _COMPOUND.finditer(question):
        one, noun = match[1].casefold(), match[2].casefold()
        siblings = {other for other, head in compounds if head == noun}
        said = any(word.startswith(one) for word in spoken)
        if siblings and not said and noun not in _PRONOUNS:
            return f"“{match.group()}”"
    return ""


def unstated(question: str, lost: Sequence[KeyTerm], shown: str) -> str:
    """Return what a question is about and nothing that is shown says; "" for none.

    The acronym of a thing ("how much CPU": memory is no answer) that no cited passage has, or that
    a value is the default: an example is none.
    """
    default = default_pattern(question)
    if default and not default.search(shown):
        return "a default"
    asked = _ASKS_ACRONYM.search(question)
    if asked is None or _is_written_out(asked[1], shown):
        return ""
    return next((term.text for term in lost if term.text == asked[1]), "")


def _is_written_out(acronym: str, text: str) -> bool:
    """Whether words of a text begin with the letters of an acronym: "value added tax"."""
    return acronym.casefold() in "".join(word[0] for word in WORD.findall(text.casefold()))
