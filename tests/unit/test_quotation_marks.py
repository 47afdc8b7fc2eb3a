"""Quotation marks around statements of documents: none stands twice."""

import pytest

from rag.answering.quoting import in_quotation_marks, words_of_quotation


@pytest.mark.parametrize(
    ("statement", "quotation"),
    [
        ("The report is generated.", "“The report is generated.”"),
        ('The report is generated."', "“The report is generated.”"),
        ("The report is generated.”", "“The report is generated.”"),
        ("“The report is generated.", "“The report is generated.”"),
        ('"The report is generated."', "“The report is generated.”"),
        ("“The report is generated.”", "“The report is generated.”"),
        ('He said "it is generated."', "“He said ‘it is generated.’”"),
        ("“Yes” and “no” differ.", "“‘Yes’ and ‘no’ differ.”"),
        ('The "report" is generated.', '“The "report" is generated.”'),
        ("", "“”"),
        ('"', "“”"),
    ],
)
def test_no_mark_stands_twice_at_the_end_of_a_quotation(statement, quotation):
    assert in_quotation_marks(statement) == quotation
    assert words_of_quotation(quotation) == words_of_quotation(statement)
