"""Long work stands where its button was, in every tab, and its result where it is read."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from rag import Jobs
from rag.storage import jobs as rows
from tests.pages.conftest import fill

OpenPage = Callable[..., AppTest]
AtWork = Callable[[int], None]


def test_an_evaluation_at_work_stands_where_the_button_was(labelled, open_page, at_work):
    base = labelled.base("notes")
    job = base.runs.start_evaluation("checks", base.recipe())
    at_work(job)
    for app in (open_page("metrics.py"), open_page("metrics.py")):  # a reload, another tab
        assert not [each for each in app.button if each.key == "metrics_evaluate"]
        assert not app.button(key=f"jobs_cancel_evaluate_{job}").disabled
        shown = [each.proto for each in app.main.get("progress")]
        assert [(each.text, each.value) for each in shown] == [("**Evaluating checks**", 25)]
        assert "25\\%" in [each.value for each in app.caption]
        app.run()
        assert app.main.get("progress")
        assert not app.sidebar.get("progress")  # two drawings of one job would differ
        elsewhere = app.switch_page("chat.py").run()
        assert [each.proto.value for each in elsewhere.sidebar.get("progress")] == [25]
        app.switch_page("metrics.py").run()
    app.button(key=f"jobs_cancel_evaluate_{job}").click().run()
    assert labelled.jobs.get(job).cancel
    other = open_page("metrics.py", mode="Dense")
    assert other.button(key="metrics_evaluate").label == "Evaluate"


def test_a_job_that_gave_way_waits_for_its_turn_with_its_progress(
    labelled, open_page, at_work, monkeypatch
):
    monkeypatch.setattr(Jobs, "start", lambda _jobs: None)  # its worker would take the job up
    job = labelled.base("notes").runs.start_evaluation("checks", labelled.base("notes").recipe())
    at_work(job)
    with labelled._services.database.write() as connection:
        [owner] = rows.owners(connection)
        rows.give_way(connection, job, owner, 1, 4)
    app = open_page("metrics.py")
    shown = [each.proto for each in app.main.get("progress")]
    assert [(each.text, each.value) for each in shown] == [("**Evaluating checks**", 25)]
    assert not app.error


def test_an_evaluation_names_the_job_of_its_base_that_it_waits_for(
    labelled, open_page, at_work, monkeypatch
):
    monkeypatch.setattr(Jobs, "start", lambda _jobs: None)
    base = labelled.base("notes")
    other = labelled.create("other")
    elsewhere = fill(other, {"elsewhere.md": "Other words."})
    at_work(fill(base, {"long.md": "# Long\n\nMany words."}))
    base.runs.start_evaluation("checks", base.recipe())
    app = open_page("metrics.py", kb="notes")
    waits = [each.value for each in app.caption if "begins after" in each.value]
    assert waits == 2 * ["begins after Reading long\\.md\\: 25\\%"]  # sidebar and page
    at_work(elsewhere)  # another worker, which may end its job first
    app = open_page("metrics.py", kb="notes")
    assert not [each for each in app.caption if "begins after" in each.value]


def test_an_upload_says_on_its_page_what_it_waits_for(labelled, open_page, at_work, monkeypatch):
    monkeypatch.setattr(Jobs, "start", lambda _jobs: None)
    base = labelled.base("notes")
    at_work(base.runs.start_evaluation("checks", base.recipe()))
    fill(base, {"long.md": "# Long\n\nMany words."})
    app = open_page("documents.py", kb="notes").run()
    [waits] = [each.value for each in app.main.caption if "begins after" in each.value]
    assert "25" in waits


def test_the_sidebar_has_no_size_while_documents_are_read(labelled, open_page, at_work):
    size = "3 documents"
    assert size in [each.value for each in open_page("chat.py").sidebar.caption]
    at_work(fill(labelled.base("notes"), {"long.md": "# Long\n\nMany words."}))
    assert size not in [each.value for each in open_page("chat.py").sidebar.caption]


def test_documents_has_no_size_of_a_base_while_its_documents_are_read(labelled, open_page, at_work):
    def said() -> tuple[list[float], list[str]]:
        app = open_page("documents.py", kb="notes")
        table = next(each.value for each in app.dataframe if "Last run" in each.value)
        headers = [each.value.partition(" :")[0] for each in app.header]  # without the badge
        return table["Documents"].fillna(-1).tolist(), headers

    labelled.create("other")
    assert said() == ([3, 0], ["3 documents"])
    at_work(fill(labelled.base("notes"), {"long.md": "# Long\n\nMany words."}))
    sizes, headers = said()
    assert sizes == [-1, 0]
    assert "3" not in "".join(headers)


def test_an_evaluation_that_failed_says_why_until_another_is_there(labelled, open_page):
    base = labelled.base("notes")
    job = base.runs.start_evaluation("checks", base.recipe())
    base.questions.rename_set("checks", "other")
    assert labelled.jobs.run(job).status == "failed"
    base.questions.rename_set("other", "checks")
    (error,) = open_page("metrics.py").error
    assert error.value.startswith("**Evaluating checks failed\\.**")
    assert "There are\\: other" in error.value
    base.runs.evaluate("checks", base.recipe())
    assert not open_page("metrics.py").error


def test_jobs_at_work_stand_where_their_buttons_were(labelled, open_page, at_work):
    base, tuning = labelled.base("notes"), labelled.base("notes").tuning
    recipe = base.recipe()
    metric = "ndcg@10"
    grid = {"index.chunker": ["markdown"]}
    jobs = {
        "search": tuning.searches.start("checks", {"search.k1": [1, 2]}, recipe, recipe, metric),
        "fit": tuning.fits.start("checks", recipe),
        "compare": tuning.build_tables.start("checks", grid, recipe, (5, 10)),
    }
    for job in jobs.values():
        at_work(job)
    app = open_page("tuning.py", cuts="true")
    app.multiselect(key="cut_chunkers").set_value(["markdown"]).run()
    shown = {each.proto.text: each.proto.value for each in app.main.get("progress")}
    assert shown == {
        "**Searching for the best recipe on checks**": 25,
        "**Fitting probabilities on checks**": 25,
        "**Comparing indexes on checks**": 25,
    }
    buttons = [button.key for button in app.button]
    assert not {"tuning_search", "tuning_fit", "tuning_cut_compare"} & set(buttons)
    for place, job in jobs.items():
        app.button(key=f"jobs_cancel_{place}_{job}").click().run()
        assert labelled.jobs.get(job).cancel


def test_the_last_search_is_shown_after_a_reload_until_its_questions_change(labelled, open_page):
    base = labelled.base("notes")
    recipe = base.recipe()
    grid = {"search.mode": ["lexical", "hybrid"]}
    job = base.tuning.searches.start("checks", grid, recipe, recipe, "mrr@10")
    assert labelled.jobs.run(job).status == "done"
    for _ in range(2):
        tables = [each.value for each in open_page("tuning.py").dataframe]
        assert ["MRR@10 on all questions", "Mode"] in [list(table.columns) for table in tables]
    base.questions.edit_question("checks", "q1", tags=["changed"])
    app = open_page("tuning.py")
    assert "The last search is discarded:" in "".join(info.value for info in app.info)
    tables = [each.value for each in app.dataframe]
    assert not [table for table in tables if "MRR@10 on all questions" in table.columns]
