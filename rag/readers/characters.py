"""Bytes to text, and the one normalisation that all offsets refer to."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from rag.errors import UnreadableDocument

# Controls other than tab and newline, lone surrogates (no database stores them), non-characters.
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAKS = ("\r\n", "\r", "\v", "\f", "\x85")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
LINE = re.compile(r"[^\n]*\n|[^\n]+")
SAMPLE = 65_536
_PART = 1 << 20


def normalise(text: str) -> str:
    """Text as it is stored: line ends are ``\\n``, no byte order mark, no controls but tab, NFC.

    NFC makes composed and decomposed accents the same word, without changing what is seen
    (NFKC would rewrite superscripts and full-width forms). Idempotent.
    """
    return "".join(normalised_parts([text]))


def normalised_parts(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the result of ``normalise`` for the joined pieces, part by part.

    Normalising needs four bytes per character. In one step, a large text would take many times its
    size.
    """
    carry, first = "", True
    for piece in pieces:
        for start in range(0, len(piece), _PART):
            carry += piece[start : start + _PART]
            cut = _last_boundary(carry)
            if cut:
                yield _normalised(carry[:cut], first)
                carry, first = carry[cut:], False
    yield _normalised(carry, first)


def _last_boundary(text: str) -> int:
    """The last place to part a text: before a letter that does not join what stands before it."""
    for place in range(len(text) - 1, max(0, len(text) - SAMPLE), -1):
        letter = text[place]
        if letter.isalnum() and (letter.isascii() or "\u4e00" <= letter <= "\u9fff"):
            return place
    return len(text) if len(text) > 4 * _PART else 0


def _normalised(text: str, first: bool) -> str:
    for line_end in _BREAKS:
        text = text.replace(line_end, "\n")  # unlike re.sub, holds no list of the pieces
    if _UNWANTED.search(text):
        text = _UNWANTED.sub("", text)
    return unicodedata.normalize("NFC", text.lstrip("\ufeff") if first else text)


def lines_of(text: str) -> Iterator[str]:
    """Lines with their ``\\n``, one at a time: a large text is not held twice."""
    return (match.group() for match in LINE.finditer(text))


def decoded_pieces(path: Path, encoding: str) -> Iterator[str]:
    """The text of a file, a piece at a time. Raises UnicodeDecodeError."""
    with path.open("r", encoding=encoding, newline="") as file:
        while piece := file.read(_PART):
            yield piece


def decode(data: bytes, declared: str | None = None) -> tuple[str, str, bool]:
    """Text, the name of its encoding, and whether that is a guess.

    It is not where there is a byte order mark, UTF-8, or what is ``declared``.

    Raises UnreadableDocument (``wrong_extension``) for bytes that are not text.
    """
    evident = evident_encoding(data[:SAMPLE])
    if evident:
        return data.decode(evident, errors="replace").lstrip("\ufeff"), evident, False
    if is_binary(data[:SAMPLE]):
        raise _not_text()
    try:
        return data.decode("utf-8"), "utf-8", False
    except UnicodeDecodeError:
        stated = _declared(declared)
    encoding = stated or _guess(data)
    return data.decode(encoding, errors="replace"), encoding, not stated


def encoding_metadata(encoding: str, *, is_guessed: bool) -> dict[str, str]:
    """Metadata of a document whose text came in bytes."""
    return {"encoding": encoding, **({"encoding_guessed": "1"} if is_guessed else {})}


def evident_encoding(sample: bytes) -> str | None:
    """Return the encoding that is evident from the bytes; None if none is.

    The evidence is a byte order mark, or zero bytes in every second position: UTF-16 without a
    mark.
    """
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    pairs = len(sample) // 2
    if pairs < 2:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 0.4 * pairs and even < 0.05 * pairs:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * pairs and odd < 0.05 * pairs else None


def is_binary(sample: bytes) -> bool:
    """Whether more control bytes stand in ``sample`` than in any text of one byte per letter."""
    controls = sum(sample.count(code) for code in (*range(9), *range(14, 27)))
    return controls > 0.05 * len(sample)


def _not_text() -> UnreadableDocument:
    return UnreadableDocument(
        "The file contains binary data, not text.",
        "Check that the file has the right extension, or export it as text.",
        reason="wrong_extension",
    )


def _declared(name: str | None) -> str | None:
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        return None


def _guess(data: bytes) -> str:
    broken = data.decode("utf-8", errors="replace").count("\ufffd")
    continuing = len(data) - len(data.decode("utf-8", errors="ignore"))
    if broken * 20 < continuing:  # UTF-8 with a few spoilt bytes
        return "utf-8"
    from rag.readers.encodings import guess

    return guess(data)
