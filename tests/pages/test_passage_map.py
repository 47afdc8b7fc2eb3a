"""The map: drawn once in the background, coloured in three ways, every point a passage."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from pages.components.inspector.passage_map import Drawing, figure, takeaway
from pages.components.shell.charts import DARK, LIGHT
from rag import Chunk, Hit, KnowledgeBase, PassageMap, Placed, Workspace
from tests.handbook import LEAVE, make, texts, visit


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    st.cache_resource.clear()
    st.cache_data.clear()
    opened, _ = make(home)
    yield opened
    opened.close()
    st.cache_resource.clear()


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("handbook")


def test_a_map_is_offered_drawn_and_kept(workspace, base):
    app = visit("inspector.py", q=LEAVE, view="Map")
    assert "The map shows all passages by likeness" in texts(app)
    app.button(key="draw_map").click().run()
    job = base.documents.maps.drawing(base.recipe().index)
    if job is not None:  # the page's own worker may have been quicker
        workspace.jobs.run(job.id)
    app = visit("inspector.py", q=LEAVE, view="Map")
    assert "The question lies among" in texts(app)
    assert "of the variance is shown" in texts(app)


def test_the_chosen_colours_are_in_the_address(workspace, base):
    workspace.jobs.run(base.documents.maps.draw(base.recipe().index))
    app = visit("inspector.py", q=LEAVE, view="Map", map_colour="Cosine")
    drawn = json.loads(app.get("plotly_chart")[-1].proto.spec)
    assert "colorbar" in drawn["data"][0]["marker"]
    app.get_by_key("map_colour").set_value("Label").run()
    names = [each["name"] for each in json.loads(app.get("plotly_chart")[-1].proto.spec)["data"]]
    assert names[:3] == ["not judged", "judged not relevant", "relevant"]


def test_a_passage_that_is_no_candidate_opens_too(base):
    [safety] = [
        info for info in base.documents.documents(base.recipe().index) if info.name == "safety.md"
    ]
    chunk = base.documents.chunks(safety.id, base.recipe().index)[0]
    recipe = {"mode": "Lexical", "threshold": "0.9"}
    for view in ("Stages", "Terms", "Attribution"):
        app = visit("inspector.py", q=LEAVE, passage=chunk.id, view=view, **recipe)
        assert r"**safety\.md**" in texts(app)
    assert "no candidate" in texts(app)
    app = visit("inspector.py", q=LEAVE, passage="7" * 16)
    assert r"**leave\.md**" in texts(app)


def example(count: int = 40) -> tuple[PassageMap, Placed]:
    dice = np.random.default_rng(5)
    points = dice.normal(size=(count, 2)).astype(np.float32)
    document = np.arange(count, dtype=np.int32) % 8
    names = tuple(f"<b>document & {number}</b>" for number in range(8))
    shown = PassageMap(
        "pca", np.arange(100, 100 + count), points, document, names, explained=0.25, changed=0.0
    )
    return shown, Placed(points[3], np.linspace(0, 1, count, dtype=np.float32))


def hit(key: int, rank: int) -> Hit:
    chunk = Chunk(key, "d", 0, 1, "x", 0)
    return Hit(chunk, "<b>document</b>", rank, 1.0, 1.0, {})


@pytest.mark.parametrize("colouring", ["Document", "Label", "Cosine"])
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_passage_is_drawn_once_and_known_by_its_place(colouring, colours):
    shown, placed = example()
    drawing = Drawing(shown, placed, [hit(105, 1)], {107: 2, 108: 0}, 111, colouring)
    chart, keys = figure(drawing, colours)
    groups = [trace for trace in chart.data if trace.type == "scattergl"]
    drawn = np.concatenate(keys[: len(groups)])
    assert sorted(drawn.tolist()) == shown.keys.tolist()
    for trace, held in zip(chart.data, keys, strict=False):
        at = np.searchsorted(shown.keys, held)
        assert trace.x.tolist() == shown.points[at, 0].tolist()
        assert trace.y.tolist() == shown.points[at, 1].tolist()
    assert [held.tolist() for held in keys[len(groups) :]] == [[105], [111]]
    assert all("<b>doc" not in (trace.name or "") for trace in chart.data)


def test_a_misleading_passage_is_judged_and_not_relevant():
    shown, placed = example()
    drawing = Drawing(shown, placed, [], {107: 2, 108: 0, 109: -1}, None, "Label")
    chart, keys = figure(drawing, LIGHT)
    groups = {trace.name: held.tolist() for trace, held in zip(chart.data, keys, strict=False)}
    assert groups["judged not relevant"] == [108, 109]
    assert groups["relevant"] == [107]


def test_groups_differ_in_shape_and_not_by_colour_alone():
    shown, placed = example()
    chart, _ = figure(Drawing(shown, placed, [], {}, None, "Document"), LIGHT)
    groups = [trace.marker.symbol for trace in chart.data if trace.type == "scattergl"][1:]
    assert len(set(groups)) == len(groups) == 5


def test_the_takeaway_counts_the_neighbours_and_says_if_they_are_true():
    shown, placed = example(10)
    said = takeaway(shown, placed)
    assert r"document \& 0\<\/b\> (2)" in said
    assert "10 nearest points, 10 " in said
