"""Candidates as cards: who found them, with which score, and why they were dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.components.inspector.candidates import Candidate, Group, cuts
from pages.components.inspector.what_if import open_passage, quoted
from pages.components.labels.grading import grade_name
from pages.components.shell.buttons import action_button
from pages.components.shell.charts import palette
from pages.components.shell.text import Span, plain, relevance, shown_context
from pages.components.source.places import LENGTH, LabelledRows, snippet, with_columns
from rag import (
    Chunk,
    Hit,
    Place,
    QuoteFate,
    ScoreContribution,
    Trace,
    page_name,
    stage_row,
    suspicions,
    without_markup,
)

FIRST = 4  # cards of what is kept before "show more"
FIRST_DROPPED = 1  # of each group below a cut line
MORE = 20
BAR = 16  # signs in a full bar
_BRIEF = 110  # characters of a passage that is not selected
_ICONS: dict[Group, str] = {
    "context": ":material/data_usage:",
    "merge": ":material/merge:",
    "top_k": ":material/content_cut:",
    "duplicates": ":material/content_copy:",
    "threshold": ":material/vertical_align_center:",
}
_SCORES = (
    ("dense", "cosine", "dense_rank"),
    ("bm25", "BM25", "bm25_rank"),
    ("fused", "fused", ""),
    ("merged", "merged", ""),
    ("service", "its own score", ""),
)


@dataclass(frozen=True, slots=True)
class CardContext:
    """The data of a hit card besides its passage; labels are those of the base ``labelled``.

    ``spans`` returns the matched words in the text of a hit, ``around`` those in its context.
    ``tables`` returns the parts of a hit that are rows of tables, with the names of their columns.
    ``fates`` says what an answer of quotes quotes, by the key of the passage.
    """

    trace: Trace
    shares: Mapping[int, ScoreContribution]
    spans: Callable[[Hit], Sequence[Span]]
    around: Callable[[Hit], Sequence[Span]]
    selected: int | None
    grade: Callable[[Chunk], None]
    grades: Mapping[int, int]
    place: Callable[[Hit], Place]
    tables: Callable[[Hit], Sequence[LabelledRows]]
    fates: Mapping[int, QuoteFate]
    labelled: str = ""

    @property
    def best(self) -> float:
        """The highest score, which fills the bar."""
        return max((share.dense + share.lexical for share in self.shares.values()), default=1.0)


def hit_cards(listed: Sequence[Candidate], evidence: CardContext) -> None:
    """Cards in groups, a cut line before each group that was dropped."""
    for group in ("prompt", *cuts()):
        members = [candidate for candidate in listed if candidate.group == group]
        if members:
            _cut_line(group, members, evidence.trace)
            _group(group, members, evidence)


def _cut_line(group: Group, members: Sequence[Candidate], trace: Trace) -> None:
    if group == "prompt":
        return
    stage = trace.stage(group)
    note = stage.note if stage else ""
    st.divider()
    head = f"{_ICONS.get(group, ':material/block:')} **{stage_row(group).dropped}**"
    st.markdown(f"{head} · {plain(note)} :gray[· {len(members):,} dropped below this line]")
    if group == "threshold" and any("fused" in candidate.hit.parts for candidate in members):
        st.caption(f"The numbers are ranks by fused score. The threshold is on {relevance(trace)}.")


def _group(group: Group, members: Sequence[Candidate], evidence: CardContext) -> None:
    key = f"inspector_more_{group}"
    limit = int(st.session_state.get(key, FIRST if group == "prompt" else FIRST_DROPPED))
    rest = members[limit:]
    selected = [one for one in rest if one.hit.chunk.key == evidence.selected]
    for candidate in (*members[:limit], *selected):
        _card(candidate, evidence)
    if len(members) > limit:
        label, more = f"Show more ({len(members) - limit:,} left)", {key: limit + MORE}
        show = st.session_state.update
        action_button(label, f"{key}_button", "expand_more", show, more, type="tertiary")


def _card(candidate: Candidate, evidence: CardContext) -> None:
    hit, in_prompt = candidate.hit, candidate.group == "prompt"
    is_selected, where = hit.chunk.key == evidence.selected, evidence.place(hit)
    with st.container(border=True, gap="xsmall"):
        with st.container(
            horizontal=True,
            horizontal_alignment="distribute",
            vertical_alignment="center",
            gap="xsmall",
        ):
            key, icon = (
                f"inspector_card_{hit.chunk.id}",
                "radio_button_checked" if is_selected else "",
            )
            options = {"type": "tertiary"}
            title = card_title(hit, where, kept=in_prompt)
            action_button(title, key, icon, open_passage, hit.chunk.id, **options)
            if hit.base not in ("", evidence.labelled):
                st.markdown(origin_badge(hit))
            elif is_selected:
                evidence.grade(hit.chunk)
            elif (grade := evidence.grades.get(hit.chunk.key)) is not None:
                st.markdown(f":gray-badge[{grade_name(str(grade))}]")
        st.markdown(_body(candidate, evidence, where, kept=in_prompt))


def origin_badge(hit: Hit) -> str:
    """The other knowledge base, or the tool, that a hit is from. Its labels are not ours."""
    icon, colour = (
        (":material/api:", "violet") if hit.from_tool else (":material/database:", "blue")
    )
    return f":{colour}-badge[{icon} {plain(hit.base)}]"


def card_title(hit: Hit, place: Place, *, kept: bool) -> str:
    where = page_name(hit.document, place.page, place.heading, " · ", place.label)
    words = f"{hit.rank} · {plain(hit.document + where)}"
    return f"**{words}**" if kept else f":gray[{words}]"


def _body(candidate: Candidate, evidence: CardContext, where: Place, *, kept: bool) -> str:
    hit = candidate.hit
    shown, spans = without_markup(hit.chunk.text, evidence.spans(hit))
    tables = evidence.tables(hit)
    _, parts = without_markup(hit.chunk.text, [part for part, _ in tables])
    named = [(part, labels) for part, (_, labels) in zip(parts, tables, strict=True)]
    is_selected = hit.chunk.key == evidence.selected
    text = snippet(*with_columns(shown, spans, named), LENGTH if is_selected else _BRIEF)
    rows = [
        f":small[:gray[{plain(where.heading)}]]" if where.heading else "",
        f":small[:material/document_scanner: {where.recognised}]" if where.recognised else "",
        f"{bar(evidence.shares.get(hit.chunk.key), evidence.best)} :small[:gray[{figures(hit)}]]",
        f":small[{text}]" if kept else f":small[:gray[{text}]]",
        indexed_with(hit.chunk.context, evidence.around(hit)) if is_selected else "",
        _suspicious(hit),
        f":small[:material/block: {plain(candidate.reason)}]" if candidate.reason else "",
        quoted(evidence.fates.get(hit.chunk.key) if kept else None),
    ]
    return "  \n".join(row for row in rows if row)


def _suspicious(hit: Hit) -> str:
    reasons = suspicions(hit.chunk.text)
    reads = f"reads like instructions to a language model: {', '.join(reasons)}"
    return f":small[:orange[:material/gpp_maybe: {reads}]]" if reasons else ""


def indexed_with(context: str, spans: Sequence[Span] = ()) -> str:
    """The context that is indexed with a passage and not part of its text, and its matches."""
    if not context:
        return ""
    around = f":small[:gray[:material/add_link: Indexed with: {shown_context(context)}]]"
    words = list(dict.fromkeys(context[start:end] for start, end in spans))
    if not words:
        return around
    return f"{around} :small[· matched in the context: {', '.join(map(plain, words))}]"


def bar(share: ScoreContribution | None, best: float) -> str:
    """A bar of the dense and the lexical contribution, as Markdown; the best score fills it."""
    if share is None or best <= 0:
        return ""
    dense, lexical = (round(BAR * part / best) for part in (share.dense, share.lexical))
    colours = palette()
    pieces = (("━" * dense, colours.dense), ("━" * lexical, colours.lexical))
    rest = "━" * max(BAR - dense - lexical, 0)
    drawn = [(signs, colour) for signs, colour in (*pieces, (rest, colours.grid)) if signs]
    return "".join(f':color[{signs}]{{foreground="{colour}"}}' for signs, colour in drawn)


def figures(hit: Hit) -> str:
    """All raw parts of a score, each with the rank that its retriever gave."""
    parts = hit.parts
    scores = [
        f"{label} {parts[name]:.2f}" + (f" (#{parts[rank]:.0f})" if rank in parts else "")
        for name, label, rank in _SCORES
        if name in parts and not (name == "dense" and "by_words" in parts)
    ]
    return " · ".join([*scores, *(words for name, words in _MARKS.items() if name in parts)])


_MARKS = {
    "exact": "has a rare code of the question",
    "matched_words": "passes by the words of the question",
    "by_words": "its vector is not stored yet",
}
