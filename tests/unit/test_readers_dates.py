"""Dates that files state: read where they can be believed, never made up."""

import io
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from rag import KnowledgeBase
from rag.readers import read
from rag.readers.dates import office_day, stated_day
from tests.sample_files import PROSE, html, pdf, put
from tests.workspaces import QUICK, add, workspace_at

MADE, SAVED = datetime(2019, 5, 1, 8, 0), datetime(2024, 1, 31, 23, 30)
TODAY = datetime.now(UTC).date()
CORE = "docProps/core.xml"


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T23:30:00+02:00", "2024-01-31"),
        (" 2024-01-31T23:30:00Z\n", "2024-01-31"),
        ("D:20240131233000-08'00'", "2024-01-31"),
        ("20240131", "2024-01-31"),
        ("2024-02-29", "2024-02-29"),
        ("2023-02-29", None),
        ("2024-13-01", None),
        ("2024-01", None),
        ("D:2024", None),
        ("2024-0131", None),
        ("0000-00-00", None),
        ("0000-01-01", None),
        ("1601-01-01T00:00:00Z", None),
        ("1899-12-30", None),
        ("1970-01-01T00:00:00Z", None),
        ("1980-01-01", None),
        ("9999-12-31", None),
        ("D:20000101000000+00'00'", None),
        ("2000-01-01", "2000-01-01"),
        ("2013-12-23T23:15:00Z", None),
        ("٢٠٢٤-٠١-٣١", None),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_a_day_is_taken_as_written_or_not_at_all(value, day):
    assert stated_day(value) == day


@given(st.one_of(st.text(), st.from_regex(r"(D:)?\d{4}-?\d{2}-?\d{2}", fullmatch=True)))
def test_whatever_is_written_a_day_is_a_day_of_the_past(value):
    found = stated_day(value)
    latest = datetime.now(UTC).date() + timedelta(days=1)
    assert found is None or date(1981, 1, 1) <= date.fromisoformat(found) <= latest


def test_the_future_begins_the_day_after_tomorrow():
    first, second = (TODAY + timedelta(days=days) for days in (1, 3))
    assert stated_day(first.isoformat()) == first.isoformat()
    assert stated_day(second.isoformat()) is None


def word() -> bytes:
    document = docx.Document()
    document.add_paragraph("Hotels may cost 140 euros.")
    document.core_properties.created = MADE
    document.core_properties.modified = SAVED
    return saved(document)


def deck() -> bytes:
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = "Hotels"
    slides.core_properties.created = MADE
    slides.core_properties.modified = SAVED
    return saved(slides)


def book() -> bytes:
    sheets = openpyxl.Workbook()
    sheets.active.append(["Hotels", 140])
    return changed(saved(sheets), lambda core: core_properties(created=MADE, modified=SAVED))


def saved(thing: docx.document.Document | pptx.presentation.Presentation) -> bytes:
    buffer = io.BytesIO()
    thing.save(buffer)
    return buffer.getvalue()


def core_properties(**moments: datetime | str) -> bytes:
    """The part as programs write it."""
    rows = "".join(
        f'<dcterms:{name} xsi:type="dcterms:W3CDTF">'
        f"{value if isinstance(value, str) else f'{value:%Y-%m-%dT%H:%M:%SZ}'}</dcterms:{name}>"
        for name, value in moments.items()
    )
    return (
        '<cp:coreProperties xmlns:dcterms="http://purl.org/dc/terms/" xmlns:cp="http://schemas.'
        'openxmlformats.org/package/2006/metadata/core-properties" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{rows}</cp:coreProperties>'
    ).encode()


