"""A bout of the arena: two answers, the vote, and what all votes say."""

from __future__ import annotations

import streamlit as st

from pages.components.chat.answer_text import answer_text
from pages.components.shell.buttons import action_button
from pages.components.shell.guard import show_error
from pages.components.shell.text import lines, plain
from pages.components.shell.wording import shortened
from rag import ArenaComparison, ArenaSummary, KnowledgeBase, Side, counted

_VOTES = (
    ("left", "A is better", "arrow_back"),
    ("tie", "Tie", "balance"),
    ("both bad", "Both bad", "thumb_down"),
    ("right", "B is better", "arrow_forward"),
)
_QUOTES = "quotes"


def bout(base: KnowledgeBase, comparison: ArenaComparison, *, blind: bool) -> None:
    """Two answers side by side; after the vote, which recipe gave which."""
    st.markdown(f"**{lines(comparison.question)}**")
    revealed = bool(comparison.vote) or not blind
    for column, letter, side, name in zip(
        st.columns(2), "AB", (comparison.left, comparison.right), ("left", "right"), strict=True
    ):
        with column.container(border=True, height="stretch"):
            won = " :green-badge[:material/check: preferred]" if comparison.vote == name else ""
            recipe_name = f" · {plain(base.recipe_names.of(side.recipe))}" if revealed else ""
            st.markdown(f"**{letter}**{recipe_name}{won}")
            _answer(side, timed=revealed)
    if comparison.vote:
        vote = {name: label for name, label, _ in _VOTES}[comparison.vote]
        st.caption(f":material/how_to_vote: Your vote: {vote}. Ask the next question below.")
        return
    with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
        for name, label, icon in _VOTES:
            key = f"arena_vote_{name.replace(' ', '_')}"
            action_button(label, key, icon, base.arena.vote, comparison.id, name)


def _answer(side: Side, *, timed: bool) -> None:
    answer = side.answer
    if answer["status"] == "failed":
        show_error(answer["note"] or "No answer came.")
        return
    st.markdown(answer_text(answer["text"], quoted=answer["mode"] == _QUOTES))
    sources = [
        f"**{citation['n']}** {plain(shortened(citation['document'], 40))}"
        + (f" · p. {citation['page']}" if citation["page"] is not None else "")
        for citation in answer["citations"]
    ]
    if sources:
        st.caption("  \n".join(sources))
    if timed:
        st.caption(f"retrieved in {answer['seconds'] * 1000:.0f} ms")


def summary(base: KnowledgeBase) -> None:
    """Draw the result of the votes for each pair of recipes."""
    summaries = base.arena.summaries()
    if not summaries:
        return
    st.subheader("What the votes say")
    for row in summaries:
        with st.container(border=True):
            first, second = (base.recipe_names.of(side) for side in (row.first, row.second))
            st.markdown(_verdict(row, plain(first), plain(second)))
            st.caption(_counts(row))
    st.caption(
        "The interval may be looked at after every vote. A question counts once, however often it "
        "was voted on; a tie, or two bad answers, count half for each."
    )


def _verdict(row: ArenaSummary, first: str, second: str) -> str:
    """The sentence that may be quoted. The rate is that of the recipe that is ahead."""
    rate, low, high = row.rate, row.low, row.high
    if rate < 0.5:
        first, second = second, first
        rate, low, high = 1 - rate, 1 - high, 1 - low
    share = f"{rate:.0%} (95% interval {low:.0%} to {high:.0%})"
    if row.decided:
        return (
            f":green-badge[:material/check: decided] **{first}** is preferred to {second}: {share}"
        )
    return f":gray-badge[not decided] {first} against {second}: {share}"


def _counts(row: ArenaSummary) -> str:
    won = (row.wins, row.losses) if row.rate >= 0.5 else (row.losses, row.wins)
    return (
        f"{counted(row.votes, 'vote')} on {counted(row.questions, 'question')}: "
        f"{won[0]:,} to {won[1]:,}, {row.ties:,} tied, {row.both_bad:,} both bad"
    )
