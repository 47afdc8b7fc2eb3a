"""The recipe as widgets: the same ones on every page, bound to the URL, always in step.

The working recipe is the truth. A widget shows its value; a change goes to the recipe first (in
the widget's callback) and comes back from there.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components.recipe import working_recipe
from pages.components.recipe.index_builds import build_button, index_form
from pages.components.recipe.widgets import Widgets, refused, sentence_case, steps_panel, word_of
from pages.components.recipe.working_recipe import (
    AUTO,
    BUILD,
    CUT,
    FIELDS,
    OFF,
    SET,
    THRESHOLD,
    drawn,
    needed,
    read_value,
    saved,
    working,
)
from pages.components.shell.guard import guard
from pages.components.shell.session import allowed, show, to_url, workspace
from pages.components.shell.text import cut, plain, relevance, unlimited
from rag import (
    CAPTIONS,
    URL_PARAMETERS,
    BuildRow,
    IndexRecipe,
    InvalidInput,
    KnowledgeBase,
    Recipe,
    Trace,
    counted,
)

MOST_SHOWN = 50
_SLIDERS = {THRESHOLD, "k"}
_ABOVE = {"mode", "by", "w"} | _SLIDERS
_OF_ANSWERS = {
    *("provider", "model", "draws_on", "reads"),
    *("tool_calls", "may_call", "temperature", "length", "decider", "sufficient"),
}
_DRAWS_ON = {
    "strict": "Strict: the passages alone.",
    "balanced": "Balanced: the passages first, general knowledge marked as such.",
    "general": "General: what the model knows; nothing is searched.",
    "auto": "Auto: strict where a passage reaches the threshold; otherwise the model decides "
    "between the HTTP tools that it may call and what it knows.",
}
_READS = {
    "quotes": "Quotes: the sentences that answer without a model, which it words in one sentence. "
    "This suits small models.",
    "passages": "Passages: all that the search returns.",
    "auto": "Auto: quotes for a model whose server says that it is small.",
}
_THRESHOLD_HELP = {
    "cosine": "The lowest cosine of question and passage that a result can have.",
    "probability": (
        "The lowest probability of relevance that a result can have. The "
        "probability is learned from labels."
    ),
}


def recipe_panel(
    base: KnowledgeBase,
    *,
    answers: bool = False,
    explain: Callable[[Recipe], str] | None = None,
    sliders: bool = False,
) -> Recipe:
    """Draw the panel, which stands in the sidebar; return the working recipe.

    ``answers`` adds who answers; ``explain`` says what the threshold means for what is shown.
    It is folded, but for the ``sliders`` of threshold and top-k, which a page may be about.
    """
    if sliders:
        _Panel(base).sliders()
    options = {"icon": ":material/tune:", "key": "recipe_panel", "on_change": "rerun"}
    panel = st.expander("Change the recipe", **options)
    opened = bool(panel.open)
    with panel:
        if needed(base, _ABOVE - _SLIDERS if sliders else _ABOVE, opened=opened):
            _Panel(base).search()
            if not sliders:
                slot = _Panel(base).sliders()
                if explain is not None:
                    slot.caption(explain(working(base)))
        _advanced(base, opened=opened)
        if answers and needed(base, _OF_ANSWERS, opened=opened):
            with st.expander("Answers", icon=":material/forum:", key="recipe_answers"):
                _Panel(base).answers()
        drawn()
        if problem := refused():
            st.error(plain(problem))
    build = working(base).index.hash
    to_url(BUILD, "" if build == saved(base).index.hash else build)
    return working(base)


def _advanced(base: KnowledgeBase, *, opened: bool) -> None:
    rest = {*URL_PARAMETERS, CUT} - _ABOVE - _OF_ANSWERS
    if not (opened or needed(base, rest, opened=False)):
        return
    advanced = st.expander(
        "Advanced",
        icon=":material/tune:",
        width="stretch",
        key="recipe_advanced",
        on_change="rerun",
    )
    if needed(base, rest, opened=bool(advanced.open)):
        with advanced:
            _Panel(base).advanced()
            steps_panel(base)
            index_panel(base, working(base))


def what_it_means(trace: Trace) -> str:
    """The threshold in terms of this question."""
    stage = trace.stage("threshold")
    if trace.threshold is None or stage is None:
        language = trace.stage("language")
        if trace.waived_threshold is None or language is None:
            return unlimited(trace)
        return f"{unlimited(trace)} Its dense weight is {language.figures['dense_weight']:.2f}."
    return f"{relevance(trace)} ≥ {trace.threshold:.2f}: {stage.given:,} of {stage.taken:,} pass"


class _Panel(Widgets):
    """The widgets of one knowledge base's working recipe."""

    def search(self) -> None:
        """Draw how passages are found: mode, relevance and weight."""
        self.choice(
            "mode",
            help=("Dense searches by meaning (vectors), lexical by words (BM25), hybrid by both."),
        )
        search, calibrator = self.recipe.search, self.base.tuning.calibrator
        if search.relevance == "probability" or calibrator.fitted(self.recipe.index) is not None:
            self.choice(
                "by",
                help=(
                    "The cosine, or the probability of relevance that labels taught for this index."
                ),
            )
        if search.mode == "hybrid":
            self.slider(
                "w",
                step=0.05,
                help="The share of dense scores in the ranking. The rest is lexical.",
            )

    def sliders(self) -> DeltaGenerator:
        """Draw threshold and top-k; return the slot for the caption of the threshold."""
        self._threshold()
        slot = st.empty()
        most = max(self.recipe.search.top_k, self.saved.search.top_k)
        self.slider("k", max_value=MOST_SHOWN if most <= MOST_SHOWN else 1000, help=None)
        return slot

    def _refuse(self) -> None:
        self.pick(
            "refuse",
            [AUTO, OFF],
            sentence_case,
            lambda text: text.lower() if text in (AUTO, OFF) else read_value(text),
            help="Auto refuses a question if the probability that it is on topic is below a "
            "limit. Off searches every question.",
        )

    def _threshold(self) -> None:
        how = _how(self.recipe)
        self.place(
            THRESHOLD,
            st.slider,
            CAPTIONS["search.threshold"],
            self._level(self.recipe),
            # A level that follows from the rest of the recipe is not written into the address.
            self._level(self.saved if how == SET else self.recipe),
            self._set,
            min_value=0.0,
            max_value=1.0,
            step=0.01,
            disabled=how == OFF,
        )

    def _set(self, value: float) -> dict[str, float | str]:
        threshold = round(float(value), 2)
        # The slider was moved back to where the saved recipe has it.
        is_auto = _how(self.saved) == AUTO and threshold == self._level(_automatic(self.recipe))
        return {"search.threshold": "auto" if is_auto else threshold}

    def _threshold_mode(self) -> None:
        how = _how(self.recipe)
        self.place(
            CUT,
            st.segmented_control,
            "Threshold mode",
            how,
            _how(self.saved),
            self._cut,
            options=[AUTO, SET, OFF],
            required=True,
            help=f"{_THRESHOLD_HELP[self.recipe.search.relevance]} Auto sets "
            f"{self._level(_automatic(self.recipe)):.2f} for this index. Set uses the slider. Off "
            "returns the highest ranks, whatever their relevance.",
        )
        if how != OFF:
            self.draw(
                "codes",
                st.toggle,
                help="A passage with a rare code from the question passes every threshold, "
                "because the cosine does not recognize codes. A code is a word with "
                "digits, such as a part number, in at most 1% of the passages.",
            )

    def _cut(self, how: str) -> dict[str, float | str | None]:
        # On a busy machine this change and the slider's arrive together, in either order: what
        # the slider has set by now is kept.
        now = working(self.base)
        threshold = now.search.threshold if _how(now) == SET else self._level(now)
        return {"search.threshold": {AUTO: "auto", OFF: None, SET: threshold}[how]}

    def _level(self, recipe: Recipe) -> float:
        try:
            value = self.base.recipes.threshold(recipe)
            if value is None:
                value = self.base.recipes.threshold(_automatic(recipe))
        except InvalidInput:  # no calibration: the search itself says so, beside the slider
            value = None
        return min(max(round(value or 0.0, 2), 0.0), 1.0)

    def advanced(self) -> None:
        """Draw the rarely used fields: refusal, depth, fusion, BM25, and the context budget."""
        self._threshold_mode()
        self._refuse()
        self.number(
            "candidates",
            step=10,
            help="Passages taken from each retriever before they are ranked together.",
        )
        self.number(
            "context",
            step=500,
            help="The maximum number of tokens for passages in the prompt.",
        )
        search = self.recipe.search
        if search.mode == "hybrid":
            self.pick(
                "fusion",
                [sentence_case(word) for word in FIELDS["search.fusion"]["enum"]],
                sentence_case,
                word_of,
                help="Scores stretched over the candidates, reciprocal ranks, or scores that no "
                "other candidate changes: the cosine and bm25 / (bm25 + pivot). The formulas of "
                "engines stretch each list alone, so an export to that engine ranks the same.",
            )
            if search.fusion in ("rrf", "qdrant_rrf"):
                self.number("rrf")
            if search.fusion == "saturation":
                self.number("pivot", step=1.0, help="The BM25 score that counts half.")
            self.choice(
                "languages",
                help="A question in a language of your documents that the embedding model does "
                "not know: ranked alike, or by words (a third of the dense weight, no threshold "
                "on the cosine).",
            )
        if search.mode != "dense":
            self.slider(
                "k1",
                step=0.1,
                help=("How quickly the weight of repeated words levels off."),
            )
            self.slider(
                "b",
                step=0.05,
                help=("How much the length of a passage lowers its score."),
            )
            if search.fuzzy or self.saved.search.fuzzy:  # else *Misspelt words* is the one switch
                self.draw("fuzzy", st.toggle)
            self.draw("prefix", st.toggle)
        tools = [tool.name for tool in workspace().tools.list_all()]
        names = list(dict.fromkeys([*tools, *search.tools, *self.saved.search.tools]))
        if names:
            self.draw(
                "tools",
                st.multiselect,
                options=names,
                help="Services that get every question. Set them up on Settings.",
                placeholder="none",
            )

    def answers(self) -> None:
        """Draw the fields of the answer: provider, model, sources and length."""
        statuses = workspace().statuses()
        self.pick(
            "provider",
            [status.name for status in statuses if status.ready and status.chat_model],
            help="*extractive* quotes the passages and needs no language model.",
        )
        if self.recipe.answer.decider or any(one.ready and one.decides for one in statuses):
            names = (lambda name: name or ""), (lambda text: text or None)
            hint = "A decision model that says whether the quotes answer the question."
            self.draw("decider", st.text_input, *names, placeholder="decisions:MODEL", help=hint)
            if self.recipe.answer.decider:
                self.slider("sufficient", step=0.05)
        if self.recipe.answer.provider == "extractive":
            return
        self.draw(
            "model",
            st.text_input,
            lambda name: name or "",
            lambda text: text or None,
            placeholder="the provider's default",
        )
        self.pick(
            "draws_on",
            [sentence_case(mode) for mode in _DRAWS_ON],
            sentence_case,
            str.lower,
            help=" ".join(_DRAWS_ON.values()),
        )
        if self.recipe.answer.mode in ("strict", "auto"):
            self.pick(
                "reads",
                [sentence_case(evidence) for evidence in _READS],
                sentence_case,
                str.lower,
                help=" ".join(_READS.values()),
            )
        if self.recipe.answer.mode == "auto":
            self.number("tool_calls")
            self._may_call()
        self.slider("temperature", step=0.1)
        self.number("length", step=100)
        self.number("memory", step=1)

    def _may_call(self) -> None:
        """Draw the tools that the model may call.

        Tools that are called for every question are among them.
        """
        tool_names = [tool.name for tool in workspace().tools.list_all()]
        chosen, saved_tools = self.recipe.answer.tools, self.saved.answer.tools
        self.draw(
            "may_call",
            st.multiselect,
            lambda names: tool_names if names is None else list(names),
            tuple,
            options=list(dict.fromkeys([*tool_names, *(chosen or ()), *(saved_tools or ())])),
            help="The model can call these tools, and those that are used for every question.",
            placeholder="none",
        )


