"""Citation marks: which are found, which are believed, what they quote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import in_order, mentions, surroundings
from rag.answering import Vocabulary
from rag.answering.citations import best_statement, check
from rag.answering.statements.sentences import statements
from tests.answers import hits


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("So it is [1].", [1]),
        ("So it is [1][3].", [1, 3]),
        ("So it is [1, 2; 4].", [1, 2, 4]),
        ("So it is [1-3].", [1, 2, 3]),
        ("So it is [1–2, 5].", [1, 2, 5]),
        ("So it is [ 2 ].", [2]),
        ("So it is[1].", [1]),
        ("So it is【1】.", [1]),
        ("So it is【2】【1, 3】.", [2, 1, 3]),
        ("So it is【1†source】 and 【3-4†L2-L5】.", [1, 3, 4]),
        ("So it is【4:0†source】 and 【x】 and 【1].", []),
        ("[3-1]", [3, 1]),
        ("[1-900]", [1, 900]),
        ("In [2024] and [a] and [] and [1.5]", []),
        ("It is [1 and 2], [^3], \\[4\\] and ［5］.", [1, 2, 3, 4, 5]),
        ("It is [source 2], [Doc 1, p. 4; Doc 3, pp. 5-6] and [4, p. 7].", [2, 1, 3, 4]),
        ("It is [1](#cite-1), but [2](https://example.org).", [1]),
        ("The first element is a[1], that of plan B[2].", [2]),
        ("It is long.¹ It has 25 m² and 10³ litres a month².", [1, 2]),
        ("It costs 90 euros a month¹ [2].", [2]),
        ("`x[1]` and ``y `[2]` `` and [3]", [3]),
        ("```\nx[1]\n```\nand [2]", [2]),
        ("```\nunclosed [1]", []),
        ("[1](https://example.org) and ![2](a.png) and [3]", [3]),
        ("text [3]\n\n[1]: https://example.org", [3]),
        ("[1]: as the policy says", [1]),
        ("[[1]]", [1]),
        ("a ` lone tick [1]", [1]),
        ("", []),
    ],
)
def test_marks(text, numbers):
    assert [n for mention in mentions(text) for n in mention.numbers] == numbers


def test_order_of_first_appearance_each_once_and_unsupported_apart():
    citations, unsupported = check("A [2]. B [7][1]. C [2][0][7].", hits("one", "two", "three"))
    assert [citation.n for citation in citations] == [2, 1]
    assert [citation.hit.chunk.text for citation in citations] == ["two", "one"]
    assert unsupported == (7, 0)


def test_brackets_of_openai_become_those_of_all_others():
    text = in_order("B is so【2】. A too.【1†leave.md】 C【7】.", 2)
    assert text == "B is so[1]. A too.[2] C[7]."
    citations, unsupported = check("A【2】. B【7】.", hits("one", "two"))
    assert ([each.n for each in citations], unsupported) == ([2], (7,))


def quoted(claim: str, passage: str) -> str:
    found = best_statement(claim, statements(passage), Vocabulary())
    return found.quote if found else ""


@given(st.text(alphabet="[]0123456789,-–; `()a.\n", max_size=60), st.integers(0, 5))
def test_numbers_in_order_of_appearance(text, count):
    shown = [n for mention in mentions(in_order(text, count)) for n in mention.numbers]
    before = [n for mention in mentions(text) for n in mention.numbers]
    first = [n for n in dict.fromkeys(shown) if 1 <= n <= count]
    if len(mentions(in_order(text, count))) == len(mentions(text)):
        assert first == list(range(1, len(first) + 1))
        assert {n for n in shown if not 1 <= n <= count} == {
            n for n in before if not 1 <= n <= count
        }


PASSAGE = "Leave is earned monthly. Up to eight days may be carried over. They lapse on 30 June."


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Eight days can be carried over [1].", "Up to eight days may be carried over."),
        ("Eight days can be carried over. [1]", "Up to eight days may be carried over."),
        ("Leave is earned each month [1].", "Leave is earned monthly."),
        ("Leave is earned. Days are carried over [1].", "Up to eight days may be carried over."),
        ("All lapse in June. Leave is earned [1].", "Leave is earned monthly."),
        ("[1] says that leave is earned.", "Leave is earned monthly."),
        ("Bananas are yellow [1].", ""),
    ],
)
def test_the_quote_supports_the_citing_sentence(text, quote):
    citations, _ = check(text, hits(PASSAGE))
    assert citations[0].quote == quote


@pytest.mark.parametrize("first", [True, False])
def test_the_shortest_statement_that_says_it_all_is_quoted(first):
    short = "Unused leave lapses."
    long = "Unused leave of staff hired before March, like that of guests, lapses in the next year."
    passage = f"{short} {long}" if first else f"{long} {short}"
    assert quoted("Unused leave lapses", passage) == short
    assert quoted("Leave of guests lapses in the next year", passage) == long


@given(st.text(alphabet="[]0123456789,-–; `()a.\n", max_size=60), st.integers(0, 5))
def test_every_number_is_either_cited_or_unsupported(text, count):
    found = hits(*(f"passage {n}" for n in range(count)))
    citations, unsupported = check(text, found)
    said = dict.fromkeys(n for mention in mentions(text) for n in mention.numbers)
    cited = [citation.n for citation in citations]
    assert sorted([*cited, *unsupported]) == sorted(said)
    assert cited == [n for n in said if 1 <= n <= count]
    assert all(found[citation.n - 1] is citation.hit for citation in citations)


@given(st.text(max_size=80))
def test_marks_lie_where_they_say(text):
    for mention in mentions(text):
        assert text[mention.start] in "[［【\\" or text[mention.start].isdigit()
        assert text[mention.end - 1] in "]］】)" or text[mention.end - 1].isdigit()


@given(st.text(max_size=80), st.text(max_size=80))
def test_quotes_are_the_words_of_the_passage(claim, passage):
    assert quoted(claim, passage) in passage


LIST = "# Reviewers\n\n- Aim for **3 to 5**.\n- They should be engineers.\n- Input is welcome."


@pytest.mark.parametrize(
    ("passage", "quote", "around"),
    [
        (LIST, "They should be engineers.", ("Reviewers Aim for 3 to 5.", "Input is welcome.")),
        (
            LIST,
            "# Reviewers",
            ("", "Aim for 3 to 5. They should be engineers. Input is welcome."),
        ),
        ("One.", "One.", ("", "")),
        ("One.", "Two.", ("", "")),
        ("One.", "", ("", "")),
        ("a\t1\nb\t2\nc\t3", "b\t2", ("", "")),
        ("Two:\na\t1\nb\t2", "Two:", ("", "a · 1 b · 2")),
        ("7. One.\n8. Two.", "Two.", ("7. One.", "")),
        ("a) One\nb) Two\nc) Three", "Two", ("a) One", "c) Three")),
        ("Daily.\n\nOne. Daily. Two.", "Daily.", ("", "")),  # which of them is not known
        (f"One.{250 * chr(10)}Two.", "Two.", ("One.", "")),
        (
            "[the page](https://example.org/" + 250 * "x" + ") first. Two.",
            "Two.",
            ("the page first.", ""),
        ),
        (f"一。二。{250 * '文'}", "二。", ("一。", f"{200 * '文'} …")),
        (f"{250 * '文'}。\n一。二。", "二。", (f"… {196 * '文'}。 一。", "")),
    ],
)
def test_the_sentences_beside_a_quote(passage, quote, around):
    assert surroundings(passage, quote) == around


def test_what_an_answer_shows_is_not_shown_again():
    assert surroundings("One. Two. Three.", "Two.", "“Two.” [1] “Three.” [1]") == ("One.", "")


@given(st.integers(0, 90), st.integers(0, 90))
def test_no_more_than_some_words_stand_beside_a_quote(before, after):
    words = [f"w{n}" for n in range(before + after)]
    passage = " ".join([*words[:before], "Quote", *words[before:]])
    left, right = surroundings(passage, "Quote")
    assert len(left) <= 202 >= len(right)
    assert left.removeprefix("… ") in passage
    assert right.removesuffix(" …") in passage
    assert left.startswith("…") == (len(" ".join(words[:before])) >= 200)
