"""A passage as statements: sentences, list items and table rows, each understandable by itself."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from rag.answering.markup import unmarked
from rag.answering.rows import named_cells

_ITEM = re.compile(r"\s*(?:[-*+•‣▪●○◦✓–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+(?=\S)")
_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"[\s|:=_*-]+")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\d+(?:\.\d+)+\.?\s+[^.!?:;]*$)")
_END = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*(?:\s+|$)|(?<=[。！？])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|et al|etc|cf|vs|approx|no|nr|fig|sec|art|dr|mr|mrs|ms|prof|st"
    r"|z\.b|bzw|ca|vgl|abs)|(?<!\w)\d{1,2})\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = len("approx.")
_LEANS = re.compile(
    r"(?:it|this|these|that|those|they|he|she|such|however|but|otherwise|therefore|thus|then|hence"
    r"|in (?:this case|that case|particular|addition(?! to))|after that|the latter|as a result"
    r"|for (?:example|instance)|consequently|instead(?! of)|doing (?:so|this|that|it)"
    r"|(?:to [a-z]{2,15}|[a-z]{2,15}ing) (?:this|that|it)|insbesondere|andernfalls|jedoch|cela|ceci"
    r"|toutefois|cependant|notamment|sin embargo|en (?:este caso|particular)|de lo contrario)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:\*\*[^*\n]{1,60}\*\*|`[^`\n]{1,60}`|[^\s:.!?*`]{1,40}(?: [^\s:.!?*`]{1,40}){0,2}):(?=\s)"
    r"|\*\*[^*\n:]{1,60}:\*\*(?=\s)"
)
"""What the sentences of an item are about: "timeout: Seconds to wait. The default is 30."."""
_CONDITION = re.compile(
    r"\b(?:if|when|where|we|you|it|they|there|is|are|has|have|wenn|falls|wir|sie|ist|sind|hat|haben"
    r"|si|cuando|es|son|hay|quand|nous|est|sont)\b",
    re.IGNORECASE,
)
"""What makes a clause of a label: "If it rains:"."""
_QUESTION = re.compile(r"[?？][\"'”’»)*_]*+\s*+\Z")
_RECORD = re.compile(r"\s*[\w ./-]{1,40}: [^;]*; [\w ./-]{1,40}: .*")
_NUMBERED = re.compile(r"(?<![\d.])\d++(?:\.\d++)*+\.?\s+")
_BEGINS = re.compile(r"\s*[\"“(]?(?:[^\W\d_a-zß-ÿα-ωа-џ]|\d)")
"""What may begin a sentence: a capital letter, a letter of a script without case, or a digit."""
_CODE = re.compile(r"\s*(?=\S*[A-Z])(?=\S*\d)[A-Z0-9]+(?:[-./][A-Z0-9]+)*\s*")
"""A line that is only the code of something: the first cell of a row whose lines were lost."""
_TABLE_RULE = re.compile(r"\n[ \t]*\|(?=[ \t|:]*-)[ \t|:-]*+(?:\n|$)")

_FRONT_MATTER = re.compile(
    r"---[ \t]*\n"
    r"(?:(?:[\w\"'][\w :.\"'-]{0,40}:(?:[ \t].*)?|[ \t]+\S.*|-[ \t].*|[#\]}].*)\n){1,60}+"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
"""Fields of a Markdown file before its text, as site generators read them."""
_FIELD = re.compile(r"[\"']?(?P<key>\w[\w :.-]{0,40})[\"']?:(?:\s|\Z)")
_MUTE_FIELD = re.compile(
    r"title|layout|tags|categor\w+|slug|permalink|aliases|keywords|draft|weight|id|lang|toc|image"
    r"|cover|sidebar\w*",
    re.IGNORECASE,
)
"""One that says nothing by itself: the title, and how to show the page."""
_UNFINISHED = re.compile(
    r"(?<![^\W])(?:the|an?|of|to|and|or|for|at|with|from|der|die|das|dem|den|des|eine?[mnrs]?"
    r"|und|oder|für|von|zu[mr]?|mit|im|am|auf|bei|nach|le|la|les|une?|et|ou|du|de|el|los|las|y|o)\s*\Z"
)
"""What no sentence ends with, so that the next line goes on; "Sign in" is whole."""

LONGEST_TITLE_WORDS = 10
_CLAUSE = re.compile(r"[;:,](?=\s)|[；，：]")
LONGEST_STATEMENT = 400
"""Characters. Tables that lost their lines would otherwise be one endless sentence."""
SHORT_ADDITION = 40
"""Characters up to which a sentence belongs to the one before, in parentheses or within an item of
a list: "Penalty: 2 seconds."."""
_LONG_ADDRESS = re.compile(r"https?://\S{100,}")
_FEWEST_WORDS = 4
"""Beside a long address, for it to be a sentence."""
_NEXT_LINE = re.compile(r"\s*\S[^\n]*")
_ANNOUNCED = re.compile(r":(?=[ \t]*\n)")
"""The end of a line that announces the next one."""
_AS_FOLLOWS = re.compile(r"\b(?:as follows|the following|wie folgt|comme suit|como sigue)\.\Z")
_PARAGRAPH = 2
"""Line breaks between paragraphs."""
_LONGEST_END = 12
"""Characters of a line in which its last word is looked at."""
SHORT_LINE = 0.75
"""A line of less than this share of the longest one was not broken for lack of room."""

ENDED = re.compile(r"[.!?:;…。！？)\]\"'”’»]$")
"""The end of a whole sentence."""


@dataclass(frozen=True, slots=True)
class Statement:
    """``text`` reads alone: a row with the names of its columns, an item with its lead-in.

    Marks of Markdown are left out of it. ``quote`` is the passage's own words, ``start`` where they
    begin in the passage. ``kind`` is ``prose`` (running text, which a passage may cut anywhere),
    ``item``, ``row``, ``record``, or ``entry``: a code with what belongs to it. A row of a known
    table has a ``name``, its first cell, and the ``caption`` of the table.
    """

    text: str
    quote: str
    start: int
    kind: str = "prose"
    name: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class _TextSegment:
    """A stretch of lines that belong together: prose, item, row, heading."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Lead:
    """The item of a list over items of its own: "3. Remediation:" with "– Critical: 3 days"."""

    words: str
    indent: int
    mark: str
    beside: str = ""
    """The first of the bullets that stand beside it: "- Make sure:", "- that it is off"."""

    @classmethod
    def of(cls, item: str) -> _Lead:
        """Read an item."""
        marker = _ITEM.match(item)
        end = marker.end() if marker else 0
        words = item[end:]
        return cls(_plain(words[_last_sentence(words) :]), *_indent_and_mark(item))

    def is_over(self, item: str) -> bool:
        """Whether another item stands under it: indented, or behind another mark."""
        indent, mark = _indent_and_mark(item)
        if indent != self.indent:
            return indent > self.indent
        return mark != self.mark or (
            bool(self.beside)
            and not item.endswith(":")
            and item.endswith(_STOPS) == self.beside.endswith(_STOPS)
        )

    def before(self, item: str) -> _Lead:
        """The lead as the item right behind it shows it.

        Steps that end with a colon announce no others, and neither do single words: "Name:".
        """
        is_beside = _indent_and_mark(item) == (self.indent, self.mark)
        is_clause = len(self.words.split()) > 1 and self.mark not in _STEPS
        return replace(self, beside=item if is_beside and is_clause else "")


