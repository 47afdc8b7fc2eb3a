"""A passage as statements: sentences, list items and table rows, each understandable by itself."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag.answering.languages import alternatives, any_of, listed
from rag.answering.markup import unmarked
from rag.answering.statements.rows import named_cells
from rag.answering.words import LETTERS
from rag.languages import UNSEGMENTED
from rag.lexical.analyzers import function_words
from rag.types import Span

ITEM = re.compile(r"\s*(?:[-*+•‣▪●○◦✓–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\(?#[.)])\s+(?=\S)")
"""An item of a list and its mark. "#." is the next number of a list, as Pandoc writes it."""
_RULE = frozenset("|:=_*-")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\d+(?:\.\d+)+\.?\s+[^.!?:;]*$)")
BEGINS = re.compile(r"\s*[\"“(]?(?:[^\W\d_a-zß-ÿα-ωа-џ]|\d)")
"""What may begin a sentence: a capital letter, a letter of a script without case, or a digit."""
CODE_LINE = re.compile(r"\s*(?=\S*[A-Z])(?=\S*\d)[A-Z0-9]+(?:[-./][A-Z0-9]+)*\s*")
"""A line that is only the code of something: the first cell of a row whose lines were lost."""
_PROPERTY = re.compile(r"\s*(?:[\"“(]?[^\W\d_a-zß-ÿ][^:\n.!?;]{1,40}|\w{2,40}):\s+\S")
"""A line of a list of properties: "Flash point: 40 °C", "valid_until: 2026"."""
_CONTACT = re.compile(rf"\W*{any_of('contacts')}", re.IGNORECASE)
"""A property that is nobody's without the lines around it."""
_FENCED = re.compile(
    r"^[ \t]*(?P<fence>`{3,}+|~{3,}+)[^`\n]*+\n"
    r"(?:(?![ \t]*(?:```|~~~)).*\n)+?[ \t]*(?P=fence)[ \t]*$",
    re.MULTILINE,
)
_LINK_TARGET = re.compile(r"\s*\[[^\[\]\n]+\]:\s\S+\s*")
_CONTENTS = re.compile(r"\s*\[[^\[\]]*\]\(#[^()\s]*\)\W*(?:\[\W\])?\s*")
"""A line of a table of contents: a link within the document."""
LONGEST_TITLE_WORDS = 10
_SHORT_LINE = 0.75
"""A line of less than this share of the longest one was not broken for lack of room."""


@dataclass(frozen=True, slots=True)
class TextSegment:
    """A stretch of lines that belong together: prose, item, row, heading, code block."""

    kind: str
    start: int
    end: int


def entries_of(passage: str) -> Iterator[TextSegment]:
    """Segments, those after a code joined to it: ``CV-115``, its meaning, what to do.

    Where one code comes alone it may be a word of any text. An entry ends at the next code, at what
    is empty or no prose, and about where the longest of the entries before the last one ends.
    """
    segments = list(segments_of(passage))
    codes = [one.start for one in segments if one.kind == "code"]
    most = max((passage.count("\n", *pair) for pair in itertools.pairwise(codes)), default=0)
    at = 0
    while at < len(segments):
        one = segments[at]
        at += 1
        if one.kind != "code" or not most:
            yield one if one.kind != "code" else TextSegment("prose", one.start, one.end)
            continue
        end = one.end
        while at < len(segments) and _touches(passage, end, segments[at]):
            if passage.count("\n", one.start, segments[at].end) > most:
                break
            end, at = segments[at].end, at + 1
        yield TextSegment("entry", one.start, end)


def _touches(passage: str, end: int, following: TextSegment) -> bool:
    return following.kind == "prose" and passage.count("\n", end, following.start) < 2


