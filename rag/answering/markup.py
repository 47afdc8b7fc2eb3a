"""Marks and entities of Markdown in a text: where they are, and the text without them.

After CommonMark (https://spec.commonmark.org/0.31.2/), but stricter: what may as well be a formula
or code (``2*3*4``, ``__init__``) is left alone, because any text may be asked for.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.entities import html5
from typing import Literal

from rag.types import Span

Style = Literal["strong", "emphasis", "code", "link"]

_FENCE = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<ticks>`{3,}+)(?P<told>[^`]*)|(?P<tildes>~{3,}+)(?P<said>.*))"
)
_LANGUAGE = re.compile(r"\s*([\w+#.-]*)")

_BLOCK_START = r"[ \t]*+(?:\n|[-*+•‣▪●○◦][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|[|>])"
"""The beginnings of lines that no words of a link have."""
_ADDRESS = r"(?:<[^<>\n]*+>|(?:[^()\s]|\([^()\s]*\))++)"
"""The address of a link: it stands between angle brackets, or its parentheses come in pairs."""
_INLINE = re.compile(
    r"(?<!`)(?P<ticks>`++)(?P<code>(?:(?!\n\s*\n).){1,1000}?)(?<!`)(?P=ticks)(?!`)"
    rf"|(?:!|(?!\[\]))\[(?P<link>[^\[\]\n]*+(?:\n(?!{_BLOCK_START})[^\[\]\n]++)*+)\]"
    rf"\({_ADDRESS}(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\)"
    r"|(?<![\w*\\])(?P<stars>\*{1,3})(?![\s*])(?P<starred>(?:(?!\n\s*\n).){1,1000}?)(?<![\s*])(?P=stars)"
    r"(?![\w*])"
    r"|(?<![\w/\\])_(?![\s_])(?P<underlined>[^_\n]+)(?<![\s\\])_(?![\w/])",
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"(?<!\\)\\(?:(?=[$*#](?![^\W\d_])|(?<=\w\\)_)|(?=(?P<opening>[(\[]))|(?=(?P<closing>[)\]])))"
)
"""The backslash of a character that is no mark, as in "\\$7.00", "a\\_b" or "\\(daily\\)"; not of a
"\\$name"."""
_OF_CODE = re.compile(r"[:.*]\\[(\[]|[^\W_]\\\[|\(\\\)|\[\\\]")
"""A bracket of a pattern or path, with the sign before it: "q\\[abc\\]x", "C:\\(x86)", "(\\)"."""
_NOTE = re.compile(
    r"(?<=[^\s\[\](])\[\^\d{1,3}\](?![\w:])|^[ \t]*+\[\^[\w-]{1,30}\]:[ \t]++"
    r"|(?<![=\s])[ \t]++\{(?:\.[a-z][\w-]{2,30}(?:[ \t]++[.#][a-z][\w-]{2,30})*+"
    r"|#[a-z][\w-]{2,30}(?:[ \t]++[.#][a-z][\w-]{2,30})++|:[ .#][\w.# -]{2,60})\}[ \t]*+$",
    re.MULTILINE,
)
"""The mark of a footnote, and attributes at the end of a line, as in "{.is-warning}"."""
_BLOCK = re.compile(
    # Quotes, with what makes them a callout ("> [!NOTE]"), and headings.
    r"^[ \t]*(?:(?:>[ \t]?)+(?:#{1,6}[ \t]+|\\?\[![A-Za-z]{3,12}\][+-]?[ \t]*+)?|#{1,6}[ \t]+)"
    r"|^[ \t]*[-*+•‣▪●○◦]++[ \t]++(?=\S)"  # bullets
    r"|(?<![ \t])[ \t]++#++[ \t]*$"  # what closes a heading
    r"|^[ \t]*+(?:\|?[ \t]*+:?-{2,}+:?[ \t]*+(?:\|[ \t]*+:?-{2,}+:?[ \t]*+)*+\|?|={3,}+|[*_]{3,}+)"
    r"[ \t]*$"
    r"|^[ \t]*\|[ \t]*|(?:(?<![ \t])[ \t]++)?\|[ \t]*$"  # the edges of a table's row
    r"|^[ \t]*+(?:`{3,}+|~{3,}+)[ \t]*+[\w+#.-]{0,30}(?:[ \t{][^`\n]{0,200})?$",  # fences of code
    re.MULTILINE,
)
_ADMONITION = re.compile(
    r"^[ \t]*+(?P<opening>:{3,}+[ \t]*+(?:(?:\{[^{}\n]{0,100}\}|[a-z][\w-]{0,30}+(?=[ \t\[{]|$))"
    r"(?:\{[^{}\n]{0,100}\})?(?:[ \t]++(?=\S)|(?P<bracket>\[(?=[^\[\]\n]{0,200}\][ \t]*$)))?)?)"
    r"(?P<title>(?<=[ \t\[])\S[^\n]{0,200}?)?[ \t]*$",
    re.MULTILINE,
)
"""A line that begins or ends an admonition: ":::note Title", ":::tip[Title]", ":::"."""


_MID_SENTENCE = re.compile(r"(?<=[^\W\d_]|,)\n(?=[^\W\d_A-Z])")
"""A line break of a printed page."""
_PLACED = (
    r"(?:[A-Z][A-Za-z]{1,20})?Tabs|Tab|TabItem|TabPanel|CodeGroup|CodeBlock|Admonition|Callout"
    r"|Cards?|CardGroup|Columns?|Steps?|AccordionGroup|Accordion|Note|Tip|Info|Warning|Frame"
)
"""Components of MDX that place what they hold on the page."""
_SHOWN = r"(?:path|title|label)=(?:\"[^\"<\n]{1,200}\"|'[^'<\n]{1,200}')"
"""What a component without content shows: "<NavPath path="Settings > Recording" />"."""
_FRAMING = (
    r"button|details|summary|section|figure|figcaption|img|span|font|aside|label|input|iframe"
    r"|picture|source|table|thead|tbody|tr|th|td"
)
_TAG = re.compile(
    r"</?(?P<name>(?i:br|p|div|center|a))(?:\s[^<>\n]{0,1000})?/?>"
    r"|<(?P<address>(?i:https?)://[^<>\s]{1,2000})>"
    rf"|(?P<placed></(?:{_PLACED}|{_FRAMING})\s*+>|(?<![\w<])<(?:{_PLACED})(?:\s[^<>]{{0,400}})?/?>"
    rf"|(?<![\w<])<(?:{_FRAMING})(?=[\s/])(?=[^<>]{{0,400}}[=/])[^<>]{{1,400}}>"
    rf"|(?<![\w<])<[A-Z][A-Za-z]{{0,30}}\s++{_SHOWN}\s*+/>)"
    rf"|(?<![\w<])<(?P<bare>{_FRAMING})>"
    r"|</?(?P<line>u|em|strong|mark|kbd)>"
    rf"|^[ \t]*+(?P<alone><(?:{_FRAMING})(?:\s[^<>\n]{{0,200}})?>)[ \t]*+$"
    r"|^[ \t]*+(?P<shortcode>\{\{[<%][ \t]*+/?[ \t]*+\w[^{}\n]{0,200}[%>]\}\})[ \t]*+$",
    re.MULTILINE,
)
"""Tags of layout and links within Markdown, addresses between angle brackets, and what Hugo fills.

