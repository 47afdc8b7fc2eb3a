"""A picker for additional knowledge bases to search, with their weights."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.recipe.working_recipe import fresh
from pages.components.shell.session import bases, just_opened, workspace
from pages.components.shell.text import plain
from rag import FurtherBase, InvalidInput, KnowledgeBase

ALSO = "also"  # the URL's parameter, once for each base
_SELECTIONS = "scope_held"  # what was chosen, by knowledge base
_SETTINGS = "scope_settings"
_DRAWN = "scope_drawn"  # the knowledge base that the picker was drawn for last


def scope_picker(base: KnowledgeBase) -> tuple[FurtherBase, ...]:
    """Draw the picker where there are other knowledge bases; return those that were chosen.

    To be drawn before the recipe panel, which notes that the page is no longer fresh.
    """
    others = [info.name for info in bases() if info.name != base.name]
    if not others:
        return ()
    drawn = st.session_state.get(_DRAWN, base.id)
    if fresh() or drawn != base.id:
        _restore(base, () if drawn != base.id else None)
    st.session_state[_DRAWN] = base.id
    selection = st.session_state.get(ALSO)
    if selection is not None and not set(selection) <= set(
        others
    ):  # another base was chosen meanwhile
        st.session_state[ALSO] = [name for name in selection if name in others]
    chosen = st.multiselect(
        "Also search in",
        others,
        key=ALSO,
        bind="query-params",
        placeholder="only this knowledge base",
        help="Each one is searched with its own saved recipe, and the results are merged by "
        "relevance. Labels belong to the chosen knowledge base.",
    )
    also: tuple[FurtherBase, ...] = ()
    if chosen:
        group = st.popover(
            "How much they count",
            icon=":material/balance:",
            width="stretch",
            key=_SETTINGS,
            on_change="rerun",
        )
        if just_opened(_SETTINGS, is_open=bool(group.open)):
            _restore_settings(_selections().get(base.id, ()))
        with group:
            also = tuple(_settings(name) for name in chosen)
    _selections()[base.id] = also
    return also


def bring_back(base: KnowledgeBase, also: Sequence[str]) -> None:
    """Make what a stored turn was asked of too the choice on the page that is opened next."""
    _selections()[base.id] = existing_bases(also)


def choose(base: KnowledgeBase, also: Sequence[str]) -> None:
    """Make it the choice at once. Before the picker is drawn, or in a callback."""
    bring_back(base, also)
    _restore(base)


def _selections() -> dict[int, tuple[FurtherBase, ...]]:
    selections: dict[int, tuple[FurtherBase, ...]] = st.session_state.setdefault(_SELECTIONS, {})
    return selections


def _restore(base: KnowledgeBase, unchosen: tuple[FurtherBase, ...] | None = None) -> None:
    """Put the choice back into widgets that show that of another page or knowledge base.

    ``unchosen`` is the choice where nobody made one; None leaves the address its say.
    """
    selection = _selections().get(base.id, unchosen)
    if selection is None:
        return
    st.session_state[ALSO] = [further.name for further in selection]
    _restore_settings(selection)


def _restore_settings(selection: Sequence[FurtherBase]) -> None:
    for further in selection:
        name, own = further.name, further.threshold == "saved"
        st.session_state[f"also_weight_{name}"] = further.weight
        st.session_state[f"also_own_{name}"] = own
        if further.top_k is not None:
            st.session_state[f"also_k_{name}"] = further.top_k
        if isinstance(further.threshold, float):
            st.session_state[f"also_least_{name}"] = further.threshold


def existing_bases(also: Sequence[str]) -> tuple[FurtherBase, ...]:
    """The additional knowledge bases of a stored turn, without those that no longer exist."""
    names = {info.name for info in bases()}
    there = []
    for text in also:
        try:
            further = FurtherBase.parse(text)
        except InvalidInput:
            continue
        if further.name in names:
            there.append(further)
    return tuple(there)


def _settings(name: str) -> FurtherBase:
    st.markdown(f"**{plain(name)}**")
    saved = workspace().base(name).recipe().search
    weight = st.slider(
        "Weight",
        0.1,
        2.0,
        1.0,
        0.1,
        key=f"also_weight_{name}",
        bind="query-params",
        help="Multiplies its relevance when the lists are merged.",
    )
    top_k = st.number_input(
        "Maximum number of passages",
        min_value=1,
        max_value=1000,
        value=saved.top_k,
        key=f"also_k_{name}",
        bind="query-params",
    )
    own = st.toggle("Its own threshold", value=True, key=f"also_own_{name}", bind="query-params")
    least = st.slider(
        "Threshold",
        0.0,
        1.0,
        0.2,
        0.01,
        key=f"also_least_{name}",
        bind="query-params",
        disabled=own,
    )
    return FurtherBase(
        name,
        None if top_k == saved.top_k else int(top_k),
        "saved" if own else round(float(least), 2),
        round(float(weight), 2),
    )
