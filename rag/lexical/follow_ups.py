"""Follow-ups without a language model: a question that leans on the one before takes its terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.lexical.analyzers import continuing_words, function_words, referring_words
from rag.types import Message, Span

MOST_TERMS = 2
"""Terms of its own that a question may have and yet lean on the one before."""
MOST_WORDS = 2
"""Words of a question that names nothing: "How long?"."""
MOST_ADDED = 8
_WORD = re.compile(r"\w+(?:[-./]\w+)*")
_DIGIT = re.compile(r"\d")


def complete_follow_up(question: str, history: Sequence[Message]) -> str:
    """Return a question as it stands by itself where it leans on the last one of a conversation.

    A question leans on another if it has at most two terms, and begins as something that goes on
    ("and for", "what about"), has a word that stands for something ("it"), or is of two words.
    Function words are no terms. What goes on takes the place of its counterpart in the question
    before ("And to Selsk?", "How long is the trip to Orrin?"); behind other questions stand the
    names of the one before, or its terms where it has none. All else is returned as it is.
    """
    before = next((one.content for one in reversed(history) if one.role == "user"), "")
    if not before or not leans_on_another(question):
        return question
    own = {term.casefold() for term in terms_of(question)}
    if continues(question):
        counterpart = _counterpart(question, before)
        if counterpart:
            (start, end), term = counterpart
            return before[:start] + term + before[end:]
        added = terms_of(before)
    else:
        names = [before[slice(*span)] for span in _named(before)]
        added = [term for name in names for term in _WORD.findall(name)] or terms_of(before)
    has_code = any(map(_DIGIT.search, own))
    new = [
        term
        for term in dict.fromkeys(added)
        if term.casefold() not in own and not (has_code and _DIGIT.search(term))
    ]
    return f"{question} ({' '.join(new[:MOST_ADDED])})" if new else question


def leans_on_another(question: str) -> bool:
    """Whether a question says too little without the one before."""
    written, terms = _WORD.findall(question), terms_of(question)
    if not written or len(terms) > MOST_TERMS:
        return False
    # A capital within a question is no pronoun, but the German form of address.
    refers = not referring_words().isdisjoint([written[0].casefold(), *written[1:]])
    refers = refers and not any(map(_DIGIT.search, terms))  # "KM-114, what is it for?"
    names_nothing = len(written) <= MOST_WORDS and written[0].casefold() in function_words()
    return continues(question) or refers or not terms or names_nothing


def continues(question: str) -> bool:
    """Whether a question begins as something that goes on."""
    first, _, rest = " ".join(_WORD.findall(question.casefold())).partition(" ")
    return not continuing_words().isdisjoint({first, f"{first} {rest.partition(' ')[0]}"})


def terms_of(question: str) -> list[str]:
    """The words of a question that say what it is about, in order."""
    known = function_words() | referring_words() | continuing_words()
    return [word for word in _WORD.findall(question) if word.casefold() not in known]


def _counterpart(question: str, before: str) -> tuple[Span, str] | None:
    """The span of a question that gives way to the term of what goes on, and that term.

    Both are names, both codes, or neither is. They have the same word before them ("to", "a",
    "los"); of names without, the last one that stands behind a term, or else the last one.
    """
    phrases = list(_phrases(question))
    if len(phrases) != 1:
        return None
    word, (start, end) = phrases[0]
    term = question[start:end]
    alike = [
        (other, span)
        for other, span in _phrases(before)
        if _is_name(before[slice(*span)]) == _is_name(term)
        and bool(_DIGIT.search(before[slice(*span)])) == bool(_DIGIT.search(term))
    ]
    same = [span for other, span in alike if word and other == word]
    if not same and _is_name(term):
        same = [span for other, span in alike if not other] or [span for _, span in alike]
    return (same[-1], term) if same else None


def _phrases(question: str) -> Iterator[tuple[str, Span]]:
    """Runs of terms that are all names, or single ones, each behind its function word or ""."""
    known = function_words() | continuing_words()
    before, run = "", None
    for number, match in enumerate(_WORD.finditer(question)):
        word = match.group()
        if number == 0 or word.casefold() in known:
            if run:
                yield run
            before, run = ("" if number == 0 else word.casefold()), None
        elif run and _is_name(word) and _is_name(question[slice(*run[1])]):
            run = run[0], (run[1][0], match.end())
        else:
            if run:
                yield run
                before = ""
            run = before, match.span()
    if run:
        yield run


def _named(question: str) -> list[Span]:
    return [span for _, span in _phrases(question) if _is_name(question[slice(*span)])]


def _is_name(term: str) -> bool:
    return term[:1].isupper() or _DIGIT.search(term) is not None
