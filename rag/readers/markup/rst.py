"""reStructuredText as the web page that docutils makes of it.

Its directives and roles are those of docutils, of Sphinx and of its extensions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from docutils import nodes, utils
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Directive, Parser, directives, roles, states
from docutils.parsers.rst.languages import en

from rag.readers.content import Content, Source, attempt
from rag.readers.html.reader import body_content
from rag.readers.text import load
from rag.types import Omission

_NAME = states.Inliner.simplename
DIRECTIVE = re.compile(rf"\.\.[ ]+(?:\|[^|\n]+\|[ ]+)?(?P<name>{_NAME})[ ]?::")
_TITLED = re.compile(r"(?P<words>.*\S)\s*<[^<>]*>", re.DOTALL)
"""Words before the target that they lead to."""
_OPTION = re.compile(r"\s*:[\w-]+:(?:\s|$)")
_NEVER = {"include", "raw"}
"""Directives that are refused, whatever their content."""
_ERROR = 3
_REFUSED = re.compile(
    rf"(?::{_NAME}:)?(?P<mark>`{{1,2}}|\|)(?P<words>.+)(?P=mark)_{{0,2}}"
    rf"|(?P<name>{_NAME})_{{1,2}}",
    re.DOTALL,
)
"""Inline markup that docutils cannot resolve."""
_CODE = {
    *("code", "code-block", "sourcecode", "prompt", "ipython", "doctest", "testcode", "testoutput"),
    *("testsetup", "testcleanup", "productionlist", "graphviz", "mermaid"),
}
_LANGUAGES = {"code", "code-block", "sourcecode"}
"""Directives whose argument is a programming language."""
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_LABELS = {"seealso": "See also", "todo": "To do"}
_CONDITIONS = {"only", "ifconfig"}
"""Directives whose argument says when their content counts."""
_SHOWN_TAGS = re.compile(r"\b(?:html|text|builder_\w+|format_\w+|not)\b")
"""In expressions of tags under which a web page has the content of "only"."""
_EXTERNAL = re.compile(
    r"^[ \t]*\.\. (?P<name>include|literalinclude|only)::(?P<argument>.*)$", re.MULTILINE
)
_FROM_FILE = re.compile(
    r"^[ \t]*\.\. (?:csv-table|raw)::.*(?:\n[ \t]+:.*)*?\n[ \t]+:(?:file|url):(?P<file>.*)$",
    re.MULTILINE,
)
_SPHINX = {
    *("index", "highlight", "currentmodule", "default-domain", "tabularcolumns"),
    *("literalinclude", "toctree"),
}
"""Directives without words of the text: settings, terms of an index, names of other files."""
_OBJECTS = {"class", "exc", "meth", "func", "attr", "data", "mod", "obj", "const"}
"""Roles whose text may begin with a point, which says where to look for the name."""
_SIGNATURES = {
    *("function", "method", "classmethod", "staticmethod", "class", "exception", "attribute"),
    *("data", "property", "decorator", "decoratormethod", "coroutinefunction", "module", "macro"),
    *("type", "member", "var", "struct", "option", "envvar", "program", "describe", "object"),
}
"""Directives whose argument is code, in which stars and underscores are no markup."""


class _AnyOptions(dict[str, Callable[[str | None], str]]):
    """Options of any name, whose values are kept as they are."""

    def __missing__(self, name: str) -> Callable[[str | None], str]:
        return _unchanged


def _unchanged(value: str | None) -> str:
    return value or ""


class _Code(Directive):  # type: ignore[misc]
    """Lines of code, under their caption."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOptions({"caption": _unchanged})
    has_content = True

    def run(self) -> list[Any]:
        first, _, more = (self.arguments or [""])[0].partition("\n")
        code = "\n".join([*([more] if more else []), *self.content])
        named = self.name.lower() in _LANGUAGES
        block = nodes.literal_block(code, code, classes=["code", first] if named else [])
        caption = self.options.get("caption")
        return [*([nodes.paragraph("", caption)] if caption else []), block]


