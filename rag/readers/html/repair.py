"""Repairs of the markup of web pages, so that the main text has all that a browser shows.

trafilatura drops, without a word, items outside of lists, bare text of sections and the text of
some inline elements. It flattens tables and code within items of lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

_INLINE = ("time", "label", "output", "q")
"""Elements within sentences that trafilatura removes with their text, or ends the sentence at."""
_WITH_BUTTONS = {"p", "li", "td", "dt", "h1", "h2", "h3", "h4", "h5", "h6"}
"""Elements of which a button is a part: the title that unfolds an answer, or "press *Save*"."""
_TITLE_WORDS = 3
"""The fewest words of a button that stands alone and is such a title."""
_PLAIN = {
    "center": "div",
    "fieldset": "div",
    "figure": "div",
    "menu": "ul",
    "figcaption": "p",
    "legend": "p",
}
"""Elements that it removes or passes over, and those that hold their text as well."""
_CONTAINERS = {"article", "blockquote", "body", "dd", "details", "div", "main", "section"}
_OWN_TEXT = {"details", "section"}
"""Containers whose bare text gets lost also if it stands alone."""
_LIST_OF = {"li": ("ul", "ol", "menu", "dir"), "dt": ("dl",), "dd": ("dl",)}
_LIFTED = ("table", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
"""Blocks that an item of a list cannot hold in Markdown as it is written."""
_BLOCKS_OF_ITEM = ("div", "p", "blockquote", "section", "ul", "ol")


def repair(tree: Any, blocks: frozenset[str]) -> None:
    """Change a page in place; ``blocks`` are the names of block elements."""
    body = tree.find("body")
    if body is None:
        return
    for node in list(body.iter(*_INLINE)):
        node.drop_tag()
    for node in list(body.iter("button")):
        if any(outer.tag in _WITH_BUTTONS for outer in node.iterancestors()):
            node.drop_tag()
        elif len("".join(node.itertext()).split()) >= _TITLE_WORDS:
            node.tag = "p"
    for node in list(body.iter("math")):
        words = " ".join(node.itertext())
        for inner in list(node):
            node.remove(inner)
        node.text = words
        node.drop_tag()
    for node in body.iterchildren("form"):
        if node.find(".//p") is not None:  # the page within a form, not a search box
            node.tag = "div"
    for node in body.iter(*_PLAIN):
        if _PLAIN[node.tag] != "p" or not any(_is_block(child, blocks) for child in node):
            node.tag = _PLAIN[node.tag]
    _enclose(body, ("li",), _is_loose_in_list, "ul")
    _enclose(body, ("dt", "dd"), _is_loose_in_list, "dl")
    _enclose(body, ("tr", "tbody", "thead", "tfoot"), _is_loose_row, "table")
    for node in filter(_is_loose_row, list(body.iter("td", "th"))):
        node.tag = "p"
    _wrap_bare_text(body, blocks)


def _enclose(
    body: Any, tags: tuple[str, ...], is_loose: Callable[[Any], bool], outer_tag: str
) -> None:
    """Put runs of loose siblings with one of the tags into an element of their own."""
    for node in list(body.iter(*tags)):
        if not is_loose(node):
            continue
        outer = body.makeelement(outer_tag)
        run = [node, *itertools.takewhile(lambda one: one.tag in tags, node.itersiblings())]
        between = list(itertools.takewhile(lambda one: not (one.tail or "").strip(), run))
        run = run[: len(between) + 1]
        outer.tail, run[-1].tail = run[-1].tail, None
        node.addprevious(outer)
        outer.extend(run)


def _is_loose_in_list(node: Any) -> bool:
    parent = node.getparent()
    if parent.tag in _LIST_OF[node.tag]:
        return False
    # A ``div`` may group terms with their definitions.
    grouped = parent.tag == "div" and parent.getparent() is not None
    return not (node.tag != "li" and grouped and parent.getparent().tag == "dl")


def _is_loose_row(node: Any) -> bool:
    return not any(outer.tag == "table" for outer in node.iterancestors())


def _wrap_bare_text(body: Any, blocks: frozenset[str]) -> None:
    """Make paragraphs of the text that stands beside blocks, or alone in a section."""
    for node in list(body.iter(*_CONTAINERS)):
        if any(outer.tag == "summary" for outer in node.iterancestors()):
            continue  # it becomes a heading
        has_blocks = any(_is_block(child, blocks) for child in node)
        if has_blocks or node.tag in _OWN_TEXT:
            for before, run in list(_bare_runs(node, blocks)):
                _wrap(node, before, run)


def _bare_runs(node: Any, blocks: frozenset[str]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the inline elements of each run between blocks, and the block before it or None."""
    before, run = None, list[Any]()
    for child in node:
        if _is_block(child, blocks):
            yield before, run
            before, run = child, []
        else:
            run.append(child)
    yield before, run


def _wrap(node: Any, before: Any, run: list[Any]) -> None:
    """Put a run and the text around it into a paragraph."""
    text = (node.text if before is None else before.tail) or ""
    shown = text + "".join("".join(one.itertext()) + (one.tail or "") for one in run)
    linked = "".join("".join(one.itertext()) for one in run if one.tag == "a")
    if not shown.strip() or shown.split() == linked.split():  # links alone are no paragraph
        return
    paragraph = node.makeelement("p")
    paragraph.text = text
    if before is None:
        node.text = None
        node.insert(0, paragraph)
    else:
        before.tail = None
        before.addnext(paragraph)
    paragraph.extend(run)


def _is_block(element: Any, blocks: frozenset[str]) -> bool:
    """Whether an element is a block, or has one within it, as links around cards do."""
    return element.tag in blocks or any(one.tag in blocks for one in element.iter())


def lift_blocks(tree: Any) -> None:
    """Take tables, code and headings out of the items of lists, which are parted there.

    The items must have their numbers in their text.
    """
    for node in reversed(list(tree.iter(*_LIFTED))):  # from the end, so that rests stay short
        while _in_list(node):
            _lift(node)
    for inner in tree.xpath("//li//div"):  # or the words on both sides would be one
        if any(child.tag in _BLOCKS_OF_ITEM for child in inner.iter() if child is not inner):
            inner.drop_tag()
        else:
            inner.tag = "p"


def _in_list(node: Any) -> bool:
    """Whether an element is within a list, without a table between."""
    outside = itertools.takewhile(lambda one: one.tag != "table", node.iterancestors())
    return any(one.tag in ("li", "ul", "ol") for one in outside)


def _lift(node: Any) -> None:
    """Put an element behind its parent, and the rest of the parent behind that."""
    parent = node.getparent()
    rest, text = list(node.itersiblings()), node.tail
    node.tail = None
    tail, parent.tail = parent.tail, None
    parent.addnext(node)
    last = node
    if parent.tag in _LIST_OF["li"]:
        loose = list(itertools.takewhile(lambda one: one.tag != "li", rest))
        rest = rest[len(loose) :]
        for one in loose:
            last.addnext(one)
            last = one
    if rest or (text or "").strip():
        remainder = parent.makeelement("div" if parent.tag == "li" else parent.tag)
        remainder.text = text
        remainder.extend(rest)
        last.addnext(remainder)
        last = remainder
    last.tail = f"{last.tail or ''}{tail or ''}" or None
    if not any(map(str.strip, parent.itertext())):
        parent.getparent().remove(parent)
