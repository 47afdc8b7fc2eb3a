"""Text to index terms: one table of analyzers, by language.

A term is what two words must share to match. Words are normalised (NFKC, case folding), stemmed
by Snowball (Porter 2001, https://snowballstem.org) and then stripped of accents that are not
letters of their own in that language.
"""

from __future__ import annotations

import re
import threading
import tomllib
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from rag.errors import InvalidRecipe
from rag.languages import ANALYZERS, NO_STEMMER, UNSPACED, language, likeliest

Token = tuple[str, int, int]
"""A term and the characters it stands for: ``(term, start, end)``."""

AUTO, DEFAULT = "auto", "english"
CACHED_WORDS = 100_000
LONGEST_TERM = 64

# \w knows letters and digits, not the vowel signs of Indic and Southeast Asian scripts.
_MARKS = "".join(chr(c) for c in range(0x300, 0x3100) if unicodedata.category(chr(c))[0] == "M")
WORD_CHARACTERS = rf"[\w{_MARKS}\u200c\u200d\u00ad]+"
_APOSTROPHES = "'’ʼ"
_HYPHENS = "\\-‐‑"
_JOINERS = f"{_HYPHENS}.{_APOSTROPHES}"
_WORD = re.compile(f"{WORD_CHARACTERS}(?:[{_JOINERS}]{WORD_CHARACTERS})*")
_PART = re.compile(f"(?P<unspaced>[{UNSPACED}]+)|[^{_JOINERS}_{UNSPACED}]+")
_INVISIBLE = re.compile("[\u200c\u200d\u00ad]")
# Exponents of units are part of the unit; other raised signs are marks of notes, or exponents of
# figures, which would make another figure of it.
_RAISED = re.compile(
    r"(?P<unit>(?<![^\W\d_])(?:[cdhkmnµμ]?m|ft|in|mi|yd|s)[²³])|[⁰¹²³⁴-⁹⁺⁻ᵃᵇᶜᵈᶠᵍʰ]+"
)
_CODE = re.compile(r"[\d_]")
_CODE_JOINERS = re.compile(f"[{_HYPHENS}_]+")
_VERSION = re.compile(r"^v(?=\d+\.)")


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


@dataclass(frozen=True, slots=True)
class _Row:
    """The analyzer options of one language.

    ``letters`` are accented characters that the language counts as letters of their own; ``elided``
    are short words that lose a vowel before an apostrophe (French ``l'eau``); ``clitics`` follow an
    apostrophe (English ``dog's``); ``capitals`` are pairs of a capital and its small letter that
    differ from Unicode's; ``function_words`` are the words that structure a question; ``plain``
    words are only case-folded. ``referring`` words stand for something that was named before, and a
    question that goes on begins with one of ``continuing``, whose words are joined by ``_``.
    """

    stemmer: str = ""
    letters: str = ""
    elided: str = ""
    clitics: str = ""
    capitals: str = ""
    function_words: str = ""
    referring: str = ""
    continuing: str = ""
    plain: bool = False


def _rows() -> dict[str, _Row]:
    table = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
    return {
        name: _Row(**{"stemmer": name, **table.get(row.pop("like", ""), {}), **row})
        for name, row in table.items()
    }


_ROWS = _rows()


