"""Text for Streamlit's markdown: every character of documents, and figures in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rag import (
    Assessment,
    BudgetPart,
    Comparison,
    Hit,
    IndexRecipe,
    InvalidInput,
    Trace,
    chunker_name,
    visible,
    without_markup,
)

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


_TYPES = {
    "application/pdf": "PDF",
    "text/plain": "Text",
    "text/markdown": "Markdown",
    "text/x-rst": "reStructuredText",
    "text/x-code": "Code",
    "application/yaml": "YAML",
    "application/toml": "TOML",
    "text/asciidoc": "AsciiDoc",
    "text/html": "Web page",
    "text/vtt": "Transcript",
    "application/x-subrip": "Transcript",
    "text/calendar": "Calendar",
    "text/vcard": "Address book",
    "application/x-ipynb+json": "Notebook",
    "application/epub+zip": "Book",
    "message/rfc822": "Mail",
    "application/rtf": "Rich text",
    "application/vnd.oasis.opendocument.text": "OpenDocument",
    "text/csv": "Table",
    "text/tab-separated-values": "Table",
    "application/json": "JSON",
    "application/x-ndjson": "JSON",
}
_OFFICE = {"wordprocessingml": "Word", "presentationml": "Slides", "spreadsheet": "Sheet"}


CONTEXTS = {
    "none": "nothing",
    "document": "document",
    "headings": "document, headings",
    "table": "document, headings, table",
}
"""What is indexed with a passage, by the recipe's ``index.context``."""
CONTEXT_HELP = (
    "Embedded and indexed with each passage, but shown separately: name and title of its "
    "document, its headings, the labels of its table."
)

VERDICT_BADGES = {
    "better": ("Better", "green", ":material/trending_up:"),
    "worse": ("Worse", "red", ":material/trending_down:"),
    "undecided": ("Not decided", "gray", ":material/drag_handle:"),
    "incomparable": ("Not comparable", "gray", ":material/difference:"),
}
"""Label, colour and icon of the badge of a comparison's verdict."""
WITHIN_NOISE = ("Within noise", *VERDICT_BADGES["undecided"][1:])
"""The badge of a change of the recipe whose gain decides nothing."""
_STATE_SIGNS: Mapping[str, str] = {
    "answered": ":green[:material/check_circle:]",
    "unsure": ":yellow[:material/check:]",
    "doubtful": ":orange[:material/help:]",
    "refused": ":red[:material/block:]",
    "conflicting": ":violet[:material/compare_arrows:]",
}


def change_badge(change: Comparison) -> tuple[str, str, str]:
    """Return the badge of a change of the recipe, as every page that proposes one has it."""
    is_noise = change.verdict == "undecided" and not change.doubt
    return WITHIN_NOISE if is_noise else VERDICT_BADGES[change.verdict]


def apply_button(change: Comparison) -> tuple[str, str]:
    """Return label and icon of the button that applies a change: only a decided one is advised."""
    return ("Apply", "check") if change.verdict == "better" else ("Try it anyway", "experiment")


def difference(number: float) -> float:
    """A difference to three places, as tables show it: -0.0002 would read "-0.000"."""
    return round(number, 3) + 0.0


def clipped(text: str, most: int) -> str:
    """The beginning of a text in at most so many characters, with an ellipsis where it goes on.

    It ends with a whole word, unless that leaves little of it, and with the quotation that it cuts.
    """
    if len(text) <= most:
        return text
    last = most - len(" …”")
    blank = max(text.rfind(sign, 0, last + 1) for sign in " \n")
    short, cut = (text[:blank].rstrip(), " …") if blank > most // 2 else (text[:last], "…")
    is_quoting = "„" not in short and short.rfind("“") > short.rfind("”")
    return f"{short}{cut}{'”' if is_quoting else ''}"


def capitalised(sentence: str) -> str:
    """A sentence as it is quoted: with a capital and a full stop."""
    return f"{sentence[:1].upper()}{sentence[1:]}."