def segments_of(passage: str) -> Iterator[TextSegment]:
    """The segments of a passage, in order."""
    kind, start, end, offset, ends, before = "", 0, 0, 0, False, ""
    width = max((len(line) for line in passage.splitlines()), default=0)
    blocks = [match.span() for match in _FENCED.finditer(passage)]
    for line in passage.splitlines(keepends=True):
        block = next((one for one in blocks if one[0] <= offset < one[1]), None)
        line_kind = "code block" if block else _kind(line)
        goes_on = line_kind == "prose" and kind in ("prose", "item")
        goes_on = goes_on and not (ends and BEGINS.match(line))
        goes_on = goes_on and not (_is_property(line) and _is_property(before))
        goes_on = goes_on or (
            block is not None and (offset > block[0] or kind in ("prose", "item"))
        )
        if kind and not goes_on:
            yield TextSegment(kind, start, end)
        if not goes_on:
            kind, start = line_kind, offset
        end = offset + len(line.rstrip())
        ends = len(line) < width * _SHORT_LINE and line.count("[") <= line.count("]")
        offset += len(line)
        before = line
    if kind:
        yield TextSegment(kind, start, end)


def _is_property(line: str) -> bool:
    return _PROPERTY.match(line) is not None and not _CONTACT.match(line)


def _kind(line: str) -> str:
    """Return the kind of a line; "" for a separator."""
    bare = "".join(line.split())
    if set(bare) <= _RULE or _LINK_TARGET.fullmatch(line):
        return ""
    if bare[0] == bare[-1] == "|":
        return "row"
    if _HEADING.match(line) and len(line.split()) <= LONGEST_TITLE_WORDS:
        return "heading"
    if CODE_LINE.fullmatch(line):
        return "code"
    return "item" if ITEM.match(line) else "prose"


@dataclass(frozen=True, slots=True)
class _List:
    """The items with one kind of mark at one depth, and the line that announces them."""

    mark: str
    depth: int
    lead: str


class Leads:
    """The lists that are open at an item, outermost first.

    Items of another kind of mark are not announced by the same line, unless they stand deeper, and
    a number ends a list of bullets.
    """

    def __init__(self) -> None:
        self.announced = ""
        self._open: list[_List] = []

    def over(self, item: str) -> str:
        """Return the line that announces an item; "" for none."""
        depth, mark = (len(item) - len(item.lstrip())) // 2, _mark(item)
        for place, one in enumerate(self._open):
            if one.mark == mark and depth <= one.depth:
                del self._open[place + 1 :]  # what was nested in the item before
                return one.lead
        lead = self.announced
        if not lead and self._open and depth > self._open[-1].depth:
            lead = self._open[-1].lead
        elif not lead and mark[0] == "1":
            self._open.clear()
        self._open.append(_List(mark, depth, lead))
        return lead

    def follow(self, announced: str, *, is_item: bool) -> None:
        """Go on behind an item or a paragraph, which may have ``announced`` what comes."""
        if not is_item:
            self._open.clear()
        self.announced = announced


def _mark(item: str) -> str:
    """Return the kind of an item's mark, with its signs: "1." of "4.", "(a)" of "(c)", "-"."""
    match = ITEM.match(item)
    signs = match[0].strip() if match else "-"
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d+", "1", signs))


_STOPS = "。！？।॥။។៕۔؟።"
"""Full stops of other scripts."""
NOTE_MARK = r"[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}|\[\^[\w-]{1,30}\]|\*|[†‡]"
"""The mark of a footnote, behind what it is about, and before its words."""
_END = re.compile(rf"(?<=[.!?…{_STOPS}])(?:{NOTE_MARK})?[\"'”’)\]]*(?:\s+|$)|(?<=[{_STOPS}])")
_ABBREVIATION = re.compile(
    rf"(?:\b(?:[A-Za-z]|{alternatives('abbreviations')})|(?<!\w)\d{{1,2}}|\(\w{{1,6}})\.$",
    re.IGNORECASE,
)
"""Also a short word behind a parenthesis: "(es. C o Visual Basic)"."""
_BEFORE_NAMES = re.compile(rf"\b(?:{alternatives('short_before_names')})\.$", re.IGNORECASE)
"""Abbreviations that end a sentence only before a capital function word, as in "The"."""
_BEFORE_CAPITALS = re.compile(rf"\b(?:{alternatives('short_at_ends')})\.$", re.IGNORECASE)
"""Abbreviations that end a sentence before any capital letter."""
_LONGEST_QUOTATION = 200
"""Characters of a quotation that holds the end of a sentence."""
_LONGEST_ABBREVIATION = max(map(len, listed("abbreviations"))) + 1
LEANS = re.compile(
    rf"(?!{any_of('leans_not')})(?:{any_of('leans')}"
    rf"|(?:{any_of('infinitive')} \w{{2,15}}|\w{{2,15}}(?:{alternatives('gerund')}))"
    rf" {any_of('pronouns')})",
    re.IGNORECASE,
)
_TABLE_RULE = re.compile(r"\n[ \t]*\|(?=[ \t|:]*-)[ \t|:-]*+(?:\n|$)")

