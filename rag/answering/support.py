"""Share of a question's words in a statement, with each word weighted by its rarity."""

from __future__ import annotations

from collections.abc import Sequence

from rag.answering.statements.sentences import Statement
from rag.answering.vocabulary import Terms, Vocabulary

CONTEXT_SHARE = 0.75
"""What a word of the question counts that only stands over a statement, in a heading or name."""
CHECKED = 0.3
"""The least share of the question's weighted words that a checked statement holds itself."""


class Support:
    """Holds statements against the terms of one question.

    ``texts`` are the terms of all statements at hand; they tell what is rare where no index does.
    """

    def __init__(self, question_terms: Terms, words: Vocabulary, texts: Sequence[Terms]) -> None:
        self._wanted = question_terms
        self._rarity = words.rarities(question_terms, texts)
        self._rare = words.rare(question_terms, texts)
        self._codes = frozenset(term for term in self._rare if any(map(str.isdecimal, term)))
        self._told = frozenset[str]().union(*texts)
        self._total = sum(self._rarity.values()) or 1.0

    def share(self, terms: Terms, above: Terms) -> float:
        """The weighted share of the question that is held, or stands ``above``; 0 to 1."""
        return self.own_share(terms) + CONTEXT_SHARE * self.own_share(above - terms)

    def is_checked(self, terms: Terms, above: Terms) -> bool:
        """Whether the rare words of the question are there, and enough of all in the statement.

        Where the statement has the very code that is asked for, a word that nothing at hand has
        ("error" of a table of messages) is how the question puts it.
        """
        has_code = self._codes and self._codes <= terms
        rare = self._rare & self._told if has_code else self._rare
        return rare <= terms | above and self.own_share(terms) >= CHECKED

    def own_share(self, terms: Terms) -> float:
        """The weighted share of the question that some terms are; 0 to 1."""
        return sum(self._rarity[term] for term in sorted(self._wanted & terms)) / self._total


def terms_of(statement: Statement, words: Vocabulary) -> Terms:
    """Return the terms of a statement, including the title of a row's table."""
    return words.terms(f"{statement.text} {statement.caption}")
