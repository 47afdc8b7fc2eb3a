"""Filters let through exactly what fits, in every mode and kind of index."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Hit, InvalidInput, KnowledgeBase, NotFound, SearchRecipe
from rag.retrieval import fits_passage, fitting_documents
from tests.handbook import DOCUMENTS, LEAVE, RECIPE, make
from tests.workspaces import add

WIDE = RECIPE.with_fields({"search.threshold": None, "search.top_k": 50})


@dataclass(frozen=True)
class Traits:
    id: str
    name: str
    media_type: str = "text/plain"
    tags: tuple[str, ...] = ()
    day: str = "2024-01-31"


SHELF = [
    Traits("1", "law/Leave.PDF", "application/pdf", ("Law", "2024"), "2024-01-31"),
    Traits("2", "travel.md", "text/markdown", (), "2023-12-01"),
    Traits("3", "law/notes.txt", "text/plain", ("law",), "2022-05-05"),
]


@pytest.mark.parametrize(
    ("fields", "fitting"),
    [
        ({}, "123"),
        ({"documents": ("travel.md",)}, "2"),
        ({"documents": ("leave.pdf",)}, "1"),
        ({"documents": ("law/*",)}, "13"),
        ({"documents": ("*.txt", "travel.??")}, "23"),
        ({"types": ("pdf", "text/markdown")}, "12"),
        ({"types": (".TXT",)}, "3"),
        ({"tags": ("LAW",)}, "13"),
        ({"tags": ("2024", "unknown")}, "1"),
        ({"after": "2023-12-01"}, "12"),
        ({"before": "2023-12-01"}, "23"),
        ({"tags": ("law",), "types": ("pdf",), "after": "2024-01-31"}, "1"),
        ({"documents": ("nothing",)}, ""),
    ],
)
def test_documents_fit_by_any_value_of_every_filter(fields, fitting):
    assert fitting_documents(SHELF, SearchRecipe.model_validate(fields)) == set(fitting)


@pytest.mark.parametrize(
    "pattern", ["report [final]*", "report [final] v?.txt", "* [FINAL] *", "*]*", "*[*"]
)
def test_brackets_of_a_name_stand_for_themselves(pattern):
    shelf = [Traits("1", "a/Report [final] v2.txt"), Traits("2", "report f v2.txt")]
    assert fitting_documents(shelf, SearchRecipe(documents=(pattern,))) == {"1"}


@pytest.mark.parametrize(
    ("page", "heading", "fits"),
    [
        (3, "A > Duties of staff", True),
        (9, "DUTIES", True),
        (10, "Duties", False),
        (12, "duties", True),
        (None, "Duties", False),
        (4, "Rights", False),
    ],
)
def test_passages_fit_by_page_and_heading(page, heading, fits):
    recipe = SearchRecipe(pages="12, 3-9,4", heading="duties")
    assert fits_passage(page, heading, recipe) is fits


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    return make(tmp_path)[1]


def names(base: KnowledgeBase, changes: dict[str, object]) -> set[str]:
    return {hit.document for hit in base.search(LEAVE, WIDE.with_fields(changes)).hits}


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_every_mode_obeys(base, mode):
    base.documents.tag("travel.md", ["trips"])
    tagged = {"search.mode": mode, "search.tags": ["trips"]}
    assert names(base, tagged) <= {"travel.md"}
    assert "travel.md" not in names(base, {"search.mode": mode, "search.documents": ["leave*"]})


def test_the_stage_tells_what_is_left(base):
    trace = base.search(LEAVE, WIDE.with_fields({"search.heading": "illness"}))
    stage = trace.stage("filter")
    assert (stage.taken, stage.given, stage.note) == (trace.passages, 1, "heading illness")
    assert [hit.chunk.heading for hit in trace.hits] == ["Illness"]


def test_nothing_that_fits_finds_nothing(base):
    trace = base.search(LEAVE, WIDE.with_fields({"search.documents": ["absent"]}))
    assert trace.hits == ()
    assert base.ask(LEAVE, WIDE.with_fields({"search.tags": ["absent"]})).answer.status == "refused"


def test_tags_are_words_and_outlive_a_new_version(tmp_path):
    workspace, base = make(tmp_path)
    assert base.documents.tag("travel.md", [" annual   report ", "law", "law"]) == (
        "annual report",
        "law",
    )
    assert add(workspace, base, {"travel.md": DOCUMENTS["travel.md"] + " Taxis are not."}) == [
        "replaced"
    ]
    tags = {each.name: each.tags for each in base.documents.documents(RECIPE.index)}
    assert tags == {"travel.md": ("annual report", "law"), "leave.md": (), "safety.md": ()}
    with pytest.raises(InvalidInput):
        base.documents.tag("travel.md", [" "])
    with pytest.raises(NotFound):
        base.documents.tag("absent.md", ["law"])


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "documents": st.sampled_from([("leave.md",), ("*.md",), ("*a*", "x")]),
        "types": st.sampled_from([("md",), ("pdf",)]),
        "tags": st.sampled_from([("law",), ("law", "trips")]),
        "heading": st.sampled_from(["leave", "ill", "a"]),
        "after": st.sampled_from(["2000-01-01", "2999-01-01"]),
    },
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    base = make(tmp_path_factory.mktemp("home"))[1]
    base.documents.tag("leave.md", ["law"])
    base.documents.tag("travel.md", ["trips"])
    return base


@given(fields=FILTERS, mode=st.sampled_from(["dense", "hybrid"]))
def test_a_filtered_search_finds_all_that_fits_and_nothing_else(shared, fields, mode):
    recipe = WIDE.with_fields({"search.mode": mode})
    filtered = recipe.with_fields({f"search.{name}": value for name, value in fields.items()})
    every = shared.search(LEAVE, recipe).hits
    expected = {(hit.chunk.key, hit.parts["dense"]) for hit in every if _fits(hit, filtered.search)}
    found = shared.search(LEAVE, filtered).hits
    assert {(hit.chunk.key, hit.parts["dense"]) for hit in found} == expected


def _fits(hit: Hit, wanted: SearchRecipe) -> bool:
    """By brute force, passage by passage."""
    tag = {"leave.md": "law", "travel.md": "trips"}.get(hit.document, "")
    globs = {("*a*", "x"): "a", ("*.md",): ".md", ("leave.md",): "leave.md", (): ""}
    return (
        globs[wanted.documents] in hit.document
        and wanted.types in ((), ("md",))
        and (not wanted.tags or tag in wanted.tags)
        and wanted.heading in hit.chunk.heading.lower()
        and wanted.after != "2999-01-01"
    )