_CLAUSE = re.compile(r"[;:,](?=\s)|[；，：]")
LONGEST_STATEMENT = 400
"""Characters. Tables that lost their lines would otherwise be one endless sentence."""
SHORT_ADDITION = 40
"""Characters up to which a sentence belongs to the one before, in parentheses or within an item of
a list: "Penalty: 2 seconds."."""
ENDED = re.compile(rf"[.!?:;…{_STOPS})\]\"'”’»]$")
"""The end of a whole sentence."""


@dataclass(frozen=True, slots=True)
class Statement:
    """``text`` reads alone: a row with the names of its columns, an item with its lead-in.

    Marks of Markdown are left out of it. ``quote`` is the passage's own words, ``start`` where they
    begin in the passage. ``kind`` is ``prose`` (running text, which a passage may cut anywhere),
    ``item``, ``list``, ``code block``, ``row``, or ``entry``: a code with what belongs to it. A row
    of a known table has a ``name``, its first cell, and the ``caption`` of the table. ``notes`` are
    the footnotes that end the text.
    """

    text: str
    quote: str
    start: int
    kind: str = "prose"
    name: str = ""
    caption: str = ""
    notes: tuple[str, ...] = ()


def statements(passage: str) -> list[Statement]:
    """The statements of a passage in order. Headings are none: they announce, they do not say."""
    collected: list[Statement] = []
    leads, columns = Leads(), list[str]()
    for segment in entries_of(passage):
        text = passage[segment.start : segment.end]
        if segment.kind == "entry":
            collected.append(Statement(" · ".join(_cell_lines(text)), text, segment.start, "entry"))
        elif segment.kind == "row":
            cells = [plain_words(cell) for cell in text.strip().strip("|").split("|")]
            if _TABLE_RULE.match(passage, segment.end):
                columns = cells
            else:
                collected.append(_row(text, segment.start, cells, columns))
        else:
            columns = []
            if segment.kind == "code block" and len(text) <= LONGEST_STATEMENT:
                lead = leads.announced[_mark_end(leads.announced) :]
                words = f"{lead} {plain_words(text)}".lstrip()
                collected.append(Statement(words, text, segment.start, segment.kind))
            elif segment.kind != "heading" and not _is_title(text, segment.kind):
                lead = leads.over(text) if segment.kind == "item" else ""
                collected += _sentences(text, segment, lead)
        if segment.kind in ("prose", "heading", "item"):
            announced = plain_words(text[_last_sentence(text) :]) if text.endswith(":") else ""
            leads.follow(announced, is_item=segment.kind == "item")
    return collected


def list_of(passage: str, statement: Statement) -> Statement | None:
    """Return the list that an item belongs to, or that follows a sentence, as one statement.

    It begins with the line that announces the item, or with the sentence and the rest of its
    paragraph. None where there is no list, one of a single item, or one that is too long.
    """
    segments = list(segments_of(passage))
    at = next(n for n, one in enumerate(segments) if statement.start < one.end)
    is_item = segments[at].kind == "item"
    first = last = at if is_item else at + 1
    if first == len(segments) or segments[first].kind != "item":
        return None
    indent = _indent(passage, segments[first])
    while is_item and first and _indent(passage, segments[first - 1]) >= indent:
        first -= 1
    while last + 1 < len(segments) and _indent(passage, segments[last + 1]) >= indent:
        last += 1
    items = [passage[one.start : one.end] for one in segments[first : last + 1]]
    if is_item:
        start = segments[first].start + _mark_end(items[0])
        lead = statement.text.rpartition(plain_words(statement.quote))[0].rstrip()
    else:
        start = statement.start
        lead = plain_words(passage[start : segments[at].end])
    quote = passage[start : segments[last].end]
    if len(items) == 1 or len(quote) > LONGEST_STATEMENT:
        return None
    words = (plain_words(one[_mark_end(one) :]).rstrip(".;,") for one in items)
    listed_words = "; ".join(words).replace(":; ", ": ")
    return Statement(f"{lead} {listed_words}".lstrip(), quote, start, "list")


