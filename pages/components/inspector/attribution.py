"""Attribution of the cosine of question and passage, by leaving out one part at a time."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.inspector import explanations
from pages.components.shell.text import lines, plain, tinted
from pages.components.shell.wording import placed, shown_context
from rag import Attribution, Hit, KnowledgeBase, Recipe, TextPart, Trace

_STRONG, _SOME = 0.66, 0.33  # shares of the largest loss
_TINTS = ((_STRONG, "green-background"), (_SOME, "blue-background"))


def attribution_view(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, selected: Hit | None
) -> None:
    """Computed when it is asked for: it embeds some dozens of texts."""
    if selected is None:
        st.caption("Select a passage to see which parts contribute to its cosine.")
        return
    attribution = explanations.attribution(
        base, trace, recipe, selected.chunk.key, wanted=_asked(selected)
    )
    if attribution is not None:
        _draw(attribution, selected)


def _asked(selected: Hit) -> bool:
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
