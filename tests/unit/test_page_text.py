"""Text of documents is shown as it is: no markdown, no links, no formulas, no icons."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.shell.text import (
    clipped,
    difference,
    duration,
    kind,
    lines,
    marked,
    plain,
    shorten_leaders,
    tinted,
    token_note,
)
from pages.components.source.places import snippet, with_columns
from rag import IndexRecipe, counted

JOINER = "\u2060"


def _read(markdown: str) -> str:
    """What a reader sees of escaped text: CommonMark lets any ASCII punctuation be escaped."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown).replace(JOINER, "")


@given(st.text())
def test_every_word_is_still_there(text):
    assert _read(plain(text)) == " ".join(text.replace(JOINER, "").split()) or JOINER in text


@given(st.text(alphabet="*_`[]()<>$#~|!:\\-+=>@./ab1"))
def test_no_sign_is_left_that_means_something(text):
    without = re.sub(r"\\[!-/:-@\[-`{-~]", "", plain(text))
    assert not re.search(r"[!-/:-@\[-`{-~]", without)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("wait :smile: here", r":[\w+-]+:"),
        ("an :material/home: icon", r":material/\w+:"),
        ("see https://example.org", r"https?://"),
        ("see www.example.org", r"www\."),
        ("write me@example.org", r"[\w.+-]+@\w"),
        ("a -> b", "->"),
        ("a -- b", "--"),
        ("a >= b", ">="),
    ],
)
def test_what_is_rewritten_after_parsing_is_broken_up(text, pattern):
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", plain(text))
    assert re.search(pattern, text)
    assert not re.search(pattern, shown)


def test_options_and_arrows_within_words_can_be_copied():
    command = "run --pack-size 3 --no-color a->b x<=y"
    assert _read(plain(command)) == command
    assert JOINER not in plain(command)
    assert plain("a -- b -> c").count(JOINER) == 2


def test_matches_are_marked_and_the_rest_is_escaped():
    assert marked("a *b* c", [(2, 5)]) == "a :orange-background[\\*b\\*] c"
    assert marked("a b", [(2, 3)], "bold") == "a **b**"


def test_a_mark_ends_at_every_line():
    assert marked("ab\ncd", [(1, 4)]) == ("a:orange-background[b]  \n:orange-background[c]d")


def test_overlapping_marks_become_one_after_the_other():
    assert marked("abcd", [(0, 2), (1, 3)]) == ":orange-background[ab]:orange-background[c]d"


def test_lines_and_paragraphs_stay():
    assert lines("one\ntwo\n\nthree") == "one  \ntwo\n\nthree"


def test_items_of_a_list_stay_as_far_in_as_they_are():
    listed = "2. Ages:\n   1. All: 16\n   2. Leaders: 18\n      a) of teams\n3. Limits\n\n  - Late"
    shown = "2. Ages:|\u20031. All: 16|\u20032. Leaders: 18|\u2003\u2003a) of teams|3. Limits"
    assert _read(lines(listed)) == f"{shown}\n\n\u2003- Late".replace("|", "  \n")
    item = listed.index("2. Leaders")
    assert _read(marked(listed, [(item, item + 14)])) == _read(lines(listed)).replace(
        "2. Leaders: 18", ":orange-background[2. Leaders: 18]"
    )


def test_a_line_that_is_no_item_is_not_indented():
    assert lines("one\n     two\n\n        three") == "one  \ntwo\n\nthree"


def test_tints_follow_each_other():
    assert tinted([("a ", "blue-background"), ("b", "")]) == ":blue-background[a] b"


def test_leaders_are_shortened_and_marks_stay_on_their_words():
    fee = "c) De un cementerio a otro:......................$2.590,00"
    assert shorten_leaders(fee) == "c) De un cementerio a otro:… $2.590,00"
    assert _read(marked(fee, [(fee.index("$"), len(fee))])) == (
        "c) De un cementerio a otro:… :orange-background[$2.590,00]"
    )
    assert shorten_leaders("Salvador.-----------\nArt. 7") == "Salvador.…\nArt. 7"
    assert shorten_leaders("a . . . . . . . 5 and ……………… 6") == "a … 5 and … 6"
    for text in ("Wait ...", "an — aside", "-5 -- 7", "1.2.3.4", "a|---|b", "…… ——"):
        assert shorten_leaders(text) == text


