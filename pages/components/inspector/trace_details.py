"""A retrieval in full: its stages, words, what would change it, what carries it, the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.components.inspector import explanations
from pages.components.inspector.passage_map import passage_map
from pages.components.inspector.recipe_comparison import compare_view
from pages.components.inspector.retrieval import HitSource, HitSources
from pages.components.inspector.what_if import what_if
from pages.components.shell.guard import guard
from pages.components.shell.text import budget_lines, lines, placed, plain, shown_context, tinted
from rag import (
    Attribution,
    Explanation,
    Hit,
    KnowledgeBase,
    QuoteFate,
    Recipe,
    TermMatch,
    TextPart,
    Trace,
    stage_title,
)

VIEW = "view"
VIEWS = ["Stages", "Terms", "What if", "Attribution", "Compare", "Map", "Prompt"]

_STRONG, _SOME = 0.66, 0.33  # shares of the largest loss
_TINTS = ((_STRONG, "green-background"), (_SOME, "blue-background"))


def trace_details(
    origins: HitSources,
    trace: Trace,
    recipe: Recipe,
    selected: Hit | None,
    grades: Mapping[int, int],
    fates: Mapping[int, QuoteFate],
    select: Callable[[str], None],
) -> None:
    """Draw the chosen one of the views, at first none; what the others need is not computed.

    ``grades`` are this question's labels by passage key, and ``fates`` says what an answer of
    quotes quotes. ``select`` opens a passage by its id.
    A passage is explained by the knowledge base that it is from, as that one alone finds it.
    """
    view = st.segmented_control(
        "Details", VIEWS, key=VIEW, bind="query-params", label_visibility="collapsed"
    )
    if view is None:
        return
    if view == "Stages":
        _stages(trace)
    elif view == "Prompt":
        _prompt(origins.own.base, trace, recipe)
    elif view == "Map":
        own = origins.own
        passage_map(own.base, own.trace, own.recipe, selected, grades, select)
    else:
        origin = origins.own if selected is None else origins.of(selected)
        if origin is None:
            st.caption("The result of a service: why it found that, only the service knows.")
            return
        if origin is not origins.own:
            st.caption(f"As {plain(origin.base.name)} finds it by its saved recipe.")
        hit = origin.hit(selected.chunk.key) if selected else None
        _explained(view, origin, hit or selected, fates if origin is origins.own else {})


def _explained(
    view: str, origin: HitSource, selected: Hit | None, fates: Mapping[int, QuoteFate]
) -> None:
    base, trace, recipe = origin.base, origin.trace, origin.recipe
    if view == "Terms":
        _terms(base, trace, recipe, selected)
    elif view == "What if":
        what_if(base, trace, recipe, selected, fates)
    elif view == "Attribution":
        with guard():
            attribution_view(base, trace, recipe, selected)
    elif view == "Compare":
        with guard():
            compare_view(base, trace, recipe)


def _stages(trace: Trace) -> None:
    """Draw a row for each stage that changed something, and a line for the others."""
    changing = [stage for stage in trace.stages if stage.dropped or stage.taken != stage.given]
    rows = [
        {
            "stage": stage_title(stage.name),
            "in → out": f"{stage.taken:,} → {stage.given:,}",
            "ms": f"{stage.seconds * 1000:,.1f}",
            "note": plain(stage.note),
        }
        for stage in changing
    ]
    st.table(rows, border="horizontal", hide_index=True)  # it wraps the notes
    idle = [stage for stage in trace.stages if stage not in changing]
    notes = (f"**{stage_title(stage.name)}:** {plain(stage.note)}" for stage in idle if stage.note)
    names = ", ".join(stage_title(stage.name) for stage in idle)
    unchanged = f" Nothing changed by: {names}." if idle else ""
    st.caption(
        f"{trace.seconds * 1000:.0f} ms from question to results.{unchanged}",
        help="  \n".join(notes) or None,
    )


def _terms(base: KnowledgeBase, trace: Trace, recipe: Recipe, selected: Hit | None) -> None:
    if selected is None:
        st.caption("Select a passage to see which words of the question it has.")
        return
    explanation = base.explanations.explain_words(selected.chunk.key, trace, recipe)
    spellings = base.explanations.spelled(trace.words or trace.question, recipe)
    there = base.explanations.spelled(selected.chunk.text, recipe)
    stems = any(word.casefold() != term for term, word in spellings.items())
    st.markdown(
        f"{plain(selected.document)}, {placed(selected)}: BM25 **{explanation.score:.2f}**"
        + ("" if recipe.search.mode != "dense" else " :gray[· not used: the mode is dense]")
    )
    around = base.explanations.spelled(selected.chunk.context, recipe)
    st.dataframe(
        _term_rows(explanation, spellings, there, around),
        hide_index=True,
        placeholder="–",
        column_config={
            "contribution": st.column_config.ProgressColumn(
                "adds to the score",
                format="%.2f",
                min_value=0.0,
                max_value=max((match.contribution for match in explanation.matches), default=1.0),
            ),
            "rarity": st.column_config.NumberColumn(
                "rarity (idf)", format="%.2f", help="Words that few passages have count more."
            ),
        },
    )
    words = f"{explanation.length} words of {explanation.average_length:.0f} on average"
    st.caption(
        f"{words}: lengths count {explanation.length_factor:.2f}-fold "
        f"(k1 {explanation.k1}, b {explanation.b})."
        + (" Words count by their stems, so other endings match too." if stems else "")
    )
    if selected.chunk.context:
        st.caption(
            f"Indexed with: {shown_context(selected.chunk.context)}. Words of it count, too."
        )


def _term_rows(
    explanation: Explanation,
    spellings: Mapping[str, str],
    there: Mapping[str, str],
    around: Mapping[str, str],
) -> list[dict[str, object]]:
    """A row for each word.

    ``asked``, ``there`` and ``around`` have the terms of question, passage and its context as they
    are written.
    """
    matched = [
        {
            "word": spellings.get(match.term, match.term),
            "in the passage": _place(match, there, around),
            "match": match.kind,
            "times": match.tf,
            "in the context": match.in_context,
            "passages with it": match.passages,
            "rarity": match.idf,
            "contribution": match.contribution,
        }
        for match in sorted(explanation.matches, key=lambda match: -match.contribution)
    ]
    lacking = {"in the passage": None, "match": "missing", "times": 0, "in the context": 0}
    lacking |= {"passages with it": None, "rarity": None, "contribution": 0.0}
    rows = [
        *matched,
        *({"word": spellings.get(word, word)} | lacking for word in explanation.unmatched),
    ]
    if not around:
        for row in rows:
            del row["in the context"]
    return rows


def _place(match: TermMatch, there: Mapping[str, str], around: Mapping[str, str]) -> str:
    """A word as the passage writes it; one that only its context has is said to be there."""
    if match.matched in there or match.matched not in around:
        return there.get(match.matched, match.matched)
    return f"{around[match.matched]} (matched in the context)"


def _prompt(base: KnowledgeBase, trace: Trace, recipe: Recipe) -> None:
    prompt = base.explanations.prompt(trace, recipe)
    budget = f"of a budget of {recipe.answer.context_tokens:,}"
    if prompt.spending is None:
        size = f"{base.recipes.count_tokens(prompt.text, recipe):,} tokens {budget}."
    else:
        free = f"{prompt.spending.answer:,} kept free for the answer"
        size = f"{prompt.spending.prompt:,} tokens, and {free}, {budget}."
    gets = "A language model gets exactly this, and the conversation."
    summary_lines = [f"{size} {gets} An answer of quotes needs no prompt."]
    if prompt.spending is not None:
        summary_lines += budget_lines(prompt.spending.parts)
    st.caption("  \n".join(summary_lines))
    st.code(prompt.text, language=None, wrap_lines=True, height=420)


def attribution_view(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, selected: Hit | None
) -> None:
    """Computed when it is asked for: it embeds some dozens of texts."""
    if selected is None:
        st.caption("Select a passage to see which parts contribute to its cosine.")
        return
    attribution = explanations.attribution(
        base, trace, recipe, selected.chunk.key, compute=_attribution_wanted(selected)
    )
    if attribution is not None:
        _draw(attribution, selected)


def _attribution_wanted(selected: Hit) -> bool:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            f"{plain(selected.document)}, {placed(selected)}: cosine "
            f"**{selected.parts['dense']:.3f}**. What does it lose without each sentence, and "
            "without each word of the question?",
            width="stretch",
        )
        return st.button(
            "Compute",
            key="attribution_compute",
            icon=":material/calculate:",
            help="Embeds the texts again with one part left out each time; takes some seconds.",
        )


def _draw(attribution: Attribution, selected: Hit) -> None:
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown("### Words of the question")
        _table(attribution.words, "attribution_words")
    with right:
        st.markdown("### Sentences of the passage")
        st.markdown(tinted_passage(selected.chunk.text, attribution.sentences))
        if attribution.context:
            around = shown_context(attribution.context.text)
            st.caption(
                f"Indexed with: {around}. Without it the cosine loses "
                f"**{attribution.context.change:.3f}**."
            )
        _table(attribution.sentences, "attribution_sentences")
    st.caption(
        f"{attribution.embeddings} texts were embedded. Losses do not add up to the cosine; "
        "below zero, the passage would be nearer without the part."
    )


def _table(parts: Sequence[TextPart], key: str) -> None:
    if not parts:
        st.caption("Nothing to leave out.")
        return
    high = max(0.001, *(part.change for part in parts))
    st.dataframe(
        [
            {"part": " ".join(part.text.split()), "loss": part.change}
            for part in sorted(parts, key=lambda part: -part.change)
        ],
        key=key,
        hide_index=True,
        column_config={
            "part": st.column_config.TextColumn("left out", width="medium"),
            "loss": st.column_config.ProgressColumn(
                "cosine lost", format="%.3f", min_value=0.0, max_value=high
            ),
        },
        alt="Cosine lost without each part, the largest loss first.",
    )


def tinted_passage(text: str, sentences: Sequence[TextPart]) -> str:
    """The passage with what carries most of its cosine in a tint, as markdown."""
    most = max((part.change for part in sentences), default=0.0)
    if most <= 0:
        return lines(text)
    pieces, last = list[tuple[str, str]](), 0
    for part in sentences:
        tint = next((tint for share, tint in _TINTS if part.change >= share * most), "")
        pieces += [(text[last : part.start], ""), (text[part.start : part.end], tint)]
        last = part.end
    return tinted([*pieces, (text[last:], "")])
