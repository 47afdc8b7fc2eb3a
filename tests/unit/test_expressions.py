"""No regular expression takes more than linear work, whatever text it is given."""

import pytest

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
