"""Text of documents and models, made safe for Streamlit's markdown: every character is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rag import visible

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")

# What Streamlit rewrites after markdown is parsed, where a backslash is of no help: shortcodes and
# icons (:smile:, :material/home:), addresses and mail addresses, and signs that stand alone, like
# "->" and "--". The option "--size" stays as it is: who copies it gets nothing else.
_REWRITTEN = re.compile(
    r":(?=[\w+/-]+:)|(?<=http)(?=s?://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@\w)"
    r"|(?<!\S)[<~>-](?=(?:->|-|>|=)(?!\S))"
)
_ITEM = re.compile(r"^\\- ", re.MULTILINE)  # as it is escaped
_INDENTED = re.compile(r"(?<![^\S\n])([^\S\n]+)\Z")
_NUMBER = re.compile(
    r"\s*(?:(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)]|[-*+•◦▪])\s"
)  # of an item of a list
_LEVEL, _TAB, _DEEPEST = 3, 4, 6  # columns of a level and a tab, and levels that are told apart
_JOINER = "\u2060"  # invisible, without width, and keeps the neighbours on one line

CELL = "\u2002\u2502\u2002"  # shown between two cells of a table's row, which a tab parts

# Dotted leaders and rows of hyphens, which lead the eye across a printed page and nowhere here.
_LEADER = re.compile(r"(?:[.…·](?: ?[.…·]){5,}|[-–—](?: ?[-–—]){5,}) ?(\s)?")

Span = tuple[int, int]


def plain(text: str) -> str:
    """``text`` on one line, as markdown that shows exactly its words."""
    return _escape(" ".join(text.split()))


def short_page(page: str) -> str:
    """Return "p. 5" for "page 5"; the name of a sheet stays."""
    return f"p. {page.removeprefix('page ')}" if page.startswith("page ") else page


def lines(text: str) -> str:
    """``text`` with its line breaks and paragraphs, as markdown that shows exactly its words."""
    return marked(text, ())


def listed(text: str) -> str:
    """``lines(text)``, but with lines that begin with a hyphen as items of a list."""
    return _ITEM.sub("- ", lines(text))


def marked(text: str, spans: Iterable[Span], directive: str = "orange-background") -> str:
    """``lines(text)`` with the characters of ``spans`` inside a directive, or bold for "bold"."""
    pieces, last = list[tuple[str, str]](), 0
    for start, end in sorted(spans):
        start = max(start, last)
        if end > start:
            pieces += [(text[last:start], ""), (text[start:end], directive)]
            last = end
    return tinted([*pieces, (text[last:], "")])


def tinted(pieces: Sequence[tuple[str, str]]) -> str:
    """Texts one after the other, each inside its directive ("" for none), as one markdown text.

    Dotted leaders are shortened. Items of a list stay as far in as they are.
    """
    texts = [shorten_leaders(text) for text, _ in pieces]
    return "".join(
        _drawn(text, directive, behind)
        for text, (_, directive), behind in zip(texts, pieces, [*texts[1:], ""], strict=True)
    )


def shorten_leaders(text: str) -> str:
    """``text`` with an ellipsis in place of each dotted leader or row of hyphens.

    Spans of the text are lost, so mark them before.
    """
    return _LEADER.sub(lambda leader: f"…{' ' if leader[1] is None else leader[1]}", text)


def _drawn(text: str, directive: str, behind: str) -> str:
    """A directive may not span paragraphs, and blanks at its edge stay outside of it."""
    parts = re.split(r"((?<!\s)(?=[^\S\n]*\n)\s+)", text)
    nexts = [*parts[1:], ""]
    return "".join(
        _break(part, after or behind) if "\n" in part else _styled(part, directive)
        for part, after in zip(parts, nexts, strict=True)
    )


def _break(blank: str, after: str) -> str:
    """A line break or the end of a paragraph, with the indentation of an item that comes next."""
    indent = _INDENTED.search(blank)
    if indent is None or not _NUMBER.match(after):
        return "\n\n" if blank.count("\n") > 1 else "  \n"
    columns = len(indent[1].expandtabs(_TAB))
    levels = min(-(-columns // _LEVEL), _DEEPEST)
    return ("\n\n" if blank.count("\n") > 1 else "  \n") + "\u2003" * levels


def _styled(line: str, directive: str) -> str:
    words = line.strip()
    if not words or not directive:
        return _escape(line)
    before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    inner = _escape(words)
    styled = f"**{inner}**" if directive == "bold" else f":{directive}[{inner}]"
    return f"{before}{styled}{after}"


def _escape(text: str) -> str:
    joined = _REWRITTEN.sub(lambda match: match.group() + _JOINER, visible(text))
    return _PUNCTUATION.sub(r"\\\1", joined).replace("\t", CELL)
