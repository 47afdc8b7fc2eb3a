"""Addresses with what makes no sense or is gone: said, never a raw message, nothing left over."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag import Workspace

OpenPage = Callable[..., AppTest]
HOTEL, PUMP = "What may a hotel cost?", "Why does the pump make a grinding noise?"


@pytest.mark.parametrize("name", ["mode", "k", "w", "threshold", "cut", "fuzzy", "rrf"])
@pytest.mark.parametrize("value", ["", "banana"])
def test_a_field_without_sense_is_as_if_it_were_not_named(
    name: str, value: str, filled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("inspector.py", q=HOTEL, **{name: value})
    assert [error.value for error in app.error] == []
    saved = filled.base("notes").recipe()
    assert not app.exception
    assert app.sidebar.slider(key="k").value == saved.search.top_k
    assert [each.value for each in app.sidebar.markdown if "search\\." in each.value] == []


@pytest.mark.parametrize("passage", ["ffff", "0000000000000001", "../../etc"])
def test_a_passage_that_is_not_here_is_told(
    passage: str, filled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("inspector.py", q=HOTEL, passage=passage)
    assert app.warning[0].value.startswith("The passage of this address is not in this index")


def test_a_run_that_is_not_here_is_told(labelled: Workspace, open_page: OpenPage) -> None:
    assert open_page("runs.py", runs="deadbeef").warning[0].value == (
        "1 run of this link is not in this knowledge base: deleted, or of another one."
    )
    base = labelled.base("notes")
    run = base.evaluator.evaluate("checks", base.recipe()).run
    app = open_page("runs.py", runs=f"{run.id},deadbeef,cafe")
    assert app.warning[0].value.startswith("2 runs of this link are not in this knowledge base")
    assert app.query_params["runs"] == run.id
    assert not open_page("runs.py", runs=run.id).warning


def test_another_question_takes_nothing_of_the_former_along(
    filled: Workspace, open_page: OpenPage
) -> None:
    base = filled.base("notes")
    last = base.search(HOTEL, base.recipe()).hits[-1].chunk.id
    app = open_page("inspector.py", q=HOTEL, passage=last, walk="1", step="dense")
    app.text_input(key="q").set_value(PUMP).run()
    assert app.query_params["q"] == PUMP
    assert not {"passage", "walk", "leaf", "step"} & set(app.query_params)
    assert not app.warning


def test_words_alone_write_no_threshold_into_the_address(
    filled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("inspector.py", q=HOTEL)
    app.sidebar.button_group(key="mode").set_value("Lexical").run()
    assert app.query_params["mode"] == "Lexical"
    assert "threshold" not in app.query_params