def changed(
    data: bytes, change: Callable[[bytes], bytes | None], place: str = CORE, to: str = CORE
) -> bytes:
    """An Office file whose core properties are others, stand elsewhere, or are gone."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as before,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            content = before.read(name)
            if name != place:
                after.writestr(name, content.replace(place.encode(), to.encode()))
            elif (new := change(content)) is not None:
                after.writestr(to, new)
    return buffer.getvalue()


OFFICE = {"x.docx": word(), "x.pptx": deck(), "x.xlsx": book()}


def day_of(folder: Path, name: str, data: bytes) -> str | None:
    return read(put(folder, data), name).metadata.get("date")


@pytest.mark.parametrize(("name", "data"), OFFICE.items(), ids=OFFICE.keys())
def test_an_office_file_is_from_the_day_it_was_last_saved(tmp_path, name, data):
    assert day_of(tmp_path, name, data) == "2024-01-31"
    elsewhere = changed(data, lambda core: core, to="package/properties.psmdcp")
    assert day_of(tmp_path, name, elsewhere) == "2024-01-31"


@pytest.mark.parametrize(
    ("moments", "day"),
    [
        ({"created": MADE}, "2019-05-01"),
        ({"created": MADE, "modified": "2999-01-01T00:00:00Z"}, "2019-05-01"),
        ({"created": MADE, "modified": "0000-00-00T00:00:00Z"}, "2019-05-01"),
        ({"created": "1601-01-01T00:00:00Z", "modified": "garbage"}, None),
        ({"created": "2013-12-23T23:15:00Z", "modified": "2013-12-23T23:15:00Z"}, None),
        ({"modified": ""}, None),
        ({}, None),
    ],
)
def test_the_day_it_was_made_is_the_second_choice(tmp_path, moments, day):
    data = changed(word(), lambda _core: core_properties(**moments))
    assert day_of(tmp_path, "x.docx", data) == day


@pytest.mark.parametrize(("name", "data"), OFFICE.items(), ids=OFFICE.keys())
def test_a_file_without_properties_is_from_no_day(tmp_path, name, data):
    """The libraries for these formats would say that it is from today."""
    assert day_of(tmp_path, name, changed(data, lambda _core: core_properties())) is None


@pytest.mark.parametrize(
    "core",
    [
        b"<no",
        b"",
        b'<!DOCTYPE x [<!ENTITY e "2024-01-31">]>' + core_properties(modified="&e;"),
        b"<a/>" + b" " * 2_000_000,
    ],
    ids=["damaged", "empty", "entity", "long"],
)
def test_from_damaged_properties_no_day_comes_and_no_error(tmp_path, core):
    path = put(tmp_path, changed(word(), lambda _core: core))
    assert office_day(path) is None
    path.write_bytes(b"no archive")
    assert office_day(path) is None


@pytest.mark.parametrize("core", [b"<no", b"", core_properties(modified="yesterday"), None])
@pytest.mark.parametrize(("name", "data"), OFFICE.items(), ids=OFFICE.keys())
def test_a_file_with_damaged_properties_is_read(tmp_path, name, data, core):
    document = read(put(tmp_path, changed(data, lambda _core: core)), name)
    assert ("Hotels" in document.text, "date" in document.metadata) == (True, False)


@pytest.mark.parametrize(
    ("head", "body", "day"),
    [
        ('<meta name="date" content="2024-01-31">', "", "2024-01-31"),
        (
            '<meta property="article:published_time" content="2024-01-31T23:30:00+02:00">',
            "",
            "2024-01-31",
        ),
        ("", '<time datetime="2024-01-31T10:00">last week</time>', "2024-01-31"),
        ('<meta name="date" content="0000-00-00">', "", None),
        ('<meta name="date" content="2999-01-31">', "", None),
        ('<meta name="date" content="soon">', "", None),
        ("", "<p>Copyright 2019. In force until 31 December 2023.</p>", None),
    ],
)
@pytest.mark.parametrize("prose", [PROSE * 4, "Short."], ids=["long", "short"])
def test_a_web_page_is_from_the_day_that_its_markup_tells(tmp_path, head, body, day, prose):
    page = html(f"<article><h1>Top</h1>{body}<p>{prose}</p></article>", head)
    assert day_of(tmp_path, "x.html", page) == day


@pytest.mark.parametrize(
    ("stamp", "day"),
    [
        ("D:20240131233000-08'00'", "2024-01-31"),
        ("D:29990101000000Z", None),
        ("D:00000101", None),
        ("once", None),
    ],
)
def test_a_pdf_is_from_the_day_it_was_made(tmp_path, stamp, day):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("Hotels may cost 140 euros."))))
    writer.add_metadata({"/CreationDate": stamp})
    buffer = io.BytesIO()
    writer.write(buffer)
    assert day_of(tmp_path, "x.pdf", buffer.getvalue()) == day


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    workspace = workspace_at(tmp_path / "home")
    base = workspace.create("dated", QUICK)
    files: dict[str, str | bytes] = {**OFFICE, "notes.txt": "Hotels may cost 120 euros."}
    assert add(workspace, base, files) == ["added"] * 4
    assert add(workspace, base, files) == ["unchanged"] * 4
    return base


def names(base: KnowledgeBase, **filters: str) -> set[str]:
    recipe = QUICK.with_fields({f"search.{name}": value for name, value in filters.items()})
    return {hit.document for hit in base.search("hotels", recipe).hits}


def test_filters_use_a_date_where_there_is_one_else_the_day_it_was_added(base):
    assert names(base, after="2024-01-31", before="2024-01-31") == set(OFFICE)
    assert names(base, after="2024-02-01") == {"notes.txt"}
    assert names(base, before="2024-01-30") == set()
    assert all(re.fullmatch(r"x\.\w+", name) for name in names(base, before="2025-01-01"))
