"""Refusal: whether the documents speak of a question, and the limit that labels choose."""

import math
from dataclasses import astuple

import numpy as np
import pytest

from rag import (
    InvalidInput,
    InvalidRecipe,
    KnowledgeBase,
    Recipe,
    TopicProbabilities,
    Workspace,
    stores,
)
from rag.cli import printing
from rag.lexical import LexicalIndex
from rag.retrieval import Candidates, select
from rag.retrieval.topic import (
    FEATURES,
    Topic,
    TopicEvidence,
    TopicModel,
    shipped,
    taught,
    topic_evidence,
)
from tests.recipes import plain_search
from tests.workspaces import QUICK, add, workspace_at

ON_TOPIC, OFF_TOPIC = "When may everybody leave on Fridays?", "Who wrote the Iliad?"
RECIPE = QUICK.with_fields({"search.refuse": "auto", "search.mode": "hybrid"})
FILES = {
    "rules.txt": "Rule IS-214 says nothing about hours.",
    "leave.txt": "Everybody may leave at four on Fridays.",
}
LINE = """{"id": "q", "text": "%s", "evidence": [{"document": "leave.txt", "quote": "leave"}]}
{"id": "r", "text": "%s", "answerable": false}"""
BY_WORDS = TopicModel({"joint_share": 10.0}, -5.0, limit=0.3, source="a test")
LITTLE = TopicEvidence(0.2, 0.1, 0.3, 0.4, 0.15, 0.25)
KEYS = np.array([10, 20], np.int64)