_STOPS = (".", "!", "?", "。")
_STEPS = frozenset("0a")
"""The marks of lists whose items are numbered or lettered."""


def _indent_and_mark(item: str) -> tuple[int, str]:
    """Return how far an item is indented, and its mark, "0" and "a" for any number and letter."""
    bare = item.lstrip(" \t")
    first = bare.lstrip("(")[:1]
    mark = "0" if first.isdigit() else "a" if first.isalpha() else first
    return len(item) - len(bare), mark


def statements(passage: str, beneath: Collection[int] = ()) -> list[Statement]:
    """The statements of a passage in order. Headings are none: they announce, they do not say.

    ``beneath`` are the places right behind known headings: a short line there is no lost heading.
    """
    collected: list[Statement] = []
    lead, columns = "", list[str]()
    above, announces = list[_Lead](), False
    segments = list(_entries(passage))
    for segment, following in itertools.zip_longest(segments, segments[1:]):
        text = passage[segment.start : segment.end]
        if segment.kind in ("record", "field"):
            collected.append(Statement(_flat(text), text, segment.start, "record"))
        elif segment.kind == "entry":
            collected.append(Statement(" · ".join(_cell_lines(text)), text, segment.start, "entry"))
        elif segment.kind == "row":
            cells = _cells(text)
            if _TABLE_RULE.match(passage, segment.end):
                columns = cells
            else:
                collected.append(_row(text, segment.start, cells, columns))
        else:
            columns = []
            if segment.kind == "item":
                if announces:
                    above[-1] = above[-1].before(text)
                above = [one for one in above if one.is_over(text)]
            leads = " ".join(filter(None, (lead, *(one.words for one in above))))
            is_said = segment.start in beneath and not _are_headings(passage, following, beneath)
            if segment.kind != "heading" and (is_said or not _is_title(text, segment.kind)):
                collected += _sentences(text, segment, leads)
        announces = segment.kind == "item" and text.endswith(":")
        if segment.kind in ("prose", "heading"):
            above = []
            lead = _plain(text[_last_sentence(text) :]) if text.endswith(":") else ""
        elif announces:
            above.append(_Lead.of(text))
    return collected


