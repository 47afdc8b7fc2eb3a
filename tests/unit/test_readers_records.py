"""JSON and JSON Lines."""

import pytest

from rag import UnreadableDocument
from rag.readers import read


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
    path = tmp_path / "x"
    path.write_text(raw, encoding="utf-8")
    assert read(path, name).text == text


def test_titles_are_headings(tmp_path):
    path = tmp_path / "x"
    path.write_text('{"title": "One", "text": "a"}\n{"title": "Two", "text": "b"}')
    document = read(path, "x.jsonl")
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
    path = tmp_path / "x"
    path.write_text(raw)
    with pytest.raises(UnreadableDocument, match=said) as caught:
        read(path, name)
    assert caught.value.reason == "damaged"
