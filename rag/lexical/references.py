"""References of a question to a part of a document by its number: "What does § 2 say?"."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
