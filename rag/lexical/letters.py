"""Texts as bare letters, rows of passages, and references to other places."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from rag.types import Integers, Keys, Mask, Span

_Codes = npt.NDArray[np.uint32]
_ASCII = np.arange(128, dtype=np.uint32)
# What renderers of HTML and Markdown remove although it has letters: tags, entities, and the
# targets of links. Lengths are bounded, so that no text takes long.
MARKUP = re.compile(
    r"<(?:!--|[/!?]?[A-Za-z])[^<>]{0,2000}>"
    r"|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});"
    r"|(?<=\])\((?:[^()\s]|\([^()\s]{0,200}\)){1,2000}(?:\s{1,9}\"[^\"\n]{0,500}\")?\)"
)


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters and digits of a text, in lower case and without accents, with their places.

    ``text[i]`` comes from the character ``places[i]`` of the text. Ligatures and other forms of
    compatibility are taken apart (NFKD), so one character may have several letters.
    """

    text: str
    places: npt.NDArray[np.int32]

    def span(self, start: int, end: int) -> Span:
        """The span of the letters from ``start`` to ``end`` in the text that they come from."""
        return int(self.places[start]), int(self.places[end - 1]) + 1


def letters_of(text: str) -> Letters:
    """The letters of a text without its white space, punctuation, hyphens and markup."""
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    distinct, which = _distinct(characters, ascii_only=text.isascii())
    spelt = [_spelt(chr(code)) for code in distinct.tolist()]
    lengths = np.array([len(letters) for letters in spelt], np.int32)
    flat = np.frombuffer("".join(spelt).encode("utf-32-le"), np.uint32)
    counts = lengths[which]
    if "<" in text or "&" in text or "](" in text:
        for match in MARKUP.finditer(text):
            counts[match.start() : match.end()] = 0
    places = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    # Where the letters of a character begin among those of all distinct characters.
    starts = (np.cumsum(lengths) - lengths)[which[places]]
    ordinal = np.arange(len(places)) - (np.cumsum(counts) - counts)[places]
    codes = flat[starts + ordinal] if len(places) else flat[:0]
    return Letters(codes.tobytes().decode("utf-32-le"), places)


def _distinct(characters: _Codes, *, ascii_only: bool) -> tuple[_Codes, npt.NDArray[Any]]:
    if ascii_only:
        return _ASCII, characters
    return np.unique(characters, return_inverse=True)


@lru_cache(1 << 16)
def _spelt(character: str) -> str:
    """The letters of one character; nothing for white space, punctuation and accents."""
    forms = unicodedata.normalize("NFKD", character).casefold()
    return "".join(form for form in forms if form.isalnum())


SMALLEST_SEGMENT = 4096
LARGEST_MERGED = 65_536
MOST_DEAD = 0.25


@dataclass(frozen=True, eq=False)
class PassageRows:
    """Passages as rows: ``keys`` and ``live`` (False: removed) have shape (rows,)."""

    keys: Keys
    live: Mask

    @cached_property
    def size(self) -> int:
        """Number of live passages."""
        return int(np.count_nonzero(self.live))

    @cached_property
    def is_complete(self) -> bool:
        """Whether nothing was removed."""
        return self.size == len(self.keys)

    @cached_property
    def _order(self) -> Integers:
        return np.argsort(self.keys, kind="stable")

    def find(self, keys: Keys) -> Integers:
        """Live rows of ``keys``, in their order; -1 where there is none."""
        if not len(self.keys):
            return np.full(len(keys), -1, dtype=np.int64)
        at = np.searchsorted(self.keys, keys, sorter=self._order)
        rows = self._order[np.minimum(at, len(self.keys) - 1)]
        rows[(self.keys[rows] != keys) | ~self.live[rows]] = -1
        return rows

    def usable(self, allowed: Keys | None) -> Mask:
        """Return a mask of the rows that a search may return, shape (rows,).

        These are the live rows. If ``allowed`` is given, they must also be among those keys.
        """
        if allowed is None:
            return self.live
        rows = self.find(np.asarray(allowed, dtype=np.int64))
        mask = np.zeros(len(self.keys), np.bool_)
        mask[rows[rows >= 0]] = True
        return mask

    def without(self, rows: Integers) -> Self:
        """A segment that shares everything but has ``rows`` marked as removed."""
        live = self.live.copy()
        live[rows] = False
        return replace(self, live=live)


Segment = TypeVar("Segment", bound=PassageRows)


def without(segments: Sequence[Segment], keys: Keys) -> list[Segment]:
    """The segments with ``keys`` marked as removed; what holds none of them is shared."""
    pairs = [(segment, segment.find(keys)) for segment in segments]
    return [
        segment.without(rows[rows >= 0]) if (rows >= 0).any() else segment
        for segment, rows in pairs
    ]


