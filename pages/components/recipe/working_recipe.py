"""The working recipe: one for each knowledge base in a session, the same on every page.

It starts as the saved recipe. Of the base that a session opens with, it has what the URL says
otherwise; after that the URL repeats the working recipe, and means no other base. Widgets change it
through ``change``; ``reset`` and ``save`` end the difference from the saved one. Guests always work
with the saved recipe.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.components.shell.session import guest, refusal, workspace
from rag import (
    URL_PARAMETERS,
    AnswerRecipe,
    IndexRecipe,
    InvalidInput,
    InvalidRecipe,
    KnowledgeBase,
    Recipe,
    SearchRecipe,
    with_embedder_weight,
)

STATE = "recipe_working"
_ONCE = "recipe_once"
_PAGE, _FRESH, _UNFOLDED = "recipe_page", "recipe_fresh", "recipe_unfolded"
CUT, THRESHOLD, BUILD = "cut", "threshold", "build"
AUTO, SET, OFF = "Auto", "Set", "Off"
UNTIL_SAVED = "All pages use it until you save or reset it in the sidebar."

# The JSON schema of each of these fields.
FIELDS: Mapping[str, Mapping[str, Any]] = {
    f"{part}.{name}": schema
    for part, model in (("search", SearchRecipe), ("answer", AnswerRecipe))
    for name, schema in model.model_json_schema()["properties"].items()
}


@dataclass(frozen=True, slots=True)
class _RecipeState:
    """A working recipe, and the saved one that it started from.

    ``contested`` are fields that the visitor changed, and somebody else too, who saved that.
    """

    saved: Recipe
    working: Recipe
    contested: frozenset[str] = frozenset()

    def rebased(self, stored: Recipe) -> _RecipeState:
        """The visitor's changes on top of another saved recipe, whose other fields are taken."""
        mine, theirs = self.saved.differences(self.working), self.saved.differences(stored)
        if any(name.startswith("index.") for name in mine):  # of one index: no two halves
            merged = stored.model_copy(update={"index": self.working.index})
        else:
            merged = stored
        try:
            merged = merged.with_fields({name: value for name, (_saved, value) in mine.items()})
        except InvalidRecipe:  # what both have does not go together
            merged = self.working
        return _RecipeState(stored, merged, self.contested | theirs.keys())._left()

    def with_working(self, recipe: Recipe) -> _RecipeState:
        """Another working recipe."""
        return _RecipeState(self.saved, recipe, self.contested)._left()

    def _left(self) -> _RecipeState:
        """The same with those fields contested alone that still differ."""
        differing = self.saved.differences(self.working).keys()
        return _RecipeState(self.saved, self.working, self.contested & differing)


def settle(base: KnowledgeBase) -> None:
    """Read the saved recipe, once in each run: others may have saved another one meanwhile."""
    stored, draft = base.recipe(), _all().get(base.id)
    if draft is None:
        fixed = bool(_all()) or guest()
        _all()[base.id] = _RecipeState(stored, stored if fixed else _with_url(base, stored))
    elif draft.saved != stored:
        _all()[base.id] = draft.rebased(stored)


def working(base: KnowledgeBase) -> Recipe:
    """The recipe that this visitor works with now."""
    return _settled(base).working


def saved(base: KnowledgeBase) -> Recipe:
    """The recipe of the knowledge base, as it was when this run of the page began."""
    return _settled(base).saved


def change(base: KnowledgeBase, changes: Mapping[str, Any]) -> Recipe:
    """Changes fields by dotted name. Raises InvalidRecipe and changes nothing then."""
    return replace(base, working(base).with_fields(changes))