def test_figures_in_words():
    assert [counted(1, "passage"), counted(1240, "passage")] == ["1 passage", "1,240 passages"]
    assert [duration(s) for s in (0.2, 40, 125, 4800)] == ["1 s", "40 s", "2 min", "1 h 20 min"]
    assert kind("application/pdf") == "PDF"
    assert kind("application/vnd.openxmlformats-officedocument.wordprocessingml.document") == "Word"


def test_cells_and_rows_of_tables_stay_apart():
    assert lines("Code\t\tMeaning\nCV-1\tx") == (
        "Code\u2002\u2502\u2002\u2002\u2502\u2002Meaning  \nCV\\-1\u2002\u2502\u2002x"
    )
    shown = snippet("said:\nCode\t\tMeaning\nCV\tx\nend", [(6, 10)])
    assert shown == "said\\: :orange-background[Code] · Meaning; CV · x; end"


@pytest.mark.parametrize(
    ("number", "shown"), [(-0.0002, "+0.000"), (0.0004, "+0.000"), (-0.0006, "-0.001")]
)
def test_a_difference_is_never_a_negative_zero(number, shown):
    assert f"{difference(number):+.3f}" == shown


def test_other_numbers_of_passages_by_embedder_are_explained():
    small, large = (IndexRecipe(embedder=name) for name in ("minilm", "wordllama"))
    assert token_note([(small, 3697), (large, 4163)]) != ""
    assert token_note([(small, 3697), (large, 3697)]) == ""
    assert token_note([(small, 3697), (small, 4163)]) == ""
    other = small.model_copy(update={"chunker": "sentence"})
    assert token_note([(small, 3697), (other, 4163)]) == ""


def test_rows_have_the_names_of_their_columns_and_keep_their_marks():
    text = "City\tRent\nBern\t1\nOslo\t\nOdd\nRome\t3"
    words = [(text.index(word), text.index(word) + len(word)) for word in ("Bern", "Rome", "3")]
    named, spans = with_columns(text, words, [((0, len(text)), ("City", "Rent"))])
    assert named == "City\tRent\nCity: Bern\tRent: 1\nCity: Oslo\t\nOdd\nCity: Rome\tRent: 3"
    assert [named[start:end] for start, end in spans] == ["Bern", "Rome", "3"]
    assert with_columns("one\ntwo", [(0, 3)], ()) == ("one\ntwo", [(0, 3)])
    assert with_columns("a\tb", [(0, 0)], [((0, 3), ("x", "y"))]) == ("x: a\ty: b", [(3, 3)])


def test_each_of_two_tables_has_the_names_of_its_own_columns():
    fees, rooms = "Fee\tAmount\nParking\t5\n", "Room\tSeats\nBlue\t12\n"
    text = f"{fees}\n{rooms}Left\tover"
    second = len(fees) + 1
    tables = [
        ((0, len(fees)), ("Fee", "Amount")),
        ((second, second + len(rooms)), ("Room", "Seats")),
    ]
    assert with_columns(text, [], tables)[0] == (
        "Fee\tAmount\nFee: Parking\tAmount: 5\n\nRoom\tSeats\nRoom: Blue\tSeats: 12\nLeft\tover"
    )


def test_a_snippet_of_a_table_shows_the_row_with_the_rare_words():
    names = ("Bern", "Rome", "Kiel", "Lyon", "Nice", "Metz", "Oslo", "Graz", "Linz", "Pisa")
    rows = ["Hotel\tQuarter\tA night"]
    rows += [f"Hotel {name}\tnear the main station\t{100 + at}" for at, name in enumerate(names)]
    text = "\n".join(rows)
    spans = [match.span() for match in re.finditer("Hotel|Oslo|night", text)]
    table = (0, len(text)), ("Hotel", "Quarter", "A night")
    shown = snippet(*with_columns(text, spans, [table]), 70)
    mark = ":orange-background"
    assert shown == (
        f"… {mark}[Hotel]\\: {mark}[Hotel] {mark}[Oslo] · Quarter\\: near the main station · "
        f"A {mark}[night]\\: 106; {mark}[Hotel]\\: …"
    )


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two …"),
        ("onetwothreefour", 12, "onetwothr…"),
        (
            "“One is held,” she said” [1]\n\n“Two are held” [2]",
            40,
            "“One is held,” she said” [1]\n\n“Two …”",
        ),
        ("„Eins“ oder auch zwei", 18, "„Eins“ oder …"),
    ],
)
def test_a_text_is_cut_between_words_and_its_quotation_ends(text, most, shown):
    assert clipped(text, most) == shown
    assert len(shown) <= most
