"""The figures that differ between two editions, and the words that say what they are about."""

from __future__ import annotations

import pytest

from rag.examination.claims import figures_of
from rag.examination.examining import examine
from rag.examination.findings import FindingPlace
from rag.readers import read_text


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        ("{rest} {six} {lower}", "{rest} {lower} {six}", []),
        (
            "{rest} {six} At least 33 weeks at £151.20 or a part of the statutory pay.",
            "{rest} {six} {lower}",
            ["", "£151.20"],
        ),
        (
            "{rest} If you accrue five or more days, we check in with you.",
            "{rest} If you accrue ten or more days or two occasions, we check in with you.",
            ["five days", "ten days"],
        ),
    ],
)
def test_what_both_editions_have_is_no_difference_and_a_lost_figure_is_one(
    old: str, new: str, values: list[str]
) -> None:
    parts = {
        "rest": "Everybody may take leave when a child is born, as the law of the country has it.",
        "six": "At least 6 weeks at statutory or a part of the pay.",
        "lower": "At least 33 weeks at statutory or a part of the statutory pay.",
    }
    documents = [
        read_text(text.format(**parts), f"leave-{year}.md")
        for year, text in ((2023, old), (2025, new))
    ]
    (finding,) = examine(documents)
    shown = [place.value for one in finding.differences for place in (one.one, one.other)]
    assert sorted(shown) == values


@pytest.mark.parametrize(("weeks", "values"), [(6, []), (8, ["6 weeks", "8 weeks"])])
def test_a_claim_differs_from_the_one_that_is_most_like_it(weeks: int, values: list[str]) -> None:
    leave = " ".join(
        f"If you {{verb}} the {role} carer of a child, you can take {number} weeks of parental"
        " leave at full pay in the first year after birth or placement."
        for role, number in (("primary", "16"), ("secondary", "{weeks}"))
    )
    old = read_text(leave.format(verb="are", weeks=6), "leave-2023.md")
    new = read_text(leave.format(verb="become", weeks=weeks), "leave-2025.md")
    (finding,) = examine([old, new])
    shown = [place.value for one in finding.differences for place in (one.one, one.other)]
    assert sorted(shown) == values


def test_list_items_are_compared_without_the_words_above_them() -> None:
    above = "What one {} of the staff pays in a {} for the {} each {}:\n\n"
    items = "* Family medical plan: ${}\n* Single medical plan: ${}\n"
    one = above.format("member", "quarter", "insurance", "term") + items.format(204, 57)
    other = above.format("half", "month", "doctor", "year") + items.format(287, 96)
    documents = [read_text(one, "plans-2023.md"), read_text(other, "plans-2025.md")]
    (finding,) = examine(documents)
    values = {(one.one.value, one.other.value) for one in finding.differences}
    assert values == {("$287", "$204"), ("$96", "$57")} or values == {
        ("$204", "$287"),
        ("$57", "$96"),
    }


CARE = (
    "There is another account for dependent care, and the most for that plan is ${}/year or "
    "${}/year if you split this with a partner. This is entirely optional."
)
SABBATICAL = "In addition to holidays, every three years employees may take a {} paid sabbatical."


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        (
            CARE.format("5,000", "2,500"),
            CARE.format("7,500", "3,750"),
            [("$7,500", "$5,000"), ("$3,750", "$2,500")],
        ),
        (SABBATICAL.format("30-day"), SABBATICAL.format("6-week"), [("6-week", "30-day")]),
        (
            "There is no bank of sick days. However, if you are away from work due to illness or "
            "injury for more than 5 consecutive days, you go from sick time to personal leave.",
            "If you are away from work due to illness or injury for more than 7 consecutive days, "
            "you may have to file a short-term disability claim with the insurance.",
            [("7 consecutive", "5 consecutive")],
        ),
        (
            "We never decline a profile of a colleague's friend and will ensure that someone from "
            "our hiring staff contacts that individual within 72hrs of receipt, whenever it comes.",
            "We never decline a profile of a colleague's friend and will ensure that someone from "
            "our Talent team will review the file and aim to take action within 5 working days.",
            [("5 working days", "72hrs")],
        ),
        (
            "The office in Rome has 12 desks, 3 rooms and a garden for all who work there.",
            "The team of Rome meets on 5 days in 2 rooms or in a park of the town.",
            [],
        ),
    ],
)
def test_every_changed_figure_of_a_sentence_is_a_difference(
    old: str, new: str, pairs: list[tuple[str, str]]
) -> None:
    rest = "Everybody may take leave when a child is born, as the law of the country has it."
    texts = ((2026, new), (2023, old))
    documents = [read_text(f"{rest}\n\n{text}", f"leave-{year}.md") for year, text in texts]
    finding = next(one for one in examine(documents) if one.kind == "editions")
    assert [(one.one.value, one.other.value) for one in finding.differences] == pairs


def test_a_day_without_a_year_is_the_same_day() -> None:
    text = "Requests for parental leave of the staff reach the office by {}."
    documents = [
        read_text(text.format(day), name)
        for name, day in (("faq.md", "30 June"), ("rules.md", "30 June 2026"))
    ]
    assert "contradiction" not in {finding.kind for finding in examine(documents)}


@pytest.mark.parametrize(
    ("text", "figure", "words"),
    [
        ("Meals cost up to $45.", "$45", "Meals cost up to $45."),
        (
            f"An account for *money*, {'which is long to describe, ' * 6}and the most is $3,050 a "
            "year. More follows.",
            "$3,050",
            f"… {'which is long to describe, ' * 4}and the most is $3,050 a year. More follows.",
        ),
        (
            f"{'alpha ' * 40}takes 12 days {'omega ' * 40}",
            "12 days",
            f"… {'alpha ' * 12}takes 12 days {'omega ' * 11}omega …",
        ),
        (f"{'alpha ' * 40}", "12 days", f"{'alpha ' * 25}alpha …"),
    ],
)
def test_a_difference_shows_the_words_around_its_figure(text: str, figure: str, words: str) -> None:
    assert FindingPlace("", "", 0, 0, None, text, figure).words == words


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("It takes three to five weeks.", ["three weeks", "five weeks"]),
        ("It takes twenty-five days.", ["25 days"]),
        ("It takes eighty-one days.", ["81 days"]),
        ("It takes twenty days.", ["twenty days"]),
    ],
)
def test_spelt_figures_are_shown_whole(text: str, written: list[str]) -> None:
    assert list(figures_of(text).values()) == written
