"""The Tuning page: figures that follow the sliders, curves, the best recipe, the threshold."""

import json
import re
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from streamlit.proto.Metric_pb2 import Metric as MetricProto
from streamlit.testing.v1 import AppTest

from pages.components.recipe.working_recipe import read_values
from pages.components.shell.text import CONTEXTS, plain
from pages.components.tuning import bench
from pages.components.tuning.curves import (
    ANSWERED,
    REFUSED,
    front_takeaway,
    threshold_headline,
    threshold_takeaway,
)
from rag import (
    Comparison,
    InvalidInput,
    PromiseCurves,
    Recipe,
    ThresholdCurve,
    TopicProbabilities,
    Tuner,
    Workspace,
    chunker_name,
)
from rag.evaluation.comparison import compare
from tests.handbook import unfold
from tests.pages.conftest import DOCUMENTS, fill, finished

OpenPage = Callable[..., AppTest]
NAMES = ("ndcg@10", "mrr@10", "recall@10", "precision@5", "correct_refusal")
LABELS = ("nDCG@10", "MRR@10", "Recall@10", "Precision@5", "Refused by the search")


def _cards(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def _evaluated(workspace: Workspace, recipe: Recipe) -> dict[str, str]:
    metrics = workspace.base("notes").runs.evaluate("checks", recipe).run.metrics
    shown = [f"{metrics[name]:.3f}" for name in NAMES[:-1]]
    return dict(zip(LABELS, [*shown, f"{metrics[NAMES[-1]]:.0%}"], strict=True))


def _said(app: AppTest, words: str) -> str:
    return next(one.value for one in [*app.caption, *app.markdown] if words in one.value)


def test_the_cards_are_those_of_an_evaluation(labelled: Workspace, open_page: OpenPage) -> None:
    app = open_page("tuning.py")
    assert _cards(app) == _evaluated(labelled, labelled.base("notes").recipe())
    assert [metric.delta for metric in app.metric] == [""] * 5
    assert "doubtful answers" in app.metric[4].help  # which *Rightly unanswered* counts


def test_questions_in_a_language_that_the_embedder_lacks_are_named(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not open_page("tuning.py").info
    monkeypatch.setattr(Tuner, "unknown_languages", lambda *_: {"fr": 2})
    [note] = open_page("tuning.py").info
    assert "2 questions are in French" in note.value
    assert "threshold" in note.value
    [note] = open_page("tuning.py", mode="dense").info
    assert "threshold" not in note.value  # there it applies


def test_a_slider_changes_the_figures_and_shows_the_change(
    labelled: Workspace, open_page: OpenPage
) -> None:
    saved = labelled.base("notes").recipe()
    app = open_page("tuning.py")
    app.slider(key="threshold").set_value(1.0).run()
    app.segmented_control(key="cut").set_value("Set").run()
    strict = saved.with_fields({"search.threshold": 1.0})
    assert _cards(app) == _evaluated(labelled, strict)
    before = float(_evaluated(labelled, saved)["nDCG@10"])
    assert app.metric[0].delta == f"−{before:.3f}"
    assert app.metric[0].proto.direction == MetricProto.DOWN
    assert "%, because a verdict needs p ≤ 0.02 over 5 comparisons together)." in app.metric[0].help
    assert app.metric[4].value == "100%"


@pytest.mark.parametrize("threshold", [0.2, 0.29, 0.47])
def test_the_headline_has_the_recall_of_its_very_threshold(
    labelled: Workspace, open_page: OpenPage, threshold: float
) -> None:
    base = labelled.base("notes")
    app = open_page("tuning.py", threshold=str(threshold))
    recipe = base.recipe().with_fields({"search.threshold": threshold})
    figures = base.tuning.tuner("checks").figures([recipe], ["recall@5"], as_shown=True)
    [headline] = [one.value for one in app.markdown if "recall@5 is" in one.value]
    assert f"recall@5 is {figures.metrics['recall@5'][0].mean():.3f}" in headline


def test_a_top_k_beyond_the_ranks_of_the_cards_says_so(
    labelled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("tuning.py")
    before = _cards(app)
    app.slider(key="k").set_value(15).run()
    assert _cards(app) == before
    assert _said(app, "first 10 ranks").count("top-k 15") == 1


def test_figures_of_a_filter_by_tag_follow_the_tags(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    base.recipes.save(base.recipe().with_fields({"search.tags": ["policy"]}))
    app = open_page("tuning.py")
    assert _cards(app)["Recall@10"] == "0.000"
    for tagged in (["leave.md"], ["leave.md", "pump.txt"]):
        base.documents.tag(tagged[-1], ["policy"])
        app.run()
        assert _cards(app) == _evaluated(labelled, base.recipe())
        assert _cards(app)["Recall@10"] == f"{len(tagged) / 3:.3f}"


def test_the_url_says_what_is_shown(labelled: Workspace, open_page: OpenPage) -> None:
    app = open_page("tuning.py", curve="Weight", w="0.3", half="true")
    recipe = labelled.base("notes").recipe().with_fields({"search.dense_weight": 0.3})
    tuner = labelled.base("notes").tuning.tuner("checks")
    means = tuner.figures([recipe], ["ndcg@10"], "tuning").means("ndcg@10")
    assert _cards(app)["nDCG@10"] == f"{means[0]:.3f}"
    assert "weight" in _said(app, "nDCG@10 ")


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        ("Threshold", "##### :green-badge["),
        ("Weight", "nDCG@10"),
        ("Top-k", "The first 5 contain"),
        ("Map", "Score: nDCG@10 of a question"),
        ("Cost", "Click a point to try its recipe."),
    ],
)
def test_every_curve_has_a_sentence(
    labelled: Workspace, open_page: OpenPage, curve: str, words: str
) -> None:
    app = open_page("tuning.py", curve=curve)
    assert _said(app, words)
    assert not app.error


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ((0.0, 0.95, 1.0), ["95%", "2%", "0.830"]),
        ((0.0, 0.5, 1.0), ["50%", "2%", "0.830"]),  # at 0.9, hardly any passage is left
    ],
)
def test_a_threshold_that_refuses_says_what_recall_it_costs(
    refused: Sequence[float], said: list[str]
) -> None:
    lines = {"Recall@5": (0.9, 0.83, 0.1), ANSWERED: (1.0, 0.98, 0.2), REFUSED: refused}
    sentence = threshold_takeaway((0.0, 0.5, 0.9), lines, None)
    assert re.findall(r"\d+%|\d\.\d{3}", sentence) == said
    assert "0.50" in sentence