def tidy(
    segments: Sequence[Segment], merged: Callable[[Sequence[Segment]], Segment]
) -> tuple[Segment, ...]:
    """Drop what is dead and merge neighbours, so that sizes fall from first to last."""
    groups: list[list[Segment]] = []
    for segment in segments:
        if not segment.size:
            continue
        group = [segment]
        while groups and _belong_together(total(groups[-1]), total(group)):
            group = groups.pop() + group
        groups.append(group)
    return tuple(
        group[0] if len(group) == 1 and not _is_stale(group[0]) else merged(group)
        for group in groups
    )


def total(segments: Sequence[PassageRows]) -> int:
    """Number of live passages in all of them."""
    return sum(segment.size for segment in segments)


def _belong_together(before: int, new: int) -> bool:
    """Merging copies, so what is large stays as it is: that bounds the memory it takes."""
    return before <= max(new, SMALLEST_SEGMENT) and before + new <= LARGEST_MERGED


def _is_stale(segment: PassageRows) -> bool:
    return segment.size < (1 - MOST_DEAD) * len(segment.keys)


_SIGN = "§"
_KINDS = (
    r"clause|section|article|paragraph|step|item|point|rule|chapter|appendix|annex|version|release"
    r"|artikel|abschnitt|absatz|ziffer|punkt|klausel|schritt|kapitel|anhang|fassung|clause|étape"
    r"|cláusula|artículo|sección|paso|capítulo"
)
_LABEL = r"\d{1,6}(?:\.\d{1,4}){0,5}[a-z]?|[a-z]|[ivx]{2,5}"
_WITHIN = (
    rf"\s?\((?P<within>{_LABEL})\)|,?\s(?:paragraph|para\.?|absatz|abs\.|alinéa|al\.|apartado)\s"
    rf"(?P<of>{_LABEL})"
)
"""A part of the part: "Article 3(2)", "§ 2 Absatz 2"."""
_REFERENCE = re.compile(
    rf"(?:(?P<sign>{_SIGN})\s?|\b(?P<kind>{_KINDS})\s{{1,3}}|\b(?:in|under|unter)\s(?=\d+\.\d))"
    rf"(?P<label>{_LABEL})(?:{_WITHIN})?(?![\w.]{{0,20}}\w)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:(?:what|which|was|does|do|did|is|are|in|of|the|says?|states?|stated|means?|requires?"
    r"|regulates?|covers?|about|new|changed|changes|content|text|under|steht|sagt|regelt|lautet"
    r"|besagt|neu|ist|der|die|das|dem|den|unter|que|qué|quoi|dice|dit|la|le|el|en|est|es|nuevo"
    r"|nouveau)\b|[\W_])*+",
    re.IGNORECASE,
)
"""What a question may have beside the reference that it asks for."""
NUMBERED = re.compile(
    rf"^[#>* \t]{{0,10}}(?:(?P<sign>{_SIGN})\s?|(?P<kind>[^\W\d_]{{2,20}})[ \t]{{1,3}})?\(?"
    rf"(?P<label>{_LABEL})(?P<end>[.):]{{0,2}})(?=\s|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""The beginning of a line that bears a number, such as "§ 2 Rent", "b. Rent" and "Release 7.2"."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A numbered part that a question asks for, such as the clause "b", or a part ``within`` it."""

    sign: str
    kind: str
    label: str
    within: str = ""

    def names(self, line: re.Match[str]) -> bool:
        """Whether a numbered line begins such a part; a bare number does, but not of a paragraph.

        A letter that is bare has a sign behind it: "A fee" is no part "a".
        """
        if self.sign or line["sign"]:
            return self.sign == (line["sign"] or "")
        if line["kind"]:
            return line["kind"].casefold() in (self.kind, "release", "version")
        return bool(line["end"]) or line["label"][0].isdigit()

    def divides(self, line: re.Match[str]) -> bool:
        """Whether a numbered line begins a part of a part, as ``within`` is one: "(2)", "b."."""
        if line["sign"] or line["kind"] or "." in line["label"]:
            return False
        return self.within[0].isdigit() == line["label"][0].isdigit()


def reference_of(question: str) -> Reference | None:
    """Return the part that a question asks for, if it asks for nothing else."""
    match = _REFERENCE.search(question)
    if match is None or not _ASKING.fullmatch(question[: match.start()] + question[match.end() :]):
        return None
    kind, within = match["kind"] or "", match["within"] or match["of"] or ""
    return Reference(
        match["sign"] or "", kind.casefold(), match["label"].casefold(), within.casefold()
    )
