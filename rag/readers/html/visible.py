"""The visible part of a web page: raised figures, and neither struck nor hidden text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from rag.readers.content import omission_mark
from rag.readers.scripts import lowered, raised
from rag.types import Omission

_STRUCK = {"s", "del", "strike"}
_LINE_THROUGH = re.compile(r"(?:^|;)text-decoration[^;]*line-through")
_HIDDEN = re.compile(r"display:none|visibility:hidden")
_TITLES = {"button", "dt", "h1", "h2", "h3", "h4", "h5", "h6"}
_IS_HEADING = " or ".join(f"self::h{level}" for level in range(1, 7))
_INLINE = ("span", "a", "button")
_BOXES = {"div", "nav", "header", "footer", "section"}
_UNFOLDING = "descendant-or-self::*[@aria-expanded and not(@aria-haspopup)]"
_ZERO_WIDTH = "\u00ad\u200b\u2060\ufeff"


def show(tree: Any, *, marked: bool = False) -> dict[str, Omission]:
    """Change a page in place to what is seen of it; return what is left out, by kind.

    With ``marked``, a mark stands where something is left out, also for each picture.
    What a click unfolds is no hidden text, where ARIA says so of a panel or its button.
    """
    left_out = dict[str, Omission]()
    body = tree.find("body")
    if body is None:
        return {}
    controlled = set(" ".join(map(str, body.xpath("descendant::*/@aria-controls"))).split())
    if any(mark in body.xpath("string()") for mark in _ZERO_WIDTH):
        for text in body.xpath("descendant::text()"):
            words = text.translate(dict.fromkeys(map(ord, _ZERO_WIDTH)))
            setattr(text.getparent(), "tail" if text.is_tail else "text", words)
    for node in body.xpath(
        "descendant::*[@style or @hidden] | descendant::s | descendant::del | descendant::strike"
        f"{' | descendant::img | descendant::svg' if marked else ''}"
    ):
        style = node.get("style", "").replace(" ", "").lower()
        is_struck = node.tag in _STRUCK or _LINE_THROUGH.search(style) is not None
        is_hidden = node.get("hidden") is not None or _HIDDEN.search(style) is not None
        if is_struck or (is_hidden and not _is_unfolded(node, controlled)):
            if any(map(str.strip, node.itertext())):
                kind = "struck_passage" if is_struck else "hidden_passage"
                first = left_out.get(kind) or Omission(kind, 0, _heading_above(node))
                left_out[kind] = replace(first, count=first.count + 1)
                if marked:
                    node.tail = f"{omission_mark(kind)}{node.tail or ''}"
            node.tag = "template"  # what is within it is dropped with it
        elif marked and node.tag in ("img", "svg"):
            node.tail = f"{omission_mark('picture')}{node.tail or ''}"
        elif is_hidden:
            node.attrib.pop("hidden", None)
            node.attrib.pop("style", None)
    for foot in list(body.iter("tfoot")):
        foot.getparent().append(foot)  # wherever it stands, it is shown below the rows
    for node in body.iter("option", "label"):
        node.tail = f" {node.tail or ''}"
    for node in list(body.iter("template")):
        if node.getparent() is not None:
            node.drop_tree()
    for parent in {node.getparent() for node in body.iter("sup", "sub")}:
        _write_scripts(parent)
    for node in body.xpath(".//a[starts-with(@href, 'mailto:')]"):
        address = node.get("href").removeprefix("mailto:").partition("?")[0]
        if address not in "".join(node.itertext()):
            node.tail = f" ({address}){node.tail or ''}"
    for node in body.iter(*_INLINE):
        after = node.getnext()
        if after is not None and after.tag in _INLINE and not node.tail:
            node.tail = " " if _is_all_of_boxes(node.getparent()) else node.tail
    return left_out


def _heading_above(node: Any) -> str:
    """The words of the last heading before an element, or around it."""
    above = node.xpath(f"(ancestor::*|preceding::*)[{_IS_HEADING}][last()]")
    return " ".join(above[0].xpath("string()").split()) if above else ""


def _write_scripts(parent: Any) -> None:
    """Put the raised and lowered text of an element among its own."""
    last, texts = parent, [parent.text or ""]
    for node in list(parent):
        if node.tag not in ("sup", "sub"):
            _put(last, parent, texts)
            last, texts = node, [node.tail or ""]
            continue
        words = "".join(node.itertext())
        texts += [raised(words) if node.tag == "sup" else lowered(words), node.tail or ""]
        node.tail = None
        parent.remove(node)
    _put(last, parent, texts)


def _put(last: Any, parent: Any, texts: list[str]) -> None:
    """Put texts behind a child of an element, or at its beginning."""
    if last is parent:
        parent.text = "".join(texts)
    else:
        last.tail = "".join(texts)


def _is_unfolded(node: Any, controlled: set[str]) -> bool:
    """Whether a click shows an element: a button names it, or it follows one that unfolds it."""
    if node.get("id") in controlled or node.get("role") == "tabpanel":
        return True
    before = node.getprevious()
    return before is not None and before.tag in _TITLES and bool(before.xpath(_UNFOLDING))


def _is_all_of_boxes(parent: Any) -> bool:
    """Whether an element has no words of its own: what is in it is no part of a word."""
    bare = [parent.text, *(child.tail for child in parent)]
    return parent.tag in _BOXES and not any(text and text.strip() for text in bare)
