"""The text of an answer: its Markdown as typography, its citations as links to their sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import streamlit as st

from pages.components.shell.text import lines, plain
from rag import (
    CodeBlock,
    SentenceCheck,
    code_blocks,
    general_statement,
    inline_markup,
    mentions,
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
