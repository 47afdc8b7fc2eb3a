"""Web pages: the main text as Markdown, so that headings and tables keep their shape."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from rag.errors import UnreadableDocument
from rag.readers.characters import decode, normalise
from rag.readers.content import Composer, Content, Source, attempt
from rag.readers.dates import stated_day
from rag.readers.html.repair import lift_blocks, repair
from rag.readers.html.tables import (
    TableRows,
    name_panels,
    numbered,
    show,
    spread_cells,
    table_rows,
    tabulate_divs,
    unnest_tables,
    words_of,
)
from rag.readers.markdown import code_fence, markdown_content
from rag.readers.numbering import FORMS, numeral
from rag.readers.tables import COVERED, grid
from rag.types import Omission

_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*+=\s*+["']?\s*+([\w-]+)""", re.IGNORECASE)
_SILENT = {"script", "style", "noscript", "template", "head", "svg", "iframe", "object"}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details"),
    *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr"),
    *("html", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"),
    *("td", "tfoot", "th", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6", "br"),
}
_NEARLY_ALL = 0.95
"""The least share of the characters of all paragraphs."""
_FRAME = re.compile(
    r"nav|menu|sidebar|footer|breadcrumb|cookie|banner|comment|related|share|promo", re.IGNORECASE
)
"""In names of what stands around the text of a page."""
# trafilatura falls back to bare words below a few hundred characters and loses the headings.
_SHORT = 400
_BESIDE = {"pre", "form", "button", "select", "datalist", "dialog", "textarea", "menu"}
_LINKING = {"li", "p", "ul", "ol", "td", "th", "dd", "dt"}
_MOSTLY = 0.5
"""The share of the letters of a block from which it counts as links."""
_LEAST_WORDS = 3
_SAMPLE = 12  # words
_FIRST = {"p", "div", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"}
"""Elements that the number of an item is put into, if the item begins with them."""
_ITEM = re.compile(r"- |(?:-?[0-9]+|[a-zA-Z]{1,7})\. ")
_PLAIN = {"literal-block", "doctest-block"}
"""Classes of code without a language."""


def read_html(source: Source) -> Content:
    """Main text by trafilatura; all visible text of the body where it finds too little.

    Raises UnreadableDocument (``empty``) for a page without visible text.
    """
    from lxml import html

    data = source.path.read_bytes()
    declared = _DECLARED.search(data[:4096])
    name = declared.group(1).decode("ascii") if declared else ""
    markup, encoding = decode(data, name, source.about.get("encoding"))
    del data
    if not markup or markup.isspace():
        raise _empty_page()
    # Without a huge tree, deeply nested text is dropped, and with comments, what comes after them.
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    # lxml refuses text that starts with an XML declaration naming an encoding.
    sound = re.sub(r"^\s*<\?xml[^>]*\?>", "", normalise(markup))
    tree = html.document_fromstring(sound, parser=parser)
    source.tick(0, 1)
    title = " ".join((tree.findtext(".//title") or "").split())
    published = _published(tree)  # may stand in an element that is no more after the repair
    blocks = frozenset(_BLOCKS - {"br"})
    left_out = show(tree)
    tabulate_divs(tree)
    name_panels(tree)
    unnest_tables(tree)
    repair(tree, blocks)
    _join_definitions(tree)
    _mark_numbers(tree)
    lift_blocks(tree, blocks)
    spread_cells(tree)
    text = max(_main_texts(tree), key=lambda one: len(one.split()))
    text = numbered(normalise(text)).strip()
    lines = (one if one.startswith("|") else one.replace(COVERED, "") for one in text.split("\n"))
    text = "\n".join(lines)
    source.tick(1, 1)
    metadata = {"title": title, "date": published} | encoding
    if len(text) < _SHORT:
        content = _whole_body(tree, metadata)
    else:
        unread = {"unread_text": _unread(tree, text)}
        content = markdown_content(text, metadata | unread, unruled=True)
    return replace(content, left_out=tuple(left_out.values()))


def _published(tree: Any) -> str:
    """The day that meta tags, JSON-LD, a time element or the address in the page tell, or "".

    Dates in running text are not guessed from: they may be about anything.
    """
    from htmldate import find_date
    from trafilatura.metadata import extract_url
    from trafilatura.settings import set_date_params

    def published() -> str | None:
        url = extract_url(tree) or tree.xpath("string(//meta[@property='og:url']/@content)") or None
        day: str | None = find_date(tree, url=url, **set_date_params(extensive=False))
        return day

    return stated_day(attempt(published, None)) or ""


def _name_main(tree: Any) -> bool:
    """Make the text of a page its main element, where it has none; return whether it did.

    Without one, trafilatura keeps the paragraphs of many pages, and leaves headings and lists. The
    text is the lowest element with nearly all paragraphs outside of menus, comments and the like.
    """
    element = tree.find("body")
    if element is None or tree.xpath("//main | //article | //*[@role='main']"):
        return False
    lengths = Counter[Any]()
    for node in element.iter("p"):
        above = list(itertools.takewhile(lambda one: one is not element, node.iterancestors()))
        if not any(map(_is_frame, above)):
            lengths.update(dict.fromkeys(above, len(words_of(node))))
            lengths[element] += len(words_of(node))
    least = _NEARLY_ALL * lengths[element]
    while inner := [one for one in element if lengths[one] > least]:
        element = inner[0]
    if element.tag == "body":
        outer = element.makeelement("body")
        element.addprevious(outer)
        outer.append(element)
    element.tag = "main"
    return True


def _unread(tree: Any, text: str) -> str:
    """Return the first words that a page shows amid its main text and that are not in ``text``.

    Menus, forms, links alone, and what a browser hides are no part of the main text. Code is not
    looked for: its numbers of lines and its variants are left out on purpose.
    """
    roots = tree.xpath("//main | //article | //*[@role='main']") or tree.xpath("//body")
    squeezed, at = _squeezed(text), 0
    for root in roots:
        for _, block in _blocks(root, _is_beside):
            parts = [block] if isinstance(block, str) else itertools.chain(*block[0])
            for part in filter(None, parts):
                words, letters = part.split(), _squeezed(part)
                place = squeezed.find(letters, at)  # most blocks are read in their order
                place = squeezed.find(letters) if place < 0 else place
                at = max(place, 0)
                if place < 0 and len(words) >= _LEAST_WORDS:
                    return " ".join(words[:_SAMPLE]) + (" …" if len(words) > _SAMPLE else "")
    return ""


def _squeezed(text: str) -> str:
    """The letters and digits of a text, which no markup and no spacing changes."""
    return re.sub(r"[\W_]+", "", text).lower()


def _is_beside(element: Any) -> bool:
    """Whether an element stands beside the main text."""
    if element.tag in _BESIDE or _is_frame(element):
        return True
    is_leaf = element.tag == "div" and not any(child.tag in _BLOCKS for child in element)
    if element.tag not in _LINKING and not is_leaf:
        return False
    linked = sum(len(words_of(link)) for link in element.iter("a"))
    return linked > _MOSTLY * len(words_of(element))


def _is_frame(element: Any) -> bool:
    if element.tag in ("nav", "header", "footer", "aside"):
        return True
    return _FRAME.search(f"{element.get('id', '')} {element.get('class', '')}") is not None


def _join_definitions(tree: Any) -> None:
    """Make lists of definitions plain lists: a term without what it means says nothing."""
    for group in tree.xpath("//dl/div[dt or dd]"):
        group.drop_tag()
    for listed in tree.iter("dl"):
        terms = list[Any]()
        for node in list(listed):
            if node.tag == "dt":
                terms.append(node)
            elif node.tag == "dd" and terms:
                first, term = _first_of(node), ", ".join(map(words_of, terms))
                first.text = f"{term.rstrip(': ')}: {(first.text or '').lstrip()}"
                for node in terms:
                    listed.remove(node)
                terms.clear()
        outer = listed.getparent()
        alone = outer is not None and outer.tag == "li" and len(outer) == 1
        listed.tag = "div" if alone else "ul"
        for node in listed.iterchildren("dd", "dt"):
            node.tag = "div" if alone else "li"


def _mark_numbers(tree: Any) -> None:
    """Put its number before each item of a list: what parts the list leaves the number alone."""
    for listed in tree.iter("ol"):
        items = list(listed.iterchildren("li"))
        down = listed.get("reversed") is not None
        number = _whole_number(listed.get("start"), len(items) if down else 1)
        for item in items:
            number = _whole_number(item.get("value"), number)
            first = _first_of(item)
            written = numeral(number, FORMS.get(listed.get("type"), "decimal")) or str(number)
            first.text = f"⦗#{written}⦘{(first.text or '').lstrip()}"
            number += -1 if down else 1


def _whole_number(written: str | None, otherwise: int) -> int:
    number = (written or "").strip()
    return int(number) if re.fullmatch("-?[0-9]{1,6}", number) else otherwise


def _first_of(item: Any) -> Any:
    """The innermost block that an item begins with, or the item itself."""
    while len(item) and item[0].tag in _FIRST and not (item.text or "").strip():
        item = item[0]
    return item


def _main_texts(tree: Any) -> Iterator[str]:
    """Yield the main text, and that of the page with a main element where it has none.

    That one comes first: it has the marks of headings and lists that the other one may lack.
    """
    import trafilatura

    named = deepcopy(tree)
    extract = partial(trafilatura.extract, output_format="markdown", include_comments=False)
    for page in (named, tree) if _name_main(named) else (tree,):
        yield attempt(partial(extract, page), None) or ""


def body_content(markup: str, metadata: dict[str, str], *, tags_tell: bool = False) -> Content:
    """All visible text of a page whose markup is sound, with the marks of Markdown.

    The title is the first heading, if ``metadata`` has none. Where ``tags_tell`` every header of a
    table, tables without tags for it have none.
    """
    from lxml import html

    if not markup or markup.isspace():
        return Content("")
    parser = html.HTMLParser(huge_tree=True, remove_comments=True)
    tree = html.document_fromstring(markup, parser=parser)
    left_out = show(tree, marked=True)
    for code in tree.iter("pre"):
        text = code.text_content().strip("\n")
        fence = code_fence(text)
        language = next((name for name in (code.get("class") or "").split() if name != "code"), "")
        for child in list(code):
            code.remove(child)
        code.text = f"{fence}{language if language not in _PLAIN else ''}\n{text}\n{fence}"
    _join_definitions(tree)
    _mark_numbers(tree)
    for item in tree.iterfind(".//ul/li"):
        first = _first_of(item)
        first.text = f"- {(first.text or '').lstrip()}"
    return _whole_body(tree, metadata, left_out, tags_tell=tags_tell)


def _whole_body(
    tree: Any,
    metadata: dict[str, str],
    left_out: Mapping[str, Omission] | None = None,
    *,
    tags_tell: bool = False,
) -> Content:
    """All blocks; for markup that other readers wrote, ``left_out`` counts what marks stand for."""
    composer, title, last, marked = Composer(), "", "", left_out is not None
    body = tree.find("body")
    for level, block in _blocks(tree if body is None else body):
        if not isinstance(block, str):
            rows, heads = block
            if tags_tell and heads is None:
                heads = int(len(rows[0]) == 1)  # the caption alone
            cells = [[cell and composer.take_marks(cell) for cell in row] for row in rows]
            composer.table(grid(cells, heads))
            last = ""
            continue
        block = composer.take_marks(block)
        if level and marked:
            title = title or block
            start = composer.block(f"{'#' * level} {block}")
            if start is not None:
                composer.mark(start, level, block)
        elif level:
            composer.heading(level, block)
        else:
            is_item = marked and _ITEM.match(block) and _ITEM.match(last)
            composer.block(block, "\n" if is_item else "\n\n")
        last = block
    for kind, omission in (left_out or {}).items():
        rest = max(0, omission.count - composer.left_out(kind))
        composer.leave_out(kind, omission.first, rest)
    content = composer.content(
        **metadata | ({"title": metadata.get("title") or title} if marked else {})
    )
    if not content.text and not marked:
        raise _empty_page()
    return content


def _empty_page() -> UnreadableDocument:
    return UnreadableDocument(
        "The web page has no visible text.",
        "Pages that are built by scripts arrive empty: save the page from your browser, or print "
        "it to PDF, and add that.",
        reason="empty",
    )


def _blocks(
    root: Any, left_out: Callable[[Any], bool] = lambda _: False
) -> list[tuple[int, str | TableRows]]:
    """Visible text by block element, with the heading level (0 for none), and rows of tables.

    Not recursive. Elements below the root may be ``left_out``.
    """
    blocks: list[tuple[int, str | TableRows]] = []
    words: list[str] = []

    def flush(level: int = 0, *, code: bool = False) -> None:
        written = "".join(words)
        text = numbered(written.strip("\n").rstrip() if code else " ".join(written.split()))
        words.clear()
        if text:
            blocks.append((level, text))

    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        tag = node.tag if isinstance(node.tag, str) else ""
        if leaving:
            if tag in _BLOCKS:
                flush(int(tag[1]) if re.fullmatch("h[1-6]", tag) else 0, code=tag == "pre")
            words.append(node.tail or "" if node is not root else "")
            continue
        if tag and node is not root and left_out(node):
            words.append(node.tail or "")
            continue
        stack.append((node, True))
        if tag in _BLOCKS:
            flush()
        rows = table_rows(node) if tag == "table" else None
        if rows is not None:
            blocks.append((0, rows))
        elif tag and tag not in _SILENT:
            words.append(node.text or "")
            stack += [(child, False) for child in reversed(node)]
    flush()
    return blocks
