"""Repairs of the markup of web pages, so that the main text has all that a browser shows.

trafilatura drops, without a word, items outside of lists, bare text of sections and the text of
some inline elements. It flattens tables and code within items of lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Literal

_INLINE = ("time", "label", "output", "q")
"""Elements within sentences that trafilatura removes with their text, or ends the sentence at."""
_TITLES = {"dt", "h1", "h2", "h3", "h4", "h5", "h6"}
_SENTENCES = {"p", "li", *_TITLES}
_CELLS = {"td", "th"}
_TITLE_WORDS = 3
"""The fewest words of a button that stands alone and unfolds an answer."""
_PANELS = {"div", "section", "dd", "p"}
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
    for keep, node in [(_way_to_keep(node, blocks), node) for node in body.iter("button")]:
        if keep == "inline":
            node.drop_tag()
        elif keep == "title":
            node.tag = "h6"
        elif any(outer.tag in _CELLS for outer in node.iterancestors()):
            node.drop_tree()  # or the words of the cell would count as unread
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


def _way_to_keep(button: Any, blocks: frozenset[str]) -> Literal["inline", "title", ""]:
    """Keep the words of a button that unfolds an answer or is a part of a sentence.

    Others, as "Add to basket", say nothing about their subject, and are left to be removed.
    What a button unfolds becomes a paragraph if it is bare text.
    """
    holder = next(outer for outer in button.iterancestors() if outer.tag in blocks)
    panel = _panel_of(button, holder)
    for inner in [] if panel is None else list(panel.iter("div")):
        if not any(_is_block(one, blocks) for one in inner):
            inner.tag = "p"
    if holder.tag in _SENTENCES | _CELLS:
        return "inline" if panel is not None or _is_in_sentence(button, holder, blocks) else ""
    is_title = panel is not None and len("".join(button.itertext()).split()) >= _TITLE_WORDS
    return "title" if is_title else ""


def _panel_of(button: Any, holder: Any) -> Any:
    """Return what a button unfolds, the button if that is elsewhere, None for other buttons."""
    title = holder if holder.tag in _TITLES else button
    follows = title.getnext()
    beside = follows is not None and follows.tag in _PANELS and not (title.tail or "").strip()
    panel = follows if beside else button
    if button.get("aria-haspopup") is not None:  # a menu
        return None
    if button.get("aria-expanded") is not None or button.get("aria-controls") is not None:
        return panel
    asks = "".join(button.itertext()).rstrip().endswith("?")
    return panel if beside and asks else None


def _is_in_sentence(button: Any, holder: Any, blocks: frozenset[str]) -> bool:
    """Whether there are words beside a button, on both sides of it in a cell or title.

    A button that is all of a title is one.
    """
    before = behind = False
    for node in itertools.chain(
        [button], itertools.takewhile(lambda one: one is not holder, button.iterancestors())
    ):
        before = before or _has_words(node, blocks, before=True)
        behind = behind or _has_words(node, blocks, before=False)
    if holder.tag in _TITLES:
        return before == behind
    return (before and behind) if holder.tag in _CELLS else (before or behind)


def _has_words(node: Any, blocks: frozenset[str], *, before: bool) -> bool:
    """Whether words stand before an element, or behind it, up to the next block."""
    if not before and (node.tail or "").strip():
        return True
    for other in node.itersiblings(preceding=before):
        has_tail = bool((other.tail or "").strip())
        if _is_block(other, blocks):
            return has_tail and before
        if has_tail or (other.tag != "button" and any(map(str.strip, other.itertext()))):
            return True
    return before and bool((node.getparent().text or "").strip())


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
        is_alone = node.tag == "div" and node.getparent().tag in ("div", "main", "article")
        if has_blocks or is_alone or node.tag in _OWN_TEXT:
            for before, run in list(_bare_runs(node, blocks)):
                if not _is_of_links(node, before, run):  # links alone are no paragraph
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


def _is_of_links(node: Any, before: Any, run: list[Any]) -> bool:
    """Whether a run has no words but those of links."""
    linked = "".join("".join(one.itertext()) for one in run if one.tag == "a")
    return _shown(node, before, run).split() == linked.split()


def _shown(node: Any, before: Any, run: list[Any]) -> str:
    text = (node.text if before is None else before.tail) or ""
    return text + "".join("".join(one.itertext()) + (one.tail or "") for one in run)


def _wrap(node: Any, before: Any, run: list[Any]) -> None:
    """Put a run and the text around it into a paragraph."""
    if not _shown(node, before, run).strip():
        return
    paragraph = node.makeelement("p")
    paragraph.text = node.text if before is None else before.tail
    if before is None:
        node.text = None
        node.insert(0, paragraph)
    else:
        before.tail = None
        before.addnext(paragraph)
    paragraph.extend(run)


def _is_block(element: Any, blocks: frozenset[str]) -> bool:
    """Whether an element is a block, or has one within it, as links around cards do."""
    return element.tag in blocks or (
        len(element) > 0 and any(one.tag in blocks for one in element.iterdescendants())
    )


def lift_blocks(tree: Any, blocks: frozenset[str]) -> None:
    """Take tables, code and headings out of the items of lists, which are parted there.

    The items must have their numbers in their text. ``blocks`` are the names of block elements.
    """
    rests = list[Any]()
    for node in reversed(list(tree.iter(*_LIFTED))):  # from the end, so that rests stay short
        while _in_list(node):
            rests += _lift(node)
    for rest in rests:
        for link in list(rest.iter("a")):  # a paragraph of links alone would be left out
            link.drop_tag()
        for inner in list(rest.iter("div")):
            if not _is_held(inner, rest):
                for before, run in list(_bare_runs(inner, blocks)):
                    _wrap(inner, before, run)
    for inner in tree.xpath("//li//div"):  # or the words on both sides would be one
        if any(child.tag in _BLOCKS_OF_ITEM for child in inner.iter() if child is not inner):
            inner.drop_tag()
        else:
            inner.tag = "p"


def _in_list(node: Any) -> bool:
    """Whether an element is within a list, without a table between."""
    outside = itertools.takewhile(lambda one: one.tag != "table", node.iterancestors())
    return any(one.tag in ("li", "ul", "ol") for one in outside)


def _is_held(node: Any, outer: Any) -> bool:
    """Whether an element is in a list or table within another element."""
    between = itertools.takewhile(lambda one: one is not outer, node.iterancestors())
    return any(one.tag in ("li", "table") for one in between)


def _lift(node: Any) -> list[Any]:
    """Put an element behind its parent, and the rest of the parent behind that.

    Return the rest if it is an element without a meaning of its own, whose text is still bare.
    """
    rests = list[Any]()
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
        rests += [remainder] * (remainder.tag == "div")
    last.tail = f"{last.tail or ''}{tail or ''}" or None
    if not any(map(str.strip, parent.itertext())):
        parent.getparent().remove(parent)
    return rests
