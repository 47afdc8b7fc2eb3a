"""The gate on recorded traces, at the command line."""

import json

import pytest

from rag.__main__ import main
from tests.runs import SET, handbook

BREAD = "Bread is baked at 220 degrees for three quarters of an hour."
LEAVE = "Unused leave may be carried over until 30 June."
GRINDING = "The Hollin pump makes a grinding noise when its bearing is dry."
SICK = "Sick leave is reported before ten in the morning by telephone."


def _span(trace, start, question, texts=None, parent=""):
    values = {"input.value": question}
    if texts is not None:
        values["openinference.span.kind"] = "RETRIEVER"
        values |= {f"retrieval.documents.{n}.document.content": one for n, one in enumerate(texts)}
    attributes = [{"key": key, "value": {"stringValue": text}} for key, text in values.items()]
    return {
        "traceId": trace,
        "parentSpanId": parent,
        "startTimeUnixNano": start,
        "attributes": attributes,
    }


SPANS = [
    # An agent is asked a question, and searches for other words.
    _span("a", "1", "How long may unused leave be carried over?"),
    _span("a", "2", "leave", [SICK, BREAD], "root"),
    _span("a", "3", "carry over", [BREAD, LEAVE], "root"),
    # The same question twice: once without success, once with it.
    _span("b", "4", "Why is there a grinding noise?", [BREAD]),
    _span("c", "5", "Why is there a grinding noise?", [GRINDING]),
    # A question that the set does not have.
    *(
        _span("d", str(6 + n), "How is bread baked?", [BREAD], "root" if n else "")
        for n in range(3)
    ),
]


@pytest.fixture
def gate(home, tmp_path, capsys):
    handbook(home)
    capsys.readouterr()

    def call(*options, spans=SPANS):
        file = tmp_path / "traces.json"
        file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
        code = main(["gate", "handbook", SET, "--traffic", str(file), *options, "--json"])
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else printed.err

    return call


def test_recall_counts_what_any_retrieval_of_a_trace_has_among_its_first(gate):
    code, result = gate("--min", "hop_recall@1=0.2", "--min", "hop_recall@2=0.8")
    assert code == 1
    assert result["questions"] == 2
    # Leave: none of the two first results, then the one; noise: the mean of two traces.
    assert result["metrics"]["hop_recall@1"] == pytest.approx((0 + 0.5) / 2)
    assert result["metrics"]["hop_recall@2"] == pytest.approx((1 + 0.5) / 2)
    assert [one["metric"] for one in result["failures"]] == ["hop_recall@2"]
    assert gate("--min", "hop_recall@2=0.7")[0] == 0


def test_a_trace_with_too_many_calls_fails_also_where_nobody_labelled_its_question(gate, capsys):
    code, result = gate("--max-calls", "2")
    assert (code, result["outcome"]) == (1, "failed")
    assert result["too_many_calls"] == [
        {"trace": "d", "question": "How is bread baked?", "calls": 3}
    ]
    code, result = gate("--max-calls", "3", "--min", "hop_recall@2=0.7", "--name", "nightly")
    assert (code, result["too_many_calls"]) == (0, [])
    assert main(["runs", "handbook"]) == 0
    listed = next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith(result["run"])
    )
    assert "nightly" in listed
    assert "gate" in listed


def test_results_far_behind_are_those_of_their_own_retrieval(gate):
    """The second retrieval has the passage first, after 60 results of the first retrieval."""
    noise = [f"{BREAD} {number}" for number in range(60)]
    spans = [
        _span("a", "1", "How long may unused leave be carried over?", noise),
        _span("a", "2", "carry over", [LEAVE], "root"),
    ]
    code, result = gate("--min", "hop_recall@1=1", spans=spans)
    assert (code, result["metrics"]["hop_recall@1"]) == (0, 1.0)


@pytest.mark.parametrize(
    ("options", "spans", "fragment"),
    [
        (("--max-calls", "0"), SPANS, "--max-calls"),
        ((), SPANS, "--min"),
        (("--max-calls", "2", "--system", "grep"), SPANS, "--system"),
        (("--max-calls", "2"), [_span("", "1", "Why?", [BREAD])], "trace ids"),
    ],
)
def test_what_cannot_be_checked_is_refused(gate, options, spans, fragment):
    code, told = gate(*options, spans=spans)
    assert code == 2
    assert fragment in told


def test_calls_without_traffic_are_refused(home, capsys):
    handbook(home)
    assert main(["gate", "handbook", SET, "--max-calls", "2"]) == 2
    assert "--traffic" in capsys.readouterr().err
