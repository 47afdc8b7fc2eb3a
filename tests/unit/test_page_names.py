"""Different addresses are different documents; the same one again replaces its own version."""

import pytest

from rag.readers import web
from rag.readers.web import Fetched, distinguish_name, name_for
from tests.workspaces import QUICK, workspace_at

A = "https://a.example"


@pytest.mark.parametrize(
    ("url", "content_type", "disposition", "name"),
    [
        (f"{A}/", "text/html", "", "a.example.html"),
        ("https://site.md/", "text/plain", "", "site.md.txt"),
        ("http://a.example:8000/x", "text/html", "", "a.example:8000/x.html"),
        (f"{A}/guide/", "text/html; charset=utf-8", "", "a.example/guide.html"),
        (f"{A}/en/guide/", "text/html", "", "a.example/en/guide.html"),
        (f"{A}/x.jpeg", "image/jpg", "", "a.example/x.jpeg"),
        (f"{A}/x.htm", "text/html", "", "a.example/x.htm"),
        (f"{A}/v1.2", "text/html", "", "a.example/v1.2.html"),
        (f"{A}/get?id=1", "application/pdf", "", "a.example/get?id=1.pdf"),
        (f"{A}/data.csv?v=2", "text/csv", "", "a.example/data.csv?v=2.csv"),
        (f"{A}/get", "application/octet-stream", 'filename="a b.docx"', "a.example/get.docx"),
        (f"{A}/x", "application/pdf", "attachment; filename=../../y.pdf", "a.example/x.pdf"),
        (f"{A}/%2e%2e%2f..%5cy", "text/html", "", "a.example/_/.._y.html"),
        (f"{A}/README.md", "text/plain", "", "a.example/README.md"),
        (f"{A}/data.csv", "application/octet-stream", "", "a.example/data.csv"),
        (f"{A}/notes", "text/plain", "", "a.example/notes.txt"),
        (f"{A}/page", "", "", "a.example/page.html"),
        (f"{A}/caf%C3%A9", "text/html", "", "a.example/café.html"),
        (f"{A}/feed", "application/json", "", "a.example/feed.json"),
    ],
)
def test_name_for(url, content_type, disposition, name):
    assert name_for(url, content_type, disposition) == name


def test_where_an_address_led_to_tells_a_vague_type():
    assert name_for(f"{A}/latest", "", landed=f"{A}/v2/data.csv") == "a.example/latest.csv"


def test_a_long_name_is_shortened_in_the_middle():
    name = name_for(f"{A}/{'x' * 500}/end", "text/html")
    assert name == f"a.example/{'x' * 110}…{'x' * 56}/end.html"


def test_digits_of_an_address_stand_before_the_extension():
    assert distinguish_name("a.example/x.html", f"{A}/x") == "a.example/x (390213).html"


def test_pages_replace_their_own_earlier_version_and_no_other(home, monkeypatch):
    pages = {
        f"{A}/a/index.html": "About a.",
        f"{A}/b/index.html": "About b.",
        "https://b.example/a/index.html": "About another a.",
        f"{A}/get?id=1": "Page one.",
        f"{A}/get?id=2": "Page two.",
        f"{A}/guide": "Guide.",
        f"{A}/guide/": "Guide with a slash.",
        f"{A}/guide.html": "Guide with an extension.",
    }

    def fetched(url: str, *, allow_private: bool) -> Fetched:
        data = f"<html><body><p>{pages[url]}</p></body></html>".encode()
        return Fetched(data, url, url, name_for(url, "text/html"), "text/html")

    monkeypatch.setattr(web, "fetch", fetched)
    workspace = workspace_at(home)
    base = workspace.create("handbook", QUICK)

    def add() -> list[str]:
        job = base.documents.add_urls(list(pages))
        workspace.jobs.run(job)
        return [item.status for item in workspace.jobs.items(job)]

    def stored() -> dict[str, str]:
        infos = base.documents.documents(QUICK.index)
        return {info.source: base.documents.document(info.id).text.strip() for info in infos}

    assert add() == ["added"] * len(pages)
    assert stored() == pages
    pages |= {f"{A}/get?id=2": "Page two, new.", f"{A}/guide/": "Guide with a slash, new."}
    expected = ["replaced" if text.endswith("new.") else "unchanged" for text in pages.values()]
    assert add() == expected
    assert stored() == pages
