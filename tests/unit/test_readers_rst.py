"""reStructuredText, with what Sphinx adds, and files that are broken; no AsciiDoc."""

from pathlib import Path

import pytest

from rag import Document
from rag.readers import read
from tests.sample_files import put


def parsed(folder: Path, text: str, name: str = "x.rst") -> Document:
    return read(put(folder, text), name)


def outline(document: Document) -> list[tuple[int, str]]:
    for heading in document.headings:
        assert document.text[heading.start] == "#"
    return [(heading.level, heading.title) for heading in document.headings]


def test_headings(tmp_path):
    text = "=====\nGuide\n=====\n\nWords.\n\n``run``\n-------\n\nMore.\n\nDeep\n~~~~\n\nEnd.\n"
    document = parsed(tmp_path, text)
    assert document.text == "# Guide\n\nWords.\n\n## run\n\nMore.\n\n### Deep\n\nEnd."
    assert outline(document) == [(1, "Guide"), (2, "run"), (3, "Deep")]
    assert document.heading_at(len(document.text) - 1) == "Guide > run > Deep"
    assert document.metadata == {"title": "Guide", "encoding": "utf-8"}
    assert document.media_type == "text/x-rst"


def test_lists(tmp_path):
    text = (
        "* one\n  goes on\n* two\n\n  again\n\n  3. three\n  4. four\n\n"
        "relay : part\n    A switch.\n\n:orphan:\n:Owner: Ada\n\n-q, --quiet  Say less.\n"
    )
    assert parsed(tmp_path, text).text == (
        "- one goes on\n- two\n\nagain\n\n3. three\n4. four\n- relay part: A switch.\n"
        "- Owner: Ada\n- -q , --quiet: Say less."
    )


def test_grid_table(tmp_path):
    text = (
        "+------+-------+\n| Code | Cause |\n+======+=======+\n| E1   | Dry   |\n"
        "|      +-------+\n|      | Hot   |\n+------+-------+\n"
    )
    document = parsed(tmp_path, text)
    assert document.text == "Code\tCause\nE1\tDry\nE1\tHot"
    assert [table.labels for table in document.tables] == [("Code", "Cause")]


def test_simple_tables(tmp_path):
    text = (
        ".. table:: Limits\n\n   ====  =====\n   City  Limit\n   ====  =====\n   Rome  120\n"
        "   ====  =====\n\n======  =============\nstring  Text of words\npath    Also slashes\n"
        "======  =============\n"
    )
    document = parsed(tmp_path, text)
    assert document.text == (
        "Limits\nCity\tLimit\nRome\t120\n\nstring\tText of words\npath\tAlso slashes"
    )
    assert [(table.labels, table.caption) for table in document.tables] == [
        (("City", "Limit"), "Limits"),
        ((), ""),
    ]


def test_list_table(tmp_path):
    rows = "   * - Code\n     - Cause\n   * - E1\n     - Dry\n"
    document = parsed(tmp_path, f".. list-table::\n   :header-rows: 1\n\n{rows}")
    assert document.text == "Code\tCause\nE1\tDry"
    assert [table.labels for table in document.tables] == [("Code", "Cause")]


def test_code(tmp_path):
    text = (
        ".. code-block:: python\n   :linenos:\n   :caption: Start\n\n   def f(*a):\n       pass\n\n"
        "Run::\n\n   # not a heading\n"
    )
    document = parsed(tmp_path, text)
    assert document.text == (
        "Start\n\n```python\ndef f(*a):\n    pass\n```\n\nRun:\n\n```\n# not a heading\n```"
    )
    assert document.headings == ()


def test_notes_and_links(tmp_path):
    text = (
        ".. note:: Mind `the page <http://a.example>`_ [1]_.\n\n.. warning::\n\n   Hot.\n\n   Wait."
        "\n\n.. admonition:: Why\n\n   Steam.\n\n.. [1] Of 2026.\n"
    )
    assert parsed(tmp_path, text).text == (
        "Note: Mind the page [^1].\n\nWarning: Hot.\n\nWait.\n\nWhy: Steam.\n\n[^1]: Of 2026."
    )


def test_unknown_directives_and_roles(tmp_path):
    text = (
        "See :ref:`the rules <rules>`, :class:`~a.Pump` and :class:`.Relay`.\n\n"
        ".. py:function:: start(a, *b, **c)\n\n   Starts.\n\n   .. versionchanged:: 3.1\n"
        "      Faster.\n\n.. tab-item:: Linux\n   :sync: x\n\n   Use *apt*.\n\n"
        ".. only:: html\n\n   On pages.\n"
    )
    assert parsed(tmp_path, text).text == (
        "See the rules, a.Pump and Relay.\n\nstart(a, *b, **c)\n\nStarts.\n\n"
        "Changed in version 3.1: Faster.\n\nLinux\n\nUse apt.\n\nOn pages."
    )


@pytest.mark.parametrize(
    "directive",
    [
        ".. include:: {}",
        ".. literalinclude:: {}",
        ".. csv-table::\n   :file: {}",
        ".. raw:: html\n   :file: {}",
        ".. raw:: html\n\n   <b>secret</b>",
    ],
)
def test_nothing_is_included(tmp_path, directive):
    other = tmp_path / "other.txt"
    other.write_text("secret,words")
    text = f"Before.\n\n{directive.format(other)}\n\nAfter.\n"
    document = parsed(tmp_path, text)
    assert document.text == "Before.\n\nAfter."
    named = [(part.kind, part.first) for part in document.receipt.left_out]
    assert named == ([("included_file", str(other))] if "{}" in directive else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A longer title\n----\n\nWords.\n", "# A longer title\n\nWords."),
        ("|gone| of Foo_ and `a b`_ and *open\n", "gone of Foo and a b and *open"),
        (".. math::\n   :label: e\n\n   a = b\n", "a = b"),
        ("====  ===\nbad table\n====\n", "bad table"),
        ("x" * 20_000, "x" * 20_000),
    ],
)
def test_broken_markup_is_text(tmp_path, text, expected):
    assert parsed(tmp_path, text).text == expected


def test_deep_nesting_is_plain_text(tmp_path):
    text = "".join(f"{'  ' * depth}* deep {depth}\n\n" for depth in range(400))
    document = parsed(tmp_path, text)
    assert document.text == text
    assert document.headings == ()


def test_contents_are_no_text(tmp_path):
    text = "Guide\n=====\n\n.. contents::\n\nOne\n---\n\nWords.\n"
    assert parsed(tmp_path, text).text == "# Guide\n\n## One\n\nWords."