class Analyzer:
    """Cuts text into terms. Safe to share between threads."""

    def __init__(self, name: str, row: _Row) -> None:
        self.name = name
        self._plain = row.plain
        self._letters = frozenset(row.letters)
        self._elided = frozenset(row.elided.split())
        self._clitics = frozenset(row.clitics.split())
        self._capitals = str.maketrans(row.capitals[::2], row.capitals[1::2])
        self._stopwords = frozenset(row.function_words.split())
        self._stemmer = _stemmer(row.stemmer)
        self._lock = threading.Lock()
        self._cache: dict[str, tuple[Token, ...]] = {}

    def tokens(self, text: str) -> list[str]:
        """Terms of ``text`` in order; a code such as ``TX-4410-B`` gives its parts and itself."""
        return [token[0] for word in self.words(text) for token in self.word_tokens(word)]

    def query_tokens(self, text: str) -> list[str]:
        """Terms of a question, without function words unless it has nothing else.

        Capitals make an acronym of a function word (``IT``, ``WHO``) where not all is capital.
        """
        cut = [(word, token) for word in self.words(text) for token in self.word_tokens(word)]
        shouted = text.isupper()
        telling = [
            token[0]
            for word, token in cut
            if not self._is_function_word(word[token[1] : token[2]], shouted)
        ]
        return telling or [token[0] for _, token in cut]

    def of(self, text: str) -> Analyzer:
        """Return the analyzer for a text.

        The default is the analyzer itself. An analyzer for several languages selects by the
        language of the text.
        """
        return self

    def question_tokens(self, question: str, languages: Collection[str]) -> list[str]:
        """The terms by which passages are found that were cut by analyzers of these names."""
        return self.query_tokens(question)

    def _is_function_word(self, word: str, shouted: bool) -> bool:
        is_acronym = len(word) > 1 and word.isupper() and not shouted
        return not is_acronym and word.casefold() in self._stopwords

    def spans(self, text: str) -> Iterator[Token]:
        """Terms of ``text`` with the characters they stand for. Spans of a code overlap."""
        for match in _WORD.finditer(text):
            for term, start, end in self.word_tokens(match.group()):
                yield term, match.start() + start, match.start() + end

    @staticmethod
    def words(text: str) -> list[str]:
        """``text`` at its joints: words, codes and runs of scripts without spaces, as written."""
        return _WORD.findall(text)

    def word_tokens(self, word: str) -> tuple[Token, ...]:
        """Terms of one of ``words``, with spans inside of it; remembered, as words come again."""
        tokens = self._cache.get(word)
        if tokens is None:
            if len(self._cache) >= CACHED_WORDS:
                self._cache.clear()
            tokens = self._cache[word] = tuple(token for token in self._cut(word) if token[0])
        return tokens

    def _cut(self, word: str) -> Iterator[Token]:
        if self._plain:
            yield self._normal(word)[:LONGEST_TERM], 0, len(word)
            return
        parts = list(_PART.finditer(word))
        for part in parts:
            if part["unspaced"]:
                text, width = part.group(), min(2, len(part.group()))
                for i in range(len(text) - width + 1):
                    term = self._normal(text[i : i + width])
                    yield term, part.start() + i, part.start() + i + width
            elif not self._is_shortened(word, part):
                yield self._term(part.group()), part.start(), part.end()
        if len(parts) > 1 and _CODE.search(word):
            start, end = parts[0].start(), parts[-1].end()
            yield self._code(word[start:end]), start, end

    def _is_shortened(self, word: str, part: re.Match[str]) -> bool:
        """Whether an article or ending that an apostrophe ties to its neighbour."""
        before, after = word[: part.start()][-1:], word[part.end() :][:1]
        text = part.group().lower()
        return (bool(after) and after in _APOSTROPHES and text in self._elided) or (
            bool(before) and before in _APOSTROPHES and text in self._clitics
        )

    def _code(self, text: str) -> str:
        """A code as a whole: ``TX-4410-B`` is ``TX4410B``, ``v2.3.1`` is ``2.3.1``."""
        normal = _VERSION.sub("", self._normal(text))
        if normal.replace(".", "").isdecimal() or not re.search(r"[^\W\d_]", normal):
            return normal[:LONGEST_TERM]
        return _CODE_JOINERS.sub("", normal)[:LONGEST_TERM]

    def _term(self, part: str) -> str:
        return self._folded(self._stemmed(self._normal(part)[:LONGEST_TERM]))

    def _normal(self, text: str) -> str:
        visible = _INVISIBLE.sub("", text).translate(self._capitals)
        if not visible.isascii():
            visible = _RAISED.sub(lambda match: match["unit"] or "", visible)
        return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())

    def _stemmed(self, word: str) -> str:
        if self._stemmer is None:
            return word
        with self._lock:  # PyStemmer objects keep their buffer between calls
            return self._stemmer.stemWord(word)

    def _folded(self, word: str) -> str:
        if word.isascii():
            return word
        return "".join(c if c in self._letters else _without_accent(c) for c in word)


