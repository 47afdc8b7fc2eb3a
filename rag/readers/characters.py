"""Bytes to text, its normalisation that all offsets refer to, and raised and lowered signs."""

from __future__ import annotations

import codecs
import io
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress

from rag.errors import InvalidInput, UnreadableDocument
from rag.languages import likeliest

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


def decode(
    data: bytes, declared: str | None = None, chosen: str | None = None
) -> tuple[str, dict[str, str]]:
    """Text, and its encoding as metadata, which says if that was ``chosen`` or is a guess.

    It is no guess where there is a byte order mark, UTF-8, or what is ``declared``.

    Raises UnreadableDocument (``wrong_extension``) for bytes that are not text.
    """
    if chosen:
        return data.decode(chosen, "replace"), {"encoding": chosen, "encoding_chosen": "1"}
    evident = evident_encoding(data[:SAMPLE])
    if evident:
        return data.decode(evident, errors="replace").lstrip("\ufeff"), {"encoding": evident}
    if is_binary(data[:SAMPLE]):
        raise UnreadableDocument(
            "The file contains binary data, not text.",
            "Check that the file has the right extension, or export it as text.",
            reason="wrong_extension",
        )
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8"), {"encoding": "utf-8"}
    with suppress(LookupError):
        stated = codecs.lookup(declared or "").name
        return data.decode(stated, errors="replace"), {"encoding": stated}
    encoding = guess(data)
    return data.decode(encoding, errors="replace"), {"encoding": encoding, "encoding_guessed": "1"}


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


_WESTERN = "ca da de en es et eu fi fr ga id it nl no pt sv"
_CENTRAL = "cs en hu pl ro sr"
_CYRILLIC = "bg ru sr uk"
_PAGES: dict[str, str] = {
    "cp1252": _WESTERN,
    "cp1250": _CENTRAL,
    "cp1254": "tr",
    "cp1257": "et lt",
    "cp1255": "he",
    "cp1251": _CYRILLIC,
    "cp1253": "el",
    "cp1256": "ar fa ur",
    "iso8859_2": _CENTRAL,
    "koi8_r": "bg ru",
    "koi8_u": "uk",
    "mac_roman": _WESTERN,
    "mac_cyrillic": _CYRILLIC,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
    "cp866": _CYRILLIC,
    "cp874": "th",
    "cp932": "ja zh",
    "euc_jp": "ja",
    "cp949": "ko",
    "gb2312": "zh",
    "big5": "zh",
    "gb18030": "zh",
}
"""Languages by page; where several fit alike, the first one is taken."""
ENCODINGS: tuple[str, ...] = ("utf-8", "utf-16", *_PAGES)
"""Encodings that text files usually have."""
_ARABIC = "،؛؟ء-غف-يپچژگکیٹڈڑںھہے"
_HAN = "\u2e80-\u30ff\u3400-\u9fff\uff00-\uff60"
_RUSSIAN = "а-яё№"
_LETTERS: dict[str, str] = {
    "ar": _ARABIC,
    "bg": _RUSSIAN,
    "ca": "àçèéíïòóúü",
    "cs": "áäčďéěíľňóôřšťúůýž",
    "da": "äåæéøö",
    "de": "äéöüß",
    "el": "\u0370-\u03ff",
    "en": "àáâäåæçèéêëíïñóôöøùûüœ",
    "es": "áéíñóúü",
    "et": "äõöüšž",
    "eu": "çñ",
    "fa": _ARABIC,
    "fi": "äåéöšž",
    "fr": "àâæçèéêëîïôùûüÿœ",
    "ga": "áéíóú",
    "he": "א-ת",
    "hu": "áéíóöúüőű",
    "id": "é",
    "it": "àèéìíîòóùú",
    "ja": _HAN,
    "ko": "\uac00-\ud7af" + _HAN,
    "lt": "ąčėęįšūųž",
    "nl": "áäèéëíïóöúü",
    "no": "äåæéòóôøö",
    "pl": "ąćęłńóśźż",
    "pt": "àáâãçéêíóôõúü",
    "ro": "âîăşţșț",
    "ru": _RUSSIAN,
    "sr": "а-шђјљњћџćčđšž",
    "sv": "äåéöü",
    "th": "กขคงจ-ญฐฑณ-ย-รล-วศ-สหอ\u0e30-\u0e39เ-ๆ\u0e47-\u0e4c",
    "tr": "âçîöûüğışİ",
    "uk": "а-яґєії",
    "ur": _ARABIC,
    "zh": _HAN,
}
"""Letters beyond ASCII by language (Unicode CLDR, main exemplar characters)."""
_USUAL: dict[str, tuple[range, ...]] = {
    "cp932": (range(0x81, 0x84), range(0x88, 0x98)),
    "euc_jp": (range(0xA1, 0xA6), range(0xB0, 0xD0)),
    "cp949": (range(0xA1, 0xA4), range(0xB0, 0xC9)),
    "gb2312": (range(0xA1, 0xA4), range(0xB0, 0xD8)),
    "gb18030": (range(0xA1, 0xA4), range(0xB0, 0xD8)),
    "big5": (range(0xA1, 0xC7),),
}
"""First bytes of the signs that texts mostly have: each of these standards sets them apart."""
_SIGNS = "\u00a0¡£§©ª«®°±²³´µ·¹º»¼½¾¿×–—‘’‚“”„†•…‰‹›€™"
_OTHER = "[\u0370-\u06ff\u0e00-\u0e7f]"
_ASTRAY = re.compile(
    rf"[A-Za-z]{_OTHER}|{_OTHER}[A-Za-z]|(?<=[A-Za-z])[£¹³¼¾¿](?=[a-z])|(?<![^\W\d])£(?=[a-z])"
    r"|(?<![ก-ฮ\u0e31-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]|[เ-ไ](?![ก-ฮ])"
)
"""Letters of two scripts in one word, figures and currencies within one, and Thai vowels and tones
without their consonant."""
_BEYOND = re.compile(r"[^\x00-\x7f]")
_ENOUGH = 4000


