"""Before files are added: time by embedding model, languages, and a preview of the passages."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.index_builds import embedders, index_form
from pages.components.shell.buttons import action_button, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.session import cache_data
from pages.components.shell.text import cut, duration, plain, shown_context, tinted
from rag import (
    Amount,
    Chunk,
    Document,
    IndexRecipe,
    KnowledgeBase,
    LanguageGap,
    Receipt,
    UnreadableDocument,
    Upload,
    counted,
    refusal,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_LOOKED_AT = 5  # files of each type whose pages are counted; the others are in proportion
_MOST_PREVIEWED = 20_000_000  # bytes
_READ_FOR_LANGUAGE = 1_000_000  # bytes, which are hundreds of small files
_PASSAGES = 60
_NAMED = 5  # files that are replaced
_FORM = "documents"
_EMBEDDER_KEY = f"{_FORM}_embedder"


def decided(base: KnowledgeBase, uploads: Sequence[Upload]) -> bool:
    """Whether the files are to be added now: the visitor sees how they are cut before.

    The first ones of a knowledge base come with the form of its index.
    """
    index = base.recipe().index
    present = {document.name for document in base.documents.documents(index)}
    replaced = [file.name for file in uploads if file.name in present]
    with st.container(border=True):
        return _decision(base, uploads, index, replaced, first=not present)


def _decision(
    base: KnowledgeBase,
    uploads: Sequence[Upload],
    index: IndexRecipe,
    replaced: Sequence[str],
    *,
    first: bool,
) -> bool:
    names = counted(len(uploads), "file")
    # Above the preview, which is higher than a screen.
    with st.container(horizontal=True, vertical_alignment="center"):
        heading = st.container(width="stretch").empty()
        heading.markdown(f"**{names} to add.** Estimating the time …")
        added = filled_button(f"Add {names}", key="documents_add_now", icon=":material/add:")
    gap = st.empty()
    if not added:
        _replacements(replaced)
        _warnings(uploads)
    chosen = index
    if first:
        chosen = _choice(base, uploads, index, preview=not added)
    elif not added:
        with guard():
            _preview(base, uploads, index)
    if not added:
        with guard():  # last, as it takes a while
            among = embedders(index) if first else [index.embedder]
            heading.markdown(f"**{names} to add.** {_costs(base, uploads, among)}")
        if first:
            with guard():
                _draw_language_gap(base, uploads, index, gap)
        return False
    if chosen != index:
        working_recipe.save_index(base, chosen)
    return True


def _replacements(names: Sequence[str]) -> None:
    """Say which files have the name of a document, which they replace."""
    if names:
        more = len(names) - _NAMED
        listed = ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        one = len(names) == 1
        have = (
            "has the name of a document, and replaces it"
            if one
            else ("have the names of documents, and replace them")
        )
        st.info(
            f"{counted(len(names), 'file')} {have}: {plain(listed)}.", icon=":material/sync_alt:"
        )


def _warnings(uploads: Sequence[Upload]) -> None:
    """Name the files that no reader reads: empty ones, and those of other types."""
    empty = [file.name for file in uploads if not _size(file)]
    others = [file.name for file in uploads if _size(file) and not _is_supported(file)]
    for names, one, more in (
        (empty, "is empty", "are empty"),
        (others, "has a type that is not supported", "have types that are not supported"),
    ):
        if names:
            verb = one if len(names) == 1 else more
            st.warning(
                f"{counted(len(names), 'file')} {verb}: {plain(', '.join(names))}.",
                icon=":material/draft:",
            )


def _is_supported(upload: Upload) -> bool:
    return refusal(upload.name, upload.content) is None


def _costs(base: KnowledgeBase, uploads: Sequence[Upload], names: Iterable[str]) -> str:
    """``About 15 min with minilm, 30 s with wordllama.``, as far as it is known."""
    amounts = _amounts(base, uploads)
    estimates = {name: base.documents.seconds_to_add(amounts, name) for name in names}
    durations = [
        f"{duration(seconds)} with {plain(name)}"
        for name, seconds in estimates.items()
        if seconds is not None
    ]
    return f"About {', '.join(durations)}." if durations else "How long it takes is not known yet."


def _draw_language_gap(
    base: KnowledgeBase, uploads: Sequence[Upload], index: IndexRecipe, place: DeltaGenerator
) -> None:
    """Propose a multilingual embedder for small files in a language that needs one."""
    chosen = st.session_state.get(_EMBEDDER_KEY) or index.embedder
    gaps = _gaps(base, uploads, chosen, place)
    place.empty()
    if not gaps:
        return
    gap = next(iter(gaps.values()))
    languages = " and ".join(dict.fromkeys(one.language for one in gaps.values()))
    seem = "seems" if len(gaps) == 1 else "seem"
    problem = (
        f"{plain(', '.join(gaps))} {seem} to be in {languages}, which {plain(chosen)} doesn't "
        "support."
    )
    with place.container(horizontal=True, vertical_alignment="center"):
        if gap.installed:
            st.markdown(
                f":material/translate: {problem} *{gap.embedder}* does. {ITS_USE}", width="stretch"
            )
            action_button(
                f"Use {gap.embedder}",
                "documents_use_multilingual",
                "",
                _choose_embedder,
                gap.embedder,
            )
        else:
            st.markdown(
                f":material/translate: {problem} For dense search, install "
                "`requirements-multilingual.txt`, restart, and choose "
                f"*{gap.embedder}*. {ITS_USE}",
                width="stretch",
            )


def _gaps(
    base: KnowledgeBase, uploads: Sequence[Upload], embedder: str, place: DeltaGenerator
) -> dict[str, LanguageGap]:
    """Return the gaps by file name, of the smallest files where all are too much to read now.

    Files that can't be read have none. ``place`` shows how many are read.
    """
    readable = [
        file for file in uploads if 0 < _size(file) <= _MOST_PREVIEWED and _is_supported(file)
    ]
    smallest = sorted(readable, key=_size)
    read = itertools.accumulate(map(_size, smallest), initial=0)
    looked = [
        file for file, before in zip(smallest, read, strict=False) if before <= _READ_FOR_LANGUAGE
    ]
    gaps = {}
    for number, upload in enumerate(looked):
        text = f"Reading the language of the files: {number:,} of {len(looked):,}"
        place.progress(number / len(looked), text)
        language = _language(base, _identity(upload), _upload=upload)
        if gap := base.documents.language_gap(language, embedder):
            gaps[upload.name] = gap
    return gaps


@cache_data(1024)
def _language(base: KnowledgeBase, identity: str, _upload: Upload) -> str:
    """The code of the language of a file; "" where it can't be read."""
    with suppress(UnreadableDocument):
        receipt = base.documents.read_upload(_upload).receipt
        return str(receipt.read.get("language", "")) if receipt else ""
    return ""


