"""No regular expression takes more than linear work, whatever text it is given."""

import re

import pytest

from tests.backtracking import steps_of
from tests.expressions import LINEAR, Expression, expressions, growth


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


@pytest.mark.parametrize(
    ("pattern", "method", "text", "steps"),
    [
        (r"a", "fullmatch", "a", 1),
        (r"a*", "match", "aaaa", 5),
        (r"a*b", "match", "aaaa", 10),  # the letters and the end, and each place for the b
        (r"a*+b", "match", "aaaa", 6),
        (r"a", "search", "bba", 3),
        (r"a", "findall", "aba", 4),
        (r"(a)\1", "match", "aa", 2),
        (r"(?=a)a|b", "match", "b", 4),
    ],
)
def test_steps_are_counted(pattern, method, text, steps):
    assert steps_of(pattern, 0, method, text, 100) == steps


def test_those_in_tables_and_within_functions_are_found():
    places = {re.sub(r":\d+", "", row.place): row.methods for row in expressions()}
    assert places["rag.readers.tables _NUMBER"] == {"match"}
    assert places["rag.lexical.languages _SCRIPTS"] <= {"search", "findall", "finditer"}
    assert places["rag.readers.pdf.reader title_offset"] == {"finditer"}
    assert places["rag.answering.checking.figures _measured"] == {"search"}
