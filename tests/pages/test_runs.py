"""The Runs page: leaderboard, baseline, comparison, passages side by side, what is done to runs."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.runs.questions import (
    card,
    figure,
    moved_from,
    moved_to,
    sorted_by_gain,
    takeaway,
)
from pages.components.runs.table import leader, rows, run_names
from pages.components.shell.charts import DARK, LIGHT
from pages.components.shell.text import plain
from rag import (
    AgentCall,
    Chunk,
    Comparison,
    Interval,
    KnowledgeBase,
    RankedPassage,
    Run,
    RunComparison,
    Settings,
    Workspace,
    plain_run_name,
)
from tests.handbook import texts
from tests.pages.conftest import questions_file

OpenPage = Callable[..., AppTest]


@pytest.fixture
def base(labelled: Workspace) -> KnowledgeBase:
    return labelled.base("notes")


def _run(base: KnowledgeBase, **fields: object) -> str:
    changes = {f"search.{name}": value for name, value in fields.items()}
    return base.runs.evaluate("checks", base.recipe().with_fields(changes)).run.id


@pytest.fixture
def pair(base: KnowledgeBase) -> tuple[str, str]:
    """A pinned run that finds everything, and one whose threshold lets nothing through."""
    good, bad = _run(base, threshold=None), _run(base, threshold=1.0)
    base.runs.describe(good, note="As shipped")
    base.runs.pin(good)
    return good, bad


def _said(app: AppTest) -> str:
    return "\n".join(each.value for each in [*app.main.markdown, *app.main.caption])


def test_without_runs_it_leads_to_metrics(base, open_page):
    links = [link.value for link in open_page("runs.py").main.get("page_link")]
    assert links == ["Evaluate a recipe"]


def test_a_single_run_leads_to_another_evaluation(base, open_page):
    _run(base)
    links = [link.value for link in open_page("runs.py").main.get("page_link")]
    assert links == ["Evaluate another recipe"]


def test_the_run_that_leads_is_said_with_its_value_and_the_next(base, pair, open_page):
    values = [f"{base.runs.get(run).metrics['ndcg@10']:.3f}" for run in pair]
    base.runs.pin(pair[1])  # on top of the table, and second
    said = _said(open_page("runs.py"))
    assert re.search(r"As shipped, {}.*{}".format(*values), said)
    high, low = (base.runs.intervals(run)["ndcg@10"] for run in pair)
    assert (":green-badge[" in said) == (low.high < high.low)


def test_a_lead_whose_interval_overlaps_with_the_next_may_be_noise(base, pair):
    first, second = base.runs.leaderboard("checks", "ndcg@10")
    near = replace(second, value=first.value - 0.1, interval=first.interval)
    low = first.interval.low
    apart = replace(near, interval=Interval(low - 0.2, low - 0.1))
    assert leader([first, near], "ndcg@10").startswith(":orange-badge[")
    assert leader([first, apart], "ndcg@10").startswith(":green-badge[")
    tied = replace(first, run=second.run)
    assert leader([first, tied, apart], "ndcg@10").startswith(":green-badge[")
    assert "badge" not in leader([first, tied], "ndcg@10")


def test_what_agents_did_is_listed_newest_first(labelled, base, pair, open_page):
    """Calls about another knowledge base are not."""
    assert "What agents did" not in [box.label for box in open_page("runs.py").main.expander]
    calls = [(base.id, "evaluate"), (base.id, "compare_runs"), (None, "list_knowledge_bases")]
    for base_id, tool in calls:
        labelled.access.agents.note(
            AgentCall(
                at=datetime.now(UTC),
                token_id="",
                agent="tuner",
                base_id=base_id,
                tool=tool,
                arguments={"metric": "mrr@10"},
                reason=f"to {tool}",
                outcome="No change is justified.",
                seconds=1.5,
            )
        )
    (box,) = (b for b in open_page("runs.py").main.expander if b.label == "What agents did")
    table = box.dataframe[0].value
    assert list(table["What"]) == ["compare_runs", "evaluate"]
    assert list(table["Why"]) == ["to compare_runs", "to evaluate"]
    assert (table["Who"][0], table["With"][0]) == ("tuner", "metric: mrr@10")
    assert (table["Outcome"][0], table["Seconds"][0]) == ("No change is justified.", 1.5)


def test_the_baseline_stands_on_top_of_better_runs(base, pair, open_page):
    good, bad = pair
    base.runs.pin(bad)
    table = open_page("runs.py").dataframe[0].value
    assert list(table["Place"]) == ["baseline", "1"]
    intervals = {row.run.created: row.interval for row in base.runs.leaderboard("checks")}
    shown = [f"{intervals[when].low:.3f} to {intervals[when].high:.3f}" for when in table["When"]]
    assert list(table["95% interval"]) == shown
    assert list(table["nDCG@10"]) == [base.runs.get(run).metrics["ndcg@10"] for run in (bad, good)]
    assert list(table["Run"])[1] == "As shipped"
    assert not {"Note", "Tags"} & set(table.columns)  # they would say nothing more
    assert table["Recipe changes"][1] == "threshold 1.0 → off"
    first = ["Place", "nDCG@10", "Run", "Recipe changes"]
    assert list(table.columns)[:4] == first  # what 420 pixels show begins with the figure
    note = "As shipped\nWith the threshold of March."
    base.runs.describe(good, note=note, tags=["release"])
    table = open_page("runs.py").dataframe[0].value
    assert list(table["Note"].fillna("")) == ["", note]
    assert list(table["Tags"][1]) == ["release"]


def test_runs_of_one_name_are_told_apart_by_their_time(base, pair):
    (row,) = [
        row for row in rows(base, "checks", "ndcg@10", base.runs.list_all()) if row.is_baseline
    ]
    moments = {"a": (9, 5, 1), "b": (9, 5, 2), "c": (10, 0, 0), "d": (11, 0, 0), "e": (11, 0, 0)}
    board = [
        replace(row, run=replace(row.run, id=name * 8, created=datetime(2026, 1, 2, *moment)))
        for name, moment in moments.items()
    ]
    assert list(run_names(board).values()) == [
        "As shipped, 2026-01-02 09:05:01 UTC",
        "As shipped, 2026-01-02 09:05:02 UTC",
        "As shipped, 2026-01-02 10:00 UTC",
        "As shipped, run dddddd",
        "As shipped, run eeeeee",
    ]


def test_a_gate_says_what_it_checked_and_is_not_the_run_of_metrics(base, home, open_page):
    seen = base.runs.evaluate("checks", base.recipe()).run
    variables = {"GITHUB_REF_NAME": "main", "GITHUB_SHA": "1a2b3c4d5e6f"}
    with closing(Workspace(Settings.from_env(variables, home=home))) as pipeline:
        gates = pipeline.base("notes").runs
        gate = gates.gate("checks", base.recipe(), {"ndcg@10": 0.0}).evaluation.run
    assert (seen.purpose, base.runs.get(gate.id).purpose) == ("", "gate, CI main 1a2b3c4d")
    assert base.runs.differences(gate.id, seen.id).sentences == ()
    shown = open_page("runs.py").dataframe[0].value
    assert shown["Made for"].dropna().tolist() == ["gate, CI main 1a2b3c4d"]
    keys = [str(table.key) for table in open_page("metrics.py", set="checks").dataframe]
    assert any(seen.id in key for key in keys)
    assert not any(gate.id in key for key in keys)


def test_runs_stay_ticked_when_the_metric_changes_and_changes_back(pair, open_page):
    app = open_page("runs.py")
    app.query_params["runs"] = ",".join(pair)
    app.selectbox(key="metric").select("Recall@10").run()
    assert app.query_params["runs"] == ",".join(pair)
    app.selectbox(key="metric").select("nDCG@10").run()
    assert app.query_params["runs"] == ",".join(pair)
    assert "Comparison" in [one.value for one in app.header]


def test_runs_on_other_labels_are_compared_by_those_of_today(base, pair, open_page):
    good, _ = pair
    graded = questions_file().replace('"quote"', '"grade": 3, "quote"', 1)
    base.questions.import_file("checks", "checks.jsonl", graded)
    again = _run(base, threshold=1.0)
    said = _said(open_page("runs.py", runs=f"{good},{again}"))
    assert "Not comparable" not in said
    (row,) = base.runs.compare([again], good)
    assert row.caveats[0].startswith("The labels changed")
    assert plain(row.caveats[0]) in said
    assert "by the labels of today" in said


def test_runs_on_other_documents_say_so_and_get_no_verdict(base, pair, open_page):
    good, _ = pair
    gone = [d.id for d in base.documents.documents(base.recipe().index) if d.name == "travel.txt"]
    base.documents.delete_documents(gone)
    again = _run(base, threshold=1.0)
    app = open_page("runs.py", runs=f"{good},{again}")
    table = app.dataframe[0].value
    assert list(table["Place"]) == ["baseline", "2", "⚠"]
    assert list(table["Other data"])[2] == ["documents"]
    (found,) = base.runs.compare([again], good)
    said = _said(app)
    assert "Not comparable" in said
    assert "Worse" not in said
    chart = figure(found, LIGHT)
    assert {bar.marker.color for bar in chart.data} == {LIGHT.lexical}
    assert {bar.marker.color for bar in figure(found, DARK).data} == {DARK.lexical}
    report = base.runs.report(again, good)
    assert "Not comparable: the documents differ." in report


def test_a_run_is_pinned_and_unpinned(base, pair, open_page):
    _, bad = pair
    app = open_page("runs.py", runs=bad)
    app.button(key="runs_pin").click().run()
    baseline = base.runs.baseline("checks")
    assert baseline
    assert baseline.id == bad
    assert app.button(key="runs_pin").label == "Unpin"
    app.button(key="runs_pin").click().run()
    assert base.runs.baseline("checks") is None


def test_a_note_and_tags_are_edited(base, pair, open_page):
    _, bad = pair
    app = open_page("runs.py", runs=bad)
    app.button(key="runs_note").click().run()
    app.text_area[0].set_value("Too strict")
    app.get_by_key(f"runs_note_tags_{bad}").set_value(["strict"])
    app.button(key="runs_note_save").click().run()
    kept = base.runs.get(bad)
    assert (kept.note, kept.tags) == ("Too strict", ("strict",))


def test_using_a_recipe_makes_it_the_working_one(base, pair, open_page):
    _, bad = pair
    app = open_page("runs.py", runs=bad)
    app.button(key=f"runs_use_{bad}").click().run()
    assert "search\\.threshold: auto → **1\\.0**" in "".join(m.value for m in app.sidebar.markdown)
    assert base.recipe().search.threshold == "auto"


def test_tokens_are_rounded_alike_in_the_table_and_in_the_comparison(pair, open_page, monkeypatch):
    monkeypatch.setattr(Run, "context_tokens", property(lambda _run: 210.5))
    app = open_page("runs.py", runs=",".join(pair))
    assert set(app.dataframe[0].value["Context tokens"]) == {210}
    assert plain("210, the other run 210") in _said(app)


def test_two_runs_are_compared_in_a_sentence_to_quote(base, pair, open_page):
    good, bad = pair
    app = open_page("runs.py", runs=f"{good},{bad}")
    (found,) = base.runs.compare([bad], good)
    figures = found.figures
    assert (figures.won, figures.lost + figures.tied) == (0, 3)
    said = _said(app)
    assert plain(figures.evidence) in said
    assert app.button(key=f"runs_use_{bad}").label == plain(
        f"Use {base.runs.recipe_name(base.runs.get(bad).recipe)}"
    )
    assert app.main.button[-1].key == "runs_delete"
    assert "threshold 1\\.0** against **As shipped" in said
    rates = [f"{base.runs.get(name).metrics['correct_refusal']:.0%}" for name in (bad, good)]
    assert plain("Refused by the search: {}, the other run {} ".format(*rates)) in said
    tokens = base.runs.get(good).context_tokens
    assert plain(f"0, the other run {tokens:,.0f}") in said
    board = app.dataframe[0].value
    assert sorted(board["Context tokens"]) == [0, round(tokens)]
    table = app.dataframe[1].value
    assert list(table["Question"]) == [row.text for row in found.regressions]
    # With a threshold of 1 nothing passes, so what the good run found is cut.
    assert list(table)[:2] == ["Question", "Difference"]  # a phone shows no more
    assert list(table["First relevant"]) == [
        f"{row.first_before} → {row.first_before} (cut)" for row in found.regressions
    ]


@pytest.mark.parametrize(("verdict", "first"), [("better", True), ("undecided", False)])
def test_a_run_is_offered_first_only_where_it_is_better(
    pair, open_page, monkeypatch, verdict, first
):
    good, bad = pair
    monkeypatch.setattr(Comparison, "verdict", property(lambda _: verdict))
    app = open_page("runs.py", runs=f"{good},{bad}", against=bad)
    keys = [one.key for one in app.main.button if one.key]
    places = [keys.index(f"runs_use_{good}"), keys.index(f"tour_compared_{good}_{bad}")]
    assert (places == sorted(places)) is first
    (box,) = (one for one in app.main.expander if one.label == "How it was tested")
    inside = [one.value for one in box.caption if "bpref" in one.value]
    assert inside == [one.value for one in app.main.caption if "bpref" in one.value] != []


def test_runs_of_one_recipe_have_identical_results_and_are_told_apart(base, open_page):
    runs = [_run(base) for _ in range(2)]
    app = open_page("runs.py", runs=",".join(runs))
    assert len(set(app.selectbox(key="runs_against").options)) == 2
    assert "both search alike" in _said(app)
    assert "Keep " not in texts(app)
    assert "Identical" in texts(app)
    assert "to any value between" not in texts(app)


def test_runs_that_return_more_of_one_ranking_say_how_many(base, open_page):
    runs = [_run(base, top_k=top_k) for top_k in (3, 7)]
    said = texts(open_page("runs.py", runs=",".join(runs)))
    assert re.search(r"Identical.*\b[37] of them.*\b[37]\.", said)


def test_runs_are_compared_by_metrics_of_answers(labelled, base, open_page):
    for threshold in (0.3, 0.99):
        recipe = base.recipe().with_fields({"search.threshold": threshold})
        assert labelled.jobs.run(base.runs.start_answers("checks", recipe)).status == "done"
    after, before = base.runs.list_all("checks")
    for metric, title in (
        ("correct_decision", "Correct decisions"),
        ("answer_relevance", "Answer relevance"),
        ("citation_precision", "Citation precision"),
    ):
        app = open_page("runs.py", runs=f"{before.id},{after.id}", metric=title)
        assert [one.value for one in app.error] == []
        (found,) = base.runs.compare([after.id], before.id, metric)
        said = _said(app)
        assert plain(found.figures.headline) in said
        assert plain(found.figures.evidence) in said
        mean = sum(found.figures.differences.values()) / len(found.figures.differences)
        assert found.figures.difference == pytest.approx(mean)
        assert found.figures.mean == pytest.approx(after.metrics[metric])


def test_a_run_without_scored_answers_is_named_and_no_trial_is_noted(labelled, base, open_page):
    plain_run = _run(base, threshold=None)
    base.runs.describe(plain_run, note="Search only")
    job = base.runs.start_answers("checks", base.recipe())
    assert labelled.jobs.run(job).status == "done"
    answered = next(run.id for run in base.runs.list_all() if run.id != plain_run)
    app = open_page("runs.py", runs=f"{plain_run},{answered}", metric="Correct decisions")
    assert [one.value for one in app.error] == []
    assert len(app.info) == 1
    assert base.questions.tried("checks") == []


def test_the_reference_is_chosen(base, pair, open_page):
    good, bad = pair
    app = open_page("runs.py", runs=f"{good},{bad}", against=bad, outcome="Won")
    (found,) = base.runs.compare([good], bad)
    assert found.figures.won > 0
    assert f"Better on {found.figures.won} question" in _said(app)
    won = [row.text for row in found.rows if row.outcome == "won"]
    assert list(app.dataframe[1].value["Question"]) == won


def test_without_a_baseline_the_older_run_is_the_reference(base, open_page):
    first, second = _run(base, threshold=None), _run(base, threshold=1.0)
    app = open_page("runs.py", runs=f"{first},{second}")
    assert app.selectbox(key="runs_against").value == first
    assert "threshold off → 1" in _said(app)


def test_a_run_of_the_saved_recipe_is_the_reference(base, open_page):
    experiment = _run(base, threshold=1.0)
    by_saved = base.runs.evaluate("checks", base.recipe()).run.id
    app = open_page("runs.py", runs=f"{experiment},{by_saved}")
    assert app.selectbox(key="runs_against").value == by_saved


def test_the_plain_name_of_a_run_has_its_threshold(base):
    for threshold, figures in ((0.4, ["5", "0.4"]), ("auto", ["5"])):
        run = base.runs.get(_run(base, threshold=threshold))
        name = plain_run_name(run, base.runs.recipe_name(run.recipe))
        assert re.findall(r"[\d.]+", name) == figures


def test_held_out_questions_can_be_reported_alone(base, pair, open_page):
    good, bad = pair
    app = open_page("runs.py", runs=f"{good},{bad}", on="Held-out only")
    ids = base.questions.split("checks").held_out
    (found,) = base.runs.compare([bad], good, held_out=ids)
    assert found.figures.kind == "held-out"
    assert plain(found.figures.evidence) in _said(app)


def test_three_runs_have_a_table_with_corrected_p(base, pair, open_page):
    good, bad = pair
    words = _run(base, threshold=None, mode="lexical")
    app = open_page("runs.py", runs=f"{good},{bad},{words}")
    table = app.dataframe[1].value
    run_column = json.loads(app.dataframe[1].proto.columns)["Run"]
    assert (run_column["pinned"], run_column["width"]) == (True, 220)
    order = [row.run.id for row in base.runs.leaderboard("checks") if row.run.id != good]
    found = base.runs.compare(order, good)
    assert list(table["p"]) == [each.figures.p for each in found]
    assert list(table["p alone"]) == [each.figures.raw_p for each in found]
    assert list(table["Lost"]) == [each.figures.lost for each in found]


def test_a_question_in_the_address_shows_both_rankings(base, pair, open_page):
    good, bad = pair
    app = open_page("runs.py", runs=bad, question="q3")
    sides = base.runs.side_by_side(bad, good, "q3")
    said = _said(app)
    assert "### What may a hotel cost\\?" in said
    assert "**1** · travel\\.txt" in said
    assert said.count(":orange-badge[gone]") == len(sides.before) - len(sides.after)
    assert [each.value for each in app.info] == ([] if sides.after else ["Nothing came back."])


def test_the_map_shows_which_document_lost_questions_are_near(labelled, base, pair, open_page):
    good, bad = pair
    asked = {"runs": bad, "against": good, "pair": "Where?"}
    app = open_page("runs.py", **asked)
    labelled.jobs.run(base.documents.maps.draw(base.recipe().index))
    app = open_page("runs.py", **asked)
    compared = base.runs.compare([bad], good, "ndcg@10", None)[0]
    lost = [row for row in compared.rows if row.outcome == "lost"]
    assert f"{len(lost)} question" in _said(app)
    traces = json.loads(app.get("plotly_chart")[-1].proto.spec)["data"]
    marks = {trace["name"]: trace for trace in traces}
    drawn = marks[f"worse ({len(lost)})"]
    assert [row[0] for row in drawn["customdata"]] == [row.question_id for row in lost]
    assert drawn["marker"]["symbol"] == "triangle-down"


def test_deleting_asks_and_names_the_baseline(base, pair, open_page):
    good, bad = pair
    app = open_page("runs.py", runs=f"{good},{bad}")
    app.button(key="runs_delete").click().run()
    assert {run.id for run in base.runs.list_all()} == {good, bad}
    app.button(key="runs_delete_really").click().run()
    assert base.runs.list_all() == []


def test_a_run_that_cannot_be_repeated_has_no_bundle(base, pair, open_page):
    bundle = {b.label: b for b in open_page("runs.py", runs=pair[1]).get("download_button")}
    files = ["Report (HTML)", "Recipe (JSON)", "Bundle (ZIP)", "TREC run", "TREC qrels"]
    assert list(bundle) == files
    assert not bundle["Bundle (ZIP)"].disabled
    base.questions.add_question("checks", "And what about this?")
    changed = {b.label: b for b in open_page("runs.py", runs=pair[1]).get("download_button")}
    assert changed["Bundle (ZIP)"].disabled
    assert not changed["Report (HTML)"].disabled


def test_another_index_makes_no_run_old(labelled, base, pair, open_page):
    job = base.documents.build(base.recipe().with_fields({"index.chunker": "whole"}).index)
    assert job is not None
    labelled.jobs.run(job)
    assert base.version() > base.runs.get(pair[1]).base_version
    (bundle,) = [
        button
        for button in open_page("runs.py", runs=pair[1]).get("download_button")
        if button.label == "Bundle (ZIP)"
    ]
    assert not bundle.disabled
    warned = [each.value for each in open_page("metrics.py").warning]
    assert not any("documents" in each for each in warned)


@pytest.fixture
def found(base: KnowledgeBase, pair: tuple[str, str]) -> RunComparison:
    return base.runs.compare([pair[1]], pair[0])[0]


def test_bars_go_from_gain_to_loss(found):
    rows = sorted_by_gain(found.rows)
    assert [row.difference for row in rows] == sorted(
        (row.difference for row in found.rows), reverse=True
    )
    chart = figure(found, LIGHT)
    assert sum(len(each.y) for each in chart.data) == len(found.rows)
    assert chart.data[0].marker.color == LIGHT.lexical
    assert takeaway(found).startswith("Better on 0 questions")


def test_moves_are_marked():
    up, down, new, same = (
        RankedPassage(3, 0.5, 0, "a.md", None, other) for other in (5, 1, None, 3)
    )
    assert [moved_to(each) for each in (up, down, new, same)] == [
        ":green[▲ 2]",
        ":orange[▼ 2]",
        ":blue-badge[new]",
        "",
    ]
    assert [moved_from(each) for each in (up, down, new, same)] == [
        ":gray[→ 5]",
        ":gray[→ 1]",
        ":orange-badge[gone]",
        "",
    ]


def test_a_card_has_no_marks_of_markdown():
    chunk = Chunk(1, "d", 0, 40, "### Setup\n\n- Riders choose **one** class.", 0)
    said = card(RankedPassage(1, 0.5, 0, "a.md", chunk, 1), is_after=True)
    assert said.endswith(r":small[:gray[Setup  Riders choose one class\.]]")


def test_a_tour_names_two_compared_runs_without_their_times(base, open_page):
    first, again, wide = _run(base), _run(base), _run(base, top_k=8)
    app = open_page("runs.py", runs=f"{first},{wide}", against=first)
    app.button(key=f"tour_compared_{wide}_{first}").click().run()
    (title,) = [one.value for one in app.subheader if "Is it better" in one.value]
    assert again not in title
    assert "UTC" not in title
    assert [words in title for words in ("8 passages", "5 passages")] == [True, True]


def test_a_tour_names_two_indexes_without_terms_of_a_recipe(labelled, base, open_page):
    recipe = base.recipe().with_fields({"index.chunker": "whole"})
    labelled.jobs.run(base.documents.build(recipe.index))
    first, whole = _run(base), base.runs.evaluate("checks", recipe).run.id
    app = open_page("runs.py", runs=f"{first},{whole}", against=first)
    app.button(key=f"tour_compared_{whole}_{first}").click().run()
    (title,) = [one.value for one in app.subheader if "Is it better" in one.value]
    assert title.count("chunker") == 2
    said = "\n".join(one.value for one in app.caption if "nDCG" in one.value)
    assert plain("by meaning and words, 5 passages, chunker whole") in said
    assert "hybrid" not in title + said
    folded = [one.label for one in app.expander]
    assert folded.count("How it was tested") == 2  # of the page, and of the stop