def continued(passage: str, statement: Statement) -> Statement:
    """The statement with the next sentence of its passage, if that one leans on it.

    "To configure this, use the option:" also takes the line that it announces, or the items.
    "Please ensure:" takes items, where it goes on in the line of the statement.
    """
    if statement.start < 0 or statement.kind not in ("prose", "item"):
        return statement
    end = statement.start + len(statement.quote)
    rest = passage[end : end + LONGEST_STATEMENT]
    start = len(rest) - len(rest.lstrip())
    breaks, is_cut_off = rest.count("\n", 0, start), end + len(rest) < len(passage)
    spans = sentence_spans(rest[start:].partition("\n\n")[0])
    stop = start + spans[0][1] if spans else start
    if announced := _ANNOUNCED.search(rest, start, stop):
        stop = announced.start() + 1
    announces = rest[start:stop].endswith(":")
    leans = _LEANS.match(rest, start) or _AS_FOLLOWS.search(statement.quote)
    if breaks > _PARAGRAPH or not (leans or (announces and not breaks)):
        return statement
    colon = stop
    items = list(_announced_items(rest, colon, is_cut_off=is_cut_off)) if announces else []
    if items:
        stop = items[-1][1]
    elif announces and leans and (line := _NEXT_LINE.match(rest, stop)):
        stop = line.end()
        items = [(colon, stop)]
    elif announces:
        return statement
    if stop == len(rest) and is_cut_off:
        return statement
    listed = _listed(rest[low:high] for low, high in items)
    added = " ".join(filter(None, (_plain(rest[start:colon]), listed)))
    quote = passage[statement.start : end + stop]
    return replace(statement, text=f"{statement.text} {added}", quote=quote)


def with_steps(passage: str, item: Statement) -> Statement:
    """The item with all of its list, or with the items behind it that there is room for."""
    end = item.start + len(item.quote)
    runs = (list(run) for _, run in itertools.groupby(_segments(passage), lambda one: one.kind))
    items = next((run for run in runs if run[0].start <= item.start and end <= run[-1].end), [])
    if items and items[-1].end - items[0].start > LONGEST_STATEMENT:
        most = item.start + LONGEST_STATEMENT
        items = [one for one in items if end <= one.end <= most]
    if item.kind != "item" or len(items) < 2:
        return item
    quote = _without_mark(passage[items[0].start : items[-1].end])
    listed = _listed(passage[one.start : one.end] for one in items)
    text = item.text.removesuffix(_plain(item.quote)) + listed
    return replace(item, text=text, quote=quote, start=items[-1].end - len(quote))