def _choose_embedder(name: str) -> None:
    st.session_state[_EMBEDDER_KEY] = name


def _choice(
    base: KnowledgeBase, uploads: Sequence[Upload], index: IndexRecipe, *, preview: bool
) -> IndexRecipe:
    """Draw the form of the first index beside a preview of a file; return its values."""
    left, right = st.columns([3, 2], gap="large")
    with right:
        chosen = index_form(index, _FORM)
    if preview:
        with left, guard():
            _preview(base, uploads, chosen)
    return chosen


def _preview(base: KnowledgeBase, uploads: Sequence[Upload], chosen: IndexRecipe) -> None:
    small = {
        file.name: file
        for file in uploads
        if 0 < _size(file) <= _MOST_PREVIEWED and _is_supported(file)
    }
    if not small:
        st.caption("These files are empty, too large for a preview, or of an unsupported type.")
        return
    name = st.selectbox("Preview", list(small), key="documents_first_file")
    text, chunks, more = _cut(base, _identity(small[name]), chosen, _upload=small[name])
    cut_into = f"{counted(len(chunks), 'passage')}{' and more' if more else ''}"
    st.caption(f"{cut(chosen)}: {cut_into}.")
    draw_passages(text, chunks, "documents_first_window")


@cache_data(32, show_spinner="Reading …")
def _cut(
    base: KnowledgeBase, identity: str, chosen: IndexRecipe, _upload: Upload
) -> tuple[str, list[Chunk], bool]:
    """The text of a file up to the last passage that is shown, those passages, and if more come."""
    document = _document(base, identity, _upload=_upload)
    chunks = list(islice(base.documents.preview(document, chosen), _PASSAGES + 1))
    first_chunks = chunks[:_PASSAGES]
    return (
        document.text[: first_chunks[-1].end if first_chunks else 0],
        first_chunks,
        len(chunks) > _PASSAGES,
    )


@cache_data(8, show_spinner="Reading …")
def _document(base: KnowledgeBase, identity: str, _upload: Upload) -> Document:
    return base.documents.read_upload(_upload)


def _amounts(base: KnowledgeBase, uploads: Sequence[Upload]) -> list[Amount]:
    """The amounts of some files of each type, in proportion to the bytes of all of that type."""
    amounts, by_type = list[Amount](), defaultdict[str, list[Upload]](list)
    for upload in sorted(uploads, key=_size):
        by_type[Path(upload.name).suffix.lower()].append(upload)
    for files in by_type.values():
        looked = files[:: math.ceil(len(files) / _LOOKED_AT)]
        share = sum(map(_size, files)) / max(sum(map(_size, looked)), 1)
        for file in looked:
            amount = _amount(base, _identity(file), _upload=file)
            amounts.append(Amount(amount.pages * share, amount.characters * share))
    return amounts


