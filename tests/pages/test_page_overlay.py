"""The page overlay of the inspector: passages of two recipes and a label on one printed page."""

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import streamlit as st

from pages.components.inspector.recipe_comparison import overlay_spans, picture, printed_pages
from pages.components.shell.charts import LIGHT
from rag import KnowledgeBase
from tests.handbook import RECIPE, visit
from tests.sample_files import pdf
from tests.workspaces import add, workspace_at

PAGES = (
    "Cover of the manual.",
    "The zircon valve is opened by hand.\nTurn it once to the left.",
    "Colophon and index of words.",
)
ZIRCON = "How is the zircon valve opened?"
WORDS = "opened by hand"


@pytest.fixture
def base(home: Path) -> Iterator[KnowledgeBase]:
    st.cache_resource.clear()
    st.cache_data.clear()
    workspace = workspace_at(home)
    made = workspace.create("sources", RECIPE.with_fields({"search.threshold": None}))
    add(workspace, made, {"manual.pdf": pdf(*PAGES), "note.md": "A zircon is a mineral."})
    row = {"id": "q1", "text": ZIRCON, "evidence": [{"document": "manual.pdf", "quote": WORDS}]}
    made.questions.import_file("checks", "checks.jsonl", json.dumps(row))
    yield made
    workspace.close()
    st.cache_resource.clear()


def test_both_recipes_and_the_label_are_painted_on_the_page(base):
    recipe = base.recipe()
    other = recipe.with_fields({"search.mode": "lexical"})
    compared = base.explanations.compare(ZIRCON, recipe, other, "checks")
    pages = printed_pages(base, overlay_spans(compared))
    page, *_ = pages
    spans = pages[page]
    assert (page.name, page.number) == ("manual.pdf", 2)
    assert [span.painted for span in spans] == ["before", "after", "label"]
    whole = base.documents.document(page.document_id)
    drawn = base.documents.page(whole, page.number, [(span.start, span.end) for span in spans])
    svg = picture(drawn, spans, drawn.boxes)
    shapes = ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")
    fills = [shape.get("fill") for shape in shapes]
    assert fills.count(LIGHT.dense) == 2 * len(drawn.boxes[0])  # the paint and its bar
    assert fills.count(LIGHT.lexical) == 2 * len(drawn.boxes[1])
    assert [shape.get("stroke") for shape in shapes][-1] == LIGHT.relevant
    frame, (left, top, right, bottom) = shapes[-1], drawn.boxes[2][0]
    assert float(frame.get("x", "")) < left * drawn.width
    assert float(frame.get("y", "")) < top * drawn.height
    assert float(frame.get("width", "")) > (right - left) * drawn.width
    assert float(frame.get("height", "")) > (bottom - top) * drawn.height


def test_the_inspector_has_the_page_with_a_table_behind_it(base):
    app = visit("inspector.py", q=ZIRCON, view="Compare", against="Changed fields", set="checks")
    assert app.selectbox(key="overlay_page").options[0] == "manual.pdf, page 2"
    (table,) = [frame.value for frame in app.dataframe if "shown by" in frame.value]
    assert list(table["shown by"]) == ["as it is", "other", "label"]
    assert table["text"].iloc[-1] == WORDS