def procedure_of(
    passage: str, statement: Statement, section: Span, *, headed: bool
) -> Statement | None:
    """Return the list or code that a statement belongs to, or all up to the next one behind it.

    Of a section whose heading asks the question (``headed``) it is all, or its beginning. None
    where there are no such steps, or too many to quote.
    """
    low, high = section
    segments = [
        replace(one, start=low + one.start, end=low + one.end)
        for one in segments_of(passage[low:high])
        if one.kind
    ]
    is_step = [one.kind in ("item", "code block") for one in segments]
    at = next((n for n, one in enumerate(segments) if statement.start < one.end), None)
    if at is None:
        return None
    first, last = at, next((n for n in range(at, len(segments)) if is_step[n]), None)
    while last is not None and any(is_step[last + 1 : last + 2]):
        last += 1
    while is_step[at] and first and is_step[first - 1]:
        first -= 1
    if is_step[at] and first and passage[: segments[first - 1].end].endswith(":"):
        first -= 1
    spans = list[Span]()
    if last is not None:
        start = segments[first].start if is_step[at] else statement.start
        spans.append((start, segments[last].end))
    if headed:
        top = segments[0].start
        parts = [(top, one.end) for one in segments]
        spans = [parts[-1], *spans, *reversed(parts)]
    for start, end in spans:
        quote = passage[start:end]
        if len(quote) <= LONGEST_STATEMENT:
            return Statement(plain_words(quote), quote, start, "procedure")
    return None


def _indent(passage: str, segment: TextSegment) -> int:
    """Return the spaces before an item; -1 for what is none."""
    text = passage[segment.start : segment.end]
    return len(text) - len(text.lstrip()) if segment.kind == "item" else -1