@pytest.fixture
def base(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setattr("rag.search.corpus.shipped", lambda _name: BY_WORDS)
    workspace: Workspace = workspace_at(tmp_path)
    base = workspace.create("rules", RECIPE)
    add(workspace, base, FILES)
    base.questions.import_file("set", "set.jsonl", LINE % (ON_TOPIC, OFF_TOPIC))
    return base


def found(probability: float) -> Candidates:
    ranks = np.array([0, 1], np.int32)
    topic = Topic(LITTLE, probability, usual=0.3)
    return Candidates(KEYS, np.array([0.9, 0.8]), np.array([2.0, 1.0]), ranks, ranks, topic=topic)


def test_evidence_is_the_share_of_the_idf_mass_and_the_cosine():
    words = LexicalIndex.empty("english").added(
        [(1, "pump noise"), (2, "pump oil"), (3, "oil filter")]
    )
    vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    dense = stores.empty("flat", 2).added(np.array([1, 2, 3], np.int64), vectors)
    asked = np.array([1, 0], np.float32)
    told = topic_evidence("pump noise zebra", asked, dense, words, 3)
    idf = {df: math.log(1 + (3 - df + 0.5) / (df + 0.5)) for df in (0, 1, 2)}
    mass = idf[2] + idf[1] + idf[0]
    assert told.cosine == told.joint_cosine == 1.0
    assert told.lead == 1.0
    assert told.share == told.joint_share == pytest.approx((idf[2] + idf[1]) / mass)
    assert told.unknown == pytest.approx(idf[0] / mass)
    only = topic_evidence("pump noise", asked, dense, words, 3, np.array([3], np.int64))
    assert (only.cosine, only.share, only.lead) == (0.0, 0.0, 0.0)
    assert topic_evidence("pump", asked, dense, words, 3, np.empty(0, np.int64)) is None


def test_a_probability_is_the_logistic_of_the_weighed_evidence():
    model = TopicModel({"cosine": 2.0, "lead": -1.0}, 0.5, limit=0.3, source="a test")
    topic = model.judged(LITTLE)
    assert topic.probability == pytest.approx(1 / (1 + math.exp(-(0.5 + 0.4 - 0.1))))
    assert [topic.limit(each) for each in ("off", "auto", 0.05)] == [None, 0.3, 0.05]
    assert TopicModel.from_dict(model.to_dict()) == model
    with pytest.raises(InvalidInput):
        TopicModel.from_dict({**model.to_dict(), "weights": {"stars": 1.0}})


def test_teaching_tells_what_differs_and_only_that():
    near = [(TopicEvidence(0.8, 0.1, share, 0.1, 0.8, 0.5), 1.0) for share in (0.2, 0.6)]
    far = [(TopicEvidence(0.1, 0.1, share, 0.1, 0.1, 0.5), 1.0) for share in (0.2, 0.6)]
    model = taught(near, far, FEATURES, 0.5, "a test")
    assert model.weights["lead"] == 0.0
    assert model.weights["share"] == pytest.approx(0.0, abs=1e-5)
    assert model.judged(near[0][0]).probability > 0.5 > model.judged(far[0][0]).probability


def test_models_ship_for_the_embedders_they_were_taught_with():
    for name in ("minilm", "minilm-fast", "multilingual-e5"):
        model = shipped(name)
        assert set(model.weights) == set(FEATURES)
    assert shipped("fake") is None


def test_cosines_of_e5_which_lie_close_together_are_told_apart():
    """A cosine of .77 is near for MiniLM; with E5, texts on other topics have it."""
    model = shipped("multilingual-e5")
    near = TopicEvidence(0.88, 0.05, 0.5, 0.2, 0.88, 0.5, 200)
    far = TopicEvidence(0.77, 0.02, 0.1, 0.8, 0.77, 0.1, 200)
    assert model.judged(near).probability > 0.9
    assert model.judged(far).refused("auto")


def test_every_limit_is_another_recipe():
    assert len({plain_search(refuse=limit).hash for limit in ("off", "auto", 0.05)}) == 3
    with pytest.raises(InvalidRecipe):
        Recipe().with_fields({"search.refuse": 1.5})


@pytest.mark.parametrize(("refuse", "kept"), [("off", 2), ("auto", 0), (0.2, 2), (0.21, 0)])
def test_all_passages_pass_or_none(refuse, kept):
    search = plain_search(refuse=refuse)
    chosen = select(found(0.2), search, None)
    assert len(chosen.kept) == kept
    assert len(chosen.refused) == 2 - kept
    assert KEYS[chosen.order].tolist() == [10, 20]


def test_a_refused_question_says_so_with_its_reasons(base):
    assert base.search(ON_TOPIC, RECIPE).hits[0].document == "leave.txt"
    trace = base.search(OFF_TOPIC, RECIPE)
    stage = trace.stage("refuse")
    assert (trace.hits, stage.given, len(stage.dropped)) == ((), 0, stage.taken)
    assert stage.figures["limit"] == 0.3
    assert stage.figures["probability"] < 0.01
    answer = base.ask(OFF_TOPIC, RECIPE).answer
    assert answer.status == "refused"
    told = {each["name"]: each for each in printing.trace(trace).data.dump()["stages"]}
    assert told["refuse"]["figures"]["probability"] == stage.figures["probability"]
    assert base.search(OFF_TOPIC, RECIPE.with_fields({"search.refuse": "off"})).hits


@pytest.mark.parametrize(("refuse", "stopped"), [("off", 0), ("auto", 1), (1.0, 1)])
def test_a_threshold_counts_refused_questions_as_an_evaluation_does(base, refuse, stopped):
    recipe = RECIPE.with_fields({"search.refuse": refuse, "search.threshold": 0.0})
    rates = base.runs.evaluate("set", recipe, (3,)).run.metrics
    point = base.tuning.tuner("set").threshold_curve(recipe).at(0.0)
    assert point.stopped == (stopped, 1)
    assert point.stopped.value == rates["correct_refusal"]
    assert 1 - point.answered == rates["false_refusal"] == (refuse == 1.0)


def test_a_refusal_names_each_place_once(tmp_path, monkeypatch):
    monkeypatch.setattr("rag.search.corpus.shipped", lambda _name: BY_WORDS)
    workspace: Workspace = workspace_at(tmp_path)
    base = workspace.create("rules", RECIPE)
    shifts = " ".join(f"Shift {number} ends at four, and everybody goes." for number in range(9))
    add(workspace, base, {"rules.txt": FILES["rules.txt"], "shifts.txt": shifts})
    answer = base.ask(OFF_TOPIC, RECIPE).answer
    places = [line for line in answer.text.splitlines() if line.startswith("- ")]
    assert sorted(places) == ["- rules.txt", "- shifts.txt"]


@pytest.mark.parametrize("fields", [{"mode": "dense"}, {"mode": "lexical"}, {"candidates": 1}])
def test_the_probability_does_not_depend_on_the_ranking(base, fields):
    other = RECIPE.with_fields({f"search.{name}": value for name, value in fields.items()})
    stages = [base.search(ON_TOPIC, recipe).stage("refuse") for recipe in (RECIPE, other)]
    assert stages[0].figures == stages[1].figures


def test_without_a_model_it_is_off_and_says_so(base, monkeypatch):
    monkeypatch.setattr("rag.search.corpus.shipped", lambda _name: None)
    stage = base.search("Who else wrote the Iliad?", RECIPE).stage("refuse")
    assert stage.dropped == ()


VALUES = np.concatenate([(np.arange(100) + 0.5) / 100, np.linspace(0.0, 0.18, 10)])
ANSWERABLE = np.arange(110) < 100
FOUND = TopicProbabilities(VALUES, ANSWERABLE, 0.1)


def test_a_limit_refuses_what_is_below_it():
    assert astuple(FOUND.refused(None)) == (0.0, 0.0)
    assert astuple(FOUND.refused(0.1)) == (0.1, 0.5)
    assert [FOUND.limit(refuse) for refuse in ("off", "auto", 0.4)] == [None, 0.1, 0.4]


def test_the_limit_is_the_greatest_within_the_cost():
    found = FOUND.chosen(0.05)
    assert found.limit == pytest.approx(0.055)
    assert FOUND.refused(found.limit).answerable == pytest.approx(0.05)
    assert FOUND.refused(found.limit + 0.006).answerable == pytest.approx(0.06)


def test_what_is_expected_of_it_is_cross_validated():
    found = FOUND.chosen(0.05)
    assert 0.2 <= (found.expected.unanswerable or 0) <= 0.4
    assert 0.03 <= (found.expected.answerable or 0) <= 0.08
    dice = np.random.default_rng(1)
    alike = TopicProbabilities(dice.random(600), np.arange(600) < 300, 0.1)
    chosen = alike.chosen(0.2)
    assert abs((chosen.expected.answerable or 0) - 0.2) < 0.03
    assert abs((chosen.expected.unanswerable or 0) - 0.2) < 0.06


def test_what_chose_a_limit_and_what_did_not_are_told_apart():
    found = FOUND.chosen(0.05)
    assert found.in_sample == FOUND.refused(found.limit)


def test_a_limit_that_is_shown_and_used_refuses_no_more_than_was_allowed():
    values = np.linspace(0.10006, 0.9, 40)
    found = TopicProbabilities(values, np.ones(40, np.bool_), 0.1).chosen(0.0)
    assert found.limit == 0.1
    assert astuple(found.in_sample) == (0.0, None)


def test_few_questions_choose_no_limit():
    assert TopicProbabilities(VALUES[:19], ANSWERABLE[:19], 0.1).chosen(0.05) is None
    alone = TopicProbabilities(VALUES[:20], ANSWERABLE[:20], 0.1).chosen(0.1)
    assert alone.expected.unanswerable is None
