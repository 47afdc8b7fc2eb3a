"""The visible part of a web page: raised figures, and neither struck nor hidden text."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

from rag.readers.scripts import lowered, raised

_STRUCK = {"s", "del", "strike"}
_HIDDEN = re.compile(r"display:none|visibility:hidden")
_PANEL = re.compile(r"accordion|collaps|expand|toggle|panel|faq|answer|\btab", re.IGNORECASE)
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))


def show(tree: Any) -> dict[str, int]:
    """Change a page in place to what is seen of it; return what is left out, by kind.

    What a click unfolds, such as the panels of accordions and tabs, is no hidden text.
    """
    left_out = Counter[str]()
    body = tree.find("body")
    if body is None:
        return {}
    controlled = set(" ".join(map(str, body.xpath(".//@aria-controls"))).split())
    for node in list(body.iterdescendants()):
        node.text = node.text and node.text.translate(_ZERO_WIDTH)
        node.tail = node.tail and node.tail.translate(_ZERO_WIDTH)
        style = (node.get("style") or "").replace(" ", "").lower()
        is_struck = node.tag in _STRUCK or any(
            part.startswith("text-decoration") and "line-through" in part
            for part in style.split(";")
        )
        is_hidden = node.get("hidden") is not None or _HIDDEN.search(style) is not None
        if is_struck or (is_hidden and not _is_unfolded(node, controlled)):
            if any(map(str.strip, node.itertext())):
                left_out["struck_passage" if is_struck else "hidden_passage"] += 1
            node.tag = "template"  # what is within it is dropped with it
        elif is_hidden:
            node.attrib.pop("hidden", None)
            node.attrib.pop("style", None)
    for node in list(body.iter("template")):
        if node.getparent() is not None:
            node.drop_tree()
    for parent in {node.getparent() for node in body.iter("sup", "sub")}:
        _write_scripts(parent)
    for node in body.xpath(".//a[starts-with(@href, 'mailto:')]"):
        address = node.get("href").removeprefix("mailto:").partition("?")[0]
        if address not in "".join(node.itertext()):
            node.tail = f" ({address}){node.tail or ''}"
    for first, second in itertools.pairwise(body.iter("span")):
        if second is first.getnext() and not first.tail and _is_all_of_spans(first.getparent()):
            first.tail = " "
    return dict(left_out)


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
    """Whether a click shows an element: its name says so, or a button that names it."""
    names = f"{node.get('id', '')} {node.get('class', '')} {node.get('role', '')}"
    return node.get("id") in controlled or _PANEL.search(names) is not None


def _is_all_of_spans(parent: Any) -> bool:
    """Whether an element has no words of its own: its spans are fields, no parts of a word."""
    bare = [parent.text, *(child.tail for child in parent)]
    return parent.tag == "div" and not any(text and text.strip() for text in bare)
