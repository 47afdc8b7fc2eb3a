"""The documents of a knowledge base as a table, and what was read of each and what was not."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

import streamlit as st

from pages.components.shell.buttons import confirm_button, dialog
from pages.components.shell.guard import guard
from pages.components.shell.session import offered, refusal, to_url
from pages.components.shell.tables import pick_rows
from pages.components.shell.text import FITS, kind, plain, short_name
from pages.components.source.view import SourceSpan, forget_walk, source_view
from rag import (
    ENCODINGS,
    DocumentInfo,
    KnowledgeBase,
    Receipt,
    counted,
    language_name,
    visible,
)

_DOCUMENT = "doc"  # the URL's parameter: the beginning of a document's id
_LONG = 12  # hex digits in the URL
_TALLEST = 316  # pixels: half a row at the end says that there are more
SHOWN = "document"  # the anchor of the picked document, which is below the fold


def search_badge(infos: Sequence[DocumentInfo], by_words: Set[str]) -> str:
    """Say whether questions find all of the documents that are not left out, as Markdown."""
    waiting = sum(_status(info, by_words) in ("lexical only", "not built") for info in infos)
    return f":orange-badge[{waiting:,} not ready]" if waiting else ":green-badge[All ready]"


def documents_table(
    base: KnowledgeBase, infos: Sequence[DocumentInfo], by_words: Set[str]
) -> DocumentInfo | None:
    """Draw the table; return the one document that is picked, if it is one.

    ``by_words`` are the names of those whose vectors are not in yet.
    """
    parameter = st.query_params.get(_DOCUMENT, "")
    named = [row for row, info in enumerate(infos) if parameter and info.id.startswith(parameter)]
    _gone_note(base, gone=bool(parameter) and not named)
    tagged = any(info.tags for info in infos)
    incomplete = any(_unread(info) for info in infos)
    rows = pick_rows(
        [
            _row(info, by_words)
            | ({"Not read": _unread(info) or None} if incomplete else {})
            | ({"Tags": list(info.tags)} if tagged else {})
            for info in infos
        ],
        f"documents_table_{base.id}_{base.version()}",
        named[:1],
        height=_TALLEST if len(infos) > 10 else "auto",
        column_config=_columns(),
        alt="Documents with type, pages, passages, status and date.",
    )
    picked = [infos[row] for row in rows if row < len(infos)]
    _toolbar(base, picked, sorted({tag for info in infos for tag in info.tags}))
    to_url(_DOCUMENT, picked[0].id[:_LONG] if len(picked) == 1 else "")
    return picked[0] if len(picked) == 1 else None


def _status(info: DocumentInfo, by_words: Set[str]) -> str:
    if info.left_out:
        return "left out of search"
    if info.name in by_words:
        return "lexical only"
    return "ready" if info.passages else "not built"


def _unread(info: DocumentInfo) -> int:
    return sum(part.count for part in info.receipt.left_out) if info.receipt else 0


def _row(info: DocumentInfo, by_words: Set[str]) -> dict[str, object]:
    return {
        "Name": short_name(visible(info.name), FITS),
        "Status": _status(info, by_words),
        "Type": kind(info.media_type),
        "Pages": info.pages or None,
        "Passages": info.passages,
        "Updated": info.added,
    }


def _columns() -> dict[str, object]:
    return {
        "Name": st.column_config.TextColumn(width=240),  # a phone shows the status beside it
        "Passages": st.column_config.NumberColumn(
            help="In the build that answers now.", format="localized"
        ),
        "Status": st.column_config.TextColumn(
            width=140,  # or the longest status is cut
            help="Ready: questions find it. Lexical only: its vectors are not in yet. Left out of "
            "search: all of its text is excluded.",
        ),
        "Not read": st.column_config.NumberColumn(
            format="⚠ %d",
            help="Parts of the file that are not in the text, such as pictures. "
            "Click the document to see what and where.",
        ),
        "Updated": st.column_config.DatetimeColumn(format="distance"),
        "Tags": st.column_config.ListColumn(help="A recipe can search documents by tag."),
    }


def _toolbar(base: KnowledgeBase, picked: list[DocumentInfo], tags: list[str]) -> None:
    if not picked:
        ticked = "" if refusal(base, "documents.delete_documents") else " Tick some to delete them."
        st.caption(f"Click a document for its passages.{ticked}")
        return
    if len(picked) == 1:
        name = plain(picked[0].name)
        st.markdown(f":material/arrow_downward: [{name} is shown below](#{SHOWN})")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if st.button(
            f"Delete {counted(len(picked), 'document')}",
            **offered(
                base,
                "documents.delete_documents",
                key="documents_delete",
                icon=":material/delete:",
            ),
        ):
            _confirm_delete(base, picked)
        if len(picked) == 1:
            _tags(base, picked[0], tags)


def _tags(base: KnowledgeBase, info: DocumentInfo, tags: list[str]) -> None:
    key = f"documents_tags_{info.id}_{','.join(info.tags)}"
    st.multiselect(
        "Tags",
        tags,
        list(info.tags),
        key=key,
        accept_new_options=True,
        placeholder="Type a tag",
        width=420,
        on_change=_tag,
        args=(base, info, key),
        **offered(
            base,
            "documents.tag",
            help="A recipe can search only documents with a tag: Advanced, Filter.",
        ),
    )


def _tag(base: KnowledgeBase, info: DocumentInfo, key: str) -> None:
    with guard():
        base.documents.tag(info.id, st.session_state[key])


@dialog("Delete documents?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase, picked: list[DocumentInfo]) -> None:
    ids = [info.id for info in picked]
    with guard():
        st.markdown("\n".join(f"- {plain(info.name)}" for info in picked[:8]))
        if len(picked) > 8:
            st.caption(f"and {counted(len(picked) - 8, 'more document')}")
        labels = base.documents.labels_on(ids)
        passages = sum(info.passages for info in picked)
        st.markdown(f"This also deletes {counted(passages, 'passage')} and the stored files.")
        if labels:
            st.warning(
                f"{counted(labels, 'label')} of your question sets point there. They stay, "
                "but count again only when the same text is added once more.",
                icon=":material/label_off:",
            )
        confirm_button("Delete", "documents_delete_really", base.documents.delete_documents, ids)


def _gone_note(base: KnowledgeBase, *, gone: bool) -> None:
    """On the first look only: later, what is not here was deleted by this visitor."""
    first = not st.session_state.get(f"documents_seen_{base.id}")
    st.session_state[f"documents_seen_{base.id}"] = True
    if first and gone:
        st.warning(
            "The document of this link is not here any more: it was deleted or replaced.",
            icon=":material/scan_delete:",
        )


_GUESSED, _CHOSEN = "encoding_guessed", "encoding_chosen"
_AROUND = 200  # characters behind the place


def draw_receipt(base: KnowledgeBase, document_id: str, receipt: Receipt) -> None:
    """Draw one line for the text, and a button for each kind of content that is not in it.

    A click opens the document where the first of them would be.
    """
    st.caption(f"Read: {_receipt_line(receipt)}.")
    if not receipt.left_out:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(":orange[:material/warning:] Not read:", width="content")
        for omission in receipt.left_out:
            if st.button(
                omission.words,
                key=f"documents_omission_{omission.kind}",
                type="tertiary",
                help="Show the place",
                on_click=forget_walk,
            ):
                start = omission.start
                show_unread(base, document_id, start, start + _AROUND)


@dialog("Not read", icon=":material/hide_image:", width="large")
def show_unread(base: KnowledgeBase, document_id: str, start: int, end: int) -> None:
    """Show a document around what its reader left out."""
    with guard():
        source_view(base, base.recipe(), SourceSpan(document_id, start, end))


def draw_encodings(receipt: Receipt, read_again: Callable[[str], None], **options: object) -> None:
    """Offer other encodings for a text whose own one was guessed or chosen.

    ``read_again`` is called with the one that is picked.
    """
    if not (receipt.read.get(_GUESSED) or receipt.read.get(_CHOSEN)):
        return
    now = str(receipt.read["encoding"])

    def pick() -> None:
        if picked := st.session_state.get("documents_encoding"):
            read_again(picked)

    st.selectbox(
        "Wrong letters? Read it again as",
        [name for name in ENCODINGS if name != now],
        index=None,
        key="documents_encoding",
        placeholder=now,
        width=280,
        on_change=pick,
        **options,
    )


def _receipt_line(receipt: Receipt) -> str:
    parts = [
        counted(number, kind.removesuffix("s").replace("_", " "))
        for kind, number in receipt.read.items()
        if isinstance(number, int) and kind not in (_GUESSED, _CHOSEN)
    ]
    parts.append(language_name(str(receipt.read.get("language", "en"))))
    if encoding := receipt.read.get("encoding"):
        parts.append(f"{encoding}{', guessed' if receipt.read.get(_GUESSED) else ''}")
    return " · ".join(parts)