def _listed(items: Iterable[str]) -> str:
    """The words of some items of a list, without their marks."""
    words = (_plain(_without_mark(item)).rstrip(";,") for item in items)
    return "; ".join(words).replace(".; ", ". ")


def _without_mark(item: str) -> str:
    marker = _ITEM.match(item)
    return item[marker.end() if marker else 0 :]


def _announced_items(text: str, start: int, *, is_cut_off: bool) -> Iterator[tuple[int, int]]:
    """The spans of the items that begin in the next line; the last one only if it is whole."""
    segments = (one for one in _segments(text[start:]) if one.kind)
    items = list(itertools.takewhile(lambda one: one.kind == "item", segments))
    for item in items:
        if not (is_cut_off and start + item.end >= len(text.rstrip())):
            yield start + item.start, start + item.end


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a paragraph, without surrounding white space."""
    spans, start = [], len(text) - len(text.lstrip())
    for match in _END.finditer(text):
        bare = match.group()[:1].isspace() and match.end() < len(text)
        last = max(start, match.start() - _LONGEST_ABBREVIATION)
        if bare and _ABBREVIATION.search(text, last, match.start()):
            continue
        spans.append((start, match.start() + len(match.group().rstrip())))
        start = match.end()
    spans.append((start, len(text.rstrip())))
    return [(begin, end) for begin, end in spans if end > begin]


def spans_of(passage: str) -> list[tuple[int, int]]:
    """Spans of all that a passage says, in order: sentences, and each heading, item and row."""
    spans = list[tuple[int, int]]()
    for segment in _segments(passage):
        inner = sentence_spans(passage[segment.start : segment.end])
        if segment.kind in ("prose", "item", "code"):
            spans += [(segment.start + low, segment.start + high) for low, high in inner]
        elif inner:
            spans.append((segment.start + inner[0][0], segment.start + inner[-1][1]))
    return spans


def _entries(passage: str) -> Iterator[_TextSegment]:
    """Segments, those after a code joined to it: ``CV-115``, its meaning, what to do.

    Where one code comes alone it may be a word of any text. An entry ends at the next code, at what
    is empty or no prose, and about where the longest of the entries before the last one ends.
    """
    segments = list(_segments(passage))
    codes = [one.start for one in segments if one.kind == "code"]
    most = max((passage.count("\n", *pair) for pair in itertools.pairwise(codes)), default=0)
    at = 0
    while at < len(segments):
        one = segments[at]
        at += 1
        if one.kind != "code" or not most:
            yield one if one.kind != "code" else _TextSegment("prose", one.start, one.end)
            continue
        end = one.end
        while at < len(segments) and _touches(passage, end, segments[at]):
            if passage.count("\n", one.start, segments[at].end) > most:
                break
            end, at = segments[at].end, at + 1
        yield _TextSegment("entry", one.start, end)


def _touches(passage: str, end: int, following: _TextSegment) -> bool:
    return following.kind == "prose" and passage.count("\n", end, following.start) < 2


def _segments(passage: str) -> Iterator[_TextSegment]:
    kind, start, end, offset, ends = "", 0, 0, 0, False
    width = max((len(line) for line in passage.splitlines()), default=0)
    fields = _FRONT_MATTER.match(passage)
    for line in passage.splitlines(keepends=True):
        is_field = fields is not None and offset < fields.end()
        line_kind = _field_kind(line, kind) if is_field else _kind(line)
        goes_on = line_kind == "prose" and kind in ("prose", "item")
        goes_on = goes_on and not (ends and _BEGINS.match(line))
        goes_on = goes_on or (line_kind == kind == "field" and not _FIELD.match(line))
        if kind and not goes_on:
            yield _TextSegment(kind, start, end)
        if not goes_on:
            kind, start = line_kind, offset
        end = offset + len(line.rstrip())
        ends = len(line) < width * SHORT_LINE and not _UNFINISHED.search(line[-_LONGEST_END:])
        offset += len(line)
    if kind:
        yield _TextSegment(kind, start, end)


def _field_kind(line: str, before: str) -> str:
    """Return the kind of a line between the marks of front matter; lists and folds go on."""
    field = _FIELD.match(line)
    if field is None:
        return "field" if before == "field" and line[:1] in " \t-" and line.strip("- \n") else ""
    return "" if _MUTE_FIELD.fullmatch(field["key"]) else "field"


def _kind(line: str) -> str:
    """Return the kind of a line; "" for a separator."""
    if not line.strip() or _RULE.fullmatch(line):
        return ""
    if _ROW.fullmatch(line):
        return "row"
    if _RECORD.fullmatch(line.rstrip()):
        return "record"
    if _HEADING.match(line) and len(line.split()) <= LONGEST_TITLE_WORDS:
        return "heading"
    if _CODE.fullmatch(line):
        return "code"
    return "item" if _ITEM.match(line) else "prose"


def _sentences(text: str, segment: _TextSegment, lead: str) -> Iterator[Statement]:
    marker = _ITEM.match(text) if segment.kind == "item" else None
    skip = marker.end() if marker else 0
    before = skip
    label = _LABEL.match(text, skip) if segment.kind == "item" else None
    label = None if label and _CONDITION.search(label.group()) else label
    spans = _with_additions(text[skip:], segment.kind)
    for start, end in _limited(text, spans, skip):
        # "It must be taken by March" means nothing without the sentence before.
        follows_question = _QUESTION.search(text, before, start)
        begin = before if _LEANS.match(text, start) or follows_question else start
        quote = text[begin:end]
        sentence = _plain(quote)
        if label and begin > skip:
            sentence = f"{_plain(label.group())} {sentence}"
        if segment.kind == "item" and lead:
            sentence = f"{lead} {sentence}"
        if quote and not quote.endswith(":") and not _is_address(sentence):
            yield Statement(sentence, quote, segment.start + begin, segment.kind)
        before = start


def _is_address(sentence: str) -> bool:
    """Whether a sentence is little else than a long address."""
    rest = _LONG_ADDRESS.sub("", sentence)
    return len(rest) < len(sentence) and len(rest.split()) < _FEWEST_WORDS


def _with_additions(text: str, kind: str) -> list[tuple[int, int]]:
    """Spans of sentences, one that only adds something to the one before joined to it."""
    spans = list[tuple[int, int]]()
    is_whole = False
    for start, end in sentence_spans(text):
        adds = end - start <= SHORT_ADDITION and (kind == "item" or text[start] == "(")
        adds = adds and text[end - 1] != ":"  # it announces what comes
        joins = bool(spans) and adds and not is_whole and not _QUESTION.search(text, *spans[-1])
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


def _cells(row: str) -> list[str]:
    return [_plain(cell) for cell in row.strip().strip("|").split("|")]


def _cell_lines(entry: str) -> Iterator[str]:
    """The lines of an entry, those that only went on because there was no room as one."""
    pending = ""
    for line in entry.splitlines():
        if pending and (_BEGINS.match(line) or _CODE.fullmatch(pending)):
            yield _flat(pending)
            pending = line
        else:
            pending = f"{pending} {line}"
    yield _flat(pending)


def _are_headings(passage: str, following: _TextSegment | None, beneath: Collection[int]) -> bool:
    """Whether another short line follows, as in a list of contents or a menu."""
    if following is None or following.start in beneath:
        return False
    return _is_title(passage[following.start : following.end], following.kind)


def _is_title(text: str, kind: str) -> bool:
    """A short line without a full stop, colon or figure: a title whose marks were lost.

    Digits of a name ("T30") are no figure.
    """
    if kind != "prose":
        return False
    title = _NUMBERED.sub("", unmarked(text), count=1)
    short = len(title.split()) <= LONGEST_TITLE_WORDS and "\n" not in text
    return short and not re.search(r"[.:;!?。：；！？]|(?<![A-Za-z])(?<![A-Za-z]-)\b\d", title)


def _last_sentence(text: str) -> int:
    spans = sentence_spans(text)
    return spans[-1][0] if spans else 0


def _plain(text: str) -> str:
    return _flat(unmarked(text))


def _flat(text: str) -> str:
    return " ".join(text.split())
