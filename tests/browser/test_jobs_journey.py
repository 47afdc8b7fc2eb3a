"""An evaluation outlives the page, a reload and the click of a second tab: one run is stored."""

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.waiting import at_rest, comes_true
from tests.workspaces import workspace_at

QUESTIONS = 6000  # so many take longer than the clicks of this journey
LONGEST = 240_000  # milliseconds that they may take on a busy machine


def _ask_many(home: Path) -> None:
    rows = [
        {
            "id": f"q{number}",
            "text": f"What may a hotel cost in town number {number}, and may it cost more?",
            "evidence": [{"document": "travel.md", "quote": "A hotel may cost $120 a night."}],
        }
        for number in range(QUESTIONS)
    ]
    workspace = workspace_at(home)
    base = workspace.base("handbook")
    base.questions.import_file("many", "many.jsonl", "\n".join(map(json.dumps, rows)))
    workspace.close()


def test_an_evaluation_that_was_left_is_there_when_it_is_done(serve, warm_home, page, shoot):
    _ask_many(warm_home)
    with serve(warm_home) as address:
        page.goto(f"{address}/metrics?kb=handbook&set=many")
        page.get_by_role("button", name="Evaluate").wait_for()
        other = page.context.new_page()
        other.goto(f"{address}/metrics?kb=handbook&set=many")
        other.get_by_role("button", name="Evaluate").wait_for()
        page.get_by_text("This set has no results yet.").wait_for()
        below = at_rest(page.get_by_text(f"{QUESTIONS:,} questions. Changed"))

        page.get_by_role("button", name="Evaluate").click()
        at_work = page.get_by_test_id("stMain").get_by_text("Evaluating many")
        at_work.wait_for()
        page.get_by_test_id("stMain").get_by_text("left").first.wait_for()  # questions are done
        assert at_rest(page.get_by_text(f"{QUESTIONS:,} questions. Changed")) == below
        shoot(page, "metrics-evaluating")

        other.get_by_role("button", name="Evaluate").click()  # it still shows the button
        other.get_by_test_id("stMain").get_by_text("Evaluating many").wait_for()
        other.close()

        page.get_by_role("link", name="Documents").click()
        page.get_by_role("heading", level=1, name="Documents").wait_for()
        page.get_by_test_id("stSidebar").get_by_text("Evaluating many").wait_for()
        page.reload()
        page.get_by_test_id("stSidebar").get_by_text("Evaluating many").wait_for()
        page.goto(f"{address}/metrics?kb=handbook&set=many")
        at_work.wait_for()

        at_work.wait_for(state="detached", timeout=LONGEST)  # no click, no reload
        page.get_by_test_id("stMetricValue").nth(4).wait_for()
        page.get_by_role("button", name="Evaluate").wait_for()
        workspace = workspace_at(warm_home)
        base = workspace.base("handbook")
        (run,) = base.runs.list_all()
        assert (run.question_set, run.questions) == ("many", QUESTIONS)
        shown = page.get_by_test_id("stMetricValue").first
        expect(shown).to_have_text(f"{run.metrics['ndcg@10']:.3f}")
        kinds = [job.kind for job in workspace.jobs.recent(base.id)]
        assert kinds.count("evaluate") == 1
        workspace.close()


def test_a_dialog_keeps_its_file_when_a_job_ends(serve, warm_home, page, tmp_path):
    _ask_many(warm_home)
    workspace = workspace_at(warm_home)
    base = workspace.base("handbook")
    base.runs.start_evaluation("many", base.recipe())
    file = tmp_path / "prices.txt"
    file.write_text("What may a hotel cost?\nIn which class are trains booked?")
    with serve(warm_home) as address:
        page.goto(f"{address}/metrics?kb=handbook&set=checks&metrics=Question+sets")
        at_work = page.get_by_test_id("stSidebar").get_by_text("Evaluating many")
        at_work.wait_for()
        page.get_by_role("button", name="Import questions").click()
        page.locator("input[type=file]").set_input_files(file)
        dialog = page.get_by_role("dialog")
        dialog.get_by_text(file.name).wait_for()
        (job,) = workspace.jobs.active(base.id)
        workspace.jobs.cancel(job.id)
        comes_true(page, lambda: not workspace.jobs.active(base.id))
        at_work.wait_for(state="detached")
        page.wait_for_timeout(2500)  # two polls, of which each could draw the page anew
        expect(dialog.get_by_text(file.name)).to_be_visible(timeout=1)
        dialog.get_by_role("button", name="Import", exact=True).click()
        dialog.wait_for(state="detached")
        comes_true(page, lambda: [item.name for item in base.questions.list_all()][-1] == "prices")
    workspace.close()
