"""The words that answers without a model go by: one table per language, none of them in code.

A table is a TOML file of this folder. A value is a list of words and phrases, parted by commas; in
a list that is counted, such as months, strokes part the spellings of one place. A word that ends
with a hyphen stands for all that begin like it ("chang-"), and … for some words in between. What a
language has no words for, its table leaves out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).parent
BETWEEN = r"[^?!.;\n]{0,80}?"
"""What … stands for in an expression."""
_UNSPACED = "\u0e00"
"""Scripts from here on put no space between words."""
_PREFIX = r"[\w-]{0,30}?"
"""What may stand before the last word of a compound."""


@dataclass(frozen=True, slots=True)
class Language:
    """The table of a language; ``compounds`` says that it writes compounds as one word."""

    code: str
    compounds: bool
    sections: Mapping[str, Mapping[str, str]]
    """Lists by section and name; a list by itself has the name ""."""

    def lists(self, key: str) -> Mapping[str, str]:
        """Return the lists of a section, or that of ``section.name`` alone."""
        section, _, name = key.partition(".")
        rows = self.sections.get(section, {})
        return {name: rows.get(name, "")} if name else rows


@cache
def languages() -> tuple[Language, ...]:
    """Return all languages, English first: its words count where two languages share a spelling."""
    tables = [tomllib.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.toml"))]
    known = (
        Language(
            table.pop("code"),
            table.pop("compounds", False),
            {key: {"": rows} if isinstance(rows, str) else rows for key, rows in table.items()},
        )
        for table in tables
    )
    return tuple(sorted(known, key=lambda language: language.code != "en"))


def listed(*keys: str) -> tuple[str, ...]:
    """Return the words and phrases of some keys in all languages, each once."""
    return tuple(dict.fromkeys(word for one in languages() for word in _words(one, keys)))


def numbered(key: str, code: str = "") -> dict[str, int]:
    """Return the places of words in a list that is counted, from 1, in one or all languages."""
    places = dict[str, int]()
    for one in _languages(code):
        for number, text in enumerate(one.lists(key).get("", "").split(","), start=1):
            for word in _split(text):
                places.setdefault(word, number)
    return places


def named(section: str) -> dict[str, str]:
    """Return the keys of a section by the words that they have in all languages."""
    names = dict[str, str]()
    for one in languages():
        for name, text in one.lists(section).items():
            for word in _split(text):
                names.setdefault(word, name)
    return names


def alternatives(*keys: str) -> str:
    """Return the words of some keys as alternatives of an expression, the longest first."""
    return _joined(listed(*keys))


@cache
def any_of(*keys: str, ends: bool = False) -> str:
    """Return an expression for any whole word or phrase of some keys.

    ``ends`` allows words that end with one, in languages that write compounds.
    """
    edges = {
        (_edge(word, ends and one.compounds), word)
        for one in languages()
        for word in _words(one, keys)
    }
    groups = groupby(sorted(edges), key=lambda pair: pair[0])
    parts = (
        f"{before}(?:{_joined(word for _, word in group)}){after}"
        for (before, after), group in groups
    )
    return f"(?:{'|'.join(parts)})"


def pattern(*keys: str, ends: bool = False) -> re.Pattern[str]:
    """Return ``any_of`` compiled, for texts in capitals, too."""
    return re.compile(any_of(*keys, ends=ends), re.IGNORECASE)


def _edge(word: str, ends: bool) -> tuple[str, str]:
    """Return the expressions for the edges before and behind a word."""
    if min(word) >= _UNSPACED:
        return "", ""
    before = r"\b" if word[0].isalnum() else ""
    after = r"\b" if word[-1].isalnum() else ""
    return before + (_PREFIX if ends else ""), r"\w*+" if word.endswith("-") else after


def _joined(several: Iterable[str]) -> str:
    return "|".join(map(_escaped, sorted(set(several), key=lambda word: (-len(word), word))))


def _escaped(word: str) -> str:
    escaped = re.escape(word.removesuffix("-")).replace(r"\ ", " ").replace("'", "['’]")
    return escaped.replace(" … ", rf"\b{BETWEEN}\b").replace("…", BETWEEN)


def _words(language: Language, keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        for text in language.lists(key).values():
            yield from _split(text)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.replace("/", ",").split(",") if word.strip()]


def _languages(code: str) -> tuple[Language, ...]:
    return tuple(one for one in languages() if code in ("", one.code))
