"""How an answer came about: decisions, how the prompt was spent, what it should have cited."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.text import plain
from pages.components.shell.wording import shortened
from rag import BudgetPart, Decision, StoredCitation, Turn, counted

_SIGNS = 24  # in a full bar
_COLOURS = {
    "rules and question": "gray",
    "conversation": "violet",
    "examples": "green",
    "passages": "blue",
    "answer": "orange",
}
_NAMED = 4  # of what was left out, before "more"


def how_answered(turn: Turn) -> None:
    """What was decided on the way to an answer and how its prompt was spent; nothing for quotes."""
    told = turn.details
    rows = [_decision(each) for each in told.decisions]
    if told.suspicious:
        rows.append(
            f":orange[:material/gpp_maybe:] {counted(told.suspicious, 'passage')} with what reads "
            "like instructions; models are told to take it as text"
        )
    if told.budget:
        rows += [budget_line(told.budget), *_left_out(told.budget)]
    rows += [
        f":green[:material/psychology: example] {plain(shortened(each.question, 90))} "
        f":gray[· asked before, cosine {each.similarity:.2f}]"
        for each in turn.examples
    ]
    if told.prompt_version:
        rows.append(f":gray[prompt {plain(told.prompt_version)}]")
    if rows:
        st.caption("  \n".join(rows))


def budget_line(parts: Sequence[BudgetPart]) -> str:
    """How a budget of tokens was spent: a bar, and the tokens of each part."""
    spent = [part for part in parts if part.used]
    total = sum(part.used for part in spent) or 1
    bar = "".join(
        f":{_COLOURS.get(part.name, 'gray')}[{'━' * max(round(_SIGNS * part.used / total), 1)}]"
        for part in spent
    )
    words = " · ".join(
        f":{_COLOURS.get(part.name, 'gray')}[{plain(part.name)}] {part.used:,}" for part in spent
    )
    return f"{bar} {words} tokens"


def quotes_beside(turn: Turn) -> None:
    """What the passages say, beside an answer that cites none of them."""
    quotes = turn.details.quotes
    if not quotes:
        return
    with st.container(border=True, gap="xsmall"):
        st.caption(":material/format_quote: The answer cites nothing. What the passages say:")
        st.markdown("\n".join(map(_quote, quotes)))


def _quote(quote: StoredCitation) -> str:
    page = f", page {quote.page}" if quote.page is not None else ""
    where = f"{plain(shortened(quote.document, 60))}{page}"
    return f"- “{plain(quote.quote or quote.text)}” :gray[{where}]"


def _decision(made: Decision) -> str:
    icon = ":orange[:material/warning:]" if made.failed else ":material/alt_route:"
    why = f": {plain(made.why)}" if made.why else ""
    return f"{icon} {_STEPS[made.step]}**{plain(made.chosen)}**{why}"


_STEPS = {
    "sources": "from ",
    "tool": "tool ",
    "citations": "citations: ",
    "context": "prompt too long: ",
    "general": "",
}


def _left_out(parts: Sequence[BudgetPart]) -> list[str]:
    rows = []
    for part in parts:
        if not part.left_out:
            continue
        names = [plain(shortened(name, 40)) for name in part.left_out[:_NAMED]]
        more = len(part.left_out) - len(names)
        listed = ", ".join(names) + (f" and {more} more" if more else "")
        rows.append(f":gray[no room, of the {plain(part.name)}: {listed}]")
    return rows