def checked_encoding(name: str) -> str:
    """The usual name of an encoding of text. Raises InvalidInput."""
    try:
        if isinstance("a".encode(name), bytes):  # LookupError for what encodes no text
            return codecs.lookup(name).name
    except (LookupError, UnicodeError, ValueError):
        pass
    raise InvalidInput(
        f"{name!r} is no encoding of text.", f"Use one such as {', '.join(ENCODINGS)}."
    )


def guess(data: bytes) -> str:
    """Return the encoding in which most signs beyond ASCII are letters of the text's language.

    ``data`` has such bytes. Lines without one say nothing about the encoding.
    """
    broken = data.decode("utf-8", errors="replace").count("\ufffd")
    continuing = len(data) - len(data.decode("utf-8", errors="ignore"))
    if broken * 20 < continuing:  # UTF-8 with a few spoilt bytes
        return "utf-8"
    sample = b""
    for line in io.BytesIO(data):
        sample += b"" if line.isascii() else line[: _ENOUGH - len(sample)]
        if len(sample) == _ENOUGH:
            break
    return max(_PAGES, key=lambda page: _fitness(sample, page))


def _fitness(sample: bytes, page: str) -> tuple[float, bool]:
    """Return the share of the signs beyond ASCII that fit, and whether few are capitals.

    A capital behind a small letter does not fit, nor do the signs that ``_ASTRAY`` finds.
    """
    text = sample.decode(page, errors="replace")
    language, _ = likeliest(text)
    letters = _LETTERS[language] if language in _PAGES[page].split() else ""
    own = re.compile(f"[{_SIGNS}{letters}]", re.IGNORECASE)
    usual = _USUAL.get(page, ())
    beyond = _BEYOND.findall(text)
    fitting = sum(
        1
        for sign in beyond
        if own.match(sign)
        if not usual or any(sign.encode(page, "replace")[0] in rows for rows in usual)
    )
    turned = sum(
        1
        for before, sign in itertools.pairwise(text)
        if not sign.isascii() and sign.isupper() and before.islower()
    ) + len(_ASTRAY.findall(text))
    capitals = sum(map(str.isupper, beyond))
    is_shouted = capitals > len(beyond) / 2
    return (fitting - turned) / max(len(beyond), 1), not is_shouted


_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_SCRIPTS = {*_RAISED.values(), *_LOWERED.values()}
_NOTE_LETTERS = dict(zip("abcdfgh", "ᵃᵇᶜᵈᶠᵍʰ", strict=True))  # "e" and "o" are raised in ordinals


def raised(text: str) -> str:
    """Return a raised run: an exponent, a note mark, or as it is the ending of an ordinal."""
    if any(map(str.isdigit, text)):
        return text.translate(_RAISED)
    return _NOTE_LETTERS.get(text, text)


def lowered(text: str) -> str:
    """Return a lowered run, such as the figure of a chemical formula."""
    return text.translate(_LOWERED) if any(map(str.isdigit, text)) else text


def is_script(sign: str) -> bool:
    """Whether a sign is a raised or lowered one."""
    return ord(sign) in _SCRIPTS
