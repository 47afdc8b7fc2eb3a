"""The encoding of text that tells none, by the letters of the language that it would then have."""

from __future__ import annotations

import codecs
import io
import itertools
import re

from rag.errors import InvalidInput
from rag.lexical.languages import likeliest

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