def _automatic(recipe: Recipe) -> Recipe:
    return recipe.with_fields({"search.threshold": "auto"})


def _how(recipe: Recipe) -> str:
    return {"auto": AUTO, None: OFF}.get(recipe.search.threshold, SET)


def index_panel(base: KnowledgeBase, recipe: Recipe) -> None:
    """Draw the builds that can be searched, and the way to another one."""
    builds = {build.hash: build for build in base.documents.builds()}
    whole = [key for key, build in builds.items() if not base.documents.missing(build.recipe)]
    others = {key: recipe.model_copy(update={"index": builds[key].recipe}) for key in whole}
    ready = [key for key, other in others.items() if not workspace().costs(base, other)]
    now = recipe.index.hash
    names = list(dict.fromkeys([*ready, now]))
    show("recipe_index", now)
    st.selectbox(
        "Index",
        names,
        format_func=lambda key: _label(builds.get(key), recipe.index),
        key="recipe_index",
        on_change=_choose,
        args=(base, {key: build.recipe for key, build in builds.items()}),
        help="Other chunking or another embedding model needs an index of its own.",
    )
    waiting = len(builds) - len(whole)
    if waiting:
        one = waiting == 1
        st.caption(
            f"{waiting:,} {'index is' if one else 'indexes are'} not complete. You can choose "
            f"{'it' if one else 'them'} here after the build."
        )
    with guard():
        choice = base.documents.vector_index(recipe.index)
        if choice.limit is not None and choice.kind != "flat":
            st.caption(choice.headline, help=choice.details)
    # No popover: near the bottom of the sidebar, one shows a strip of the form.
    new = st.expander("New index", icon=":material/add:", key="recipe_new_index", on_change="rerun")
    if new.open:
        with new, guard():
            if allowed(base, "documents.build"):
                proposal = index_form(recipe.index, "recipe_index_new")
                build_button(base, proposal, "recipe_index_build")


def _label(build: BuildRow | None, present: IndexRecipe) -> str:
    recipe = build.recipe if build else present
    size = f", {counted(build.passages, 'passage')}" if build else ""
    return f"{cut(recipe)}, {recipe.embedder}{size}"


def _choose(base: KnowledgeBase, recipes: dict[str, IndexRecipe]) -> None:
    chosen = recipes.get(st.session_state["recipe_index"])
    if chosen is not None:
        working_recipe.use_index(base, chosen)
