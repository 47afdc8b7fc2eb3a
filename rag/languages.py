"""Detection of the language of a text, by its script or by its character sequences.

Character sequences decide if the script does not.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Protocol

ANALYZERS: Mapping[str, str] = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Analyzers by the code of a language (ISO 639-1). The others are cut without a stemmer."""
NO_STEMMER = "multilingual"
_NAMES: Mapping[str, str] = {
    "bg": "Bulgarian",
    "fa": "Persian",
    "he": "Hebrew",
    "ja": "Japanese",
    "km": "Khmer",
    "ko": "Korean",
    "lo": "Lao",
    "my": "Burmese",
    "th": "Thai",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
_BY_SCRIPT: Mapping[str, str] = {
    "ja": "\u3040-\u30ff",  # before Han: Japanese has both
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f",
    "ko": "\u1100-\u11ff\uac00-\ud7af",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "hy": "\u0530-\u058f",
    "ta": "\u0b80-\u0bff",
    "th": "\u0e00-\u0e7f",
    "lo": "\u0e80-\u0eff",
    "my": "\u1000-\u109f",
    "km": "\u1780-\u17ff",
}
_SCRIPTS = {code: re.compile(f"[{signs}]") for code, signs in _BY_SCRIPT.items()}
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
"""Thai, Lao, Myanmar, Khmer, kana, Han with its extensions and compatibility forms: for a class of
characters."""
UNSEGMENTED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Letters and signs of scripts that part neither words nor, mostly, sentences."""
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_OWN_SCRIPT = 0.3
"""Share of the letters that tells a script: Chinese and Japanese say in one what others say in
several letters, and texts of all these scripts have names in Latin letters."""
_FURTHER = ("bg", "fa", "he", "uk", "ur", "vi")
"""Told apart from the languages above, which share their scripts."""
FEWEST_LETTERS = 40
"""With fewer letters a passage may be a table or a list of names, in any language."""
SUREST = 0.95
"""Least probability that a passage is in another language than English."""
_LOOKED_AT = 600  # characters
_LETTERS = re.compile(r"[^\W\d_]+")


_WINDOWS = 3
"""Stretches of a document that are looked at, each a part of it."""


class _Identifier(Protocol):
    def classify(self, text: str) -> tuple[str, float]: ...

    def set_languages(self, langs: list[str]) -> None: ...


def language(text: str) -> str:
    """The ISO 639-1 code of a passage's language; "en" where that is not sure."""
    code, probability = likeliest(text)
    count, start = letters(text), text[:_LOOKED_AT]
    if len(_LATIN.findall(start)) < count / 2 or code in _BY_SCRIPT:
        return code  # whatever it is, it is not English
    return code if probability >= SUREST and count >= FEWEST_LETTERS else "en"


def document_language(text: str) -> str:
    """The language of a whole document: that of most of some stretches of it."""
    step = max(len(text) // _WINDOWS, _LOOKED_AT)
    counts = Counter(language(text[start : start + step]) for start in range(0, len(text), step))
    return counts.most_common(1)[0][0] if counts else "en"


def languages(texts: Sequence[str]) -> list[str]:
    """The language of each of some short texts that belong together, such as questions of a set.

    One that is too short to be sure has its likeliest language if a tenth of all have it, else the
    most frequent one.
    """
    weights = defaultdict[str, float](float)
    for code, probability in map(likeliest, texts):
        weights[code] += probability
    least, first = 0.1 * sum(weights.values()), max(weights, key=weights.__getitem__, default="en")
    guesses = (likeliest(text)[0] for text in texts)
    return [
        code if code != "en" else guess if weights[guess] >= least else first
        for code, guess in zip(map(language, texts), guesses, strict=True)
    ]


def language_name(code: str) -> str:
    """A language as people write it: ``German``."""
    return _NAMES.get(code) or ANALYZERS.get(code, code).capitalize()


def likeliest(text: str) -> tuple[str, float]:
    """The likeliest language of a text, however short, with its probability.

    Without a letter it is ("en", 0).
    """
    return _likeliest(text[:_LOOKED_AT])


@lru_cache(4096)  # the passages that pages show and answers quote come again and again
def _likeliest(start: str) -> tuple[str, float]:
    count = letters(start)
    if not count:
        return "en", 0.0
    if not start.isascii():
        for code, script in _SCRIPTS.items():
            if len(script.findall(start)) >= _OWN_SCRIPT * count:
                return code, 1.0
    with _LOCK:
        return _identifier().classify(start)


def letters(text: str) -> int:
    """Count the letters in the first ``_LOOKED_AT`` characters of a text."""
    return sum(map(len, _LETTERS.findall(text[:_LOOKED_AT])))


_LOCK = threading.Lock()


@cache
def _identifier() -> _Identifier:
    """Lui and Baldwin, "langid.py: An Off-the-shelf Language Identification Tool", ACL 2012."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier: _Identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(sorted({*ANALYZERS, *_FURTHER}))
    return identifier
