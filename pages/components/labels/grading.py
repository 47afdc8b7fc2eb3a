"""Labels where passages are seen: the set that they go to, grade buttons, exact words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.components.labels.question_sets import SET
from pages.components.shell.buttons import confirm_button, dialog
from pages.components.shell.guard import guard, later
from pages.components.shell.session import offered, question_sets, shared_cache, show
from pages.components.shell.text import Span, marked, plain
from rag import (
    HIGHEST_GRADE,
    LONGEST_NUGGET,
    MISLEADING,
    SAMPLE,
    Chunk,
    Hit,
    IndexRecipe,
    InvalidInput,
    KnowledgeBase,
    QuestionLabels,
    QuestionSet,
    Recipe,
    counted,
    find_quote,
    flowing,
)

_CHOSEN = "labels_set_chosen"  # the set that was named for a question of a knowledge base
FIRST_SET = "my questions"  # where labels go while there is no set
GRADES = tuple(str(grade) for grade in range(HIGHEST_GRADE + 1))
MISLEADS = str(MISLEADING)
ALL_GRADES = (MISLEADS, *GRADES)
NAMES = {
    MISLEADS: "Misleads",
    "0": "Not relevant",
    "1": "Relevant",
    "2": "Highly relevant",
    "3": "The answer",
}
MEANING = (
    "How well the passage answers the question. *Misleads* is on the topic and would make an "
    "answer wrong. In files the grades are -1 to 3."
)


def grade_name(grade: str) -> str:
    """A grade as all pages call it."""
    return NAMES[grade]


def targets(base: KnowledgeBase) -> tuple[list[str], int | None]:
    """Sets that labels can go to, and which of them at first: none where one has to be chosen.

    The questions that come with the sample are never it: whoever labels does that in a set of
    their own, which is made if there is none.
    """
    names = [item.name for item in question_sets(base)]
    own = [name for name in names if name != SAMPLE] or [FIRST_SET]
    return own + [name for name in names if name == SAMPLE], 0 if len(own) == 1 else None


@dataclass(frozen=True, slots=True)
class Grading:
    """A question in the set that its labels go to."""

    base: KnowledgeBase
    recipe: Recipe
    set_name: str
    question: str
    labels: QuestionLabels

    def buttons(self, chunk: Chunk) -> None:
        """One button a grade; the grade that a passage has is lit, and goes out by a click."""
        grade = self.labels.grades.get(chunk.key)
        key = f"inspector_grade_{chunk.id}"
        show(key, None if grade is None else str(grade))
        # Joined buttons have broken borders where they take two lines.
        st.pills(
            "Grade",
            ALL_GRADES,
            format_func=grade_name,
            key=key,
            label_visibility="collapsed",
            wrap=True,
            on_change=self._graded,
            args=(chunk, key),
            **offered(self.base, "questions.grade"),
        )

    def _graded(self, chunk: Chunk, key: str) -> None:
        choice = st.session_state[key]
        with guard():
            if choice is None:
                self._remove(chunk)
            else:
                self._grade(chunk, int(choice))

    def _grade(self, chunk: Chunk, grade: int) -> None:
        span = (chunk.document_id, chunk.start, chunk.end)
        self.base.questions.grade(self.set_name, self.question, *span, grade)
        now = self.base.questions.labels_of(self.set_name, self.question, self.recipe.index)
        if now.grades.get(chunk.key, grade) > grade:
            st.toast(
                "This passage is part of a longer label, which still gives it a higher grade.",
                icon=":material/info:",
            )
        else:
            message = (
                f"Stored in {plain(self.set_name)}: {NAMES[str(grade)]}. This question has "
                f"{labels_in_words(now)} there."
            )
            st.toast(message, icon=":material/label:")

    def _remove(self, chunk: Chunk) -> None:
        span = (chunk.document_id, chunk.start, chunk.end)
        gone = self.base.questions.remove_grades(self.set_name, self.question, *span)
        if gone:
            st.toast(f"{counted(gone, 'label')} removed.", icon=":material/label_off:")
        else:
            st.toast(
                "The label covers more than this passage, so it stays.", icon=":material/info:"
            )


def grading_bar(base: KnowledgeBase, question: str, recipe: Recipe) -> Grading:
    """Draw which set labels go to and what it says about the question."""
    sets = question_sets(base)
    names, _first = targets(base)
    _preset(base, sets, question, recipe)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = st.selectbox(
            "Labels go to",
            names,
            key=SET,
            bind="query-params",
            accept_new_options=True,
            width=260,
            help="Grade the passages below. Type a name to start a new question set.",
            on_change=_choose,
            args=(base, question),
        )
        name = (chosen or names[0]).strip() or names[0]
        grading = Grading(base, recipe, name, question, _labels(base, sets, name, question, recipe))
        with guard():
            _question_buttons(grading)
        st.markdown(state(grading.labels))
    return grading


def state(labels: QuestionLabels) -> str:
    """A badge with the labels of a question in a question set."""
    if labels.question_id is None:
        return ":gray-badge[not in this set yet]"
    if not labels.answerable:
        return ":orange-badge[:material/block: no answer in the documents]"
    colour = "green" if labels.relevant else "gray"
    return f":{colour}-badge[:material/label: {labels_in_words(labels)}]"


def labels_in_words(labels: QuestionLabels) -> str:
    """The number of labels of a question in words, for all pages."""
    words = counted(labels.relevant, "label") if labels.relevant else "no label yet"
    rest = len(labels.labels) - labels.relevant
    return f"{words}, and {counted(rest, 'passage')} graded not relevant" if rest else words


def _preset(
    base: KnowledgeBase, sets: Sequence[QuestionSet], question: str, recipe: Recipe
) -> None:
    """The set that has the question, unless the address or the visitor named one for it.

    If several or none have it, the last used set stays.
    """
    if SET not in st.session_state and SET in st.query_params:
        st.session_state[_CHOSEN] = base.id, question, st.query_params[SET]
        return
    used = st.session_state.get(SET)
    if used and st.session_state.get(_CHOSEN) == (base.id, question, used):
        return
    having = [
        item.name
        for item in sets
        if _labels(base, sets, item.name, question, recipe).question_id is not None
    ]
    if having and (len(having) == 1 or not used):
        show(SET, having[0])


def _choose(base: KnowledgeBase, question: str) -> None:
    st.session_state[_CHOSEN] = base.id, question, st.session_state[SET]


def _question_buttons(grading: Grading) -> None:
    if grading.labels.question_id is None and st.button(
        "Add question",
        key="inspector_collect",
        icon=":material/playlist_add:",
        **offered(
            grading.base,
            "questions.collect",
            help="Adds the question to the set. Grading a passage does that too.",
        ),
    ):
        _collect(grading)
        st.rerun()
    if not grading.labels.answerable:
        options = {"key": "inspector_answerable", "icon": ":material/undo:"}
        options = offered(grading.base, "questions.edit_question", **options)
        if st.button("It has an answer", **options):
            grading.base.questions.edit_question(
                grading.set_name, _collect(grading), answerable=True
            )
            st.rerun()
    elif st.button(
        "Unanswerable",
        key="inspector_unanswerable",
        icon=":material/block:",
        **offered(
            grading.base,
            "questions.collect_with_grades",
            help=(
                "The documents do not answer this question, so the correct result is to "
                "retrieve nothing."
            ),
        ),
    ):
        if grading.labels.relevant:
            _confirm_unanswerable(grading)
        else:
            _mark_unanswerable(grading)
            st.rerun()


def _collect(grading: Grading) -> str:
    return grading.base.questions.collect(grading.set_name, grading.question)


def _mark_unanswerable(grading: Grading) -> None:
    grading.base.questions.collect_with_grades(
        grading.set_name,
        grading.question,
        answerable=False,
        discard_labels=grading.labels.relevant > 0,
    )


@dialog("No answer in the documents?", icon=":material/block:")
def _confirm_unanswerable(grading: Grading) -> None:
    one = grading.labels.relevant == 1
    st.markdown(
        f"The question has {counted(grading.labels.relevant, 'label')} that "
        f"{'says' if one else 'say'} where it is answered. If you go on, "
        f"{'it is' if one else 'they are'} deleted."
    )
    label = f"Delete {'it' if one else 'them'}, there is no answer"
    confirm_button(label, "inspector_unanswerable_really", _mark_unanswerable, grading)


def _labels(
    base: KnowledgeBase, sets: Sequence[QuestionSet], name: str, question: str, recipe: Recipe
) -> QuestionLabels:
    changed = {item.name: str(item.changed) for item in sets}
    if name not in changed or not _is_question(base, name, changed[name])(question):
        return QuestionLabels()
    return _read(base, name, changed[name], question, recipe.index)


@shared_cache(16)
def _is_question(base: KnowledgeBase, name: str, changed: str) -> Callable[[str], bool]:
    return base.questions.contains(name)


@shared_cache(64)
def _read(
    base: KnowledgeBase, name: str, changed: str, question: str, index: IndexRecipe
) -> QuestionLabels:
    return base.questions.labels_of(name, question, index)


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
        _choose_words(grading, hit)


@dialog("Which words answer?", icon=":material/ink_highlighter:", width="large")
def _choose_words(grading: Grading, hit: Hit) -> None:
    count = len(sentences(hit.chunk.text))
    if count > 1:
        st.pills(
            "Sentences that answer, from the first to the last chosen",
            range(1, count + 1),
            selection_mode="multi",
            key=_key("from", grading, hit),
            persist_state="page",
        )
    st.text_input(
        "Or paste the words" if count > 1 else "Paste the words",
        key=_key("words", grading, hit),
        placeholder="as the page shows them",
        persist_state="page",
    )
    with st.container(border=True, height=280), guard():
        st.markdown(_numbered(hit.chunk.text, _selected_words(grading, hit)))
    st.segmented_control(
        "Grade",
        (MISLEADS, *GRADES[1:]),
        format_func=grade_name,
        default=GRADES[2],
        required=True,
        key=_key("grade", grading, hit),
        help=MEANING,
        persist_state="page",
    )
    st.text_input(
        "Part of the answer (optional)",
        key=_key("nugget", grading, hit),
        max_chars=LONGEST_NUGGET,
        help="A name, such as *deadline*. For an answer of several parts, recall of parts counts "
        "those that are found.",
        persist_state="page",
    )
    key = "inspector_evidence_store"
    confirm_button("Store the label", key, _store_words, grading, hit)


def _key(what: str, grading: Grading, hit: Hit) -> str:
    return f"inspector_evidence_{what}_{hit.chunk.id}_{grading.question}"


def _selected_words(grading: Grading, hit: Hit) -> Span | None:
    """The span that the user selected, None before. Raises InvalidInput for words elsewhere."""
    pieces = sentences(hit.chunk.text)
    numbers = st.session_state.get(_key("from", grading, hit)) or ([1] if len(pieces) == 1 else [])
    words = st.session_state[_key("words", grading, hit)]
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


def _store_words(grading: Grading, hit: Hit) -> None:
    span = _selected_words(grading, hit)
    if span is None:
        raise InvalidInput("No words are chosen.", "Choose sentences, or paste the words.")
    start, end = span
    grading.base.questions.grade_words(
        grading.set_name,
        grading.question,
        hit.chunk,
        hit.chunk.start + start,
        hit.chunk.start + end,
        int(st.session_state[_key("grade", grading, hit)]),
        st.session_state[_key("nugget", grading, hit)],
    )
    grade = grade_name(str(st.session_state[_key("grade", grading, hit)]))
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