def test_a_threshold_that_costs_most_answers_is_not_named() -> None:
    lines = {
        "Recall@5": (0.7, 0.8, 0.5, 0.1),
        ANSWERED: (1.0, 1.0, 0.6, 0.3),
        REFUSED: (0.0, 0.0, 0.5, 1.0),
    }
    sentence = threshold_takeaway((0.0, 0.3, 0.5, 0.7), lines, 0.0)
    assert re.findall(r"\d\.\d+|\d+%", sentence) == [
        *("0.50", "50%", "40%", "0.500"),
    ]


@pytest.mark.parametrize(
    ("recall", "last"),
    [((0.8, 0.8, 0.8, 0.1), "0.40"), ((0.8, 0.8, 0.5, 0.8, 0.1), "0.20")],
    ids=["one range", "as high again"],
)
def test_equally_high_recall_is_said_with_both_ends(recall: Sequence[float], last: str) -> None:
    x = (0.0, 0.2, 0.4, 0.7, 0.9)[: len(recall)]
    headline = threshold_headline(x, {"Recall@5": recall}, 0.9, _recalls(0.1, 0.8))
    assert re.findall(r"\d\.\d+", headline) == ["0.90", "0.100", "0.800", "0.00", last]


@pytest.mark.parametrize(
    ("now", "here", "figures"),
    [
        (None, 0.7, ["orange", "Set", "0.700", "0.800", "0.30"]),
        (0.15, 0.72, ["orange", "Raise", "0.15", "0.720", "0.800", "0.30"]),  # between two steps
        (0.85, 0.15, ["orange", "Lower", "0.85", "0.150", "0.800", "0.30"]),
        (0.29, 0.795, ["green", "0.29", "0.795", "0.01"]),
        (0.31, 0.9, ["green", "0.31", "0.900", "0.01"]),  # higher than at any step
    ],
)
def test_the_headline_has_recall_now_and_the_best(
    now: float | None, here: float, figures: list[str]
) -> None:
    lines = {"Recall@5": (0.7, 0.8, 0.1)}
    headline = threshold_headline((0.0, 0.3, 0.9), lines, now, _recalls(here, 0.8))
    found = re.findall(r"\d\.\d+|orange|green|Set|Raise|Lower", headline)
    assert found == figures


