"""Text of a PDF page without what only its lines needed."""

from __future__ import annotations

import re
import unicodedata

# Ligatures and the positional forms of Hebrew and Arabic: shapes of letters, not letters.
_SHAPES = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]")
_HYPHENATED = re.compile(r"([^\W\d_])[-\u2010\u00ad][ \t]*\r?\n([^\W\d_])")


def clean_page(text: str) -> str:
    """Join words hyphenated at line ends, resolve ligatures, drop spaces at line ends.

    Words otherwise stay as they are on the page, so that passages can be found there again.
    """
    # pdfium marks a hyphen that it took for a soft one with U+FFFE.
    letters = _SHAPES.sub(lambda shape: unicodedata.normalize("NFKC", shape.group()), text)
    joined = re.sub("\ufffe\\s*", "", letters)
    joined = _HYPHENATED.sub(_join_halves, joined).replace("\u00ad", "")
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<![ \t])[ \t]++(?=\r?\n)", "", joined))


def joined_lines(one: str, other: str) -> str:
    """Two lines of a cell as one, a word that was hyphenated between them whole."""
    if not one or not other:
        return one or other
    return _HYPHENATED.sub(_join_halves, f"{one}\n{other}").replace("\n", " ")


def _join_halves(match: re.Match[str]) -> str:
    before, after = match.groups()
    # "Anglo-\nSaxon" and "GPT-\nNeo" keep their hyphen, "infor-\nmation" loses it.
    return f"{before}{after}" if after.islower() else f"{before}-{after}"
