"""Quotes of a tour as readers see them: without marks, with flowing lines, code by itself."""

from dataclasses import replace

from rag import CodeBlock, TourQuote, TourStop


def test_stops_show_no_marks_of_markdown() -> None:
    quote = TourQuote("a.md", "\\[Name\\] **60 days delinquent**", "# Late\n\n* ", "\n* call")
    stop = TourStop("page", "Late", "“**60 days** \\+ one” [1]", (quote,))
    assert stop.shown_text() == "“60 days + one” [1]"
    assert quote.parts() == [
        TourQuote("a.md", "[Name] 60 days delinquent", "Late\n\n", "\ncall", markdown=False)
    ]


def test_code_around_a_quote_stands_by_itself_as_it_is() -> None:
    before = (
        "<ConfigTabs>\n\n</ConfigTabs>\n\nPlain\n\n```yaml\na:\n  - b # c\n```\n\nA long\nline of "
    )
    quote = TourQuote("a.md", "text", before, " ends.\n\n:::note Mind\n\nThe gap.\n\n:::\n")
    assert quote.parts() == [
        TourQuote("a.md", "", "Plain", markdown=False),
        CodeBlock("yaml", "a:\n  - b # c"),
        TourQuote("a.md", "text", "A long line of ", " ends.\n\nMind\n\nThe gap.", markdown=False),
    ]
    within = TourQuote("a.md", "cd b", "```sh\ncd a\n", "\ncd c\n```\n")
    assert within.parts() == [
        TourQuote("a.md", "cd b", "cd a\n", "\ncd c", markdown=False),
    ]


def test_a_quote_has_flowing_lines_and_cells_apart() -> None:
    quote = TourQuote("a.pdf", "which\nends\n\n\n\nName\tAge", "a line,\n", " \t x\n\n\n\nEnd")
    (shown,) = quote.parts()
    assert isinstance(shown, TourQuote)
    assert (shown.before, shown.text, shown.after) == (
        "a line, ",
        "which ends\n\nName · Age",
        " · x\n\nEnd",
    )


def test_backslashes_that_hide_no_mark_stay() -> None:
    path = TourQuote("paths.pdf", "C:\\_temp \\~ x", markdown=False)
    assert path.parts() == [path]
    tilde = TourQuote("paths.md", "5 \\~ 6 \\$")
    assert tilde.parts() == [replace(tilde, text="5 ~ 6 $", markdown=False)]
    stop = TourStop("answer", "Where?", "“C:\\_temp” [1]", (path,))
    assert stop.shown_text() == "“C:\\_temp” [1]"