def test_a_best_threshold_within_noise_says_so_and_proposes_no_change(
    labelled: Workspace, open_page: OpenPage
) -> None:
    app = open_page("tuning.py", threshold="0.9")
    [headline] = [one.value for one in app.markdown if "recall@5 is" in one.value]
    assert "within noise" in headline
    assert "on all 3 questions, which picked it" in headline
    assert headline.startswith("##### :gray-badge[")


def test_a_cheaper_recipe_with_a_higher_figure_is_called_higher() -> None:
    change = compare("ndcg@10", {"1": 0.2, "2": 0.314}, {"1": 0.252, "2": 0.2})
    said = front_takeaway((100.0, 0.226), (80.0, 0.257), "top 3", change, "tokens")
    higher, *_ = said.split("(")
    assert "higher" in higher.lower()
    assert re.findall(r"0\.\d{3}", said)[:2] == ["0.257", "0.226"]
    same = front_takeaway((100.0, 0.226), (80.0, 0.226), "top 3", change, "tokens")
    assert "higher" not in same.lower()


def _recalls(here: float, best: float) -> Comparison:
    """Recall of the best threshold against that of the present one, the same on each question."""
    ids = [str(number) for number in range(400)]
    return compare("recall@5", dict.fromkeys(ids, best), dict.fromkeys(ids, here), picked_from=3)


def test_the_threshold_that_tells_most_apart_is_said_with_its_cost() -> None:
    lines = {
        "Recall@15": (1.0, 0.8, 0.55, 0.2),
        ANSWERED: (1.0, 0.9, 0.6, 0.2),
        REFUSED: (0.0, 0.5, 0.75, 1.0),  # more at 0.50, at the cost of answerable ones
    }
    sentence = threshold_takeaway((0.0, 0.4, 0.5, 0.65), lines, 0.4)
    assert re.findall(r"\d\.\d+|\d+%", sentence) == [
        *("0.40", "50%", "10%", "0.800"),
    ]


def test_another_split_counts_at_once(labelled: Workspace, open_page: OpenPage) -> None:
    base = labelled.base("notes")
    for seed in range(2):
        base.questions.set_split("checks", seed, 0.5)
        parts = base.questions.split("checks")
        shown = f"{len(parts.tuning)} for tuning: that leaves the {len(parts.held_out)} held-out "
        assert shown in open_page("tuning.py").get_by_key("half").proto.help


def test_the_best_recipe_is_applied(labelled: Workspace, open_page: OpenPage) -> None:
    base = labelled.base("notes")
    base.recipes.save(base.recipe().with_fields({"search.threshold": 1.0}))
    app = open_page("tuning.py", cut="Off")
    app.button(key="tuning_search").click().run()
    assert finished(labelled, "search-all").status == "done"
    app.run()
    found = base.tuning.searches.result("checks")
    app.button(key="tuning_apply").click().run()
    best = found.recipe
    assert best.search.threshold is None
    assert _cards(app) == _evaluated(labelled, best)


def test_a_threshold_set_while_the_way_to_set_it_is_on_its_way_is_kept(
    labelled: Workspace, open_page: OpenPage
) -> None:
    app = unfold(open_page("tuning.py"))
    app.slider(key="threshold").set_value(0.9)
    app.segmented_control(key="cut").set_value("Set").run()
    assert app.slider(key="threshold").value == 0.9
    strict = labelled.base("notes").recipe().with_fields({"search.threshold": 0.9})
    assert _cards(app) == _evaluated(labelled, strict)


