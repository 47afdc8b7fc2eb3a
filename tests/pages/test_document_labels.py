"""Labels that name whole documents: said before the import, beside the cards and when judged."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, Workspace

OpenPage = Callable[..., AppTest]

HEAD = "question,answer,document"
LINES = (
    "What may a hotel cost?,$120,travel.txt",
    "What does the pump need?,oil,pump.txt",
)
NAMED = (
    "documents, not passages: retrieval metrics count documents, and cannot compare chunk sizes."
)


@pytest.fixture
def base(filled: Workspace) -> KnowledgeBase:
    return filled.base("notes")


def _table(quotes: bool = False) -> bytes:
    if not quotes:
        return "\n".join((HEAD, *LINES)).encode()
    return f"{HEAD},quote\n{LINES[0]},a hotel\n".encode()


def _dialog() -> None:
    from pages.components.labels.question_sets import import_dialog
    from pages.components.shell.session import workspace

    import_dialog(workspace().base("notes"))


@pytest.mark.parametrize(("quotes", "said"), [(False, 1), (True, 0)])
def test_the_import_says_before_that_labels_name_documents(base, quotes, said):
    app = AppTest.from_function(_dialog, default_timeout=60).run()
    app.file_uploader(key="metrics_import_file").upload("checks.csv", _table(quotes)).run()
    assert not app.exception
    notes = [each.value for each in app.info if f"These labels name {NAMED}" in each.value]
    assert len(notes) == said
    assert all("column *quote*" in note for note in notes)
    assert base.questions.list_all() == []


def test_results_call_documents_what_the_labels_name(base, open_page):
    base.questions.import_file("checks", "checks.csv", _table())
    run = base.runs.evaluate("checks", base.recipe().with_fields({"search.threshold": None}))
    app = open_page("metrics.py")
    assert any(each.value.startswith(f"2 labels name {NAMED}") for each in app.info)
    (headline,) = (each.value for each in app.markdown if each.value.startswith("##### "))
    assert "A right document comes first" in headline
    helps = " ".join(each.help for each in app.metric[:4])
    assert "first relevant document" in helps
    assert "passage" not in helps
    app.button(key=f"judging_{run.run.id}").click().run()
    assert "whole document" in "\n".join(each.value for each in app.caption)


def test_results_of_labelled_passages_have_no_such_line(labelled, open_page):
    labelled.base("notes").runs.evaluate("checks", labelled.base("notes").recipe())
    app = open_page("metrics.py")
    assert not any(NAMED in each.value for each in app.info)


def test_an_import_says_how_many_questions_it_brought(base):
    app = AppTest.from_function(_dialog, default_timeout=60).run()
    app.file_uploader(key="metrics_import_file").upload("checks.csv", _table()).run()
    app.button(key="metrics_import_go").click().run()
    (draw,) = app.session_state["notices_waiting"]
    assert draw.args == ("2 questions imported into “checks”\\.",)
    assert draw.func.__name__ == "success"


def test_labels_without_a_place_are_warned_of_first_and_not_counted_as_labelled(base, open_page):
    lines = (
        "question,document,quote,grade",
        "What may a hotel cost?,travel.txt,Hotels may cost 140 euros a night.,5",
        "What does the pump need?,pump.txt,needs olive oil,1",
        "Who signs?,rules.pdf,The head of the office signs.,1",
    )
    app = AppTest.from_function(_dialog, default_timeout=60).run()
    app.file_uploader(key="metrics_import_file").upload("bad.csv", "\n".join(lines).encode()).run()
    app.button(key="metrics_import_go").click().run()
    drawn = app.session_state["notices_waiting"]
    assert [draw.func.__name__ for draw in drawn] == ["warning", "warning", "success"]
    assert drawn[0].args[0].startswith("2 of 3 labels ")
    table = open_page("metrics.py", set="bad", metrics="Question sets").dataframe[0].value
    assert (list(table["Answerable"]), list(table["Labelled"])) == ([3], [1])