class _Unknown(Directive):  # type: ignore[misc]
    """The argument and the content of a directive, as text behind its label."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOptions({"class": _unchanged})
    has_content = True

    def run(self) -> list[Any]:
        name = self.name.lower().rpartition(":")[2]
        if name in _SPHINX or (name == "only" and not is_shown(self.arguments)):
            return []
        argument = "" if name in _CONDITIONS else (self.arguments or [""])[0]
        node, label = nodes.container(), _LABELS.get(name, "")
        if name in _VERSIONS:
            version, _, argument = argument.partition(" ")
            first, _, more = version.partition("\n")
            argument = f"{more} {argument}".strip()
            label = f"{_VERSIONS[name]} {first}".strip()
        if name in _SIGNATURES:
            node += [nodes.paragraph("", line.strip()) for line in argument.splitlines()]
        elif argument:
            words, messages = self.state.inline_text(argument, self.lineno)
            node += [nodes.paragraph(argument, "", *words), *messages]
        self.state.nested_parse(self.content, self.content_offset, node)
        return [labelled(node, label)]


def is_shown(tags: Sequence[str]) -> bool:
    """Whether a passage for some tags is part of a web page, as far as their names tell."""
    return any(map(_SHOWN_TAGS.search, tags))


def left_out(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the argument of directives whose content does not become text."""
    for match in _FROM_FILE.finditer(text):
        yield "included_file", match["file"].strip()
    for match in _EXTERNAL.finditer(text):
        name, argument = match["name"], match["argument"].strip()
        if name != "only":
            yield "included_file", argument
        elif not is_shown([argument]):
            yield "conditional_passage", argument


def labelled(node: Any, label: str) -> Any:
    """Put a label before the first words of a block; return the block."""
    if label and node.children and isinstance(node[0], nodes.paragraph):
        node[0].insert(0, nodes.Text(f"{label}: "))
    elif label:
        node.insert(0, nodes.paragraph("", label))
    return node


def _tolerant_inliner(tick: Callable[[int], None]) -> Any:
    """Return the inline parser of docutils, with text for roles that it does not know.

    ``tick`` is called with the number of each line that is parsed.
    """
    # Not a subclass: the patterns are made from attributes of the class, without inherited ones.
    inliner = states.Inliner()
    parse, interpreted = inliner.parse, inliner.interpreted

    def watched_parse(text: str, lineno: int, memo: Any, parent: Any) -> Any:
        tick(lineno)
        return parse(text, lineno, memo, parent)

    def interpreted_or_text(rawsource: str, text: str, role: str, lineno: int) -> Any:
        known, _ = roles.role(role, inliner.language, lineno, inliner.reporter)
        if known:
            return interpreted(rawsource, text, role, lineno)
        signs = "~!." if role.rpartition(":")[2] in _OBJECTS else "~!"
        words = utils.unescape(text).lstrip(signs)
        return [nodes.inline(rawsource, without_target(words))], []

    inliner.parse, inliner.interpreted = watched_parse, interpreted_or_text
    return inliner


def without_target(words: str) -> str:
    """Words of a link without the target in angle brackets behind them."""
    titled = _TITLED.fullmatch(words)
    return titled["words"] if titled else words


def _refused_words(markup: str) -> str:
    """The words of a link, role or substitution without a definition."""
    match = _REFUSED.fullmatch(markup)
    return without_target(match["words"] or match["name"]) if match else markup


def _salvaged(message: Any) -> list[str]:
    """The lines of a block that docutils refused, without its marks and options."""
    if message["level"] < _ERROR:  # a warning, beside the block itself
        return []
    blocks = [child for child in message.children if isinstance(child, nodes.literal_block)]
    lines = "\n".join(block.astext() for block in blocks).split("\n")
    directive = DIRECTIVE.match(lines[0].strip())
    if directive:
        if directive["name"].lower() in _NEVER:
            return []
        lines[0] = lines[0].strip()[directive.end() :]
        lines = [line for line in lines if not _OPTION.match(line)]
    return [line.strip() for line in lines if any(map(str.isalnum, line))]


