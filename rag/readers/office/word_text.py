"""The words of Word's paragraphs and formulas as a reader of the printed page sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rag.readers.characters import lowered, raised
from rag.readers.content import Composer
from rag.readers.numbering import numeral

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_DRAWINGML = "http://schemas.openxmlformats.org/drawingml/2006"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SILENT = {_FALLBACK, f"{W}pPr", f"{W}rPr", f"{W}tblPr", f"{W}trPr", f"{W}tcPr", f"{W}rt"}
_SIGNS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
REMOVED = {f"{W}del", f"{W}moveFrom"}
_ADDED = {f"{W}ins", f"{W}moveTo"}
_NOTES = {
    f"{W}footnoteReference": "footnotes",
    f"{W}endnoteReference": "endnotes",
    f"{W}commentReference": "comments",
}
_TICKED, _EMPTY = "☒", "☐"
_SYMBOLS = {
    "wingdings": {0xFC: "✓", 0xFB: "✗", 0xE0: "→", 0x6C: "●", 0xA7: "▪", 0xD8: "➢"}
    | dict.fromkeys((0x78, 0xFD, 0xFE), _TICKED)
    | dict.fromkeys((0x6F, 0x70, 0x71, 0x72, 0xA8), _EMPTY),
    "wingdings 2": dict.fromkeys((0x51, 0x52, 0x53, 0x54), _TICKED) | {0x50: "✓", 0xA3: _EMPTY},
    "symbol": {0xA3: "≤", 0xB3: "≥", 0xB1: "±", 0xB0: "°", 0xB4: "×", 0x6D: "μ", 0xB7: "•"},
}
_EFFECTS = ("vertAlign", "strike", "dstrike", "vanish")
_SPACES = re.compile(r" {2,}")
_OFF = {"0", "false", "off"}
_PICTURES = (f"{{{_DRAWINGML}/picture}}pic", "{urn:schemas-microsoft-com:vml}imagedata")
_DRAWN = (f"{{{_DRAWINGML}/chart}}chart", f"{{{_DRAWINGML}/diagram}}relIds")


class WordText:
    """A reader of the words in the elements of one document.

    ``notes`` are the texts of the notes and comments whose marks were read since it was emptied,
    and ``drawings`` the elements with charts or diagrams. Struck, hidden and removed words are left
    out and counted, as are pictures.
    """

    def __init__(self, document: Any, composer: Composer) -> None:
        self.notes: list[str] = []
        self.drawings: list[Any] = []
        self._composer = composer
        self._marks = dict.fromkeys(_NOTES.values(), 0)
        self._out = ""
        self._styles: dict[str, dict[str, str]] = {}
        for name, style in styles_of(document).items():
            chain = list(bases(style))[::-1]
            self._styles[name] = {
                effect: value for item in chain for effect, value in _effects(item).items()
            }
        self._notes: dict[tuple[str, str], Any] = {}
        for kind in _NOTES.values():
            for note in part_of(document, kind):
                self._notes[kind, note.get(f"{W}id", "")] = note

    def of(self, element: Any) -> str:
        """Return the words of an element, without the labels that Word makes."""
        before = self._composer.omissions
        text = self._inner(element)
        # The spaces on both sides of what is left out are one.
        return text if self._composer.omissions == before else _SPACES.sub(" ", text)

    def _inner(self, element: Any) -> str:
        return "".join(map(self._child, element))

    def _child(self, child: Any) -> str:
        tag = child.tag
        if tag == f"{W}t":
            return child.text or ""
        if tag in _SILENT or tag in _SIGNS:
            return _SIGNS.get(tag, "")
        if tag == f"{W}r":
            return self._run(child)
        if tag in REMOVED:
            self._composer.leave_out("tracked_change")
            return ""
        if tag in _ADDED:
            self._composer.count("tracked_insertions")
        if tag in (f"{_M}oMath", f"{_M}oMathPara"):
            return linear(child)
        if tag in _NOTES:
            return self._note(child, _NOTES[tag])
        if tag == f"{W}sym":
            return self._symbol(child.get(f"{W}font", ""), int(child.get(f"{W}char", "0"), 16))
        if tag == f"{W}checkBox":
            checked = child.find(f"{W}checked")
            return (
                _TICKED
                if is_on(child.find(f"{W}default") if checked is None else checked)
                else _EMPTY
            )
        if tag == f"{W}object":
            self._composer.leave_out("embedded_object")
            return ""
        if tag in (f"{W}drawing", f"{W}pict"):
            # The alternative text of a picture, and the words of text boxes
            pictures, drawn = (sum(1 for _ in child.iter(*tags)) for tags in (_PICTURES, _DRAWN))
            self._composer.leave_out("picture", number=pictures)
            self.drawings += [child] if drawn else []
            described = (
                item.get("descr", "") for item in child.iter() if item.tag.endswith("}docPr")
            )
            words = next(described, "").strip() if pictures + drawn else ""
            return (f"[Picture: {words}]" if words else "") + self._inner(child)
        return self._inner(child) + ("\n" if tag == f"{W}p" else "")

    def _run(self, run: Any) -> str:
        effects = dict[str, str]()
        for style in (style_of(next(run.iterancestors(f"{W}p"), None), "p"), style_of(run, "r")):
            effects |= self._styles.get(style, {})
        effects |= _effects(run)
        out = ""
        if effects.get("vanish", "0") not in _OFF:
            out = "hidden_passage"
        elif {effects.get("strike", "0"), effects.get("dstrike", "0")} - _OFF:
            out = "struck_passage"
        if out and plain(run).strip():
            # Word parts a passage into runs; one that goes on is counted once.
            self._composer.leave_out(out, number=int(out != self._out))
            self._out = out
        if out:
            return ""
        text = self._inner(run)
        self._out = self._out if not text.strip() else ""
        fonts = run.find(f"{W}rPr/{W}rFonts")
        if fonts is not None and fonts.get(f"{W}ascii", "").casefold().startswith("wingdings"):
            return "".join(self._symbol(fonts.get(f"{W}ascii"), ord(sign)) for sign in text)
        place = effects.get("vertAlign")
        if place == "superscript":
            return raised(text)
        return lowered(text) if place == "subscript" else text

    def _note(self, mark: Any, kind: str) -> str:
        """The mark of a note; its text is kept for the end of the paragraph."""
        note = self._notes.get((kind, mark.get(f"{W}id", "")))
        if note is None:
            return ""
        words = " ".join(self._inner(note).split())
        self._composer.count(kind)
        if kind == "comments":
            self.notes.append(f"Comment: {words}")
            return ""
        if mark.get(f"{W}customMarkFollows") is not None:
            self.notes.append(words)
            return ""
        self._marks[kind] += 1
        number = self._marks[kind]
        shown = raised(str(number)) if kind == "footnotes" else f"[{numeral(number, 'lowerRoman')}]"
        self.notes.append(f"{shown} {words}")
        return shown

    def _symbol(self, font: str, code: int) -> str:
        known = _SYMBOLS.get(font.casefold(), {}).get(code & 0xFF)
        if known is None and chr(code).strip():
            self._composer.leave_out("symbol")
        return known or " "


def margins(section: Any) -> Iterator[tuple[str, Any]]:
    """The paragraphs of the headers and footers that are the section's own, each with its kind."""
    for kind in ("header", "footer"):
        for which in ("", "first_page_", "even_page_"):
            part = getattr(section, f"{which}{kind}")
            for paragraph in () if part.is_linked_to_previous else part._element.iter(f"{W}p"):
                if not _counts_pages(paragraph, plain(paragraph)):
                    yield kind, paragraph


