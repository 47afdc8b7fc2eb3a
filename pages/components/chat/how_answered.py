"""Details of an answer: decisions, token budget, and the quotes that it doesn't cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.components.recipe.token_budget import budget_lines
from pages.components.shell.text import lines, plain
from pages.components.shell.wording import shortened
from rag import Decision, StoredCitation, Turn, counted, money, page_name


def how_answered(turn: Turn) -> None:
    """Draw the decisions, the token budget and the examples of an answer.

    Draw nothing if there are none, as for an answer that only quotes.
    """
    details = turn.details
    asks_none = turn.mode == "quotes" and not details.written
    unread = ("evidence", "quotes") if asks_none else ()  # a doubt is worded by no model
    rows = [_decision(one) for one in details.decisions if (one.step, one.chosen) != unread]
    if details.suspicious and turn.mode != "quotes":  # quotes go to no model
        rows.append(
            f":orange[:material/gpp_maybe:] {counted(details.suspicious, 'passage')} with "
            "text that reads like instructions. The prompt tells models to treat it as text."
        )
    if details.budget:
        rows += budget_lines(details.budget)
    rows += [
        f":green[:material/psychology: example] {plain(shortened(example.question, 90))} "
        f":gray[· asked before, cosine {example.similarity:.2f}]"
        for example in turn.examples
    ]
    if spent := _spent(turn.metrics):
        rows.append(f":gray[{plain(spent)}]")
    if details.prompt_version:
        rows.append(f":gray[prompt {plain(details.prompt_version)}]")
    if rows:
        st.caption("  \n".join(rows))


def _spent(metrics: Mapping[str, Any]) -> str:
    """Tokens as the provider reports them, and money where the price is known; "" for quotes."""
    tokens = (metrics.get("prompt_tokens") or 0) + (metrics.get("completion_tokens") or 0)
    if not tokens:
        return ""
    amount = metrics.get("cost")
    cost = "cost unknown" if amount is None else money(amount, str(metrics.get("currency")))
    unread = metrics.get("unread_tokens")
    cut = f", {unread:,} or more of the prompt not read" if unread else ""
    return f"{counted(tokens, 'token')}{cut}, {cost}"


def quotes_beside(turn: Turn) -> None:
    """Draw what the passages say beside an answer that cites none of them, or words them folded.

    What a model wrote that they do not bear out is folded below the quotes.
    """
    quotes = turn.details.quotes
    if turn.details.written:
        with st.expander("What the model wrote", icon=":material/edit_off:"):
            st.markdown(lines(turn.details.written))
    if not quotes:
        return
    if turn.mode == "sentence":
        with st.expander(counted(len(quotes), "quote"), icon=":material/format_quote:"):
            st.markdown("\n".join(map(_quote, quotes)))
        return
    with st.container(border=True, gap="xsmall"):
        st.caption(":material/format_quote: The answer cites nothing. What the passages say:")
        st.markdown("\n".join(map(_quote, quotes)))


def _quote(quote: StoredCitation) -> str:
    page = page_name(quote.document, quote.page, before=", ", label=quote.page_label)
    where = f"{plain(shortened(quote.document, 60))}{page}"
    text = " · ".join(filter(None, map(str.strip, (quote.quote or quote.text).split("\t"))))
    return f"- “{plain(text)}” :gray[{where}]"


def _decision(decision: Decision) -> str:
    icon = ":orange[:material/warning:]" if decision.failed else ":material/alt_route:"
    why = f": {plain(decision.why)}" if decision.why else ""
    return f"{icon} {_STEPS[decision.step]}**{plain(decision.chosen)}**{why}"


_STEPS = {
    "sources": "from ",
    "tool": "tool ",
    "citations": "citations: ",
    "context": "prompt too long: ",
    "general": "",
    "evidence": "the model reads ",
}