FITS = 36
"""Characters of a document's name that a column of a table shows."""


def shortened(name: str, most: int) -> str:
    """A file's name in at most so many characters, with its end."""
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def short_name(document: str, most: int) -> str:
    """A document's name in at most so many characters: its file, with the folders that fit."""
    if len(document) <= most:
        return document
    start = document.find("/", len(document) + 1 - most)
    file = document.rpartition("/")[2]
    return shortened(file, most) if start < 0 else f"…{document[start:]}"


def duration(seconds: float) -> str:
    """``40 s``, ``3 min``, ``1 h 20 min``; never a false precision."""
    if seconds < 1:
        return "1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def seconds(value: float | None) -> str:
    """``240 ms`` or ``3.2 s``; a dash where nothing was timed."""
    if value is None:
        return "–"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def ago(moment: datetime) -> str:
    """The age of a moment in UTC: ``just now``, ``5 min ago``, or its date after a day."""
    seconds = (datetime.now(UTC) - moment).total_seconds()
    if seconds < 60:
        return "just now"
    return f"{duration(seconds)} ago" if seconds < 86_400 else f"on {moment:%Y-%m-%d}"


def kind(media_type: str) -> str:
    """A media type as people call it."""
    office = next((name for part, name in _OFFICE.items() if part in media_type), None)
    return office or _TYPES.get(media_type) or media_type.partition("/")[2]


def relevance(trace: Trace) -> str:
    """The name of the value that the threshold of a retrieval is compared with."""
    return "cosine" if trace.relevance == "cosine" else "probability"


def unlimited(trace: Trace) -> str:
    """The reason why no threshold cut a retrieval, as a sentence."""
    if trace.waived_threshold is None:
        return "No threshold: the highest ranks are returned."
    return (
        f"The threshold {trace.waived_threshold:.2f} does not apply to this question, because the "
        "embedding model does not support its language: the highest ranks are returned."
    )


def cut(recipe: IndexRecipe) -> str:
    """The chunking of a recipe and the context that it indexes with the passages, in words.

    ``sections, 200 tokens, overlap 20, with document, headings``.
    """
    around = f", with {CONTEXTS[recipe.context]}" if recipe.context != "none" else ""
    return f"{chunking(recipe)}{around}"


def chunking(recipe: IndexRecipe) -> str:
    """The chunking of a recipe in words: ``sections, 200 tokens, overlap 20``."""
    if recipe.chunker == "whole":
        return "whole documents"
    overlap = f", overlap {recipe.chunk_overlap}" if recipe.chunk_overlap else ""
    size = f"{recipe.chunk_size} {recipe.unit}{overlap}"
    if recipe.chunker == "semantic":
        size += f", percentile {recipe.breakpoint_percentile:g}"
    return f"{chunker_name(recipe.chunker)}, {size}"


def token_note(builds: Iterable[tuple[IndexRecipe, int]]) -> str:
    """Explain other numbers of passages in indexes (recipe, passages) of one chunking; "" if none.

    A passage ends at so many tokens of its embedding model.
    """
    sizes: dict[str, set[int]] = {}
    models: dict[str, set[str]] = {}
    for recipe, passages in builds:
        sizes.setdefault(cut(recipe), set()).add(passages)
        models.setdefault(cut(recipe), set()).add(recipe.embedder)
    if not any(len(sizes[words]) > 1 and len(models[words]) > 1 for words in sizes):
        return ""
    return (
        "Sizes count tokens of the embedding model: another model splits words differently, so the "
        "same chunking has another number of passages."
    )


def shown_context(context: str) -> str:
    """The context that is indexed with a passage, on one line, as Markdown."""
    return plain(" · ".join(without_markup(line, [])[0] for line in context.splitlines()))


def placed(hit: Hit) -> str:
    """The rank of a passage, such as ``rank 3``, or ``no candidate`` if no retriever found it."""
    return f"rank {hit.rank}" if hit.rank else "no candidate"


_MOST_LACKING = 2


