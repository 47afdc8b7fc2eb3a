"""What texts of others go through takes work that grows with their length, and no faster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.expressions import LINEAR, Expression, expressions, growth

ROOT = Path(__file__).resolve().parents[2]
SHORT = 3_000  # characters; a text eight times as long would take sixty-four times as long
TIMES = 8
MOST = 2.5  # times as long as it should take
PROGRAM = """
import json, sys, time
from importlib import import_module

def seconds(function, repeated, length):
    text, best = repeated * (length // len(repeated)), float("inf")
    for _ in range(3):
        began = time.process_time()
        list(function(text))
        best = min(best, time.process_time() - began)
    return best

asked = json.load(sys.stdin)
for place, repeated in asked["texts"]:
    module, name = place.rsplit(".", 1)
    function, short = getattr(import_module(module), name), asked["short"]
    seconds(function, repeated, short)
    print([seconds(function, repeated, length) for length in (short, asked["times"] * short)])
"""
TEXTS = [
    ("rag.answering.statements.sentences.sentence_spans", "e.g. "),
    ("rag.answering.statements.sentences.sentence_spans", "1. "),
    ("rag.answering.statements.sentences.statements", "1. "),
    ("rag.answering.checking.figures.figures", "[1] "),
    ("rag.answering.checking.figures.figures", "AB-12 "),
    ("rag.answering.checking.check.claims", "e.g. "),
    ("rag.answering.checking.check.claims", "It is 5 [1]. "),
    ("rag.answering.asking.sourcing.objects", "{"),
    ("rag.answering.asking.sourcing.objects", '{"a":'),
    ("rag.answering.asking.sourcing.objects", '{"a":[{},'),
]
"""Functions, and what a text repeats that they get."""


def test_work_grows_with_the_length_of_a_text():
    """By the time that a process of its own has of a processor, so that others do not count."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        input=json.dumps({"texts": TEXTS, "short": SHORT, "times": TIMES}),
        capture_output=True,
        text=True,
        check=True,
    )
    measured = dict(zip(TEXTS, map(json.loads, done.stdout.splitlines()), strict=True))
    slow = {
        text: (short, long)
        for text, (short, long) in measured.items()
        if long >= MOST * TIMES * (short + 0.001)
    }
    assert slow == {}


@pytest.mark.thorough
def test_no_expression_is_worse_than_linear():
    worse = {
        row.place: (grown.start, grown.repeated, grown.end, grown.steps)
        for row in expressions()
        if (grown := growth(row)).ratio > LINEAR
    }
    assert worse == {}


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*\{#[^}]*\}\s*$", "sub"),
        (r"!?\[([^\]]*)\]\([^)]*\)", "sub"),
        (r"(\*{1,3}|`+)(\S(?:.*?\S)?)\1", "sub"),
        (r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$", "match"),
        (r"\[[^\]\n]+\]\([^)\s]+\)", "search"),
        (r"[-+]?[\d.,\s]*\d[\d.,\s]*%?$|\d{1,4}[-/.]\d{1,2}", "match"),
        (r"\s*(?:[a-z][a-z0-9+.-]*:)?[/\\]*[^/?#]*@", "match"),
        (r"\d+(?:\.\d+)*\.?\s+", "search"),
        (r"(?:a|b|ab)*c", "match"),
    ],
)
def test_expressions_that_are_slow_are_found(pattern, method):
    assert growth(Expression("here", pattern, 0, frozenset({method}))).ratio > 3
