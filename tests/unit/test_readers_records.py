"""JSON and JSON Lines."""

import json

import pytest

from rag import UnreadableDocument
from rag.readers import read
from tests.sample_files import put


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        (
            "x.jsonl",
            '{"_id": "1", "title": "T", "text": "Body."}\n\n{"text": "B"}\n',
            "T\nBody.\n\nB",
        ),
        ("x.jsonl", '{"a": 1, "b": {"c": [1, 2]}}\n["x", "y"]', "a: 1\nb.c: 1, 2\n\nx, y"),
        ("x.json", '[{"Title": "T", "price": 3}, {"CONTENT": "c"}]', "T\nprice: 3\n\nc"),
        ("x.json", '{"records": [{"text": "a"}, {"text": "b"}]}', "a\n\nb"),
        ("x.json", '{"a": [{"b": true}, {"b": null}], "c": "d"}', "a[1].b: true\nc: d"),
        (
            "x.json",
            '[{"text": "Salt &amp; pepper", "price": "2 &euro;", "sold_at": ["a", "b"]}]',
            "Salt & pepper\nprice: 2 €\nsold_at: a, b",
        ),
        (
            "x.json",
            '[{"user": "U1", "real_name": "Ada", "text": "Hi", "files": [{"name": "a.pdf"}]}]',
            "Hi\nuser: U1\nreal_name: Ada\nfiles[1].name: a.pdf",
        ),
        ("x.json", '"just a string"', "just a string"),
        ("x.json", '\ufeff{"text": "with mark"}', "with mark"),
    ],
)
def test_records(tmp_path, name, raw, text):
    assert read(put(tmp_path, raw), name).text == text


def test_nested_records_with_a_remark_are_rows(tmp_path):
    spots = [
        {
            "spot": name,
            "owner": {"name": owner, "town": "Thurso"},
            "light": {
                "colour": "white",
                "range-km": reach,
                "masts": [{"metres": 9}, {"metres": 4}],
            },
            "built": {"year": 1911, "by": "R. Groat"},
            "checks": [{"year": 2024, "passed": True}, {"year": 2026, "passed": False}],
            "remark": "The lamp is lit by hand. " * remarks,
        }
        for name, owner, reach, remarks in (
            ("Ness", "Ivy Budge", 14, 8),
            ("Holm", "Al Mowat", 22, 0),
        )
    ]
    document = read(put(tmp_path, json.dumps({"coast": "north", "spots": spots})), "spots.json")
    (table,) = document.tables
    assert table.labels[:5] == (
        "spot",
        "owner.name",
        "owner.town",
        "light.colour",
        "light.range-km",
    )
    row = next(line for line in document.text.splitlines() if line.startswith("Holm"))
    assert row.split("\t")[:5] == ["Holm", "Al Mowat", "Thurso", "white", "22"]


WARDS = "{}\n\nwards\nward\tbeds\trent.day\nElm\t22\t9.50\nYew\tno"


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        (
            "x.json",
            '{"at": "Oak", "wards": [{"ward": "Elm", "beds": 22, "rent": {"day": "9.50"}}, '
            '{"ward": "Yew", "beds": "no"}]}',
            WARDS.format("at: Oak"),
        ),
        (
            "x.yaml",
            "# Of the county\nat: Oak\nwards:\n- ward: Elm\n  beds: 22  # of 30\n"
            "  rent: {day: 9.50}\n# closed\n- ward: Yew\n  beds: no\n",
            WARDS.format("Of the county\n\nat: Oak"),
        ),
        (
            "x.toml",
            "at = 'Oak'\n[[wards]]\nward = 'Elm'\nbeds = 22 # of 30\n# closed\n"
            "rent = {day = 9.50}\n[[wards]]\nward = 'Yew'\nbeds = 'no'",
            WARDS.format("at: Oak"),
        ),
        (
            "x.jsonl",
            '{"a": 1, "b": 2}\n{"a": 3, "c": 4}\n{"text": "B"}',
            "a\tb\tc\n1\t2\n3\t\t4\n\nB",
        ),
    ],
)
def test_short_records_are_rows(tmp_path, name, raw, text):
    document = read(put(tmp_path, raw), name)
    assert document.text == text
    (table,) = document.tables
    assert "\t".join(table.labels) in text.splitlines()
    comments = [("comment", 2, "of 30")] if name in ("x.yaml", "x.toml") else []
    left_out = document.receipt.left_out
    assert [(one.kind, one.count, one.first) for one in left_out] == comments


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("x.yaml", "on: push\njobs:\n  test:  # all\n    steps:\n    - {name: a, run: b}"),
        ("x.yaml", "a: &a [*a]\nb:\n- {c: 1, d: 2}\n- {c: 3, d: 4}"),
        (
            "x.yaml",
            "a: &a [1, 2]\n"
            + "".join(
                f"{b}: &{b} [{'*' + a + ', '}*{a}]\n"
                for a, b in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
            )
            + "z:\n- {c: *q, d: 2}\n- {c: 3, d: 4}",
        ),
        ("x.yaml", "a: [" * 5000),
        ("x.yaml", "a: b: c"),
        ("x.toml", "[tool.x]\nline = 100  # characters"),
        ("x.toml", "a = = b"),
    ],
)
def test_other_settings_are_code_as_they_are_written(tmp_path, name, raw):
    document = read(put(tmp_path, raw), name)
    assert document.text == f"```\n{raw}\n```"
    assert document.receipt.read["code_lines"] == raw.count("\n") + 1


def test_records_with_aliases_beside_nested_settings_are_rows(tmp_path):
    data = (
        "usual: &usual {hall: Main, coach: Petra}\ncontact: {phone: {day: 0411, night: 0477}}\n"
        "courses:\n- {name: Judo, hall: &small Annex, coach: Ole}\n- {<<: *usual, name: Aikido}\n"
        "- {<<: [{hall: *small}, *usual], name: Kendo, coach: Ada}\n"
    )
    document = read(put(tmp_path, data), "x.yaml")
    assert document.text == (
        "usual.hall: Main\nusual.coach: Petra\ncontact.phone.day: 0411\n"
        "contact.phone.night: 0477\n\ncourses\nname\thall\tcoach\n"
        "Judo\tAnnex\tOle\nAikido\tMain\tPetra\nKendo\tAnnex\tAda"
    )


def test_titles_are_headings(tmp_path):
    document = read(
        put(tmp_path, '{"title": "One", "text": "a"}\n{"title": "Two", "text": "b"}'), "x.jsonl"
    )
    assert [(item.start, item.title) for item in document.headings] == [(0, "One"), (7, "Two")]


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("x.jsonl", '{"text": "a"}\n{"text": \n', "line 2 is not JSON"),
        ("x.json", '{\n"a": 1,\n}', "line 3 is not JSON"),
        ("x.json", "[" * 100_000, "cannot be read as JSON"),
        ("x.json", "9" * 10_000, "cannot be read as JSON"),
    ],
)
def test_faults_are_named(tmp_path, name, raw, said):
    path = put(tmp_path, raw)
    with pytest.raises(UnreadableDocument, match=said) as caught:
        read(path, name)
    assert caught.value.reason == "damaged"
