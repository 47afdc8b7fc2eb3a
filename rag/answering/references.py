"""References of a question to a part of a document by its number: "What does § 2 say?"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.answering.reading import PassageReader
from rag.answering.statements.sentences import Statement
from rag.types import Hit

_SIGN = "§"
_KINDS = (
    r"clause|section|article|paragraph|step|item|point|rule|chapter|appendix|annex|version|release"
    r"|artikel|abschnitt|absatz|ziffer|punkt|klausel|schritt|kapitel|anhang|fassung|clause|étape"
    r"|cláusula|artículo|sección|paso|capítulo"
)
_LABEL = r"\d{1,6}(?:\.\d{1,4}){0,5}[a-z]?|[a-z]|[ivx]{2,5}"
_REFERENCE = re.compile(
    rf"(?:(?P<sign>{_SIGN})\s?|\b(?P<kind>{_KINDS})\s{{1,3}})(?P<label>{_LABEL})(?![\w.]{{0,20}}\w)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:(?:what|which|was|does|do|did|is|are|in|of|the|says?|states?|means?|requires?"
    r"|regulates?|covers?|about|new|changed|changes|content|text|under|steht|sagt|regelt|lautet"
    r"|besagt|neu|ist|der|die|das|dem|den|unter|que|qué|quoi|dice|dit|la|le|el|en|est|es|nuevo"
    r"|nouveau)\b|[\W_])*+",
    re.IGNORECASE,
)
"""What a question may have beside the reference that it asks for."""
_NUMBERED = re.compile(
    rf"^[#>* \t]{{0,10}}(?:(?P<sign>{_SIGN})\s?|(?P<kind>[^\W\d_]{{2,20}})[ \t]{{1,3}})?\(?"
    rf"(?P<label>{_LABEL})(?P<end>[.):]{{0,2}})(?=\s|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""The beginning of a line that bears a number, such as "§ 2 Rent", "b. Rent" and "Release 7.2"."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A numbered part that a question asks for, such as the clause "b"."""

    sign: str
    kind: str
    label: str

    def names(self, line: re.Match[str]) -> bool:
        """Whether a numbered line begins such a part; a bare number does, but not of a paragraph.

        A letter that is bare has a sign behind it: "A fee" is no part "a".
        """
        if self.sign or line["sign"]:
            return self.sign == (line["sign"] or "")
        if line["kind"]:
            return line["kind"].casefold() in (self.kind, "release", "version")
        return bool(line["end"]) or line["label"][0].isdigit()

    def is_of(self, hit: Hit, statement: Statement, reader: PassageReader) -> bool:
        """Whether a statement belongs to the part: by its heading, or the line above it."""
        headings = reader.heading_path(hit, statement).split(" > ")
        lines = [match for heading in headings if (match := _NUMBERED.match(heading))]
        above = hit.chunk.text[: max(statement.start, 0) + len(statement.quote)]
        numbered = [match for match in _NUMBERED.finditer(above) if self.names(match)][-1:]
        own = [match for match in lines if self.names(match)][-1:] or numbered
        return any(match["label"].casefold() == self.label for match in own)


def reference_of(question: str) -> Reference | None:
    """Return the part that a question asks for, if it asks for nothing else."""
    match = _REFERENCE.search(question)
    if match is None or not _ASKING.fullmatch(question[: match.start()] + question[match.end() :]):
        return None
    return Reference(
        match["sign"] or "", (match["kind"] or "").casefold(), match["label"].casefold()
    )
