"""What one page calls by one name is one number, wherever on the page it stands."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, TopicProbabilities, Tuner, Workspace
from tests.pages.conftest import finished, questions_file

OpenPage = Callable[..., AppTest]
Numbers = Mapping[str, set[str]]

_METRIC = r"(?:cross-validated |condensed )?(?:nDCG|MRR|Recall|bpref)(?:@\d+)?"
_CHANGED = re.compile(rf"({_METRIC})(?: is)? (\d\.\d{{3}})(?: instead of (\d\.\d{{3}}))?")
_SCOPE = re.compile(r"\*\*([^*]+?):\*\*")
# After the number of another threshold, the share is that of this one.
_SHARE = re.compile(r"(passages for|(?<!\d[,:] )the search refuses|(?<!the search )refuses) (\d+%)")
_COUNT = re.compile(r"(\d[\d,]*) (?:different )?(recipe|combination)s?\b")
_RUNS = re.compile(r"\*\*(.+)\*\* against \*\*(.+)\*\*$")
_CARDS = {"Refused by the search": "the search refuses"}


def _numbers(app: AppTest) -> Numbers:
    """Every number of a page by its name: of cards, of sentences, of columns of metrics.

    A sentence after a bold name speaks of what that names; after *Now*, of the recipe. A metric
    is that of a run where the page names two.
    """
    found = defaultdict[str, set[str]](set)
    for card in app.metric:
        found[_CARDS.get(card.label, card.label)].add(card.value)
    sentences = [
        each.value.replace("\\", "").replace("\u2060", "") for each in [*app.markdown, *app.caption]
    ]
    named = next((pair.groups() for said in sentences if (pair := _RUNS.match(said))), ("", ""))
    for said in sentences:
        scope = bold[1] if (bold := _SCOPE.match(said)) else ""
        scope = re.sub(r" now [\d.]+| [\d.]+|Now(, on the tuning half)?", "", scope)
        for clause in said.split("; "):
            kind = "cross-validated " if "cross-validated" in clause else ""
            for name, number in _SHARE.findall(clause):
                found[f"{scope} {kind}{name}".strip()].add(number)
        for number, name in _COUNT.findall(said):
            found[name].add(number)
        for name, after, before in _CHANGED.findall(said):
            found[f"{name} {named[0]}".strip()].add(after)
            found[f"{name} {named[1] or 'before'}"].add(before)
    for table in (each.value for each in app.dataframe):
        for name in (each for each in table.columns if "@" in each):
            runs = table.get("Run", [""])
            for run, number in zip(runs, table[name], strict=False):
                found[f"{name} {run}".strip()].add(f"{number:.3f}")
    return found


def _contradictions(numbers: Numbers) -> Numbers:
    return {name: values - {""} for name, values in numbers.items() if len(values - {""}) > 1}


@pytest.fixture
def many(labelled: Workspace) -> KnowledgeBase:
    """The small handbook with the set "many": 24 questions with an answer, and 8 without."""
    base = labelled.base("notes")
    rows = [json.loads(line) for line in questions_file().splitlines()]
    copies = [row | {"id": f"{row['id']}-{n}", "group": "-"} for n in range(8) for row in rows]
    base.questions.import_file("many", "many.jsonl", "\n".join(map(json.dumps, copies)))
    base.recipes.save(base.recipe().with_fields({"search.mode": "dense"}))
    return base


def test_tuning_with_search_all(labelled, many, open_page, monkeypatch):
    topics = TopicProbabilities(np.linspace(0, 1, 40), np.arange(40) >= 10, 0.1)
    monkeypatch.setattr(Tuner, "topic_probabilities", lambda *_: topics)
    app = open_page("tuning.py", set="many", refuse="auto", threshold="0.2", cut="Set")
    app.button(key="tuning_search").click().run()
    assert finished(labelled, "search-all").status == "done"
    numbers = _numbers(app.run())
    assert _contradictions(numbers) == {}
    assert {"nDCG@10", "cross-validated nDCG@10", "nDCG@10 on all questions"} <= numbers.keys()
    assert {"recipe", "combination", "the search refuses", "passages for"} <= numbers.keys()
    assert "Off-topic limit by the labels cross-validated refuses" in numbers


def test_runs(many, open_page):
    runs = [
        many.runs.evaluate("many", many.recipe().with_fields({"search.threshold": value})).run
        for value in (None, 0.5, 1.0)
    ]
    many.runs.pin(runs[0].id)
    app = open_page("runs.py", set="many", runs=",".join(run.id for run in runs))
    numbers = _numbers(app)
    assert _contradictions(numbers) == {}
    names = [name for name in numbers if name.startswith("nDCG@10 ")]
    assert {*map(frozenset, (numbers[name] for name in names))} == {
        frozenset({f"{run.metrics['ndcg@10']:.3f}"}) for run in runs
    }
