"""A quote is found however its white space was set, where it was before, and nearly unchanged."""

import pytest

from rag import nearest_words
from rag.evaluation import Haystack

RULE = "Up to eight days of unused leave may be carried over into the following year."


def _found(quote: str, text: str, near: float = 0.0) -> str | None:
    span = Haystack(text).find(quote, near)
    return text[slice(*span)] if span else None


TABLE = "Fares\n\nFrom\tTo\tPrice\nBologna\tMilano\t10 €\nRoma\tBari\t20 €\n"
MARKED = "| From | To | Price |\n|:---|---|---:|\n| Bologna | **Milano** | 10 € |\n"


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("8 days", "In 8 days.", "8 days"),
        ("unused leave", "of unused\n  leave in", "unused\n  leave"),
        ("workplace safety", "the work place\nsafety rules", "work place\nsafety"),
        ("休暇は繰り越せます", "有給休暇は\n繰り越せます。", "休暇は\n繰り越せます"),
        ("a b", "cab bat", None),
        ("", "anything", None),
        (" \n", "anything", None),
        ("leave", "", None),
        ("sick leave", "annual leave", None),
        ("| Bologna | Milano | 10 € |", TABLE, "Bologna\tMilano\t10 €"),
        ("Bologna | **Milano** | 10 €", TABLE, "Bologna\tMilano\t10 €"),
        ("Price |\n|---|---|---|\n| Bologna", TABLE, "Price\nBologna"),
        ("Bologna Milano 10 €", MARKED, "Bologna | **Milano** | 10 €"),
        ("Price Bologna", MARKED, "Price |\n|:---|---|---:|\n| Bologna"),
        ("| Bari | 20 € |", TABLE, "Bari\t20 €"),
        ("| ari |", TABLE, None),  # the inside of a word
        ("|", TABLE, None),
        ("10 - 5", "10 5", None),  # a sign is no mark
        ("23", "2*3 pills", None),
    ],
)
def test_white_space_and_marks_of_tables_aside(quote, text, found):
    assert _found(quote, text) == found


def test_the_whole_word_is_preferred_to_the_inside_of_one():
    assert Haystack("In 18 days, or 8 days.").find("8 days") == (15, 21)
    assert Haystack("In 18 days.").find("8 days") == (4, 10)


@pytest.mark.parametrize(("near", "start"), [(0.0, 0), (0.45, 14), (0.6, 14), (1.0, 28)])
def test_of_several_occurrences_the_nearest_is_taken(near, start):
    text = "Yes.          Yes.          Yes."
    assert Haystack(text).find("Yes.", near) == (start, start + 4)


@pytest.mark.parametrize(
    "now",
    [
        RULE.replace("eight", "five"),
        RULE.replace("carried over", "carried  over,\nonce,"),
        RULE.replace("leave", "holiday"),
        RULE.removesuffix("."),
    ],
)
def test_an_edit_within_the_quote_does_not_lose_it(now):
    text = f"# Leave\n\nThis is new. {now}\n\nIllness interrupts leave in the following year."
    found = _found(RULE, text)
    assert found is not None
    assert found in now or now in found
    assert len(found) > 0.9 * len(now)


def test_other_words_are_not_taken_for_the_quote():
    text = "Up to eight nights in a hotel may be booked in advance in the following year. " * 3
    assert _found(RULE, text) is None
    assert _found("eight days", "five days of leave") is None  # too short to be alike


def test_a_document_that_is_the_quote_may_change_a_little_too():
    assert _found(RULE, RULE.replace("eight", "five")) == RULE.replace("eight", "five")
    assert _found(RULE, "Up to eight days of leave.") is None


@pytest.mark.parametrize("gone", ["unused ", "be ", "carried "])
def test_where_inner_words_went_missing_the_label_takes_none_of_what_follows(gone):
    changed = RULE.replace(gone, "")
    assert _found(RULE, f"First of all. {changed} Then comes another rule.") == changed


@pytest.mark.parametrize(
    ("quote", "start", "end", "place"),
    [
        ("Yes.", 14, 18, (14, 18)),  # where it was, though not the first
        ("Yes.", 13, 17, (14, 18)),  # else by its words
        ("", 14, 18, (14, 18)),  # without words, the offsets are trusted
        ("", 5, 9, None),  # but not where there is nothing
        ("", None, None, (0, None)),
        ("No.", 14, 18, None),
    ],
)
def test_offsets_hold_while_the_words_are_there(quote, start, end, place):
    text = "Yes.          Yes.          Yes."
    assert Haystack(text).locate(quote, start, end, near=0.4) == place


PAID = "| Monetary Amount | Roles | At the start |\n|---|---|---|\n| £500 | Apprentices | £250 |\n"
LINKED = (
    'If you’re eligible, you’ll get [**statutory** pay](https://example.org/pay-2026 "Pay"). '
    "Ask first<br/>and wait – always."
)


@pytest.mark.parametrize(
    ("quote", "text", "located"),
    [
        (
            "Monetary Amount: £500 · Roles: Apprentices · At the start: £250",
            PAID,
            "£500 | Apprentices | £250",
        ),
        ("Roles: Apprentices · At the start: £250", PAID, "Apprentices | £250"),
        ("Monetary Amount: $500 · Roles: Apprentices", PAID, None),
        ("Monetary Amount: £500 · Roles: Engineers", PAID, None),
        (
            "If you're eligible, you'll get statutory pay.",
            LINKED,
            LINKED[: LINKED.index(" Ask")],
        ),
        (
            "you'll get statutory pay (https://example.org/pay-2026).",
            LINKED,
            LINKED[LINKED.index("you’ll") : LINKED.index(" Ask")],
        ),
        ("Ask first and wait - always.", LINKED, "Ask first<br/>and wait – always."),
        ("It’s 15 mg a day", "It's 1.5 mg a day.", None),
        ("It’s 1.5 mg a day", "It's 1.5 mg a day.", "It's 1.5 mg a day."),
        ("'tis -5 °C", "It's said: ’tis 5 °C there.", None),
        ("well", "A “well—known” word.", "well"),
    ],
)
def test_words_are_located_as_pages_show_them(quote, text, located):
    span = Haystack(text).find(quote, similar=False)
    assert (text[slice(*span)] if span else None) == located


def test_the_nearest_words_are_those_of_the_most_similar_sentence():
    text = "Leave is granted by the manager. Unused leave lapses in June of the next year. Ask HR."
    start, end = nearest_words(text, "Leave that is unused will lapse in June")
    assert text[start:end] == "Unused leave lapses in June of the next year."
    assert nearest_words(text, "Ask HR.") == (len(text) - 7, len(text))


def test_the_nearest_words_in_a_table_are_one_row():
    rows = ["Load\tTemp\tMinutes", "Sheets\t60\t45", "Towels\t75\t50", "Gowns\t71\t40"]
    text = "\n".join(rows)
    for quote in ("Towels\t75\t55", "Load: Towels · Temp: 75 · Minutes: 55"):
        assert text[slice(*nearest_words(text, quote))] == rows[2]
