"""Finding the words of a passage again among the characters of the printed page."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.readers.pdf.page_image import PageCharacters, align, has_ink, line_boxes

PROSE = "Unused leave may be carried over until the thirtieth of June of the following year."


def seen(text: str, page: str) -> str:
    """The page's characters that ``text`` was aligned with, in the text's order."""
    return "".join(page[place] for place in align(text, page) if place >= 0)


def letters(text: str) -> str:
    return "".join(text.split())


def test_the_same_text_is_found_character_by_character():
    places = align(PROSE, PROSE)
    known = [place for place, letter in zip(places, PROSE, strict=True) if not letter.isspace()]
    assert known == [index for index, letter in enumerate(PROSE) if not letter.isspace()]


@pytest.mark.parametrize(
    ("text", "page", "found"),
    [
        ("the information is", "the infor-\r\nmation is", "theinformationis"),
        ("the information is", "the infor\ufffemation is", "theinformationis"),
        ("the information is", "the infor\u00admation is", "theinformationis"),
        ("GPT-Neo works", "GPT\u2010\r\nNeo works", "GPTNeoworks"),
        ("Ubersicht", "U\u0308bersicht", "Ubersicht"),
        ("a  wide   gap", "a wide gap", "awidegap"),
        ("awidegap", "a wide gap", "awidegap"),
        ("Capital LETTERS", "capital letters", "capitalletters"),
        ("a b", "a\ufffeb", "ab"),
    ],
)
def test_how_a_word_is_set_does_not_matter(text, page, found):
    assert seen(text, page) == found


def test_a_ligature_is_marked_once():
    page = "the o\ufb03ce door"
    places = align("the office door", page)
    assert [page[place] for place in places if place >= 0].count("\ufb03") == 1
    assert seen("the office door", page) == "theo\ufb03cedoor"


def test_blocks_in_another_order_are_found():
    page = "KM-FIN-014 Page 1\r\nExpense policy\r\n" + PROSE
    text = "Page 1\nKM-FIN-014\nExpense policy\n" + PROSE
    assert sorted(seen(text, page)) == sorted(letters(page).replace("-", ""))


def test_each_of_two_like_headers_keeps_its_own_place():
    page = f"Leave policy\n{PROSE}\nLeave policy\nA second page of it."
    places = align(page, page)
    second = page.rindex("Leave policy")
    assert places[second] == second
    assert places[0] == 0


def test_numbers_of_a_column_are_found_whole_wherever_they_went():
    page = "1 Purpose 3\n2 Safety 4\n10 Faults 12\n"
    text = "3\n1 Purpose\n4\n2 Safety\n12\n10 Faults\n"
    assert sorted(seen(text, page)) == sorted(letters(page))


def test_what_is_not_on_the_page_stays_out():
    assert seen("zebra xylophone", PROSE) == ""
    assert align("", PROSE).tolist() == []
    assert align("words", "").tolist() == [-1] * 5


WORDS = st.lists(st.text("abcdefghijklmnop\u00e9\u00df", min_size=1, max_size=9), max_size=40)


@given(WORDS, st.lists(st.sampled_from([" ", "\r\n", "  ", "-\r\n", "\ufffe"]), min_size=40))
def test_aligned_words_keep_their_order(words, gaps):
    """The page cuts lines and hyphenates; nothing is moved, so indices only grow."""
    text = " ".join(words)
    page = "".join(word + gap for word, gap in zip(words, gaps, strict=False))
    places = align(text, page)
    known = places[places >= 0]
    assert (np.diff(known) > 0).all()
    assert seen(text, page).casefold() == letters(text).casefold()


@given(WORDS, WORDS)
def test_no_place_of_the_page_is_used_twice(words, others):
    page = " ".join([*others, *reversed(words)])
    places = align(" ".join(words), page)
    known = places[places >= 0]
    assert len(set(known.tolist())) == len(known)
    assert known.max(initial=-1) < len(page)


def printed(*lines: str) -> PageCharacters:
    """A page of fixed-width lines: a character is 1 % wide and 2 % high, lines are 4 % apart."""
    text, boxes = "", []
    for row, line in enumerate(lines):
        for column, letter in enumerate(line + "\n"):
            ink = 0.0 if letter.isspace() else 1.0
            left, top = 0.01 * column, 0.04 * row
            boxes.append([left, top, left + 0.01 * ink, top + 0.02 * ink])
        text += line + "\n"
    return PageCharacters(text, np.array(boxes))


def test_boxes_are_joined_along_lines():
    page = printed("one two", "three four")
    places = align("two three", page.text)
    boxes = line_boxes(page, places, 1.0)
    assert boxes == pytest.approx(np.array([[0.04, 0, 0.07, 0.02], [0, 0.04, 0.05, 0.06]]))


def test_a_word_that_is_not_of_the_passage_divides_a_line():
    page = printed("alpha beta gamma")
    places = np.array([*range(5), *range(11, 16)])
    assert line_boxes(page, places, 1.0)[:, 0] == pytest.approx([0.0, 0.11])


def test_columns_far_apart_have_boxes_of_their_own():
    page = printed("left           right")
    boxes = line_boxes(page, align("left right", page.text), 1.0)
    assert boxes[:, 0] == pytest.approx([0.0, 0.15])


@given(st.lists(st.text("abc d", max_size=20), min_size=1, max_size=6), st.data())
def test_boxes_stay_on_the_page_and_cover_what_was_asked_for(lines, data):
    page = printed(*lines)
    wanted = data.draw(st.lists(st.integers(-1, len(page.text) - 1), unique=True))
    boxes = line_boxes(page, np.array(wanted, np.int64), 1.0)
    assert ((boxes >= 0) & (boxes <= 1)).all()
    assert has_ink(boxes).all()
    for place in wanted:
        if place >= 0 and not page.text[place].isspace():
            left, top, right, bottom = page.boxes[place]
            inside = (
                (boxes[:, 0] <= left)
                & (boxes[:, 1] <= top)
                & (boxes[:, 2] >= right)
                & (boxes[:, 3] >= bottom)
            )
            assert inside.any()