Other tags stay: a text may be about them. So do buttons and the like within a line
that have neither attributes nor an end.
"""
_ENDED = re.compile(r"</(\w{1,20})")
_TITLE = re.compile(
    r"\b(?:path|title|label)=(?:\"(?P<one>[^\"<\n]{1,200})\"|'(?P<two>[^'<\n]{1,200})')"
)
"""What a component shows in its place or over its content: "<TabItem label="Linux">"."""
_PARTING = frozenset({"br", "p", "div", "center", "tr", "th", "td"})
"""Tags between words."""
_ENTITY = re.compile(
    r"(?<!\\)&(?:(?P<name>[A-Za-z][A-Za-z0-9]{1,31};)|#(?:\d{1,7}|[xX][0-9a-fA-F]{1,6});)"
)
_TAGGED_LINE = re.compile(r"^[ \t]*<(?!/?a\b).*$", re.MULTILINE)
"""A line of HTML or XML whose tags are not those of layout: code, even where its fence is lost."""
_ESCAPED_CELL = re.compile(r"\\([-–—+*.~])")
"""A cell that is a sign which would be a mark without the backslash, as in "\\-"."""


@dataclass(frozen=True, slots=True)
class Marked:
    """``text[start:end]`` is marked up; ``text[inner_start:inner_end]`` is what it says."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    style: Style


