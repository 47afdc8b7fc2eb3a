"""Choosing the words of a passage that answer: by sentences, or pasted to the letter."""

from __future__ import annotations

import re
from functools import partial

import streamlit as st

from pages.components.labels.grading import GRADES, MEANING, MISLEADS, Grading, grade_name
from pages.components.shell.buttons import confirm_button
from pages.components.shell.guard import guard
from pages.components.shell.notices import later
from pages.components.shell.permission import offered
from pages.components.shell.text import Span, marked, plain
from rag import LONGEST_NUGGET, Hit, InvalidInput, find_quote, flowing

_SENTENCE = re.compile(r"\S.*?(?:[.!?][\"')\]]*(?=\s)|(?=\n\s*\n)|\Z)", re.DOTALL)


_EXPLAINED = (
    "Labels the words that answer instead of the whole passage. Span metrics need exact words."
)


def evidence_button(grading: Grading, hit: Hit) -> None:
    """A button that opens the choice for a passage."""
    if st.button(
        "Label the exact words",
        key="inspector_evidence",
        icon=":material/ink_highlighter:",
        type="tertiary",
        **offered(grading.base, "questions.grade", help=_EXPLAINED),
    ):
        _choose(grading, hit)


@st.dialog(
    "Which words answer?", icon=":material/ink_highlighter:", width="large", dismissible=False
)
def _choose(grading: Grading, hit: Hit) -> None:
    count = len(sentences(hit.chunk.text))
    if count > 1:
        st.pills(
            "Sentences that answer, from the first to the last chosen",
            range(1, count + 1),
            selection_mode="multi",
            key=_key("from", hit),
        )
    st.text_input(
        "Or paste the words" if count > 1 else "Paste the words",
        key=_key("words", hit),
        placeholder="as the page shows them",
    )
    with st.container(border=True, height=280), guard():
        st.markdown(_numbered(hit.chunk.text, _selected(hit)))
    st.segmented_control(
        "Grade",
        (MISLEADS, *GRADES[1:]),
        format_func=grade_name,
        default=GRADES[2],
        required=True,
        key=_key("grade", hit),
        help=MEANING,
    )
    st.text_input(
        "Part of the answer (optional)",
        key=_key("nugget", hit),
        max_chars=LONGEST_NUGGET,
        help="A name, such as *deadline*. For an answer of several parts, recall of parts counts "
        "those that are found.",
    )
    key = "inspector_evidence_store"
    confirm_button("Store the label", key, _store, grading, hit, cancel=True)


def _key(what: str, hit: Hit) -> str:
    return f"inspector_evidence_{what}_{hit.chunk.id}"


def _selected(hit: Hit) -> Span | None:
    """The span that the user selected, None before. Raises InvalidInput for words elsewhere."""
    pieces = sentences(hit.chunk.text)
    numbers = st.session_state.get(_key("from", hit)) or ([1] if len(pieces) == 1 else [])
    words = st.session_state[_key("words", hit)]
    if not numbers and not words.strip():
        return None
    chosen_pieces = pieces[min(numbers, default=1) - 1 : max(numbers, default=1)]
    return chosen(hit.chunk.text, chosen_pieces, words)


def _numbered(text: str, span: Span | None) -> str:
    """The sentences of a text as markdown, numbered, with the words of a span marked."""
    pieces = sentences(text)
    text = flowing(text)
    if len(pieces) == 1:
        return marked(text, [span] if span else [], "green-background")
    lines = []
    for number, (start, end) in enumerate(pieces, start=1):
        shared = [] if span is None else [(max(span[0], start) - start, min(span[1], end) - start)]
        inside = [(first, last) for first, last in shared if first < last]
        lines.append(f":gray-badge[{number}] {marked(text[start:end], inside, 'green-background')}")
    return "\n\n".join(lines)


def _store(grading: Grading, hit: Hit) -> None:
    span = _selected(hit)
    if span is None:
        raise InvalidInput("No words are chosen.", "Choose sentences, or paste the words.")
    start, end = span
    grading.base.questions.grade_words(
        grading.set_name,
        grading.question,
        hit.chunk,
        hit.chunk.start + start,
        hit.chunk.start + end,
        int(st.session_state[_key("grade", hit)]),
        st.session_state[_key("nugget", hit)],
    )
    grade = grade_name(str(st.session_state[_key("grade", hit)]))
    stored = f"{grade}: the words are stored in {plain(grading.set_name)}."
    later(partial(st.toast, stored, icon=":material/label:"))


def sentences(text: str) -> list[Span]:
    """Spans of the sentences of a text, without the white space between them."""
    spans = [
        (match.start(), match.start() + len(match.group().rstrip()))
        for match in _SENTENCE.finditer(text)
    ]
    return [span for span in spans if span[1] > span[0]] or [(0, len(text))]


def chosen(text: str, pieces: list[Span], words: str) -> Span:
    """The span of the words where any are given, else of the sentences. Raises InvalidInput."""
    words = words.strip()
    if not words:
        return pieces[0][0], pieces[-1][1]
    span = find_quote(text, words)
    if span is None:
        raise InvalidInput(
            "The passage does not contain these words.", "Copy them from the passage."
        )
    return span
