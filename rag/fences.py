"""Marks around quoted text in a prompt, which the text can neither know nor imitate."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata

_KEY = secrets.token_bytes(16)
_FENCE = re.compile(r"<(?=[^\w<]*(?:passage|example|(?:question|turn|result)\b))", re.IGNORECASE)
_GONE = {"Cf", "Mn", "Me"}  # zero-width and direction marks, accents: not seen, or hardly
_TAG_CHARACTERS = range(0xE0020, 0xE007F)  # an invisible ASCII
_OPENING = dict.fromkeys("‹〈⟨❮❰˂ᐸ≺⧼《«", "<")
_LETTERS = {
    **dict.fromkeys("аαɑᴀꓮᎪ", "a"),
    **dict.fromkeys("еεєᴇꓰᎬ", "e"),
    **dict.fromkeys("ɡցɢꓖᏀ", "g"),
    **dict.fromkeys("рρᴘꓑᏢ", "p"),
    **dict.fromkeys("ѕꜱꓢᏚ", "s"),
}
_LOOKALIKES = str.maketrans(_OPENING | _LETTERS)


def mark(*content: str, key: bytes = _KEY) -> str:
    """A word for the fences of the prompt made of ``content``.

    Nobody who writes a document can know it, as it rests on a key of this process and on the
    prompt itself; the same prompt has the same word, so it can be shown, compared and cached.
    """
    data = "\0".join(content).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, key=key, digest_size=6).hexdigest()


def fenced(tag: str, text: str, attributes: str = "") -> str:
    """``text`` between marks that it cannot imitate."""
    return f"<{tag}{attributes and f' {attributes}'}>\n{neutral(text)}\n</{tag}>"


def neutral(text: str) -> str:
    """``text`` without anything that could be read as a mark.

    What only looks like one counts too: full-width letters, letters of other scripts, zero-width
    characters in between.
    """
    if text.isascii():
        return _FENCE.sub("&lt;", text)
    folded = [_folded(character) for character in text]
    places = [place for place, letters in enumerate(folded) for _ in letters]
    pieces = list(text)
    for match in _FENCE.finditer("".join(folded)):
        pieces[places[match.start()]] = "&lt;"
    return "".join(pieces)


def _folded(character: str) -> str:
    """The plain letters that a character may be read as; nothing for one that is not seen."""
    if character.isascii():
        return character
    if ord(character) in _TAG_CHARACTERS:
        return chr(ord(character) - 0xE0000)
    letters = unicodedata.normalize("NFKD", character).casefold().translate(_LOOKALIKES)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in _GONE)