def test_a_threshold_that_was_moved_back_is_no_change(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    base.recipes.save(base.recipe().with_fields({"search.threshold": "auto"}))
    app = open_page("tuning.py")
    automatic = app.slider(key="threshold").value
    app.slider(key="threshold").set_value(0.9).run()
    assert app.segmented_control(key="cut").value == "Set"
    assert not app.button(key="frame_recipe_reset").disabled
    app.slider(key="threshold").set_value(automatic).run()
    assert app.segmented_control(key="cut").value == "Auto"
    assert app.button(key="frame_recipe_reset").disabled


def test_what_refusing_other_topics_does_is_said(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = TopicProbabilities(np.linspace(0, 1, 40), np.arange(40) >= 10, 0.1)
    monkeypatch.setattr(Tuner, "topic_probabilities", lambda *_: found)
    app = open_page("tuning.py", refuse="auto")  # as addresses had it
    off_topic = app.selectbox(key="refuse")
    assert (off_topic.options, off_topic.value) == (["Auto", "Off"], "Auto")
    assert app.segmented_control(key="cut").options == ["Auto", "Set", "Off"]
    said = "refuses 0% of answerable questions and 40% of unanswerable questions"
    assert _said(app, "limit now") == f"**Off-topic limit now 0.100:** by itself, it {said}."
    assert _said(app, "The limit is a probability between 0 and 1")
    returned = "the search returns passages for 100% of the answerable questions"
    now = f"the search refuses {app.metric[4].value} of those without an answer"
    assert _said(app, "**Now") == f"**Now:** {returned}, {now}."
    chosen = found.chosen(0.05)
    app.button(key="tuning_use_refusal").click().run()
    assert _said(app, f"**Off-topic limit now {chosen.limit:.3f}:**")


def test_a_limit_that_only_harms_is_not_offered(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.concatenate([np.linspace(0.3, 1.0, 30), np.full(10, 0.9)])
    found = TopicProbabilities(values, np.arange(40) < 30, 0.1)
    monkeypatch.setattr(Tuner, "topic_probabilities", lambda *_: found)
    app = open_page("tuning.py")
    chosen = found.chosen(0.05)
    assert (chosen.in_sample.answerable, chosen.in_sample.unanswerable) == (1 / 30, 0.0)
    assert "tuning_use_refusal" not in [button.key for button in app.button]


@pytest.mark.parametrize("answerable", [19, 20])
def test_a_limit_of_refusals_takes_enough_questions(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, answerable: int
) -> None:
    found = TopicProbabilities(np.linspace(0, 1, 40), np.arange(40) < answerable, 0.1)
    monkeypatch.setattr(Tuner, "topic_probabilities", lambda *_: found)
    app = open_page("tuning.py")
    drawn = any(slider.key == "refusal_cost" for slider in app.slider)
    assert drawn is (answerable >= 20)
    reason = "It takes 20 answerable questions to choose a limit by labels."
    assert (reason in [one.value for one in app.caption]) is (answerable < 20)


@pytest.mark.parametrize(("questions", "enough"), [(1, False), (40, True)])
def test_the_precision_to_promise_is_set_only_if_the_labels_can_promise_any(
    labelled: Workspace,
    open_page: OpenPage,
    monkeypatch: pytest.MonkeyPatch,
    questions: int,
    enough: bool,
) -> None:
    all_of_them = np.ones(questions, bool)
    relevance = np.linspace(0.9, 0.1, questions)
    curve = ThresholdCurve.of(relevance, all_of_them, np.arange(questions), all_of_them)
    monkeypatch.setattr(Tuner, "promise_curves", lambda *_: PromiseCurves(curve))
    app = open_page("tuning.py", precision="0.6")
    drawn = [slider.value for slider in app.slider if slider.key == "precision"]
    assert drawn == ([0.6] if enough else [])
    assert app.button(key="tuning_use_floor").disabled is not enough


def test_a_threshold_says_what_it_costs_before_it_is_used(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answerable = np.arange(60) < 50
    relevance = np.concatenate([np.linspace(0.95, 0.25, 50), np.linspace(0.5, 0.3, 10)])
    relevant = answerable & (relevance > 0.6)
    curve = ThresholdCurve.of(relevance, relevant, np.arange(60), answerable)
    monkeypatch.setattr(Tuner, "threshold_curve", lambda *_: curve)
    monkeypatch.setattr(Tuner, "promise_curves", lambda *_: PromiseCurves(curve))
    app = open_page("tuning.py", precision="0.6", threshold="0.2")
    point = PromiseCurves(curve).promise(0.6).point
    after = curve.at(int(point.threshold * 1000) / 1000)
    lost, refused = 50 - after.answering.part, after.refusing.part
    said = (
        f"It returns passages for {50 - lost} of 50 answerable questions instead of 50, and "
        f"refuses {refused} of 10 without an answer instead of 0."
    )
    assert lost > refused
    assert [each.value for each in app.warning][1:] == [f"{said} It loses more than it gains."]


def test_too_few_labels_are_said(labelled: Workspace, open_page: OpenPage) -> None:
    app = open_page("tuning.py")
    assert app.warning[0].value.startswith("4 questions: too few to tell recipes apart.")
    app.button(key="tuning_fit").click().run()
    assert finished(labelled, "calibrate").status == "failed"
    app.run()
    assert (
        labelled.base("notes").tuning.calibrator.fitted(labelled.base("notes").recipe().index)
        is None
    )


def test_without_questions_there_is_a_way(filled: Workspace, open_page: OpenPage) -> None:
    app = open_page("tuning.py")
    assert [link.value for link in app.get("page_link")] == ["Get questions"]


def test_new_labels_and_documents_are_seen(labelled: Workspace, open_page: OpenPage) -> None:
    app = open_page("tuning.py")
    before = _cards(app)
    base = labelled.base("notes")
    extra = {f"hotel {n}.txt": "What may a hotel cost? Nobody knows." for n in range(12)}
    assert labelled.jobs.run(fill(base, {**DOCUMENTS, **extra})).status == "done"
    app.run()
    assert _cards(app) == _evaluated(labelled, base.recipe()) != before


def test_values_of_the_grid_are_read_as_people_write_them() -> None:
    assert read_values("0.4, 0.6,1") == [0.4, 0.6, 1]
    assert read_values(" weighted , rrf,") == ["weighted", "rrf"]
    assert read_values("null, auto, true") == [None, "auto", True]


def test_quality_is_held_against_time_too(labelled: Workspace, open_page: OpenPage) -> None:
    app = open_page("tuning.py", curve="Cost", cost="Time")
    (chart,) = [each for each in app.get("plotly_chart") if "tuning_front" in str(each.proto)]
    spec = json.loads(chart.proto.spec)
    labels = [label for _, label in spec["data"][0]["customdata"]]
    assert labels[:2] == ["lexical, 10 candidates", "lexical, 20 candidates"]
    assert len(labels) == 12
    quality = labelled.base("notes").runs.evaluate(
        "checks", labelled.base("notes").recipe().with_fields({"search.mode": "lexical"})
    )
    assert spec["data"][0]["y"][0] == quality.run.metrics["ndcg@10"]


def test_ways_to_cut_are_built_as_a_job_and_compared(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    app = open_page("tuning.py", cuts="true")
    app.multiselect(key="cut_chunkers").set_value(["markdown", "whole"]).run()
    app.switch_page("metrics.py").run()
    app.query_params.clear()  # as the navigation does
    app.switch_page("tuning.py").run()
    assert app.multiselect(key="cut_chunkers").value == ["markdown", "whole"]
    said = _said(app, "is built")
    assert "1 of 2 indexes is built. Builds 3 passages, about" in said
    app.button(key="tuning_cut_build").click().run()
    (job,) = [each for each in labelled.jobs.recent(base.id) if each.kind == "build-several"]
    labelled.jobs.run(job.id)
    app.run()
    app.button(key="tuning_cut_compare").click().run()
    assert finished(labelled, "build-table").status == "done"
    app.run()
    table = next(each.value for each in app.dataframe if "Model" in each.value)
    assert list(table["Model"]) == ["fake", "fake"]
    assert list(table["Chunking"]) == ["sections, 24 tokens", "whole documents"]
    assert list(table["Context"]) == ["document, headings, table"] * 2
    said = "Labels are places in the documents, so they count in every index."
    assert said in "".join(each.value for each in app.caption)
    held = {build.recipe.chunker: build.passages for build in base.documents.builds()}
    assert list(table["Passages"]) == [held["markdown"], held["whole"]]
    assert held["whole"] == len(DOCUMENTS) < held["markdown"]
    whole = base.recipe().with_fields({"index.chunker": "whole"})
    metrics = base.runs.evaluate("checks", whole).run.metrics
    assert table["nDCG@10"][1] == metrics["ndcg@10"]
    tie = plain(f"2 indexes share the highest nDCG@10, {metrics['ndcg@10']:.3f}.")
    assert _said(app, tie).endswith("Click a row, then *Try this index* below.")
    cell = {"rows": [], "columns": [], "cells": [(1, "Chunking")]}
    app.session_state["tuning_cut_table"] = {"selection": cell}
    app.run()
    assert "Click a row" not in _said(app, tie)
    app.button(key="tuning_cut_use").click().run()
    assert not app.exception
    assert app.session_state["recipe_working"][base.id].working.index == whole.index
    base.questions.set_split("checks", 7, 0.5)
    app = open_page("tuning.py", cuts="true")
    app.multiselect(key="cut_chunkers").set_value(["markdown", "whole"]).run()
    assert [info.value[:33] for info in app.info] == ["The last comparison is discarded:"]
    assert app.button(key="tuning_cut_compare").label == "Compare 2 indexes"
    app.multiselect(key="cut_chunkers").set_value(["whole"]).run()
    assert app.button(key="tuning_cut_compare").label == "Measure this index"


def test_an_address_names_the_indexes_to_compare_and_each_model_has_its_weight(
    labelled: Workspace, open_page: OpenPage
) -> None:
    base = labelled.base("notes")
    wanted = {
        "cut_chunkers": [chunker_name("fixed")],
        "cut_embedders": ["fake", "wordllama"],
        "cut_sizes": ["30", "400"],
        "cut_overlaps": ["0"],
        "cut_contexts": [CONTEXTS["none"]],
    }
    app = open_page("tuning.py", cuts="true", **wanted)
    app.button(key="tuning_cut_build").click().run()
    assert finished(labelled, "build-several").status == "done"
    app.run().button(key="tuning_cut_compare").click().run()
    assert finished(labelled, "build-table").status == "done"
    app = open_page("tuning.py", cuts="true", **wanted)
    table = next(each.value for each in app.dataframe if "Model" in each.value)
    assert list(table["Model"]) == ["fake", "wordllama"] * 2
    assert set(table["Context"]) == {CONTEXTS["none"]}
    changes = {"embedder": "wordllama", "chunker": "fixed", "context": "none", "chunk_overlap": 0}
    changes = {f"index.{name}": value for name, value in changes.items()}
    other = base.recipe().with_fields(
        changes | {"index.chunk_size": 30, "search.dense_weight": 0.35}
    )
    assert table["nDCG@10"][1] == base.runs.evaluate("checks", other).run.metrics["ndcg@10"]
    assert "dense weight" in _said(app, "All are built")
    cell = {"rows": [], "columns": [], "cells": [(1, "Model")]}
    app.session_state["tuning_cut_table"] = {"selection": cell}
    app.run().button(key="tuning_cut_use").click().run()
    assert app.session_state["recipe_working"][base.id].working == other


def test_building_that_was_stopped_goes_on(labelled: Workspace, open_page: OpenPage) -> None:
    base = labelled.base("notes")
    wanted = base.recipe().with_fields({"index.chunker": "sentence"}).index
    job = base.documents.build_several([wanted])
    assert job is not None
    labelled.jobs.cancel(job)
    labelled.jobs.run(job)
    app = open_page("tuning.py", cuts="true")
    assert app.button(key="tuning_cut_build").label == "Continue building"


def test_candidates_of_many_questions_are_found_while_the_page_is_there(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, fetch_candidates = threading.Event(), Tuner.fetch

    def held_back(tuner: Tuner, recipe: Recipe, on_progress: Callable[[int, int], None]) -> None:
        on_progress(1, tuner.questions)
        assert go_on.wait(60)
        fetch_candidates(tuner, recipe, on_progress)

    monkeypatch.setattr(bench, "AT_ONCE", 0)
    monkeypatch.setattr(Tuner, "fetch", held_back)
    app = open_page("tuning.py")
    assert app.selectbox(key="set").value == "checks"
    assert app.sidebar.slider(key="threshold").label == "Threshold"
    assert _cards(app) == {}
    [under_way] = bench._under_way.values()
    go_on.set()
    under_way.wait()
    assert _cards(app.run()) == _evaluated(labelled, labelled.base("notes").recipe())


def test_what_ends_the_search_for_candidates_is_said_and_it_begins_anew(
    labelled: Workspace, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [InvalidInput("The model is away.", "Start it.")]

    def failing(tuner: Tuner, recipe: Recipe, on_progress: Callable[[int, int], None]) -> None:
        if failures:
            assert go_on.wait(60)
            raise failures.pop()
        fetch_candidates(tuner, recipe, on_progress)

    go_on, fetch_candidates = threading.Event(), Tuner.fetch
    monkeypatch.setattr(bench, "AT_ONCE", 0)
    monkeypatch.setattr(Tuner, "fetch", failing)
    app = open_page("tuning.py")
    go_on.set()
    for fetch in bench._under_way.values():
        fetch.wait()
    assert "The model is away" in app.run().error[0].value
    app.run()
    for fetch in bench._under_way.values():
        fetch.wait()
    assert _cards(app.run()) == _evaluated(labelled, labelled.base("notes").recipe())


def test_a_step_that_no_slider_follows_is_left_out_with_a_note(
    labelled: Workspace, open_page: OpenPage
) -> None:
    whole = _cards(open_page("tuning.py"))
    app = open_page("tuning.py", rerank="service")
    assert [error.value for error in app.error] == []
    assert _cards(app) == whole
    assert [info.value for info in app.info if "leave out" in info.value] != []
    assert app.button(key="tuning_search")