def state_sign(assessment: Assessment, mode: str) -> str:
    """The sign of the state of an answer, as Markdown."""
    return _STATE_SIGNS["unsure" if assessment.is_unsure(mode) else assessment.state]


def lacking(assessment: Assessment) -> str:
    """The rarest key words that the quotes lack, beside those that the reason names, as Markdown.

    "" for none, and where the reason names enough.
    """
    unnamed = [
        term
        for term in assessment.missing
        if not re.search(rf"(?<!\w){re.escape(term)}(?!\w)", assessment.reason)
    ]
    named = len(assessment.missing) - len(unnamed)
    shown = unnamed[: max(_MOST_LACKING - named, 0)]
    if not shown:
        return ""
    lead = "Also not" if named else "Not"
    words = ", ".join(f"“{plain(term)}”" for term in shown)
    return f":gray[{lead} in the quotes: {words}.]"


_SIGNS = 24  # in a full bar
_PARTS = {
    "rules and question": "instructions and question",
    "conversation": "earlier conversation",
    "examples": "remembered examples",
    "passages": "passages",
    "answer": "kept free for the answer",
}
_COLOURS = {
    "rules and question": "gray",
    "conversation": "violet",
    "examples": "green",
    "passages": "blue",
    "answer": "orange",
}
_NAMED = 4  # of what was left out, before "more"


def budget_lines(parts: Sequence[BudgetPart]) -> list[str]:
    """The budget as Markdown: what each part took, and then what was left out of it."""
    return [_spent(parts), *_left_out(parts)]


def _spent(parts: Sequence[BudgetPart]) -> str:
    """The used part of a token budget: a bar, and the tokens and share of each part."""
    spent = [part for part in parts if part.used]
    total = sum(part.used for part in spent) or 1
    bar = "".join(
        f":{_COLOURS.get(part.name, 'gray')}[{'━' * max(round(_SIGNS * part.used / total), 1)}]"
        for part in spent
    )
    words = " · ".join(
        f":{_COLOURS.get(part.name, 'gray')}[{_part(part)}] {_share(part)}" for part in spent
    )
    return f"{bar} {total:,} tokens: {words}"


def _part(part: BudgetPart) -> str:
    return plain(_PARTS.get(part.name, part.name))


def _share(part: BudgetPart) -> str:
    """ "900 of 1,200"; of what has no share of its own the tokens alone."""
    return f"{part.used:,}" + (f" of {part.most:,}" if part.most > part.used else "")


def _left_out(parts: Sequence[BudgetPart]) -> list[str]:
    rows = []
    for part in parts:
        if not part.left_out:
            continue
        names = [plain(short_name(name, 40)) for name in part.left_out[:_NAMED]]
        more = len(part.left_out) - len(names)
        listed = ", ".join(names) + (f" and {more} more" if more else "")
        rows.append(f":gray[left out for want of room, {_part(part)}: {listed}]")
    return rows


def shown_database(url: str) -> str:
    """A database URL for people: the file, or server and name; never a password."""
    parts = urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        return unquote(parts.path.removeprefix("/"))
    port = f":{parts.port}" if parts.port else ""
    server = parts.hostname or "this machine"
    return f"{parts.scheme.partition('+')[0]} on {server}{port}{parts.path}"


def size(folder: Path) -> str:
    """The total size of the files in a folder, such as ``8 MB``."""
    total = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{total / 1e6:,.0f} MB" if total >= 1e6 else f"{total / 1e3:,.0f} kB"


def read_headers(text: str) -> dict[str, str]:
    """Read HTTP headers, one a line. Raises InvalidInput for one without a value."""
    rows = [line.partition(":") for line in text.splitlines() if line.strip()]
    if not all(colon for _, colon, _ in rows):
        raise InvalidInput(
            "A header has no value.", "Write it like X-Api-Key: TOUCHSTONE_TOOL_KEY."
        )
    return {name.strip(): value.strip() for name, _, value in rows}
