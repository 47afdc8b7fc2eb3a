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


def bout(base: KnowledgeBase, held: ArenaComparison, *, blind: bool) -> None:
    """Two answers side by side; after the vote, which recipe gave which."""
    st.markdown(f"**{lines(held.question)}**")
    told = bool(held.vote) or not blind
    for column, letter, side, name in zip(
        st.columns(2), "AB", (held.left, held.right), ("left", "right"), strict=True
    ):
        with column.container(border=True, height="stretch"):
            won = " :green-badge[:material/check: preferred]" if held.vote == name else ""
            known = f" · {plain(base.recipe_names.of(side.recipe))}" if told else ""
            st.markdown(f"**{letter}**{known}{won}")
            _answer(side, timed=told)
    if held.vote:
        said = {name: label for name, label, _ in _VOTES}[held.vote]
        st.caption(f":material/how_to_vote: Your vote: {said}. Ask the next question below.")
        return
    with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
        for name, label, icon in _VOTES:
            key = f"arena_vote_{name.replace(' ', '_')}"
            action_button(label, key, icon, base.arena.vote, held.id, name)


def _answer(side: Side, *, timed: bool) -> None:
    answer = side.answer
    if answer["status"] == "failed":
        show_error(answer["note"] or "No answer came.")
        return
    st.markdown(answer_text(answer["text"], quoted=answer["mode"] == _QUOTES))
    sources = [
        f"**{each['n']}** {plain(shortened(each['document'], 40))}"
        + (f" · p. {each['page']}" if each["page"] is not None else "")
        for each in answer["citations"]
    ]
    if sources:
        st.caption("  \n".join(sources))
    if timed:
        st.caption(f"retrieved in {answer['seconds'] * 1000:.0f} ms")


def summary(base: KnowledgeBase) -> None:
    """Draw the result of the votes for each pair of recipes."""
    found = base.arena.summaries()
    if not found:
        return
    st.subheader("What the votes say")
    for each in found:
        with st.container(border=True):
            first, second = (base.recipe_names.of(side) for side in (each.first, each.second))
            st.markdown(_verdict(each, plain(first), plain(second)))
            st.caption(_counts(each))
    st.caption(
        "The interval may be looked at after every vote. A question counts once, however often it "
        "was voted on; a tie, or two bad answers, count half for each."
    )


def _verdict(held: ArenaSummary, first: str, second: str) -> str:
    """The sentence that may be quoted. The rate is that of the recipe that is ahead."""
    rate, low, high = held.rate, held.low, held.high
    if rate < 0.5:
        first, second = second, first
        rate, low, high = 1 - rate, 1 - high, 1 - low
    share = f"{rate:.0%} (95% interval {low:.0%} to {high:.0%})"
    if held.decided:
        return (
            f":green-badge[:material/check: decided] **{first}** is preferred to {second}: {share}"
        )
    return f":gray-badge[not decided] {first} against {second}: {share}"


def _counts(held: ArenaSummary) -> str:
    won = (held.wins, held.losses) if held.rate >= 0.5 else (held.losses, held.wins)
    return (
        f"{counted(held.votes, 'vote')} on {counted(held.questions, 'question')}: "
        f"{won[0]:,} to {won[1]:,}, {held.ties:,} tied, {held.both_bad:,} both bad"
    )
