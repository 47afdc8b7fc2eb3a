"""AsciiDoc files."""

from pathlib import Path

import pytest

from rag.readers import read
from rag.types import Document
from tests.sample_files import put


def parsed(folder: Path, text: str) -> Document:
    return read(put(folder, text), "x.adoc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("= Rules\n:load: 8 t\n\nIt lifts {load}, {other}.", "# Rules\n\nIt lifts 8 t, {other}."),
        (":old: 1\n:old!:\nAge {old}.", "Age {old}."),
        ("One\n// unseen\ntwo.\n\n////\nunseen\n////\n\nThree.", "One two.\n\nThree."),
        ("ifdef::x[]\nNo.\nendif::[]\nifndef::x[]\nYes.\nendif::[]", "Yes."),
        (":x:\nifdef::x[Yes.]\n\nifdef::x+y[No.]", "Yes."),
        ("Lifts 5 t.footnote:[In winter.] Daily.", "Lifts 5 t.¹ Daily.\n\n¹ In winter."),
        (". One\n.. sub\n.. sub\n. Two\n+\nmore\n\nEnd.\n\n. One", None),
        ("* [x] Rope\n* [ ] Hook\n- plain", "- ☒ Rope\n- ☐ Hook\n- plain"),
        ("Was [line-through]#70# 80. 10^3^ l of H~2~O.", "Was 80. 10³ l of H₂O."),
        ("See https://x.org/a[the *rules*], <<top,above>> or `a_b_c`.", None),
        (
            ".Setup\n[source,bash]\n----\n// {kept}\nrun\n----\n",
            "Setup\n\n```\n// {kept}\nrun\n```",
        ),
    ],
)
def test_text(tmp_path, text, expected):
    several = {
        ".": "1. One\na. sub\nb. sub\n2. Two\n\nmore\n\nEnd.\n\n1. One",
        "S": "See the rules (https://x.org/a), above or a_b_c.",
    }
    assert parsed(tmp_path, text).text == (expected or several[text[0]])


def test_tables_have_labels_and_cells_over_several_rows(tmp_path):
    text = """.Fees
[cols="1,2*",options="header"]
|===
|Zone |Boat |Fee
3+|Members
.2+|South |small |12
|large
|24
|===
"""
    document = parsed(tmp_path, text)
    (table,) = document.tables
    assert table.caption == "Fees"
    assert table.labels == ("Zone", "Boat", "Fee")
    assert document.text[table.start : table.end].split("\n")[2:] == [
        "Members: South\tsmall\t12",
        "Members: South\tlarge\t24",
    ]


def test_a_table_with_columns_that_say_nothing_is_read(tmp_path):
    document = parsed(tmp_path, '[cols="a*,1"]\n|===\n|Zone |Fee\n|South |12\n|===\n')
    assert all(word in document.text for word in ("Zone", "Fee", "South", "12"))


def test_what_is_not_there_is_named(tmp_path):
    text = "Price.\n\ninclude::prices.adoc[]\n\nifdef::internal[]\n50 euros.\nendif::[]\n"
    receipt = parsed(tmp_path, text).receipt
    assert receipt is not None
    assert [(one.kind, one.count, one.first) for one in receipt.left_out] == [
        ("included_file", 1, "prices.adoc"),
        ("conditional_passage", 1, "internal"),
    ]
