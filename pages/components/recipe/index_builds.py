"""The build of an index: the button that starts it, its cost, and its use for answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.index_form import unread_from
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from pages.components.shell.wording import cut, duration
from rag import Amount, BuildRow, IndexRecipe, KnowledgeBase, counted, with_embedder_weight

_COUNTED = 1_000_000  # characters that are really chunked for an estimate; the rest in proportion


def use_button(base: KnowledgeBase, build: BuildRow) -> None:
    """Draw a complete build that does not answer yet, with buttons to try it and to save it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        key = f"index_try_{build.hash[:6]}"
        explained = working_recipe.UNTIL_SAVED
        action_button("Try this index", key, "check", _try, base, build.recipe, help=explained)
        explained = (
            "Saves the recipe with this index: it answers from now on, and later verdicts compare "
            "with it."
        )
        options = offered(base, "save_recipe", help=explained)
        key = f"index_use_{build.hash[:6]}"
        action_button("Save for answers", key, "save", _use, base, build.recipe, **options)
        st.caption(
            f"This index is ready: {cut(build.recipe)}, {build.recipe.embedder}, "
            f"{counted(build.passages, 'passage')}."
        )


def _try(base: KnowledgeBase, recipe: IndexRecipe) -> None:
    """Make this the index of the working recipe."""
    before = working_recipe.working(base)
    after = before.model_copy(update={"index": recipe})
    working_recipe.replace(base, with_embedder_weight(before, after))
    st.toast(
        "All pages use this index for you. To save it, open *Recipe* in the sidebar.",
        icon=":material/check:",
    )


def _use(base: KnowledgeBase, recipe: IndexRecipe) -> None:
    """Save the recipe with this index; unsaved changes to other fields stay as they are."""
    working = working_recipe.working(base).model_copy(update={"index": recipe})
    working_recipe.save_index(base, recipe)
    working_recipe.replace(base, working)
    st.toast("Saved in the recipe: answers use this index now.", icon=":material/check:")


def build_button(
    base: KnowledgeBase, recipe: IndexRecipe, key: str, label: str = "Build index"
) -> None:
    """Draw the button that starts a build, with its cost; what is built is not offered again."""
    with guard(), st.container(horizontal=True, vertical_alignment="center"):
        built = {build.hash: build for build in base.documents.builds()}.get(recipe.hash)
        if built is not None and not base.documents.missing(recipe):
            st.caption("This index exists.")
            return
        building = being_built(base, recipe)
        build = partial(base.documents.build, recipe)
        options = offered(base, "documents.build", disabled=building)
        action_button(label, key, "construction", build, **options)
        st.caption("Building this index." if building else cost_of(base, [recipe]))
        if note := unread_passages(base, [recipe]):
            st.caption(note)


def being_built(base: KnowledgeBase, recipe: IndexRecipe) -> bool:
    """Return whether a job builds this index now."""
    return any(
        job.kind == "build" and IndexRecipe.model_validate(job.payload["recipe"]) == recipe
        for job in job_progress.active(base.id)
    )


def cost_of(base: KnowledgeBase, recipes: Sequence[IndexRecipe]) -> str:
    """``Builds 1,240 passages, about 40 s.``, as far as it is known; one after the other."""
    sizes = [_passages(base, recipe) for recipe in recipes]
    exact = all(counted_all for _, counted_all in sizes)
    total = counted(sum(size for size, _ in sizes), "passage")
    words = f"Builds {total}" if exact else f"Builds about {total}"
    text = [Amount(0.0, _characters(base, recipes[0]))]
    seconds = {
        recipe.embedder: base.documents.seconds_to_add(text, recipe.embedder) for recipe in recipes
    }
    unknown = [name for name, estimate in seconds.items() if estimate is None]
    if unknown:
        return f"{words}. How long {' and '.join(unknown)} takes is not known yet."
    total_seconds = sum(seconds[recipe.embedder] or 0.0 for recipe in recipes)
    return f"{words}, about {duration(total_seconds)}."


def unread_passages(base: KnowledgeBase, recipes: Iterable[IndexRecipe]) -> str:
    """Say how many passages of indexes are longer than their embedder reads; "" if none is.

    As Markdown.
    """
    parts = []
    for recipe in recipes:
        longer, seen = _unread(base, recipe) if _countable(recipe) else (0, 0)
        if longer:
            parts.append(
                f"{longer:,} of {counted(seen, 'passage')} of {plain(recipe.embedder)}, "
                f"{plain(cut(recipe))}"
            )
    if not parts:
        return ""
    return (
        f":material/content_cut: Longer than the model reads: {'; '.join(parts)}. Only lexical "
        "search finds the end of these."
    )


def _countable(recipe: IndexRecipe) -> bool:
    """Whether passages may be too long, and are counted without embedding."""
    return bool(unread_from(recipe)) and recipe.chunker != "semantic"


@cache_data(64, show_spinner="Counting passages …")
def _unread(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, int]:
    """Counts of the passages of the first million characters: those too long, and all."""
    longer = passages = characters = 0
    for info in base.documents.documents(recipe):
        if characters >= _COUNTED:
            break
        found, seen = base.documents.unread(base.documents.document(info.id), recipe)
        longer, passages = longer + found, passages + seen
        characters += info.characters
    return longer, passages


@cache_data(64, show_spinner=False)
def _characters(base: KnowledgeBase, recipe: IndexRecipe) -> int:
    return sum(info.characters for info in base.documents.documents(recipe))


def _passages(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, bool]:
    """The number of passages of a build, and whether that number is exact."""
    builds = [build for build in base.documents.builds() if build.recipe.cut == recipe.cut]
    if builds and not base.documents.missing(builds[0].recipe):
        return builds[0].passages, True
    return expected_passages(base, recipe)


@cache_data(64, show_spinner="Counting passages …")
def expected_passages(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, bool]:
    """Return the number of passages of all documents under a recipe, and whether it is exact.

    Past the first million characters, and for the semantic chunker, the number is an estimate.
    """
    library, exact = base.documents, recipe.chunker != "semantic"
    if not exact:  # it would embed every sentence, only to count
        recipe = recipe.model_copy(update={"chunker": "recursive"})
    infos = library.documents(recipe)
    total, seen, passages = sum(info.characters for info in infos), 0, 0
    for info in infos:
        if seen >= _COUNTED:
            return round(passages * total / seen), False
        passages += sum(1 for _ in library.preview(library.document(info.id), recipe))
        seen += info.characters
    return passages, exact