def _mark_end(item: str) -> int:
    match = ITEM.match(item)
    return match.end() if match else 0


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a paragraph, without surrounding white space."""
    spans, start = [], len(text) - len(text.lstrip())
    for match in _END.finditer(text):
        bare = match.group()[:1].isspace() and match.end() < len(text)
        last = max(start, match.start() - _LONGEST_ABBREVIATION)
        if bare and _ABBREVIATION.search(text, last, match.start()):
            continue
        if bare and _is_shortened(text[last : match.start()], text, match.end()):
            continue
        if _is_quoting(text, max(start, match.start() - _LONGEST_QUOTATION), match.end()):
            continue
        spans.append((start, match.start() + len(match.group().rstrip())))
        start = match.end()
    spans.append((start, len(text.rstrip())))
    return [(begin, end) for begin, end in spans if end > begin]


def _is_shortened(before: str, text: str, at: int) -> bool:
    """Whether a full stop is that of an abbreviation, by what begins at ``text[at]``."""
    if not text[at].isupper():
        return bool(_BEFORE_NAMES.search(before) or _BEFORE_CAPITALS.search(before))
    word = LETTERS.match(text, at)
    is_function_word = word is not None and word[0].casefold() in function_words()
    return _BEFORE_NAMES.search(before) is not None and not is_function_word


def _is_quoting(text: str, start: int, end: int) -> bool:
    """Whether a quotation that begins in ``text[start:end]`` goes on behind it."""
    inside, behind = text[start:end], text[end : end + _LONGEST_QUOTATION].partition("\n\n")[0]
    pairs = (("„", "“"), ("«", "»")) if "„" in inside or "«" in inside else (("“", "”"),)
    if any(inside.rfind(opening) > inside.rfind(closing) for opening, closing in pairs):
        return any(closing in behind for _, closing in pairs)
    opens, closes = inside.rfind('"'), behind.find('"')
    is_open = inside.count('"') % 2 == 1 and not inside[opens - 1 : opens].strip(" \n(")
    return is_open and closes > 0 and not behind[closes - 1].isspace()


def spans_of(passage: str) -> list[tuple[int, int]]:
    """Spans of all that a passage says, in order: sentences, and each heading, item and row."""
    spans = list[tuple[int, int]]()
    for segment in segments_of(passage):
        inner = sentence_spans(passage[segment.start : segment.end])
        if segment.kind in ("prose", "item", "code"):
            spans += [(segment.start + low, segment.start + high) for low, high in inner]
        elif inner:
            spans.append((segment.start + inner[0][0], segment.start + inner[-1][1]))
    return spans


def _sentences(text: str, segment: TextSegment, lead: str) -> Iterator[Statement]:
    before = skip = _mark_end(text) if segment.kind == "item" else 0
    spans = _with_additions(text[skip:], segment.kind)
    for start, end in _limited(text, spans, skip):
        # "It must be taken by March" means nothing without the sentence before.
        begin = before if LEANS.match(text, start) else start
        quote = text[begin:end]
        sentence = said = plain_words(quote)
        if segment.kind == "item" and lead:
            sentence = f"{lead} {sentence}"
        announces = quote.endswith((":", ":-", ":–", ":—")) or _CONTENTS.fullmatch(quote)
        if said and not announces:
            yield Statement(sentence, quote, segment.start + begin, segment.kind)
        before = start


def _with_additions(text: str, kind: str) -> list[tuple[int, int]]:
    """Spans of sentences, one that only adds something to the one before joined to it."""
    spans = list[tuple[int, int]]()
    is_whole = False
    for start, end in sentence_spans(text):
        adds = end - start <= SHORT_ADDITION and (kind == "item" or text[start] == "(")
        adds = adds and text[end - 1] != ":"  # it announces what comes
        joins = bool(spans) and adds and not is_whole
        if joins:
            start = spans.pop()[0]
        spans.append((start, end))
        is_whole = joins
    return spans


def _limited(text: str, spans: list[tuple[int, int]], offset: int) -> Iterator[tuple[int, int]]:
    """Spans moved by ``offset``; overlong ones in pieces that end where a word ends."""
    for start, end in ((start + offset, end + offset) for start, end in spans):
        while end - start > LONGEST_STATEMENT:
            stop = _piece_end(text, start)
            yield start, stop
            start = stop + text[stop : stop + 1].isspace()
        yield start, end


def _piece_end(text: str, start: int) -> int:
    """Return where a piece of an overlong sentence ends: behind a clause, or else a word."""
    last = start + LONGEST_STATEMENT
    clauses = _CLAUSE.finditer(text, start + LONGEST_STATEMENT // 2, last)
    clause = max((match.end() for match in clauses), default=start)
    if clause > start:
        return clause
    space = text.rfind(" ", start, last)
    return space if space > start else last


def _row(text: str, start: int, cells: list[str], columns: list[str]) -> Statement:
    joined = named_cells(tuple(cells), tuple(columns))
    return Statement(joined, text.strip(), start + len(text) - len(text.lstrip()), "row")


def _cell_lines(entry: str) -> Iterator[str]:
    """The lines of an entry, those that only went on because there was no room as one."""
    pending = ""
    for line in entry.splitlines():
        if pending and (BEGINS.match(line) or CODE_LINE.fullmatch(pending)):
            yield _flat(pending)
            pending = line
        else:
            pending = f"{pending} {line}"
    yield _flat(pending)


def _is_title(text: str, kind: str) -> bool:
    """A short line without a full stop, colon or figure: a title whose marks were lost.

    Digits of a name ("T30") are no figure. Scripts that part no words have sentences without stops.
    """
    if kind != "prose" or UNSEGMENTED.search(text):
        return False
    title = unmarked(text).strip()
    short = len(title.split()) <= LONGEST_TITLE_WORDS and "\n" not in text
    return short and not re.search(rf"[.:;!?：；{_STOPS}]|(?<![A-Za-z])(?<![A-Za-z]-)\b\d", title)


def _last_sentence(text: str) -> int:
    spans = sentence_spans(text)
    return spans[-1][0] if spans else 0


def plain_words(text: str) -> str:
    """A text without marks of Markdown, with single spaces."""
    return _flat(unmarked(text))


def _flat(text: str) -> str:
    return " ".join(text.split())
