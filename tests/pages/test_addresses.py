"""Addresses with what makes no sense or is gone: said, never a raw message, nothing left over."""

import ast
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import FRAME

OpenPage = Callable[..., AppTest]
HOTEL, PUMP = "What may a hotel cost?", "Why does the pump make a grinding noise?"


@pytest.mark.parametrize("name", ["mode", "k", "w", "threshold", "cut", "fuzzy", "rrf", "pivot"])
@pytest.mark.parametrize("value", ["", "banana"])
def test_a_field_without_sense_is_as_if_it_were_not_named(name, value, filled, open_page):
    app = open_page("inspector.py", q=HOTEL, **{name: value})
    assert [error.value for error in app.error] == []
    saved = filled.base("notes").recipe()
    assert not app.exception
    assert app.sidebar.slider(key="k").value == saved.search.top_k
    assert [each.value for each in app.sidebar.markdown if "search\\." in each.value] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("k", "[" * 5000), ("in_pages", "9" * 7000), ("in_pages", "1-2," * 1900 + "3")],
    ids=["brackets", "digits", "ranges"],
)
def test_a_field_beyond_all_bounds_is_as_if_it_were_not_named(name, value, filled, open_page):
    app = open_page("inspector.py", q=HOTEL, **{name: value})
    assert not app.exception
    assert app.text_input(key="q").value == HOTEL
    assert app.sidebar.slider(key="k").value == filled.base("notes").recipe().search.top_k


@pytest.mark.parametrize("value", ["x" * 8001, "a\0b"], ids=["long", "character 0"])
def test_what_no_page_reads_is_taken_out_of_the_address(value, filled):
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    app.query_params["q"] = value
    app.run()
    assert "q" not in app.query_params
    assert len(app.warning) == 1


@pytest.mark.parametrize("passage", ["ffff", "0000000000000001", "../../etc"])
def test_a_passage_that_is_not_here_is_told(passage, filled, open_page):
    app = open_page("inspector.py", q=HOTEL, passage=passage)
    assert app.warning[0].value.startswith("The passage of this address is not in this index")


def test_a_run_that_is_not_here_is_told(labelled, open_page):
    base = labelled.base("notes")
    run = base.runs.evaluate("checks", base.recipe()).run
    app = open_page("runs.py", runs=f"{run.id},deadbeef,cafe")
    assert app.warning[0].value.startswith("2 runs ")
    assert app.query_params["runs"] == run.id
    assert not open_page("runs.py", runs=run.id).warning


def test_another_question_takes_nothing_of_the_former_along(filled, open_page):
    base = filled.base("notes")
    last = base.search(HOTEL, base.recipe()).hits[-1].chunk.id
    app = open_page("inspector.py", q=HOTEL, passage=last, walk="1", step="dense")
    app.text_input(key="q").set_value(PUMP).run()
    assert app.query_params["q"] == PUMP
    assert not {"passage", "walk", "leaf", "step"} & set(app.query_params)
    assert not app.warning


def test_words_alone_write_no_threshold_into_the_address(filled, open_page):
    app = open_page("chat.py", q=HOTEL)
    app.switch_page("inspector.py").run()
    app.sidebar.button_group(key="mode").set_value("Lexical").run()
    assert app.query_params["mode"] == "Lexical"
    assert "threshold" not in app.query_params


@pytest.mark.parametrize("value", ["RRF", "Rrf"])
def test_fusion_by_ranks_is_named_in_capitals_and_old_addresses_open(value, filled, open_page):
    app = open_page("inspector.py", q=HOTEL, fusion=value)
    control = app.sidebar.selectbox(key="fusion")
    assert control.options[:4] == ["Weighted", "RRF", "Saturation", "Elasticsearch linear"]
    assert control.value == "RRF"


def test_the_formula_of_an_engine_is_chosen_by_its_name(filled, open_page):
    app = open_page("inspector.py", q=HOTEL, fusion="OpenSearch min-max")
    assert not app.exception
    assert app.sidebar.selectbox(key="fusion").value == "OpenSearch min-max"


def test_every_change_of_the_page_names_its_parameters():
    # Without any, Streamlit clears the address, and refuses to where a widget is bound to it.
    calls = {
        f"{file.name}:{node.lineno}": {keyword.arg for keyword in node.keywords}
        for file in sorted(FRAME.parent.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "st.switch_page"
    }
    assert len(calls) >= 10
    assert [place for place, names in calls.items() if "query_params" not in names] == []
