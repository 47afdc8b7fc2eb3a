"""The sidebar: the knowledge base, jobs that run, the recipe chip."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from pages.components.shell import job_progress, session
from rag import JobItem, JobRow, KnowledgeBaseData
from rag.library.documents.ingestion import Ingest
from tests.jobs import Unknown

OpenPage = Callable[..., AppTest]


def test_an_address_chooses_the_base(filled, open_page):
    filled.create("archive")
    app = open_page("settings.py", kb="notes")
    assert app.sidebar.selectbox(key="kb").value == "notes"
    assert app.sidebar.selectbox(key="kb").options == ["archive", "notes"]


def test_another_base_keeps_the_page(filled, open_page):
    filled.create("archive")
    app = open_page("documents.py", kb="notes")
    app.sidebar.selectbox(key="kb").select("archive").run()
    assert app.title[0].value == "Documents"
    assert app.sidebar.caption[0].value == "0 documents"


def test_the_size_of_a_base_tells_how_many_documents_are_left_out(filled, open_page):
    base = filled.base("notes")
    app = open_page("documents.py")
    total = len(base.documents.documents(base.recipe().index))
    assert app.sidebar.caption[0].value == f"{total} documents"
    (document,) = base.documents.documents(base.recipe().index)[:1]
    base.documents.edit_passages(document.name, "exclude", (0, document.characters))
    app.run()
    assert "(1 left out)" in app.sidebar.caption[0].value
    app.run()


def test_an_address_of_a_deleted_base_opens_another_and_says_so(filled, open_page):
    app = open_page("chat.py", kb="gone")
    assert app.sidebar.selectbox(key="kb").value == "notes"
    assert not app.error
    app.switch_page("settings.py").run()
    assert not app.warning


def test_an_address_without_a_base_means_the_oldest(filled, open_page):
    filled.create("archive")
    assert open_page("documents.py").sidebar.selectbox(key="kb").value == "notes"


def test_a_question_for_a_base_that_was_deleted_meanwhile_is_not_asked_of_another(
    filled, open_page
):
    filled.create("archive")
    app = open_page("chat.py", kb="archive")
    filled.delete("archive")
    app.chat_input[0].set_value("What may a hotel cost?").run()
    assert not app.exception
    assert app.sidebar.selectbox(key="kb").value == "notes"
    assert "**archive**" in app.warning[0].value
    assert filled.base("notes").conversations.find(1) is None
    assert app.session_state["chat_question"] is None
    assert [each.proto.value for each in app.chat_input] == ["What may a hotel cost?"]


def test_the_chip_shows_what_changed(filled, open_page):
    saved = filled.base("notes").recipe()
    app = open_page("documents.py", k="9", mode="Dense")
    changes = next(one.value for one in app.sidebar.markdown if one.value.startswith("- "))
    assert changes.splitlines() == [
        "- search\\.mode: hybrid → **dense**",
        "- search\\.top\\_k: 5 → **9**",
    ]
    assert json.loads(app.sidebar.code[0].value) == saved.with_fields(
        {"search.top_k": 9, "search.mode": "dense"}
    ).model_dump(mode="json")


def test_the_chip_exports_the_recipe(filled, open_page):
    app = open_page("documents.py", k="9")
    assert not [one for one in app.sidebar.selectbox if one.key == "recipe_export_target"]
    app.session_state["recipe_export"] = True
    app.run()
    app.sidebar.selectbox(key="recipe_export_target").set_value("opensearch").run()
    assert not app.exception
    inexact = next(one.value for one in app.sidebar.markdown if "not expressible" in one.value)
    assert "search\\.top\\_k" not in inexact
    (button,) = app.sidebar.get("download_button")
    assert button.proto.label == "Download"


def test_the_chip_saves_and_resets(filled, open_page):
    app = open_page("documents.py", k="9")
    app.sidebar.button(key="frame_recipe_save").click().run()
    assert filled.base("notes").recipe().search.top_k == 9
    assert app.sidebar.button(key="frame_recipe_save").disabled


def test_the_chip_names_the_recipe_whenever_it_is_opened(filled, open_page):
    def field() -> TextInput:
        return next(each for each in app.sidebar.text_input if each.label == "Name")

    app = open_page("tuning.py").run()
    automatic = "hybrid, top 5, fake, sections 24"
    assert field().proto.default == automatic
    field().set_value("").run()
    assert field().value == automatic
    field().set_value("First try").run()
    app.run()
    assert field().proto.default == field().value == "First try"
    field().set_value("").run()
    assert field().proto.default == field().value == automatic


def test_a_running_job_is_shown_with_its_progress(filled, open_page):
    base = filled.base("notes")
    filled.jobs.submit(base.id, "Counting sheep", Unknown())
    app = open_page("settings.py")
    shown = [bar.text for bar in app.sidebar.get("progress")]
    assert shown in ([], ["**Counting sheep**"])  # the worker may have ended it already


def test_it_says_when_nothing_works_on_jobs(filled, open_page, monkeypatch):
    monkeypatch.setattr("rag.services.jobs.Jobs.start", lambda _self: None)
    filled.jobs.submit(filled.base("notes").id, "Counting sheep", Unknown())
    assert not open_page("settings.py").sidebar.warning  # a worker may be about to start
    monkeypatch.setattr(job_progress, "PATIENCE_SECONDS", 0.0)
    app = open_page("settings.py")
    monkeypatch.setattr("rag.services.jobs.Jobs.attended", lambda _self: True)
    assert not app.run().sidebar.warning


def test_a_job_of_another_base_is_a_line_that_names_it(filled, open_page, at_work):
    filled.create("archive")
    job = filled.jobs.submit(filled.base("notes").id, "Reading a.md", Ingest(), [("a.md", {})])
    at_work(job)
    other = open_page("settings.py", kb="archive").sidebar
    assert "notes: Reading a\\.md, 25\\%" in [each.value for each in other.caption]
    assert not other.get("progress")
    assert not [each for each in other.button if "cancel" in str(each.key)]
    own = open_page("settings.py", kb="notes").sidebar
    assert [bar.text for bar in own.get("progress")] == ["**Reading a\\.md**"]
    assert [each for each in own.button if each.key == f"jobs_cancel_sidebar_{job}"]


def test_the_counts_follow_the_first_document(filled, open_page, at_work, monkeypatch):
    at_work(filled.jobs.submit(filled.base("notes").id, "Reading", Ingest(), [("a.md", {})]))
    drawn: list[list[int]] = []

    def bases() -> list[KnowledgeBaseData]:
        """None has a document when the page is first drawn."""
        counted = session.bases()
        none = [info.model_copy(update={"documents": 0}) for info in counted]
        infos = counted if drawn else none
        drawn.append([info.documents for info in infos])
        return infos

    monkeypatch.setattr(job_progress, "bases", bases)
    open_page("settings.py", kb="notes")
    assert drawn == [[0], [session.opened().bases()[0].documents]]


def test_the_time_left_is_that_of_the_job_in_every_tab():
    job = replace(_job("running", 1200, "1.pdf: reading"), seconds_left=200.0)
    assert job_progress.state(job) == "40%, about 3 min left"
    assert job_progress.state(replace(job, seconds_left=None)) == "40%"


def _job(status: str, done: int, message: str) -> JobRow:
    return JobRow(
        id=1,
        base_id=1,
        base="notes",
        kind="ingest",
        title="Reading 3 files",
        payload={},
        status=status,
        done=done,
        total=3000,
        message=message,
        cancel=False,
        created=datetime.now(UTC),
        finished=None,
    )


def _item(position: int, status: str, chunks: int = 0, reason: str = "") -> JobItem:
    return JobItem(1, position, f"{position}.pdf", {}, status, reason, "", chunks)


def test_every_file_has_its_stage_and_the_one_at_work_is_first():
    items = [_item(0, "added", 12), _item(1, "waiting"), _item(2, "waiting")]
    job = _job("running", 1400, "1.pdf: embedding 20 of 80")
    rows = job_progress.file_rows(job, items)
    assert [(row["File"], row["Stage"], row["Passages"]) for row in rows] == [
        ("1.pdf", "embedding 20 of 80", None),
        ("0.pdf", "done", 12),
        ("2.pdf", "waiting", None),
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "done; lexical search finds it now, dense search later"),
        (40.0, "dense search in about 40 s"),
    ],
)
def test_a_file_whose_vectors_are_made_says_how_it_answers(seconds, said):
    items = [_item(0, "added", 12), _item(1, "added", 3)]
    job = replace(_job("running", 9000, "0.pdf: embedding"), seconds_left=seconds)
    stages = [row["Stage"] for row in job_progress.file_rows(job, items, {"0.pdf"})]
    assert said in str(stages[0])
    assert stages[1] == "done"
    ended = job_progress.file_rows(replace(job, status="done"), items, {"0.pdf"})
    assert [row["Stage"] for row in ended] == ["done", "done"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("done", "3 files: 1 added, 1 unchanged, 1 failed (12 passages)."),
        ("cancelled", "Stopped. 3 files: 1 added, 1 unchanged, 1 failed (12 passages)."),
    ],
)
def test_an_upload_is_summed_up(status, said):
    items = [_item(0, "added", 12), _item(1, "unchanged"), _item(2, "failed", reason="damaged")]
    assert job_progress.summary(_job(status, 3000, ""), items) == said


@pytest.mark.parametrize(
    ("page", "first"),
    [
        ("chat.py", ["w", "threshold", "k"]),
        ("inspector.py", ["w", "threshold", "k"]),
        ("metrics.py", ["w", "threshold", "k"]),
        ("tuning.py", ["threshold", "k", "w"]),  # of which two are never folded there
    ],
)
def test_the_recipe_panel_stands_in_the_sidebar_of_every_page(labelled, open_page, page, first):
    app = open_page(page, kb="notes")
    sliders = [slider.key for slider in app.sidebar.slider]
    assert sliders[:3] == first
    assert "k" not in [slider.key for slider in app.main.slider]
    assert [each.label for each in app.sidebar.expander].count("Advanced") == 1


def test_the_recipe_is_named_on_every_page(labelled, open_page):
    base = labelled.base("notes")
    app = open_page("metrics.py", kb="notes")
    (field,) = [each for each in app.sidebar.text_input if each.label == "Name"]
    assert field.value == "hybrid, top 5, fake, sections 24"
    field.set_value("First try").run()
    assert base.runs.recipe_name(base.recipe()) == "First try"
    run = base.runs.evaluate("checks", base.recipe()).run
    app.run()
    assert any("recipe *First try*" in each.value for each in app.caption)
    assert list(open_page("runs.py").dataframe[0].value["Run"]) == ["First try"]
    assert run.note == ""