@dataclass(frozen=True, slots=True)
class _Edit:
    """``new`` in place of ``text[start:end]``."""

    start: int
    end: int
    new: str = ""

    def shift(self, at: int) -> int:
        """Return how far the edit moves a place behind its start."""
        old = min(self.end, at) - self.start
        return (len(self.new) if at >= self.end else min(len(self.new), old)) - old


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of code between two fences, with the language that the first one names, or ""."""

    language: str
    code: str

    @property
    def markdown(self) -> str:
        """The block between fences that nothing in it ends, whatever stands around it."""
        longest = max(map(len, re.findall("`+", self.code)), default=0)
        fence = "`" * max(longest + 1, 3)
        return f"{fence}{self.language}\n{self.code}\n{fence}"


def code_blocks(text: str) -> Iterator[str | CodeBlock]:
    """The lines of a text, and in their place its blocks of code, the last one closed or not."""
    rows = iter(text.split("\n"))
    for row in rows:
        match = _FENCE.fullmatch(row)
        yield _code(match, rows) if match else row


def fenced_code(text: str) -> Iterator[tuple[Span, Span]]:
    """Spans of the blocks of code: with their fences, and of the lines between these."""
    start = inner = -1  # of the open block
    fence, at = "", 0
    for row in text.split("\n"):
        end = at + len(row)
        if fence:
            closing = row.strip()
            if closing.startswith(fence) and not closing.strip(fence[0]):
                yield (start, end), (inner, max(at - 1, inner))
                fence = ""
        elif opening := _FENCE.fullmatch(row):
            fence = opening["ticks"] or opening["tildes"]
            start, inner = at, min(end + 1, len(text))
        at = end + 1
    if fence:
        yield (start, len(text)), (inner, len(text))


def styled_words(text: str, *, tagged: bool = False) -> Iterator[tuple[int, int, str]]:
    """The words of a text without the marks of emphasis, code and links: start, end, styles.

    Styles are names parted by blanks, the outer one first; "" for plain words. The address of
    another site, in the style ``address``, stays behind the words of its link. Tags of layout are
    left out of a ``tagged`` text.
    """
    tags = [match.span() for match in _tags(text) if not match["address"]] if tagged else []
    at = 0
    for start, end, styles in _styled(text, 0, len(text), ""):
        while at < len(tags) and tags[at][0] < end:
            if start < tags[at][0]:
                yield start, tags[at][0], styles
            start = max(start, min(tags[at][1], end))
            if tags[at][1] > end:
                break
            at += 1
        if start < end:
            yield start, end, styles


def _styled(text: str, start: int, end: int, styles: str) -> Iterator[tuple[int, int, str]]:
    at = start
    for markup in inline_markup(text[start:end]):
        if at < start + markup.start:
            yield at, start + markup.start, styles
        inner = start + markup.inner_start, start + markup.inner_end
        if markup.style == "code":
            yield *inner, f"{styles} code".strip()
        else:
            style = "" if markup.style == "link" else markup.style
            yield from _styled(text, *inner, f"{styles} {style}".strip())
        at = start + markup.end
        if markup.style == "link" and "://" in text[inner[1] : at]:
            yield inner[1] + 2, at - 1, f"{styles} address".strip()
    if at < end:
        yield at, end, styles


def flowing(text: str) -> str:
    """A text with blanks in place of line breaks amid a sentence, but for those of code."""
    code = [block for block, _ in fenced_code(text)]

    def joined(match: re.Match[str]) -> str:
        is_code = any(start <= match.start() < end for start, end in code)
        return match.group() if is_code else " "

    return _MID_SENTENCE.sub(joined, text)


def _code(opening: re.Match[str], rows: Iterator[str]) -> CodeBlock:
    fence = opening["ticks"] or opening["tildes"]
    lines = list[str]()
    for row in rows:
        end = row.strip()
        if end.startswith(fence) and not end.strip(fence[0]):
            break
        blanks = len(row) - len(row.lstrip())
        lines.append(row[min(len(opening["indent"]), blanks) :])
    named = _LANGUAGE.match(opening["told"] or opening["said"] or "")
    return CodeBlock(named[1] if named else "", "\n".join(lines))


def inline_markup(text: str) -> Iterator[Marked]:
    """Emphasis, code and links of a text in order, the outer ones only."""
    for match in _INLINE.finditer(text):
        group = next(
            name
            for name in ("code", "link", "starred", "underlined")
            if match.group(name) is not None
        )
        if group == "link" and "\n" in match["link"] and _follows_word(text, match.start()):
            continue  # an index over lines of code, as in "array[i"
        style: Style = "emphasis"
        if group in ("code", "link"):
            style = "code" if group == "code" else "link"
        elif group == "starred" and len(match.group("stars")) > 1:
            style = "strong"
        yield Marked(*match.span(), *match.span(group), style)


def _follows_word(text: str, start: int) -> bool:
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")


def marks(text: str) -> list[Span]:
    """Spans of the characters that only mark up: of words, headings, lists and tables."""
    blocks = (match.span() for match in _BLOCK.finditer(text))
    return _merged([*_marks_of_words(text), *blocks, *_admonition_marks(text)])


def _marks_of_words(text: str) -> Iterator[Span]:
    yield from _inline_marks(text, 0)
    yield from _escapes_and_notes(text)
    for match in _tags(text):
        if match["address"]:
            yield match.start(), match.start() + 1
            yield match.end() - 1, match.end()
        else:
            yield match.span()


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged = list[Span]()
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def unmarked_cell(cell: str) -> str:
    """A cell of a table without the marks of its words; no sign that it begins with is one."""
    if escaped := _ESCAPED_CELL.fullmatch(cell):
        return escaped[1]
    text = _parted(cell)
    if not text.strip():
        return cell
    return _edited(text, _edits(text, _merged([*_marks_of_words(text)])))


def _edits(text: str, gaps: Sequence[Span]) -> list[_Edit]:
    """The gaps of a text and its entities in order, without the entities within gaps."""
    edits, at = list[_Edit](), 0
    for entity in _entities(text):
        while at < len(gaps) and gaps[at][1] <= entity.start:
            edits.append(_Edit(*gaps[at]))
            at += 1
        if at == len(gaps) or entity.end <= gaps[at][0]:
            edits.append(entity)
    return [*edits, *(_Edit(*gap) for gap in gaps[at:])]


def _entities(text: str) -> Iterator[_Edit]:
    """The entities of HTML outside of code; those of blanks of any width become a blank."""
    found = list(_ENTITY.finditer(text)) if "&" in text else []
    if not found:
        return
    code = [(start, end) for start, end, styles in styled_words(text) if "code" in styles.split()]
    code += [block for block, _ in fenced_code(text)]
    code += [line.span() for line in _TAGGED_LINE.finditer(text)]
    for match in found:
        is_code = any(start <= match.start() < end for start, end in code)
        if not is_code and (match["name"] is None or match["name"] in html5):
            character = html.unescape(match.group())
            yield _Edit(*match.span(), " " if character.isspace() else character)


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    pieces, last = list[str](), 0
    for edit in edits:
        pieces += [text[last : edit.start], edit.new]
        last = edit.end
    return "".join([*pieces, text[last:]])


def unmarked(text: str) -> str:
    """A text without its marks, and with the characters that its entities stand for."""
    return without_markup(text, ())[0]


def without_markup(text: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """A text as ``unmarked`` has it, and where ``spans`` of it are then."""
    text = _parted(text)
    edits = _edits(text, marks(text))

    def moved(at: int) -> int:
        return at + sum(edit.shift(at) for edit in edits if edit.start < at)

    return _edited(text, edits), [(moved(start), moved(end)) for start, end in spans]


def _inline_marks(text: str, offset: int) -> Iterator[Span]:
    for markup in inline_markup(text):
        yield offset + markup.start, offset + markup.inner_start
        yield offset + markup.inner_end, offset + markup.end
        if markup.style != "code":
            inner = text[markup.inner_start : markup.inner_end]
            yield from _inline_marks(inner, offset + markup.inner_start)


def _escapes_and_notes(text: str) -> Iterator[Span]:
    """Backslashes before what would be marks, footnotes and attributes, outside of code."""
    if not any(mark in text for mark in ("\\", "[^", "{")):
        return
    code = [(one.start, one.end) for one in inline_markup(text) if one.style == "code"]
    escapes, opened = list[re.Match[str]](), list[bool]()
    for match in _ESCAPE.finditer(text):
        is_code = _OF_CODE.match(text, max(match.start() - 1, 0)) is not None
        if match["opening"]:
            opened.append(is_code)
        elif match["closing"] and opened:  # as its opening one
            is_code = opened.pop()
        escapes += [] if is_code else [match]
    for match in (*escapes, *_NOTE.finditer(text)):
        if not any(start <= match.start() < end for start, end in code):
            yield match.span()


def _admonition_marks(text: str) -> Iterator[Span]:
    """The beginnings and ends of admonitions without their titles, outside of blocks of code."""
    if ":::" not in text:
        return
    code = [block for block, _ in fenced_code(text)]
    for match in _ADMONITION.finditer(text):
        if any(start <= match.start() < end for start, end in code):
            continue
        yield match.start(), match.end("opening")
        if match["bracket"]:
            yield match.end("title") - 1, match.end()


def _tags(text: str) -> Iterator[re.Match[str]]:
    """The tags of a text outside of code."""
    if "<" not in text and "{{%" not in text:
        return
    code = sorted((one.start, one.end) for one in inline_markup(text) if one.style == "code")
    ended, at = set(_ENDED.findall(text)), 0
    for match in _TAG.finditer(text):
        while at < len(code) and code[at][1] <= match.start():
            at += 1
        is_bare = match["bare"] or match["line"]
        is_open = is_bare and is_bare not in ended
        if not is_open and (at == len(code) or match.start() < code[at][0]):
            yield match


def _blank_but_title(tag: str) -> str:
    """Blanks as long as a tag, with the title that a component shows."""
    title = _TITLE.search(tag)
    if title is None:
        return " " * len(tag)
    start, end = title.span("one" if title["one"] else "two")
    return f"{' ' * start}{tag[start:end]}{' ' * (len(tag) - end)}"


def _parted(text: str) -> str:
    """The text with blanks in place of tags that part words."""
    pieces, last = list[str](), 0
    for match in _tags(text):
        is_placed = any(match[kind] for kind in ("placed", "bare", "alone", "shortcode"))
        if is_placed or (match["name"] or "").lower() in _PARTING:
            pieces += [text[last : match.start()], _blank_but_title(match.group())]
            last = match.end()
    return "".join([*pieces, text[last:]])
