"""Figures in words, the same on every page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from pages.components.shell.text import plain
from rag import (
    AnswerState,
    Assessment,
    Comparison,
    Hit,
    IndexRecipe,
    Trace,
    chunker_name,
    without_markup,
)

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
SIGNS: Mapping[AnswerState, str] = {
    "answered": ":green[:material/check_circle:]",
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


def shortened(name: str, most: int) -> str:
    """A file's name in at most so many characters, with its end."""
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


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
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
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


def lacking(assessment: Assessment) -> str:
    """The key words that the quotes lack and the reason does not name, as Markdown; "" for none."""
    unnamed = [
        term
        for term in assessment.missing
        if not re.search(rf"(?<!\w){re.escape(term)}(?!\w)", assessment.reason)
    ]
    if not unnamed:
        return ""
    lead = "Also not" if len(unnamed) < len(assessment.missing) else "Not"
    words = ", ".join(f"“{plain(term)}”" for term in unnamed)
    return f":gray[{lead} in the quotes: {words}]"