_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "doctitle_xform": False,  # the first section stays a section
    "docinfo_xform": False,
    "sectsubtitle_xform": False,
    "syntax_highlight": "none",
    "line_length_limit": sys.maxsize,
    "report_level": 5,  # more than any message has
    "halt_level": 5,
    "output_encoding": "unicode",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "math_output": "LaTeX",
    "initial_header_level": 1,
}
_TICK_EVERY = 200


def read_rst(source: Source) -> Content:
    """The text with headings, lists, tables and code. One that docutils cannot parse is plain."""
    text, metadata = load(source)
    lines = text.count("\n") + 1
    page = _page(text, _watched(source, lines))
    source.tick(lines, lines)
    content = body_content(page, metadata, tags_tell=True)
    if not content.text:  # nothing but comments and settings
        content = Content(text, metadata=metadata)
    arguments: dict[str, list[str]] = {}
    for kind, argument in left_out(text):
        arguments.setdefault(kind, []).append(argument)
    omissions = (Omission(kind, len(own), own[0]) for kind, own in arguments.items())
    return replace(content, left_out=(*content.left_out, *omissions))


def _page(text: str, tick: Callable[[int], None]) -> str:
    """The HTML of docutils; "" where the text breaks it."""
    # Make docutils read all directives that ``text`` names
    for name in {match["name"].lower() for match in DIRECTIVE.finditer(text)}:
        if name.rpartition(":")[2] in _CODE:
            directives.register_directive(name, _Code)
        elif name not in en.directives:
            directives.register_directive(name, _Unknown)
    parser = Parser(inliner=_tolerant_inliner(tick))

    def page() -> str:
        document = publish_doctree(text, parser=parser, settings_overrides=_SETTINGS)
        _mend(document)
        return str(publish_from_doctree(document, writer="html5", settings_overrides=_SETTINGS))

    return attempt(page, "")  # without its structure, where that is nested too deep


def _mend(document: Any) -> None:
    """Put words in place of what docutils refused, of images, and of the looks of labels."""
    for node in list(document.findall(nodes.problematic)):
        _replace(node, nodes.Text(_refused_words(node.astext())))
    for message in list(document.findall(nodes.system_message)):
        _replace(message, *(nodes.paragraph("", line) for line in _salvaged(message)))
    for topic in list(document.findall(nodes.topic)):
        if "contents" in topic["classes"]:
            _replace(topic)
    for image in list(document.findall(nodes.image)):
        _replace(image, nodes.inline("", image.get("alt", "")))
    for reference in list(document.findall(nodes.footnote_reference)):
        _replace(reference, nodes.Text(f"[^{reference.astext()}]"))
    for field in list(document.findall(nodes.field)):
        if not field[-1].astext().strip():  # ":orphan:" is for the program that makes the pages
            field.parent.remove(field)
    for block in list(document.findall(nodes.Element)):
        if isinstance(block, nodes.footnote | nodes.Admonition):
            heads = nodes.label | nodes.title
            label = next((child.astext() for child in block if isinstance(child, heads)), "")
            words = [child for child in block if not isinstance(child, heads)]
            is_note = isinstance(block, nodes.footnote)
            label = f"[^{label}]" if is_note else label or block.tagname.capitalize()
            _replace(block, labelled(nodes.container("", *words), label))


def _replace(node: Any, *others: Any) -> None:
    """Put others in the place of a node, which takes its ids with it: nothing leads here."""
    at = node.parent.index(node)
    node.parent[at : at + 1] = others


def _watched(source: Source, lines: int) -> Callable[[int], None]:
    calls, last = 0, 0

    def tick(number: int) -> None:
        nonlocal calls, last
        calls, last = calls + 1, max(last, min(number or 0, lines))
        if calls % _TICK_EVERY == 0:
            source.tick(last, lines)

    return tick
