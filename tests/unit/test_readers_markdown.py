"""Headings of Markdown."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Document, IndexRecipe
from rag.chunking import chunks
from rag.readers import read, read_text
from tests.tokenizers import Words


@pytest.fixture(scope="module")
def document_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Document]:
    """Reads a text as a file of Markdown."""
    path = tmp_path_factory.mktemp("markdown") / "x.md"

    def written(text: str) -> Document:
        path.write_text(text, "utf-8")
        return read(path, path.name)

    return written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\ntext\n### Three ###\n", [(0, 1, "One"), (11, 3, "Three")]),
        ("One\n===\n\nTwo\n---\n", [(0, 1, "One"), (9, 2, "Two")]),
        ("a long\ntitle\n===\n", [(0, 1, "a long title")]),
        ("   # indented\n    # code\n", [(0, 1, "indented")]),
        ("#no space\n####### seven\n#\n", []),
        ("```\n# code\n```\n# after\n", [(15, 1, "after")]),
        ("~~~~ python\n# code\n~~~\n# code\n~~~~\n# after\n", [(35, 1, "after")]),
        ("```\n# never closed\n", []),
        ("text ``` no fence\n# yes\n", [(18, 1, "yes")]),
        ("para\n\n---\n\nmore\n", []),
        ("- item\n---\n", []),
        ("> quote\n---\n", []),
        ("- item\nstill the item\n===\n", []),
        ("- item\n\nnot the item\n===\n", [(8, 1, "not the item")]),
        ("| a | b |\n---\n", []),
        ("---\ntitle: x\n---\n# yes\n", [(0, 1, "yes")]),
        ("<!--\n# hidden\n-->\n# yes\n", [(0, 1, "yes")]),
        ("# A [link](http://x) and `code` **bold** {#anchor}\n", [(0, 1, "A link and code bold")]),
        ("# C#\n# F# #\n", [(0, 1, "C#"), (5, 1, "F#")]),
    ],
)
def test_headings(document_of, text, expected):
    found = document_of(text).headings
    assert [(heading.start, heading.level, heading.title) for heading in found] == expected


@given(st.text(st.sampled_from("#=-`~ \nab|<>!*1."), max_size=60))
def test_headings_are_sorted_and_stand_at_line_starts(document_of, text):
    document = document_of(f"Text.\n\n{text}")
    starts = [heading.start for heading in document.headings]
    assert starts == sorted(set(starts))
    assert all(document.text[start - 1] == "\n" for start in starts)
    assert all(heading.title for heading in document.headings)


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("snake_case 2 * 3 and \\*stars", "snake_case 2 * 3 and *stars"),
        ("**R&amp;D** (&lt;1&nbsp;%)&#x20;", "R&D (<1 %)"),
        ("AT&T; \\&amp;?a=1&copy=2", "AT&T; &amp;?a=1&copy=2"),
        ("Write `&amp;`", "Write &amp;"),
        ("ADJOURNMENT {.text-center}", "ADJOURNMENT"),
        ("Fees {#fees .wide data-x=1}", "Fees"),
        ("Preface {-}", "Preface"),
        ("Kramdown {: .wide}", "Kramdown"),
        ("The set {1, 2}", "The set {1, 2}"),
        ("Write `{.wide}`", "Write {.wide}"),
        ("Fees{#fees}", "Fees"),
        ("Closing {#id .class}", "Closing"),
        ("Objects {.js}", "Objects {.js}"),
        ("Sets {.}", "Sets {.}"),
        ("Call f{.x}", "Call f{.x}"),
        ("Call f{.wide}", "Call f{.wide}"),
        ("A loop i{-}", "A loop i{-}"),
        ("point = {.left}", "point = {.left}"),
    ],
)
def test_a_title_has_no_marks_and_no_attributes(document_of, markup, title):
    (heading,) = document_of(f"# {markup}\n").headings
    assert heading.title == title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title\nwords", True),
        ("see [this](http://x)", True),
        ("a | b\n---|---\n1 | 2", True),
        ("```\ncode\n```", True),
        ("Just a sentence. #hashtag", False),
        ("1 - 2 = -1", False),
    ],
)
def test_pasted_text_is_markdown_where_it_looks_so(text, expected):
    assert (read_text(text, "x").media_type == "text/markdown") is expected


def test_pasted_text_becomes_a_document():
    document = read_text("# Top\r\nWords\n", "My note")
    assert (document.name, document.media_type, document.text) == (
        "My note",
        "text/markdown",
        "# Top\nWords\n",
    )
    assert document.heading_at(8) == "Top"
    assert read_text("plain", "").name == "Pasted text"
    assert read_text("plain", "x").media_type == "text/plain"
    assert read_text("plain", "x").id != document.id


def test_lists_in_html_are_lists_but_not_those_of_code():
    document = read_text(
        "# Steps\n\n<ul>\n    <li>Ask</li>\n    <li>Pay\n<ol>\n<li>now</li>\n</ol></li>\n</ul>\n"
        "\nWrite `<li>` here.\n\n```html\n<ul><li>code</li></ul>\n```\n",
        "Steps",
    )
    assert [line for line in document.text.splitlines() if line] == [
        *("# Steps", "- Ask", "- Pay", "  - now", "Write `<li>` here."),
        *("```html", "<ul><li>code</li></ul>", "```"),
    ]


def test_html_tables_of_markdown_are_tables(tmp_path):
    table = (
        "<table>\n<tr><th>Source</th><th>Kept</th></tr>\n<tr>\n <td>Zoom | calls\n </td>\n"
        " <td><ul><li>30 days</li></ul></td></tr>\n</table>"
    )
    layout = "<table><tr><td>A picture</td></tr></table>"
    fenced = f"```html\n{table}\n```"
    fenced += f"\n\n```\n```python\n{table}\n```"
    path = tmp_path / "a.md"
    path.write_text(
        f"# Data\n\n{table}\n\n{layout}\n\n{fenced}\n\n<!--\n{table}\n-->\n", encoding="utf-8"
    )
    document = read(path, "a.md")
    (one,) = document.tables
    assert document.text[one.start : one.end] == "Source\tKept\nZoom | calls\t30 days"
    assert one.labels == ("Source", "Kept")
    assert layout in document.text
    assert fenced in document.text
    assert document.heading_at(one.start) == "Data"


def test_indented_html_tables_are_tables_but_not_those_of_code(tmp_path):
    rows = "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    path = tmp_path / "a.md"
    path.write_text(
        f"<div>\n    {rows}\n</div>\n\n- item\n\n    {rows}\n\nThis is code:\n\n    {rows}\n\n"
        f"Use `<!--` to open.\n\n{rows}\n\nand `-->` to close.\n",
        encoding="utf-8",
    )
    document = read(path, "a.md")
    assert len(document.tables) == 3
    assert document.text.count(rows) == 1


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Cash plan\nreviewed: 2025-05-16\n---\n# Intro\n", "Cash plan"),
        ('---\nlayout: page\nTitle: "Time off: `TOIL`"\n---\n\nText.\n', "Time off: TOIL"),
        ("---\ntitle: 'C# at work' # draft\n...\nText.\n", "C# at work"),
        ("---\ntitle: Leave # of all\n---\nText.\n", "Leave"),
        ("---\ntitle: >\n  Folded\n  over lines\n---\nText.\n", "Folded over lines"),
        ("---\ntitle: [a, list]\n---\nText.\n", ""),
        ("---\ntitle:\n---\nText.\n", ""),
        ("---\ntitle: ~\n---\nText.\n", ""),
        ("---\ntitle: 'It''s about time' # draft\n---\nText.\n", "It's about time"),
        ('---\ntitle: "He said \\"hi\\""\n---\nText.\n', 'He said "hi"'),
        ('---\ntitle: "Unclosed\n---\nText.\n', ""),
        ("---\nlayout: page\n---\ntitle: not a field\n", ""),
        ("---\n\ntitle: of a text between rules\n\n---\n", ""),
        ("title: no fields\n", ""),
    ],
)
def test_title_of_front_matter(document_of, text, title):
    assert document_of(text).metadata.get("title", "") == title


@pytest.mark.parametrize(
    "front",
    [
        "---\nowner: '#team'\n---\n",
        "---\ntags:\n- one\n- two\n...\n\n\n",
        "---\n# reviewed each year\ntitle: Plan\naliases: [a, b]\n---  \n",
    ],
)
def test_front_matter_is_no_text(document_of, front):
    document = document_of(f"{front}# Plan\n\nText.\n")
    assert document.text == "# Plan\n\nText.\n"
    assert [(one.start, one.title) for one in document.headings] == [(0, "Plan")]
    assert read_text(f"{front}# Plan\n\nText.\n", "Plan").text == document.text


@pytest.mark.parametrize(
    "text",
    [
        "---\nJust words.\n---\nText.\n",  # two rules
        "---\n\nnote: between rules\n\n---\n",
        "---\n- one\n- two\n---\nText.\n",
        "---\n---\nText.\n",
        "---\ntitle: never closed\n",
        '---\ntitle: "Unclosed\n---\nText.\n',
        "---\n" + "[" * 5_000 + "\n---\nText.\n",
        "# First\n\n---\ntitle: not at the beginning\n---\n",
        "----\ntitle: a longer rule\n----\n",
    ],
)
def test_what_only_looks_like_front_matter_is_text(document_of, text):
    assert document_of(text).text == text


def test_the_title_of_front_matter_is_the_title_of_the_document(document_of):
    document = document_of("---\ntitle: TOIL\n---\n\nIntro.\n\n## How it is calculated\n\nWords.\n")
    recipe = IndexRecipe(context="headings", chunk_size=8, chunk_overlap=0)
    contexts = [chunk.context for chunk in chunks(document, recipe, Words())]
    assert contexts[-1].startswith("TOIL")


def test_comments_are_no_text(document_of):
    document = document_of(
        "# Fees\n\n<!-- prettier-ignore -->\nPay 5.\n  <!--\n| a | b |\n|---|---|\n-->\nNow.\n"
        "\n```\n<!-- code -->\n```\n\nWrite `<!--` to open and `-->` to close.\n"
        "\n<!-- never closed\n"
    )
    assert document.text == (
        "# Fees\n\nPay 5.\nNow.\n\n```\n<!-- code -->\n```\n"
        "\nWrite `<!--` to open and `-->` to close.\n\n<!-- never closed\n"
    )
    assert document.receipt is not None
    assert [(one.kind, one.count, one.first) for one in document.receipt.left_out] == [
        ("comment", 2, "Fees")
    ]


def test_links_have_the_addresses_that_stand_elsewhere(document_of):
    document = document_of(
        "# [1.0]\n\nSee [the\nguide][Guide], [Plan][], [plan], [none][x] and a[0][^1].\n\n"
        "[guide]: https://example.org/a_(b) 'Title'\n[PLAN]: plan.md\n"
        "[1.0]: <https://example.org/1.0>\n[^1]: note.md\n[Mind]: this stays\n"
        "```\n[plan]: in.code\n```\n"
    )
    assert document.text == (
        "# [1.0](https://example.org/1.0)\n\nSee [the\nguide](<https://example.org/a_(b)>), "
        "[Plan](plan.md), [plan](plan.md), [none][x] and a[0][^1].\n\n"
        "[^1]: note.md\n[Mind]: this stays\n```\n[plan]: in.code\n```\n"
    )
    assert [one.title for one in document.headings] == ["1.0"]


def test_what_admonitions_and_tabs_hold_is_text_like_any_other(document_of):
    document = document_of(
        '!!! warning "Mind this"\n    The cache is lost.\n\n    ??? note\n        Really.\n'
        "\nAfter.\n"
        '\n=== "Linux"\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |\n\n    ```bash\n    if x\n'
        "      y\n    ```\n\n- item\n\n    !!! tip\n        In it.\n\n    More.\n"
        "\n```\n!!! code\n    stays\n```\n\nHeading\n===\n!!! Really?\n"
    )
    assert document.text == (
        "Mind this\n\nThe cache is lost.\n\n\nReally.\n\nAfter.\n"
        "\nLinux\n\n\na\tb\n1\t2\n\n```bash\nif x\n  y\n```\n"
        "\n- item\n\n\n    In it.\n\n    More.\n\n```\n!!! code\n    stays\n```\n"
        "\nHeading\n===\n!!! Really?\n"
    )
    assert [table.labels for table in document.tables] == [("a", "b")]
