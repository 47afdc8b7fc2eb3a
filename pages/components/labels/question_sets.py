"""Question sets: import, export, another name, the end, and labels that lost their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pages.components.shell.buttons import confirm_button, dialog, download_button, filled_button
from pages.components.shell.guard import guard, later
from pages.components.shell.session import offered
from pages.components.shell.text import ago, plain
from rag import (
    HIGHEST_GRADE,
    Existing,
    KnowledgeBase,
    QuestionSet,
    QuestionTable,
    VersionData,
    counted,
)

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

SET = "set"  # state key of the picker and name of the URL's parameter
NEXT_SET = "metrics_next_set"  # the one that this run picks
TAB, FAILURES, SETS = "metrics", "Failures", "Question sets"  # of the Metrics page
_RESTORED = "metrics_restored"
EXAMPLES = {
    "jsonl": '{"id": "q1", "text": "How long is the warranty?", "tags": ["policy"], "evidence": ['
    '{"document": "terms.pdf", "quote": "The warranty lasts 24 months.", "grade": 2}], '
    '"answer": "24 months"}\n'
    '{"id": "q2", "text": "Who won the 1954 world cup?", "answerable": false}\n',
    "csv": "id,question,answer,answerable,tags,document,quote,grade\n"
    "q1,How long is the warranty?,24 months,true,policy,terms.pdf,The warranty lasts 24 months.,2\n"
    "q2,Who won the 1954 world cup?,,false,,,,\n",
}
"""A file of questions to start from, by the end of its name."""


_DOCUMENTS_COUNTED = (
    "documents, not passages: retrieval metrics count documents, and cannot compare chunk sizes."
)
_TO_LABEL_PASSAGES = (
    "To label passages, {verb} a column *quote* with the words of the document that answer."
)


def document_labels_note(labels: int) -> str:
    """Say what labels of whole documents cannot measure."""
    name = "names" if labels == 1 else "name"
    remedy = _TO_LABEL_PASSAGES.format(verb="import the questions with")
    return f"{counted(labels, 'label')} {name} {_DOCUMENTS_COUNTED} {remedy}"


def import_button(base: KnowledgeBase) -> bool:
    """A button that asks for the import dialog."""
    icon, path = ":material/upload_file:", "questions.import_file"
    return st.button("Import questions", **offered(base, path, key="metrics_import", icon=icon))


@dialog("Import questions", icon=":material/upload_file:")
def import_dialog(base: KnowledgeBase) -> None:
    """Read a file into a question set, or judgements into one that is there."""
    st.caption(
        "One question per line, with the passages that answer it: name of the document and "
        "the words. Labels are places in documents, so they stay valid for every index. If you "
        "have expected answers, put them in a column *answer*: *Also score answers* compares with "
        "them."
    )
    _examples()
    st.caption(
        "A zip is a collection in BEIR's layout (queries.jsonl, qrels). TREC judgements (.qrels) "
        "go to the questions of a set that is there."
    )
    file = st.file_uploader(
        "Excel, CSV, a list with one question a line, JSONL, BEIR zip or TREC qrels",
        type=["xlsx", "csv", "tsv", "txt", "jsonl", "zip", "qrels"],
        key="metrics_import_file",
    )
    exchange, columns, ignored = base.questions, dict[str, str](), list[str]()
    judged = file is not None and exchange.holds_judgements(file.name, file.getvalue())
    if file is not None and not judged:
        with guard():
            table = exchange.table(file.name, file.getvalue())
            columns = column_pickers(table)
            ignored = ignored_columns(table, columns)
            if table is not None and labels_documents(table, columns):
                remedy = _TO_LABEL_PASSAGES.format(verb="add")
                st.info(
                    f"These labels name {_DOCUMENTS_COUNTED} {remedy}",
                    icon=":material/description:",
                )
    existing: Existing | None = "refuse"
    if judged:
        names = [item.name for item in base.questions.list_all()]
        name = st.selectbox("Set that the judgements are for", names, key="metrics_judged_set")
    else:
        proposed = Path(file.name).stem if file else ""
        name = st.text_input("Name of the set", value=proposed, max_chars=80).strip()
        existing = existing_choice(base, name)
    skip_bad = st.checkbox(
        "Skip bad lines",
        key="metrics_skip_bad",
        help="Imports the valid lines and lists the others. If not selected, a file with an "
        "invalid line is rejected.",
    )
    if filled_button(
        "Import",
        key="metrics_import_go",
        disabled=file is None or existing is None,
    ):
        with guard():
            _import(base, name or "", file, columns, ignored, existing, skip_bad=skip_bad)


def existing_choice(base: KnowledgeBase, name: str) -> Existing | None:
    """Ask what to do with a question set of the same name; return None until the user chooses.

    Return "refuse" if no set has the name.
    """
    present = {item.name: item for item in base.questions.list_all()}.get(name)
    if present is None:
        return "refuse"  # should somebody make one meanwhile
    captions = {
        "add": "It stays as it is, and gets the questions and labels that it lacks.",
        "replace": f"Version {present.version} is kept under *Earlier versions*.",
    }
    return st.radio(
        f"There is a set of this name, with {counted(present.questions, 'question')}. "
        "Give another name above, or choose:",
        list(captions),
        None,
        format_func={"add": "Add to it", "replace": "Replace it"}.__getitem__,
        captions=list(captions.values()),
        key=f"metrics_import_existing_{name}",
    )


def _examples() -> None:
    with st.container(horizontal=True):
        for form, text in EXAMPLES.items():
            label, key = f"Example {form.upper()}", f"metrics_example_{form}"
            download_button(label, text, f"questions.{form}", key, type="tertiary")


def column_pickers(table: QuestionTable | None) -> dict[str, str]:
    """Pickers of what the columns hold, below the first rows; what was picked, by field."""
    if table is None or len(table.columns) < 2:
        return {}
    st.dataframe(
        [dict(zip(table.columns, row, strict=False)) for row in table.rows],
        hide_index=True,
        alt="The first rows of the file.",
    )
    none, picked = "(none)", {}
    likely = _likely_columns(table)
    with st.container(horizontal=True):
        for field in _PICKED:
            current = table.fields.get(field, none)
            names = [*([none] if current == none else []), *table.columns]
            chosen = st.selectbox(
                field.capitalize(),
                names,
                names.index(likely.get(field, current) if current == none else current),
                key=f"metrics_column_{field}_{'|'.join(table.columns)}",
                width=150,
            )
            if chosen not in (none, current):
                picked[field] = chosen
    return picked


def labels_documents(table: QuestionTable, picked: Mapping[str, str]) -> bool:
    """Whether a table names documents that answer, and no place in them."""
    fields = {*table.fields, *picked}
    return "document" in fields and fields.isdisjoint({"quote", "page", "start", "end"})


def _likely_columns(table: QuestionTable) -> dict[str, str]:
    """The column that each missing field is likely in, such as "reference" for the answer."""
    used, likely = {*table.fields.values()}, dict[str, str]()
    for column in table.columns:
        field = table.likely_field(column) if column and column not in used else None
        if field and field not in table.fields:
            likely.setdefault(field, column)
    return likely


_PICKED = ("question", "answer", "answerable", "document", "quote", "page", "grade", "tags")


def ignored_columns(table: QuestionTable | None, picked: dict[str, str]) -> list[str]:
    """The columns that are to be left out, of those that are no field and were not picked."""
    if table is None or len(table.columns) < 2:
        return []
    used = {*(table.fields | picked).values()}
    unknown = [column for column in table.columns if column and column not in used]
    if not unknown:
        return []
    st.caption("Pick what each column holds, or leave it out.")
    key = f"metrics_ignored_{'|'.join(table.columns)}"
    return st.multiselect("Columns to leave out", unknown, key=key, placeholder="None")


def _import(
    base: KnowledgeBase,
    name: str,
    file: UploadedFile,
    columns: dict[str, str],
    ignored: list[str],
    existing: Existing,
    *,
    skip_bad: bool,
) -> None:
    content = file.getvalue()
    came = base.questions.import_file(
        name,
        file.name,
        content,
        columns=columns,
        ignored_columns=ignored,
        skip_bad=skip_bad,
        existing=existing,
    )
    judged = base.questions.holds_judgements(file.name, content)
    what = "judgement" if judged else "question"
    version_note = f" {_kept(came.replaced)}" if came.replaced is not None else ""
    imported = f"{counted(came.number, what)} imported into “{name}”.{version_note}"
    _label_notes(base, name)
    later(partial(st.success, plain(imported), icon=":material/check:"))
    if came.skipped:
        later(partial(_skipped, file.name, came.skipped))
    if came.repeated:
        later(partial(_repeated, came.repeated))
    if unlabelled := base.questions.check(name).unlabelled:
        later(partial(_unlabelled, len(unlabelled)))
    choose_set(name)
    st.rerun()


def _label_notes(base: KnowledgeBase, name: str) -> None:
    """Keep warnings of labels of a set that have no place, and of grades that no page gives."""
    labels = [label for item in base.questions.labelled(name) for label in item.labels]
    lost = len(base.questions.lost_labels(name))
    if lost:
        point = "points" if lost == 1 else "point"
        warning = (
            f"{lost:,} of {counted(len(labels), 'label')} of {name} {point} to text that is not "
            "here, because the document or the words are missing. See the list below."
        )
        later(partial(st.warning, plain(warning), icon=":material/label_off:"))
    highest = max((label.grade for label in labels), default=0)
    if highest > HIGHEST_GRADE:
        warning = (
            f"Grades in {name} go up to {highest:,}. The pages give at most {HIGHEST_GRADE}. "
            "Metrics count the higher grades as they are."
        )
        later(partial(st.warning, plain(warning), icon=":material/label:"))


def _repeated(notes: Sequence[str]) -> None:
    """The quotes of a file that stand in several places of their document."""
    title = f"{counted(len(notes), 'quote')} in several places"
    with st.expander(title, icon=":material/content_copy:", expanded=True):
        rows = [{"Label": note} for note in notes]
        st.dataframe(rows, hide_index=True, alt="Quotes that occur more than once.")


def _unlabelled(number: int) -> None:
    """Say what to do with the questions of a file that nothing can be measured with."""
    st.warning(
        f"Not measured: {counted(number, 'answerable question')} without a label or an expected "
        "answer. Click *Label passages* on *Metrics*. If the documents don't answer a question, "
        "clear *Answerable* in *Edit questions* on *Question sets*.",
        icon=":material/label_off:",
    )


def unmeasured(number: int, *, answers: bool = False) -> str:
    """Say that so many questions have no label, and what that means: ``answers`` are expected."""
    have, they, their = ("has", "it is", "its") if number == 1 else ("have", "they are", "their")
    means = f"only {their} answers are measured" if answers else f"{they} not measured"
    return f"{counted(number, 'answerable question')} {have} no label: {means}"


def _kept(version: int) -> str:
    return f"Version {version} is kept under Earlier versions."


def _skipped(file_name: str, problems: Sequence[str]) -> None:
    """The lines of a file that were left out."""
    title = f"{counted(len(problems), 'line')} of {plain(file_name)} skipped"
    with st.expander(title, icon=":material/rule:", expanded=True):
        rows = [{"What is wrong": problem} for problem in problems]
        st.dataframe(rows, hide_index=True, alt="Lines that could not be read.")


def choose_set(name: str) -> None:
    """Make a set the picked one at the next run; a drawn picker cannot be set."""
    st.session_state[NEXT_SET] = name


def settle_set(names: list[str]) -> None:
    """Follow a set that was just imported, and leave one that is gone."""
    chosen = st.session_state.pop(NEXT_SET, None)
    if chosen in names:
        st.session_state[SET] = chosen
    elif st.session_state.get(SET) not in (None, *names):
        del st.session_state[SET]
    message = st.session_state.pop(_RESTORED, None)
    if message:
        st.toast(plain(message), icon=":material/check:")


def has_choice() -> bool:
    """Whether the visitor or the address chose a set; else the page says which one is first."""
    return SET in st.session_state or SET in st.query_params


def export_buttons(base: KnowledgeBase, name: str) -> None:
    """Downloads of a set, as files that can be imported again."""
    exchange = base.questions
    for label, ending, data in (
        ("JSONL", "jsonl", partial(exchange.export_text, name, "jsonl")),
        ("CSV", "csv", partial(exchange.export_text, name, "csv")),
        ("BEIR", "zip", partial(exchange.export_beir, name)),
        ("TREC qrels", "qrels", partial(exchange.export_text, name, "qrels")),
    ):
        key = f"metrics_export_{ending}"
        download_button(f"Export {label}", data, f"{name}.{ending}", key, width="stretch")


def manage_button(base: KnowledgeBase, chosen: QuestionSet) -> None:
    """A button that opens the dialog that renames or deletes a set."""
    icon, path = ":material/edit_note:", "questions.delete_set"
    if st.button("Rename or delete", **offered(base, path, key="set_manage", icon=icon)):
        _manage(base, chosen)


@dialog("Rename or delete", icon=":material/edit_note:")
def _manage(base: KnowledgeBase, chosen: QuestionSet) -> None:
    new_name = st.text_input("Name of the set", chosen.name, max_chars=80, key="set_name")
    name = (new_name or "").strip()
    if st.button("Rename", key="set_rename", disabled=name in ("", chosen.name)):
        with guard():
            base.questions.rename_set(chosen.name, name)
            choose_set(name)
            st.rerun()
    st.divider()
    st.caption(
        f"This permanently deletes {counted(chosen.questions, 'question')} with all labels "
        "and earlier versions. Runs stay."
    )
    sure = st.checkbox("Yes, delete the questions and their labels", key="set_sure")
    if filled_button("Delete", key="set_delete", disabled=not sure):
        with guard():
            base.questions.delete_set(chosen.name)
            st.rerun()


def versions_button(base: KnowledgeBase, chosen: QuestionSet) -> None:
    """A button that opens the versions that imports replaced, where there are any."""
    versions = base.questions.kept_versions(chosen.name)
    if not versions:
        return
    icon, path = ":material/history:", "questions.restore_version"
    if st.button("Earlier versions", **offered(base, path, key="set_versions", icon=icon)):
        _versions(base, chosen, versions)


@dialog("Earlier versions", icon=":material/history:")
def _versions(base: KnowledgeBase, chosen: QuestionSet, versions: Sequence[VersionData]) -> None:
    st.caption(
        "Imports replaced these versions. If you restore one, it replaces the current "
        "version, which is then kept here."
    )
    version = st.selectbox("Version", versions, format_func=_described, key="set_version")
    confirm_button("Bring it back", "set_restore", _restore, base, chosen.name, version.version)


def _described(version: VersionData) -> str:
    return (
        f"{version.version}, replaced {ago(version.replaced)}: "
        f"{counted(version.questions, 'question')}, {counted(version.labels, 'label')}"
    )


def _restore(base: KnowledgeBase, name: str, version: int) -> None:
    replaced = base.questions.restore_version(name, version)
    version_note = f" {_kept(replaced)}" if replaced is not None else ""
    st.session_state[_RESTORED] = f"Version {version} of {name} is back.{version_note}"
