"""Comparisons of runs by metrics of which less is better, and of runs without a difference."""

import json
from dataclasses import replace

from pages.components.metrics.cards import style
from pages.components.runs.difference_chart import sorted_by_gain, takeaway
from rag import KnowledgeBase, comparison_stop
from tests.runs import SET, VECTORS, WORDS

FAULTS = "misleading@3"
STRICT = VECTORS.with_fields({"search.threshold": 0.99})
ASKED = [
    ("m1", "How long may unused leave be carried over?", "leave.md", "until 30 June", "travel.txt"),
    ("m2", "Why does the Hollin pump make a noise?", "pump.txt", "bearing is dry", "travel.txt"),
]


def _misled(base: KnowledgeBase) -> tuple[str, str]:
    """Return the ids of a run with misleading hits and of one without any hit."""
    rows = [
        {
            "id": key,
            "text": text,
            "evidence": [
                {"document": name, "quote": right},
                {"document": misleading, "quote": "Train journeys", "grade": -1},
            ],
        }
        for key, text, name, right, misleading in ASKED
    ]
    base.questions.import_file("misled", "misled.jsonl", "\n".join(map(json.dumps, rows)))
    loose = VECTORS.with_fields({"search.threshold": None})
    first, second = (base.runs.evaluate("misled", recipe, (3,)).run for recipe in (loose, STRICT))
    assert (first.metrics[FAULTS], second.metrics[FAULTS]) == (1.0, 0.0)
    return first.id, second.id


def test_a_question_with_fewer_misleading_hits_is_won(base):
    misled, empty = _misled(base)
    (fewer,) = base.runs.compare([empty], misled, FAULTS)
    assert [(row.difference, row.gain, row.outcome) for row in fewer.rows] == [
        (-1.0, 1.0, "won")
    ] * 2
    assert (fewer.figures.won, fewer.figures.lost, fewer.regressions) == (2, 0, ())
    assert takeaway(fewer) == "Better on 2 questions, worse on 0, the same on 0."
    (more,) = base.runs.compare([misled], empty, FAULTS)
    assert len(more.regressions) == 2
    assert takeaway(more) == "Better on 0 questions, worse on 2, the same on 0."
    rows = [replace(more.rows[0], gain=gain) for gain in (-1.0, 1.0)]
    assert [row.gain for row in sorted_by_gain(rows)] == [1.0, -1.0]


def test_the_run_with_fewer_misleading_hits_leads(base):
    misled, empty = _misled(base)
    rows = base.runs.leaderboard("misled", FAULTS)
    assert [(row.run.id, row.place) for row in rows] == [(empty, 1), (misled, 2)]
    rows = base.runs.leaderboard("misled", "ndcg@3")
    assert [(row.run.id, row.place) for row in rows] == [(misled, 1), (empty, 2)]


def test_a_fall_of_faults_is_green():
    assert style(-0.1, "false_doubt") == {"delta_color": "green", "delta_arrow": "down"}
    assert style(0.1, "false_doubt") == {"delta_color": "red", "delta_arrow": "up"}
    assert style(0.1, "ndcg@10") == {"delta_color": "green", "delta_arrow": "up"}


def test_a_comparison_without_a_difference_has_no_interval(base):
    first, second = (base.runs.evaluate(SET, WORDS).run for _ in range(2))
    (compared,) = base.runs.compare([second.id], first.id, "ndcg@10", None)
    stop = comparison_stop(compared, {first.id: "Words", second.id: "Again"}, WORDS)
    assert [(row.label, row.value, row.detail) for row in stop.values[2:]] == [
        ("Difference", "+0.000", ""),
        ("Questions", "0 won", "0 lost, 4 tied"),
    ]
    assert not any("interval" in point for point in stop.points)