def _counts_pages(paragraph: Any, words: str) -> bool:
    """Whether a paragraph has nothing but the number of the page, as in "Page 2 of 7"."""
    codes = [item.text or "" for item in paragraph.iter(f"{W}instrText")]
    codes += [item.get(f"{W}instr", "") for item in paragraph.iter(f"{W}fldSimple")]
    return any("PAGE" in code for code in codes) and sum(map(str.isalpha, words.split())) < 3


def styles_of(document: Any) -> dict[str, Any]:
    """The elements of the styles by id, also of those whose type Word's library does not know."""
    return {
        style.get(f"{W}styleId", ""): style for style in document.styles.element.iter(f"{W}style")
    }


def bases(style: Any) -> Iterator[Any]:
    """The element of a style, and those of the styles that it is based on, the nearest first."""
    seen = set[Any]()
    while style is not None and style not in seen:
        yield style
        seen.add(style)
        style = style.base_style


def plain(element: Any) -> str:
    """The words of an element as they stand in the file."""
    return "".join(item.text or "" for item in element.iter(f"{W}t"))


def is_on(switch: Any) -> bool:
    """Whether a switch is there, and not off."""
    return switch is not None and switch.get(f"{W}val", "1") not in _OFF


def style_of(element: Any, kind: str = "p") -> str:
    """The id of the style of a paragraph or of a run, of the kind "r"; "" for none."""
    style = element.find(f"{W}{kind}Pr/{W}{kind}Style") if element is not None else None
    return style.get(f"{W}val", "") if style is not None else ""