def replace(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    """Make ``recipe`` the working one."""
    _all()[base.id] = _settled(base).with_working(recipe)
    return recipe


def with_index(recipe: Recipe, index: IndexRecipe) -> Recipe:
    """``recipe`` with another index, and the dense weight of its embedder if none was chosen."""
    return with_embedder_weight(recipe, recipe.model_copy(update={"index": index}))


def use_index(base: KnowledgeBase, index: IndexRecipe) -> None:
    """Make the working recipe one ``with_index``."""
    replace(base, with_index(working(base), index))


def insist(base: KnowledgeBase, question: str) -> None:
    """Have ``for_question`` search for this question, and no other, even where the documents do not
    speak of it; until another recipe is worked with."""
    st.session_state[_ONCE] = base.id, question, working(base)


def for_question(base: KnowledgeBase, question: str, recipe: Recipe) -> Recipe:
    """The recipe that a question is searched by: ``recipe``, without refusing where the visitor
    insisted on this very question."""
    if st.session_state.get(_ONCE) != (base.id, question, recipe):
        return recipe
    return recipe.with_fields({"search.refuse": "off"})


def reset(base: KnowledgeBase) -> None:
    """Back to the saved recipe."""
    replace(base, saved(base))


def save(base: KnowledgeBase, drawn: Recipe) -> None:
    """Save what the visitor changed; fields that others changed meanwhile stay as they saved them.

    ``drawn`` is the saved recipe that the visitor decided on. Raises InvalidInput, and nothing is
    saved, where somebody else saved another value of a changed field since.
    """
    while True:
        settle(base)
        draft = _settled(base)
        if draft.contested & drawn.differences(draft.saved).keys():
            raise InvalidInput(
                "Someone saved another recipe in the meantime that changes the same fields.",
                "Nothing is saved yet: compare both in the recipe of the sidebar, and choose.",
            )
        if base.recipes.save(draft.working, instead_of=draft.saved):
            _all()[base.id] = _RecipeState(draft.working, draft.working)
            return


def save_index(base: KnowledgeBase, index: IndexRecipe) -> None:
    """Save the recipe as it is saved by now ``with_index``."""
    _save_changed(base, lambda before: with_index(before, index))


def save_model(base: KnowledgeBase, provider: str, model: str) -> None:
    """Save the recipe as it is saved by now with a model of this computer."""
    fields = {"answer.provider": provider, "answer.model": model, "answer.evidence": "auto"}
    _save_changed(base, lambda before: before.with_fields(fields))


def _save_changed(base: KnowledgeBase, changed: Callable[[Recipe], Recipe]) -> None:
    while True:
        before = base.recipe()
        if base.recipes.save(changed(before), instead_of=before):
            return


def contested(base: KnowledgeBase) -> frozenset[str]:
    """Fields that the visitor changed, and somebody else too, who saved that."""
    return _settled(base).contested


def take_theirs(base: KnowledgeBase) -> None:
    """Give up the visitor's values of contested fields; other changes stay."""
    theirs, recipe, names = saved(base), working(base), contested(base)
    if any(name.startswith("index.") for name in names):
        recipe = recipe.model_copy(update={"index": theirs.index})
    values = theirs.fields()
    replace(base, recipe.with_fields({name: values[name] for name in names}))


def differences(base: KnowledgeBase) -> dict[str, tuple[Any, Any]]:
    """Fields in which the working recipe differs, by dotted name: (saved, working)."""
    draft = _settled(base)
    return draft.saved.differences(draft.working)


def enter(page: str) -> None:
    """Note which page runs. The frame calls it before each one."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE] = page
        st.session_state[_FRESH] = True
        st.session_state[_UNFOLDED] = set()


def fresh() -> bool:
    """Whether the widgets of the recipe are about to be drawn first on a page."""
    return bool(st.session_state.get(_FRESH, True))


def drawn() -> None:
    """Note that the widgets of the recipe stand on this page."""
    st.session_state[_FRESH] = False


def needed(base: KnowledgeBase, part: Collection[str], *, opened: bool) -> bool:
    """Whether the widgets of some parameters have to be drawn: a part that nobody opened is left
    out, as it would be most of what drawing a page costs.

    Only its widget keeps a parameter in the address, so where one of them is not the saved one, or
    the address has it, they are drawn; and once they were, until another page is opened.
    """
    unfolded: set[str] = st.session_state.setdefault(_UNFOLDED, set())
    changed = differences(base)
    fields = ((key, URL_PARAMETERS.get(key, "search.threshold")) for key in part)
    if opened or any(key in st.query_params or field in changed for key, field in fields):
        unfolded.update(part)
    return not unfolded.isdisjoint(part)


def _settled(base: KnowledgeBase) -> _RecipeState:
    if base.id not in _all():
        settle(base)
    return _all()[base.id]


def _all() -> dict[int, _RecipeState]:
    drafts: dict[int, _RecipeState] = st.session_state.setdefault(STATE, {})
    return drafts


def _with_url(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    """``recipe`` with the URL's parameters; what does not make sense is left out."""
    for field, value in _from_url(base).items():
        with suppress(InvalidRecipe):
            recipe = recipe.with_fields({field: value})
    return recipe


def _from_url(base: KnowledgeBase) -> dict[str, Any]:
    changes = {
        field: _read(field, texts)
        for name, field in URL_PARAMETERS.items()
        if any(texts := st.query_params.get_all(name))
    }
    return changes | _threshold() | _build(base, st.query_params.get(BUILD, ""))


def _read(field: str, texts: Sequence[str]) -> Any:
    """A field's value as the URL has it; only a list may stand there more than once."""
    schema, text = FIELDS[field], texts[-1]
    match schema.get("type"):
        case "array":
            return [name for part in texts for name in names(part)]
        case "string":
            return text.lower() if "enum" in schema else text
    words = {word for kind in schema.get("anyOf", ()) for word in kind.get("enum", ())}
    if text.lower() in words:
        return text.lower()
    return None if text == OFF else read_value(text)


def _threshold() -> dict[str, Any]:
    how, value = st.query_params.get(CUT, ""), st.query_params.get(THRESHOLD, "")
    if how in (AUTO, OFF):
        return {"search.threshold": "auto" if how == AUTO else None}
    return {"search.threshold": read_value(value)} if value else {}


def _build(base: KnowledgeBase, build_hash: str) -> dict[str, Any]:
    """The index part of a build that is complete; a link may name one that is gone."""
    for build in base.documents.builds() if build_hash else []:
        if build.hash == build_hash and not base.documents.missing(build.recipe):
            return {f"index.{key}": value for key, value in build.recipe.model_dump().items()}
    return {}


def names(text: str) -> list[str]:
    """``a, b`` as a list."""
    return [name for part in text.split(",") if (name := part.strip())]


def read_values(text: str) -> list[Any]:
    """Values as people write them: ``0.4, 0.6``, ``weighted, rrf``, ``null``."""
    return [read_value(name) for name in names(text)]


def read_value(text: str) -> Any:
    """A recipe field's value as people write it: JSON, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the latter of brackets alone
        return text


_MOST = 30


def recipe_choices(base: KnowledgeBase) -> dict[str, Recipe]:
    """Recipes by what a reader calls them, each once: the working one is first."""
    choices: dict[str, Recipe] = {}
    seen: set[str] = set()
    lists = not refusal(base, "recipes.versions")  # whoever has a link sees the saved one alone
    earlier = [recipe for _saved, recipe in base.recipes.versions()] if lists else []
    for sign, recipe in [
        ("as it is now: ", working(base)),
        ("saved: ", saved(base)),
        *(("", earlier_recipe) for earlier_recipe in earlier[:_MOST]),
    ]:
        if recipe.hash not in seen and usable(base, recipe) and not workspace().costs(base, recipe):
            seen.add(recipe.hash)
            choices[f"{sign}{base.runs.recipe_name(recipe)} · {recipe.hash[:6]}"] = recipe
    return choices


def usable(base: KnowledgeBase, recipe: Recipe) -> bool:
    """Whether the index that it searches is there."""
    return recipe.index == working(base).index or not base.documents.missing(recipe.index)