class AutoAnalyzer(Analyzer):
    """Cuts each passage by the analyzer of its language, and a question by those of all.

    A passage whose language is not sure is cut as English. Words and codes alone, without a text
    around them, are cut as English too. Safe to share between threads.
    """

    def __init__(self) -> None:
        super().__init__(AUTO, _ROWS[DEFAULT])
        self._analyzers: dict[str, Analyzer] = {}

    def of(self, text: str) -> Analyzer:
        """The analyzer of a passage's language."""
        return self._named(ANALYZERS.get(language(text), NO_STEMMER))

    def tokens(self, text: str) -> list[str]:
        """Terms of a passage."""
        return self.of(text).tokens(text)

    def query_tokens(self, text: str) -> list[str]:
        """Terms of a question in its own language, without the function words of that."""
        return self.of(text).query_tokens(text)

    def spans(self, text: str) -> Iterator[Token]:
        """Terms of a passage with the characters they stand for."""
        return self.of(text).spans(text)

    def question_tokens(self, question: str, languages: Collection[str]) -> list[str]:
        """Each telling word as every one of these analyzers cuts it.

        What is a function word is decided by the language of the question, if passages have it.
        """
        if len(languages) < 2:
            return self._named(next(iter(languages), DEFAULT)).query_tokens(question)
        own = ANALYZERS.get(likeliest(question)[0], NO_STEMMER)
        own = own if own in languages else min(languages, key=lambda name: (name != DEFAULT, name))
        cuts = [self._named(name) for name in (own, *sorted({*languages} - {own}))]
        shouted, tokens, telling = question.isupper(), list[str](), list[str]()
        for word in self.words(question):
            terms, unique = dict[str, None](), dict[str, None]()
            for cut in cuts:
                for term, start, end in cut.word_tokens(word):
                    terms[term] = None
                    if not cuts[0]._is_function_word(word[start:end], shouted):
                        unique[term] = None
            tokens += terms
            telling += unique
        return telling or tokens

    def _named(self, name: str) -> Analyzer:
        if name not in self._analyzers:
            self._analyzers[name] = analyzer(name)
        return self._analyzers[name]


def _without_accent(character: str) -> str:
    """The letter below an accent, for Latin letters; elsewhere marks are part of the spelling."""
    first = unicodedata.normalize("NFD", character)[0]
    return first if first < "\u0250" else character


def _stemmer(language: str) -> _Stemmer | None:
    if not language:
        return None
    import Stemmer

    stemmer: _Stemmer = Stemmer.Stemmer(language, 0)
    return stemmer


@cache
def function_words(name: str = "") -> frozenset[str]:
    """The words by which a language builds a question; without a name those of every language."""
    rows = _ROWS.values() if not name else filter(None, [_ROWS.get(name)])
    return frozenset(word for row in rows for word in row.function_words.split())


@cache
def referring_words() -> frozenset[str]:
    """The words of all languages that stand for something that was named before: "it", "davon"."""
    return frozenset(word for row in _ROWS.values() for word in row.referring.split())


@cache
def continuing_words() -> frozenset[str]:
    """The beginnings of questions that go on, of one word or two: "and", "what about"."""
    return frozenset(
        words.replace("_", " ") for row in _ROWS.values() for words in row.continuing.split()
    )


def analyzer_names() -> list[str]:
    """Return the names that ``analyzer`` knows, sorted."""
    return sorted([*_ROWS, AUTO])


def analyzer(name: str) -> Analyzer:
    """A new analyzer. Raises InvalidRecipe, naming the choices, for an unknown ``name``."""
    if name == AUTO:
        return AutoAnalyzer()
    if name not in _ROWS:
        raise InvalidRecipe(
            f"No analyzer is called {name!r}.", "Choose one of: " + ", ".join(analyzer_names())
        )
    return Analyzer(name, _ROWS[name])
