"""The question sets of a knowledge base: a table of them, and one as a table to edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import Any

import streamlit as st

from pages.components.labels import question_sets
from pages.components.shell.buttons import (
    action_button,
    confirm_button,
    dialog,
    filled_button,
)
from pages.components.shell.guard import guard, later, notices
from pages.components.shell.job_progress import POPOVER_HEIGHT, failure, follow
from pages.components.shell.session import offered, workspace
from pages.components.shell.session import question_sets as question_sets_of
from pages.components.shell.tables import picked_rows
from pages.components.shell.text import clipped, plain
from rag import (
    MODEL_KINDS,
    OFFLINE_KINDS,
    KnowledgeBase,
    LabelledQuestion,
    QuestionSet,
    Recipe,
    TouchstoneError,
    counted,
)

_TABLE = "question_sets_table"
_MADE = "made questions"

_KINDS = {
    "factual": "Factual",
    "paraphrase": "In other words",
    "two-passage": "Two passages needed",
    "unanswerable": "Not answered here",
    "cloze": "Gap in a sentence",
    "keywords": "Key words",
    "heading": "Heading",
}
_ICON = ":material/rule:"
_REQUEST_KEY, _FIELDS = "questions_asked", ("set", "kinds", "number")
_LEAKING = 0.5  # from here on the words give the passage away


def question_sets_view(
    base: KnowledgeBase,
    sets: Sequence[QuestionSet],
    chosen: QuestionSet,
    recipe: Recipe,
    labelled: Mapping[str, int],
) -> None:
    """Draw the table of sets, actions on the chosen one, and what waits in it for a decision.

    ``labelled`` is the number of questions with a relevant label that has its text, by the name of
    the set.
    """
    with st.container(horizontal=True, gap="small"):
        if question_sets.import_button(base):
            question_sets.import_dialog(base)
        make_button(base, recipe)
    _table(base, sets, labelled)
    st.subheader(plain(chosen.name))
    st.caption(f"{question_count(chosen)}.")
    with st.container(horizontal=True, gap="small"):
        edit_button(base, chosen.name)
        question_sets.manage_button(base, chosen)
        question_sets.versions_button(base, chosen)
        passport_popover(base, chosen)
        with st.popover("Export questions", icon=":material/download:"):
            question_sets.export_buttons(base, chosen.name)
    _making(base, chosen.name)
    if chosen.proposed:
        proposals(base, chosen)


def passport_popover(base: KnowledgeBase, chosen: QuestionSet) -> None:
    """A popover with who made a set, what it covers, and what is wrong with it."""
    opened = st.popover(
        "Passport", icon=":material/badge:", key=f"set_passport_{chosen.id}", on_change="rerun"
    )
    content = opened.container(height=POPOVER_HEIGHT, border=False)
    if opened.open:
        passport = base.questions.check(chosen.name)
        for problem in passport.problems:
            content.markdown(f":orange[:material/warning: **{plain(problem)}**]")
        for line in passport.lines:
            content.markdown(plain(line))
        if passport.uncovered:
            content.caption(plain(f"Without one: {', '.join(passport.uncovered[:20])}."))


def _making(base: KnowledgeBase, set_name: str) -> None:
    """Draw the newest job that makes questions for a set, and its questions that failed."""
    jobs = workspace().jobs
    for job in jobs.recent(base.id):
        if job.kind != "generate" or job.payload.get("set") != set_name:
            continue
        if job.active:
            follow(job.id, "questions_make")
            return
        failure(job)
        failed = [item for item in jobs.items(job.id) if item.status == "failed"]
        if failed:
            reasons = dict.fromkeys(f"{item.reason} {item.hint}".strip() for item in failed)
            st.caption(f"{plain(job.message)}. {plain(' '.join(reasons))}")
        return


def question_count(chosen: QuestionSet) -> str:
    """``28 questions, 4 of them without an answer in the documents``."""
    unanswerable = chosen.questions - chosen.answerable
    size = counted(chosen.questions, "question")
    if not unanswerable:
        return size
    return f"{size}, {unanswerable:,} of them without an answer in the documents"


def _table(base: KnowledgeBase, sets: Sequence[QuestionSet], labelled: Mapping[str, int]) -> None:
    names = [item.name for item in sets]
    key = f"{_TABLE}_{base.id}"

    def pick() -> None:
        for row in picked_rows(st.session_state[key])[:1]:
            if row < len(names):
                question_sets.choose_set(names[row])

    st.dataframe(
        [
            {
                "Name": item.name,
                "Questions": item.questions,
                "Answerable": item.answerable,
                "Labelled": labelled[item.name],
                "From chats": item.from_users,
                "To decide": item.proposed,
                "Version": item.version,
                "Changed": item.changed,
            }
            for item in sets
        ],
        key=key,
        hide_index=True,
        on_select=pick,
        selection_mode=("single-row", "single-cell"),
        column_config={
            "Name": st.column_config.TextColumn(width="medium"),
            "Labelled": st.column_config.NumberColumn(
                help="Answerable questions with a relevant label whose text is in the documents."
            ),
            "To decide": st.column_config.NumberColumn(help="Proposed questions to accept."),
            "Changed": st.column_config.DatetimeColumn(format="distance"),
        },
        alt="Question sets with their numbers of questions, version and last change.",
    )


def make_button(base: KnowledgeBase, recipe: Recipe) -> None:
    """A button that asks which questions to make."""
    icon, path = ":material/auto_awesome:", "questions.request_proposals"
    if st.button("Make questions", **offered(base, path, key="questions_make", icon=icon)):
        _make(base, recipe)


@dialog("Make questions", icon=":material/auto_awesome:")
def _make(base: KnowledgeBase, recipe: Recipe) -> None:
    has_model = recipe.answer.provider != "extractive"
    kinds = [*(MODEL_KINDS if has_model else ()), *OFFLINE_KINDS]
    if has_model:
        st.caption(
            "The language model of the recipe writes the first kinds. The others are "
            "taken from the text."
        )
    else:
        st.caption(
            "Without a language model, questions repeat the words of their passage: a sentence "
            "with a gap, its key words, or a heading. Use them for a smoke test only, because "
            "metrics on them are too good. For natural questions, choose a provider in the recipe."
        )
    st.text_input("Question set", _new_name(base), key=f"{_REQUEST_KEY}_set")
    st.pills(
        "Kinds",
        kinds,
        selection_mode="multi",
        default=kinds[:2],
        format_func=lambda kind: _KINDS.get(kind, kind),
        key=f"{_REQUEST_KEY}_kinds",
    )
    st.number_input("How many", 1, 500, 20, key=f"{_REQUEST_KEY}_number")
    st.caption("Each question shows its source and waits for your approval.")
    confirm_button("Make", "questions_make_go", _request, base, recipe)


def _new_name(base: KnowledgeBase) -> str:
    """A name that no set has: made questions do not mix with those of people."""
    taken = {item.name for item in question_sets_of(base)}
    names = (f"{_MADE} {number}" for number in count(2))
    return next(name for name in chain([_MADE], names) if name not in taken)


def _request(base: KnowledgeBase, recipe: Recipe) -> None:
    name, kinds, number = (st.session_state[f"{_REQUEST_KEY}_{field}"] for field in _FIELDS)
    base.questions.request_proposals(name, kinds, int(number), recipe)
    question_sets.choose_set(name.strip())
    st.session_state[question_sets.TAB] = question_sets.SETS
    later(
        partial(st.toast, "New questions appear as they are made.", icon=":material/auto_awesome:")
    )


def proposals(base: KnowledgeBase, chosen: QuestionSet) -> None:
    """Draw the proposals that wait for a decision."""
    waiting = base.questions.proposals(chosen.name)
    if not waiting:
        return
    tight = [item.id for item in waiting if (item.leak or 0.0) < _LEAKING]
    title = f"{counted(len(waiting), 'question')} to accept or reject"
    with st.expander(title, icon=_ICON, expanded=not chosen.questions):
        st.caption(
            "Select questions, then accept or reject them. "
            + (
                "A high leak means that a question repeats rare words of its passage, so it is "
                "too easy."
                if tight
                else "All of them repeat the rare words of their passage, so metrics on them are "
                "too good: accept them for a smoke test only."
            )
        )
        event = st.dataframe(
            [_row(item) for item in waiting],
            key=f"questions_proposed_{chosen.name}",
            hide_index=True,
            on_select="rerun",
            selection_mode="multi-row",
            column_config={
                "Question": st.column_config.TextColumn(width="large"),
                "Words that answer": st.column_config.TextColumn(width="large"),
                "Leak": st.column_config.ProgressColumn(format="percent", width="small"),
            },
            alt="Proposed questions with leak, kind, source and the words that answer.",
        )
        picked = [waiting[row].id for row in event.selection.rows if row < len(waiting)]
        _decisions(base, chosen.name, [item.id for item in waiting], picked, tight)


def _decisions(
    base: KnowledgeBase,
    set_name: str,
    waiting: Sequence[str],
    picked: Sequence[str],
    tight: Sequence[str],
) -> None:
    accept, reject = base.questions.accept_proposals, base.questions.reject_proposals
    rest = (
        ("accept_open", f"Accept the {len(tight):,} with little leak", accept, tight)
        if tight
        else ("accept_all", f"Accept all {len(waiting):,} for a smoke test", accept, waiting)
    )
    with st.container(horizontal=True):
        for key, label, decide, ids in (
            ("accept", f"Accept {len(picked):,}", accept, picked),
            ("reject", f"Reject {len(picked):,}", reject, picked),
            rest,
        ):
            act = partial(decide, set_name, ids)
            options = offered(base, "questions.accept_proposals", disabled=not ids)
            action_button(label, f"questions_{key}", "", act, **options)


def _row(item: LabelledQuestion) -> dict[str, object]:
    return {
        "Question": item.text,
        "Leak": item.leak,
        "Kind": _KINDS.get(item.origin.partition(" (")[0], item.origin),
        "Source": ", ".join(dict.fromkeys(label.document_name for label in item.labels)) or None,
        "Words that answer": " … ".join(label.quote for label in item.labels) or None,
    }


_COUNTED_WITH = "Counted with"
_LONGEST = 80  # characters of the first question of a group
_EDITED, _LOADED, _GROUPS = "questions_table", "questions_loaded", "questions_groups"


def edit_button(base: KnowledgeBase, set_name: str) -> None:
    """A button that opens the table."""
    icon, path = ":material/edit:", "questions.save_table"
    if st.button("Edit questions", **offered(base, path, key="questions_edit", icon=icon)):
        # As it was when it was opened: edits count rows, and others may change the set meanwhile.
        st.session_state[_LOADED] = base.questions.labelled(set_name)
        st.session_state[_GROUPS] = base.questions.groups(set_name)
        _edit(base, set_name)


@dialog("Edit questions", icon=":material/edit:", width="large", dismissible=False)
def _edit(base: KnowledgeBase, set_name: str) -> None:
    before: list[LabelledQuestion] = st.session_state[_LOADED]
    st.caption(
        "Edit a text, add a row at the end, or select rows to delete them. Labels stay with "
        "their question. Saving makes a new version of the set."
    )
    groups = _group_names(before, st.session_state[_GROUPS])
    st.caption(_grouped(groups))
    edited = st.data_editor(
        [_question_row(row, groups) for row in before],
        key=_EDITED,
        num_rows="dynamic",
        hide_index=True,
        height=380,
        column_config={
            "id": None,
            "Question": st.column_config.TextColumn(required=True, width="large"),
            "Answerable": st.column_config.CheckboxColumn(
                default=True, help="Whether the documents answer it."
            ),
            "Expected answer": st.column_config.TextColumn(
                help="The correct answer. Answers are compared with it."
            ),
            "Tags": st.column_config.TextColumn(help="Separated by semicolons."),
            "Group": st.column_config.TextColumn(
                help="A name for questions that depend on each other. If empty, the group "
                "follows from source and words, as in the next column. A hyphen makes "
                "the question independent."
            ),
            _COUNTED_WITH: st.column_config.TextColumn(
                disabled=True,
                help="The group that counts, once saved: its name, or its first question if the "
                "group was found. These questions share a label's document or passage, or most of "
                "their words, so tests count them as one observation.",
            ),
        },
    )
    with st.container(horizontal=True, gap="small"):
        # Not a callback: it would be given the table as it was drawn last.
        save = filled_button("Save", key="questions_save")
        # Escape in an edited table ends the edit of a cell; a closed dialog loses the table.
        escape = None if any(st.session_state[_EDITED].values()) else "Escape"
        cancel = st.button("Cancel", key="questions_cancel", type="tertiary", shortcut=escape)
    if cancel:
        st.rerun()
    if save:
        with guard():
            base.questions.save_table(set_name, before, read_rows(edited))
            st.rerun()
    _split(base, set_name)


def _grouped(groups: Mapping[str, str]) -> str:
    """Describe the number of groups and their effect."""
    if not groups:
        return "All questions are independent: none share a source or words."
    return (
        f"{counted(len(groups), 'question')} share a source or their words with others, in "
        f"{counted(len(set(groups.values())), 'group')}. A group counts as one observation in "
        "tests and intervals, and stays on one side of the split."
    )


def _group_names(rows: Sequence[LabelledQuestion], groups: Mapping[str, str]) -> dict[str, str]:
    """Groups by question id; those that were found have the text of their first question."""
    first = {f"as {row.id}": f"“{clipped(row.text, _LONGEST)}”" for row in rows}
    given = {row.id for row in rows if row.group}
    return {
        name: group if name in given else first.get(group, group) for name, group in groups.items()
    }


def _question_row(row: LabelledQuestion, groups: Mapping[str, str]) -> dict[str, object]:
    return {
        "id": row.id,
        "Question": row.text,
        "Answerable": row.answerable,
        "Expected answer": row.answer,
        "Tags": "; ".join(row.tags),
        "Group": row.group,
        _COUNTED_WITH: groups.get(row.id, ""),
    }


def read_rows(edited: Sequence[Mapping[str, Any]]) -> list[LabelledQuestion]:
    """The table as it was edited; empty rows are left out."""
    return [
        LabelledQuestion(
            str(row.get("id") or ""),
            str(row["Question"]),
            row.get("Answerable") is not False,
            tuple(tag.strip() for tag in str(row.get("Tags") or "").split(";") if tag.strip()),
            group=str(row.get("Group") or "").strip(),
            answer=str(row.get("Expected answer") or "").strip(),
        )
        for row in edited
        if row.get("Question")
    ]


def _split(base: KnowledgeBase, set_name: str) -> None:
    """Draw the split into tuning and held-out questions, with its share and seed.

    The same share and seed give the same split on every machine.
    """
    stored = base.questions.named(set_name)
    st.markdown("**Tuning and held-out questions**")
    try:
        parts = base.questions.split(set_name)
    except TouchstoneError as error:
        st.caption(f"{error.message} {error.hint}")
        return
    st.caption(
        f"{counted(len(parts.tuning), 'question')} to tune on, {len(parts.held_out):,} held out to "
        "report on."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        share = st.slider(
            "Share to tune on", 0.2, 0.8, stored.split_share, 0.05, key="questions_share"
        )
        seed = st.number_input("Seed", 0, 9999, stored.split_seed, key="questions_seed", width=120)
        # Drawn again by the click itself, with the table as it was edited so far.
        st.button(
            "Split again",
            key="questions_split",
            icon=":material/shuffle:",
            on_click=guard(in_dialog=True)(base.questions.set_split),
            args=(set_name, int(seed), float(share)),
        )
    notices()