def _effects(element: Any) -> dict[str, str]:
    """The place that the properties of a run or style give it, and whether it is shown."""
    properties = element.find(f"{W}rPr")
    found = {} if properties is None else {name: properties.find(f"{W}{name}") for name in _EFFECTS}
    return {name: item.get(f"{W}val", "1") for name, item in found.items() if item is not None}


def part_of(document: Any, kind: str) -> Any:
    """The root of a part, such as that of notes of a kind; empty where the document has none."""
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        if relation.reltype.endswith(f"/{kind}") and not relation.is_external:
            return parse_xml(relation.target_part.blob)
    return ()


_JOINED = {
    f"{_M}f": (("num", ""), ("den", "/")),
    f"{_M}sSup": (("e", ""), ("sup", "^")),
    f"{_M}sSub": (("e", ""), ("sub", "_")),
    f"{_M}sSubSup": (("e", ""), ("sub", "_"), ("sup", "^")),
    f"{_M}rad": (("deg", ""), ("e", "√")),
    f"{_M}limLow": (("e", ""), ("lim", "_")),
    f"{_M}limUpp": (("e", ""), ("lim", "^")),
    f"{_M}nary": (("sub", "_"), ("sup", "^"), ("e", " ")),
    f"{_M}func": (("fName", ""), ("e", " ")),
}
_WHOLE = {f"{_M}nary/e", f"{_M}func/fName", f"{_M}func/e"}
"""Parts that need no brackets."""


def linear(element: Any) -> str:
    """Return a formula in one line: ``(a+b)/2``, ``x^2``, ``√x``, ``∑_(i=1)^n x_i``, ``cos x``."""
    if element.tag == f"{_M}t":
        return element.text or ""
    if element.tag not in _JOINED:
        text = "".join(map(linear, element))
        return f"({text})" if element.tag == f"{_M}d" else text
    text, sign = "", element.find(f"{_M}naryPr/{_M}chr")
    if element.tag == f"{_M}nary":
        text = "∫" if sign is None else sign.get(f"{_M}val", "∫")
    for name, before in _JOINED[element.tag]:
        part = element.find(f"{_M}{name}")
        words = "" if part is None else linear(part).strip()
        if not words:
            continue
        # A number, a name, and what has brackets already needs none.
        inner = [item.tag for item in part if linear(item)]
        alone = words.isalnum() or inner == [f"{_M}d"] or f"{element.tag}/{name}" in _WHOLE
        text += before + (words if alone else f"({words})")
    return text
