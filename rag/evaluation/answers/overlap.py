"""Words that an answer shares with the one that is expected: exact match, token F1, ROUGE-L.

Exact match and F1 are those of SQuAD's evaluation script (Rajpurkar et al., EMNLP 2016): lower
case, without punctuation, articles and spare white space. ROUGE-L is Lin's (ACL Workshop 2004): F1
of the longest common subsequence, of words cut as the package ``rouge-score`` does without stems.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_NOT_WORD = re.compile(r"[^a-z0-9]+")


def normalised(text: str) -> str:
    """A text as SQuAD compares it."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, expected: str) -> float:
    """1 where both are the same once normalised, else 0."""
    return float(normalised(answer) == normalised(expected))


def token_f1(answer: str, expected: str) -> float:
    """The harmonic mean of the shares of words that either has of the other; 0 to 1."""
    answer_words, expected_words = normalised(answer).split(), normalised(expected).split()
    if not answer_words or not expected_words:
        return float(answer_words == expected_words)
    shared = sum((Counter(answer_words) & Counter(expected_words)).values())
    return _f1(shared, len(answer_words), len(expected_words))


def rouge_l(answer: str, expected: str) -> float:
    """F1 of the longest sequence of words that stands in both in the same order; 0 to 1."""
    answer_words, expected_words = _words(answer), _words(expected)
    if not answer_words or not expected_words:
        return 0.0
    return _f1(_common(answer_words, expected_words), len(answer_words), len(expected_words))


def _words(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", text.lower()).split()


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    best = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for place, other_word in enumerate(other, start=1):
            previous = best[place]
            best[place] = before + 1 if word == other_word else max(best[place], best[place - 1])
            before = previous
    return best[-1]


def _f1(shared: int, answer_length: int, expected_length: int) -> float:
    return 2 * shared / (answer_length + expected_length) if shared else 0.0
