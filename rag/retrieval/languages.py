"""Questions in a language that the embedder does not know: for them words decide, not cosines."""

from __future__ import annotations

from dataclasses import dataclass

from rag.languages import ANALYZERS, NO_STEMMER, language, language_name, likeliest
from rag.lexical import LexicalIndex
from rag.recipe import SearchRecipe
from rag.retrieval.timeline import Timeline

SHARE = 1 / 3
"""What is left of the weight of the vectors. A cosine of a model that does not know a language
still knows names and words that look alike: on German (XQuAD, MiniLM) 0.2 gains a little over words
alone, and 0.6 loses."""

LEAST_PROBABILITY = 0.3
"""Least probability of a guess: a word or two are of any language."""


@dataclass(frozen=True, slots=True)
class KnownLanguages:
    """The languages of an embedder, by ISO 639-1 code; none where it is not known to lack any.

    ``instead`` names an embedder that knows more, "" for none.
    """

    codes: frozenset[str] = frozenset()
    instead: str = ""

    def lacks(self, question: str, lexical: LexicalIndex) -> str:
        """The language of a question, where documents have it and the embedder does not know it.

        "" elsewhere: also where the language of a short question is guessed to be one that no
        passage is in, unless no passage is in a language that the embedder knows.
        """
        if not self.codes:
            return ""
        own_analyzers = {ANALYZERS.get(code, NO_STEMMER) for code in self.codes}
        index_analyzers = lexical.analyzers
        if index_analyzers <= own_analyzers:
            return ""
        code, probability = likeliest(question)
        if probability < LEAST_PROBABILITY:
            return ""
        fits = ANALYZERS.get(code, NO_STEMMER) in index_analyzers or index_analyzers.isdisjoint(
            own_analyzers
        )
        return code if fits and code not in self.codes else ""

    def lacks_with_documents(self, question: str) -> str:
        """The language of a question for which ``lacks`` is "", if neither embedder nor documents
        know it; "" where that is not sure, as in short questions.
        """
        code = language(question) if self.codes else ""
        return "" if code in self.codes else code


def may_lean(recipe: SearchRecipe) -> bool:
    """Whether a recipe ranks questions by words whose language the embedder does not know."""
    return recipe.mode == "hybrid" and recipe.other_languages == "words"


def leans_on_words(lacking: str, recipe: SearchRecipe) -> bool:
    """Whether a recipe ranks a question by words; ``lacking`` is what ``lacks`` says of it."""
    return bool(lacking) and may_lean(recipe)


ANY_LANGUAGE = KnownLanguages()


def full_share(lacking: str, recipe: SearchRecipe) -> float:
    """The share of the vectors in the ranking of one question at a ``dense_weight`` of 1."""
    return SHARE if leans_on_words(lacking, recipe) else 1.0


def dense_weight(lacking: str, recipe: SearchRecipe) -> float:
    """The same at the weight of the recipe."""
    return recipe.dense_weight * full_share(lacking, recipe)


def note_language(
    question: str,
    recipe: SearchRecipe,
    languages: KnownLanguages,
    lexical: LexicalIndex,
    timeline: Timeline,
) -> str:
    """Note a question in a language that the embedder does not know.

    Returns what ``KnownLanguages.lacks`` says of it.
    """
    lacking = languages.lacks(question, lexical)
    if not may_lean(recipe):
        return lacking
    foreign = "" if lacking else languages.lacks_with_documents(question)
    if lacking:
        name = language_name(lacking)
        note = f"the search compares mainly words, because its model does not support {name}"
    elif foreign:
        name = language_name(foreign)
        note = f"no document is in {name}, which the model of the search does not support"
    else:
        return lacking
    instead = languages.instead
    hint = f"For semantic search in this language, choose the embedder {instead}."
    figures = {"dense_weight": dense_weight(lacking, recipe)}
    timeline.passed("language", 1, 1, note, figures=figures, hint=hint if instead else "")
    return lacking