@cache_data(1024)
def _amount(base: KnowledgeBase, identity: str, _upload: Upload) -> Amount:
    return base.documents.amount(_upload)


def _identity(upload: Upload) -> str:
    return str(getattr(upload.content, "file_id", f"{upload.name}:{_size(upload)}"))


def _size(upload: Upload) -> int:
    size = upload.content.seek(0, 2)
    upload.content.seek(0)
    return size


def language_note(base: KnowledgeBase, receipts: Sequence[Receipt]) -> None:
    """Name the languages of the documents of an upload that dense search does not know."""
    index = base.recipe().index
    languages_read = [str(receipt.read.get("language", "")) for receipt in receipts]
    by_code = {
        code: base.documents.language_gap(code, index.embedder) for code in set(languages_read)
    }
    gaps = [gap for code in languages_read if (gap := by_code[code]) is not None]
    if not gaps:
        return
    languages = " and ".join(sorted({gap.language for gap in gaps}))
    way = "build an index with" if gaps[0].installed else _INSTALL
    documents = counted(len(gaps), "document", "documents")
    seem = "seems" if len(gaps) == 1 else "seem"
    st.markdown(
        f":material/translate: {documents} {seem} to be in {languages}, which "
        f"{plain(index.embedder)} doesn't support: only lexical search ranks such passages well. "
        f"For dense search, {way} *{plain(gaps[0].embedder)}*. {ITS_USE}"
    )


ITS_USE = (
    "It also finds passages in other words or another language than the question, and refuses "
    "fewer questions that no document answers. Compare both on your own questions (Tuning, "
    "*Compare indexes*)."
)
"""What a multilingual embedder gains and costs, as docs/measurements.md has it for refusal and
for search in several languages."""
_INSTALL = "install `requirements-multilingual.txt`, restart, and build an index with"

_TINTS = ("blue-background", "gray-background")
_SHARED = "orange-background"  # text that two neighbours have in common
_PASSAGES_SHOWN = 12
_CHARACTERS_SHOWN = 12_000

Piece = tuple[str, str]


def draw_passages(text: str, chunks: Sequence[Chunk], key: str) -> None:
    """Draw a window of passages with a pager; ``text`` is the whole document."""
    pages = windows(chunks)
    if len(pages) > 1:
        number = st.pagination(len(pages), key=key) or 1
        page = pages[min(number, len(pages)) - 1]
    else:
        page = pages[0] if pages else []
    with st.container(height=560, border=True):
        st.markdown(_body(text, page))


def windows(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Passages in groups that a browser draws at once."""
    groups: list[list[Chunk]] = []
    for chunk in chunks:
        full = not groups or len(groups[-1]) == _PASSAGES_SHOWN
        if full or chunk.end - groups[-1][0].start > _CHARACTERS_SHOWN:
            groups.append([])
        groups[-1].append(chunk)
    return groups


def _body(text: str, chunks: Sequence[Chunk]) -> str:
    parts = []
    for start, end, orders in segments(chunks):
        cut = min(end, start + _CHARACTERS_SHOWN)
        numbers = "".join(_head(chunk) for chunk in chunks if chunk.start == start)
        parts.append(numbers + tinted([(text[start:cut], _tint(orders))]))
        if cut < end:
            parts.append(f"\n\n:gray[… {end - cut:,} more characters of this passage]\n\n")
    return "".join(parts)


def _head(chunk: Chunk) -> str:
    """The number of a passage, and what is indexed with it."""
    number = f":gray-badge[{chunk.order + 1}] "
    if not chunk.context:
        return number
    around = shown_context(chunk.context)
    return f"\n\n{number}:small[:gray[Indexed with: {around}]]\n\n"


def _tint(orders: Sequence[int]) -> str:
    if not orders:
        return ""
    return _SHARED if len(orders) > 1 else _TINTS[orders[0] % len(_TINTS)]


def segments(chunks: Sequence[Chunk]) -> list[tuple[int, int, list[int]]]:
    """(start, end, orders of the passages that hold it), from the first start to the last end."""
    bounds = sorted({edge for chunk in chunks for edge in (chunk.start, chunk.end)})
    return [
        (start, end, [chunk.order for chunk in chunks if chunk.start <= start < chunk.end])
        for start, end in itertools.pairwise(bounds)
    ]
