"""The words of an answer: the heading that says its state, its text with citations, and its notes.

Notes are decisions, the token budget, sentences without support, and quotes that are not cited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.components.shell.text import (
    budget_lines,
    lacking,
    lines,
    plain,
    short_name,
    shortened,
    state_sign,
)
from rag import (
    AnswerState,
    CodeBlock,
    Decision,
    SentenceCheck,
    StoredCitation,
    Turn,
    code_blocks,
    counted,
    general_statement,
    inline_markup,
    mentions,
    money,
    page_name,
    quoted_mentions,
)

Link = Callable[[int], str]
"""The address of a cited passage, or "" for a number that no passage has."""
OPENED = "opened"  # what a click on a citation sends
_MARKS: Mapping[str, str] = {"unsupported": "\ue000", "uncited": "\ue001"}
"""What holds the place of a sign: of the private use area, which no text needs."""
_SIGNS: Mapping[str, str] = {
    "\ue000": ":orange-badge[:material/warning: not supported]",
    "\ue001": ":gray-badge[:material/link_off: no source]",
}
_FENCES = ("```", "~~~")  # behind which nothing may stand in their line
_BLOCKS = (
    ("rule", re.compile(r"\s*+(?:\|?\s*+:?-{3,}+:?\s*+)(?:\|\s*+:?-{3,}+:?\s*+)*+\|?\s*")),
    ("row", re.compile(r"\s*\|.*\|\s*")),
    ("heading", re.compile(r"\s*#{1,6}\s++(?P<words>.*)")),
    ("item", re.compile(r"(?P<mark>\s*(?:[-*+]|\d{1,3}[.)])\s+)(?P<words>\S.*)")),
    ("quote", re.compile(r"(?P<mark>\s*(?:>\s?)++)(?P<words>.*)")),
)
_GENERAL = ":violet-badge[:material/public: General knowledge]"
_FOLLOW = """
export default function ({ parentElement, setTriggerValue }) {
  document.removeEventListener("click", parentElement.follow, true);
  parentElement.follow = (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest?.("[data-testid=stChatMessage] a[href*='source=']");
    if (!link || new URL(link.href).origin !== location.origin) return;
    event.preventDefault();
    setTriggerValue("opened", new URL(link.href).searchParams.get("source"));
  };
  document.addEventListener("click", parentElement.follow, true);
  parentElement.querySelector("span").className = "listening";
  return () => document.removeEventListener("click", parentElement.follow, true);
}
"""
_listener = st.components.v2.component("citation_links", html="<span></span>", js=_FOLLOW)


def citation_clicks(act: Callable[[str], object]) -> None:
    """Call ``act`` with the source of a citation that is clicked, in place of opening a tab."""
    key = "chat_cited"

    def opened() -> None:
        source = st.session_state[key].get(OPENED)
        if source:
            act(source)

    _listener(key=key, height=1, on_opened_change=opened)


def answer_text(
    text: str,
    link: Link | None = None,
    *,
    quoted: bool = False,
    checks: Sequence[SentenceCheck] = (),
) -> str:
    """An answer as markdown: its words as they are, emphasis and lists set, citations as links.

    Without ``link`` citations are only set off. ``quoted`` says that the answer is made of quoted
    sentences: brackets inside of them are the document's own. A sign stands behind every sentence
    that ``checks`` found without support or source.
    """
    for mark in (*_SIGNS, "\r"):  # which ends a line in Markdown, and none here
        text = text.replace(mark, " ")
    for check in sorted(checks, key=lambda verdict: -verdict.end):
        if not check.borne_out:
            before = text[: check.end].rstrip("| ")  # within the last cell of a row
            gap = "\n" if before.endswith(_FENCES) else " "
            text = f"{before}{gap}{_MARKS[check.verdict]}{text[len(before) :]}"
    html = "".join(_blocks(text, lambda words: _inline(words, link, quoted=quoted)))
    for mark, sign in _SIGNS.items():
        html = html.replace(mark, sign)
    return html


def _blocks(text: str, inline: Callable[[str], str]) -> Iterator[str]:
    """Line by line; lines of another kind begin a paragraph."""
    before = ""
    for part in code_blocks(text):
        if isinstance(part, CodeBlock):
            yield _gap(before, "code") + part.markdown
            before = "code"
            continue
        kind, match = next(
            ((kind, match) for kind, sign in _BLOCKS if (match := sign.fullmatch(part))),
            ("prose" if part.strip() else "", None),
        )
        if kind == "rule" and before != "row":
            kind = ""  # a line of its own, or what underlines a heading
        yield _gap(before, kind) + _line(kind, part, match, inline)
        before = "row" if kind == "rule" else kind


def _gap(before: str, kind: str) -> str:
    if not before:
        return ""
    if kind == before == "prose":
        return "  \n"
    return "\n" if kind == before or kind in ("", "rule") else "\n\n"


def _line(kind: str, line: str, match: re.Match[str] | None, inline: Callable[[str], str]) -> str:
    if kind == "rule":
        return line
    if kind == "row":
        return (
            f"| {' | '.join(inline(cell.strip()) for cell in line.strip().strip('|').split('|'))} |"
        )
    if kind == "heading" and match:
        return f"**{inline(match.group('words').rstrip('#').rstrip())}**"
    if kind in ("item", "quote") and match:
        return match.group("mark") + inline(match.group("words"))
    if not kind:
        return "\n"
    statement = general_statement(line)
    return inline(line) if statement is None else f"{_GENERAL} {inline(statement)}"


def _inline(text: str, link: Link | None, *, quoted: bool) -> str:
    pieces, last = list[str](), 0
    for mark in (quoted_mentions if quoted else mentions)(text):
        cited = _cited(text[mark.start : mark.end], mark.numbers, link)
        if cited:
            pieces += [_styled(text[last : mark.start]), cited]
            last = mark.end
    return "".join([*pieces, _styled(text[last:])])


def _cited(bracket: str, numbers: tuple[int, ...], link: Link | None) -> str:
    """A citation; "" for a bracket without a number that a passage has."""
    if link is None:
        return f":blue[{plain(bracket)}]"
    address = next(filter(None, map(link, numbers)), "")
    return f"[{plain(bracket)}]({address})" if address else ""


def _styled(text: str) -> str:
    pieces, last = list[str](), 0
    for mark in inline_markup(text):
        inner = text[mark.inner_start : mark.inner_end]
        pieces.append(lines(text[last : mark.start]))
        if mark.style == "code":
            pieces.append(text[mark.start : mark.end])
        elif mark.style == "link":
            pieces.append(plain(inner))
        else:
            sign = "**" if mark.style == "strong" else "*"
            pieces.append(f"{sign}{_styled(inner)}{sign}")
        last = mark.end
    return "".join([*pieces, lines(text[last:])])


BADGES: Mapping[AnswerState, str] = {
    "answered": ":green-badge[:material/check_circle: answered]",
    "doubtful": ":orange-badge[:material/help: doubtful]",
    "refused": ":orange-badge[:material/block: refused]",
    "conflicting": ":violet-badge[:material/compare_arrows: conflicting]",
}


def state_heading(turn: Turn) -> str:
    """The state of an answer with its reason, as Markdown; "" where it was not assessed."""
    assessment = turn.details.assessment
    if assessment is None:
        return ""
    heading = f"##### {state_sign(assessment, turn.mode)} {assessment.title(turn.mode)}"
    if assessment.state == "refused":
        return heading  # what came nearest, and why, stands below
    reason = plain(assessment.reason)
    if assessment.state == "answered" and reason:
        reason = f":small[:gray[{reason}]]"  # the quote below says it
    lines = [heading, reason, lacking(assessment)]
    if assessment.state == "conflicting":
        lines += [
            "\n".join(
                f"- [{edition.n}] {plain(edition.document)}"
                + (f", {plain(edition.day)}" if edition.day else "")
                + (" :green-badge[in force]" if edition.in_force else "")
                for edition in assessment.editions
            )
        ]
    return "\n\n".join(filter(None, lines))


def is_doubtful_quote(turn: Turn) -> bool:
    """Whether the quotes of an answer are only the nearest passages."""
    assessment = turn.details.assessment
    return assessment is not None and assessment.state == "doubtful" and turn.mode == "quotes"


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
    where = f"{plain(short_name(quote.document, 60))}{page}"
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

_SENTENCES = 4
_LONGEST_SENTENCE = 140  # characters of a sentence


def sentence_notes(turn: Turn) -> None:
    """Name the sentences without support or source, each with its reasons; nothing where all is
    supported."""
    doubted = [check for check in turn.sentences if not check.borne_out]
    if not doubted:
        return
    checked = counted(len(turn.sentences), "sentence")
    st.caption(
        f":orange[:material/warning:] **{len(doubted)} of {checked} "
        f"{'is' if len(doubted) == 1 else 'are'} not supported by what is cited:**\n"
        + "\n".join(_doubted(turn, check) for check in doubted[:_SENTENCES])
        + (f"\n- and {len(doubted) - _SENTENCES} more" if len(doubted) > _SENTENCES else "")
    )


def _doubted(turn: Turn, check: SentenceCheck) -> str:
    sentence = shortened(" ".join(turn.answer[check.start : check.end].split()), _LONGEST_SENTENCE)
    return f"- “{plain(sentence)}”: {plain('; '.join(check.reasons))}"
