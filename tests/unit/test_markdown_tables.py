"""Tables of Markdown as rows of cells; headings keep their places."""

from pathlib import Path

import pytest

from rag import Document
from rag.readers import read

TEXT = "# Top\n\n| # | Name |\n|---|:-:|\n| 1 | a\\|b |\n|| x |\n\n## Sub\nwords"


def opened(folder: Path, text: str) -> Document:
    (folder / "notes.md").write_text(text)
    return read(folder / "notes.md", "notes.md")


def test_a_table_is_rows_of_cells_without_bars_and_rules(tmp_path):
    content = opened(tmp_path, TEXT)
    (table,) = content.tables
    assert content.text == "# Top\n\n#\tName\n1\ta|b\n\tx\n\n## Sub\nwords"
    assert content.text[table.start : table.end] == "#\tName\n1\ta|b\n\tx"
    assert table.labels == ("#", "Name")


def test_headings_stand_where_they_stood(tmp_path):
    content = opened(tmp_path, TEXT)
    starts = [(content.text[h.start :].split("\n")[0], h.title) for h in content.headings]
    assert starts == [("# Top", "Top"), ("## Sub", "Sub")]


@pytest.mark.parametrize(
    "text",
    [
        "```\n|a|b|\n|-|-|\n|1|2|\n```",
        "a | b, said plainly",
        "|---|---|\n| no | header |",
        "    | indented | code |\n    |---|---|",
        "title\n---\nwords | bars",
    ],
)
def test_what_is_no_table_stays_as_it_is(tmp_path, text):
    content = opened(tmp_path, text)
    assert (content.text, content.tables) == (text, ())


def test_a_row_above_the_labels_is_the_caption(tmp_path):
    content = opened(tmp_path, "| Limits |  |\n|---|---|\n| City | EUR |\n| Rome | 120 |")
    (table,) = content.tables
    assert content.text == "Limits\nCity\tEUR\nRome\t120"
    assert (table.start, table.labels, table.caption) == (7, ("City", "EUR"), "Limits")


def test_labels_are_what_stands_above_the_rule_whatever_it_is(tmp_path):
    (table,) = opened(tmp_path, "| 1 | 2 |\n|---|---|\n| a | b |").tables
    assert table.labels == ("1", "2")
