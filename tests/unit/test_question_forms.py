"""What a question asks for, a limit, a price, an option, a figure in words, and its answer."""

import pytest

from tests.unit.test_shown_quotes import ask

LEAFLET = """# Taking the tablets

The usual dose of pioglitazone is one tablet of 15 mg or of 30 mg, to be taken once daily.

Your doctor may increase the dose to a maximum of 45 mg once a day.

# What the tablets look like

The 30 mg tablets are white to off-white, round, flat tablets marked 30 on one face of the pack.

| Strength | Colour | Marked |
|---|---|---|
| 15 mg | white | 15 |
| 30 mg | white | 30 |
"""

_TALKS = (
    "Ann asked who pays for the lamps at the old mill, and her list was put off. The mayor "
    "thanked the fire brigade for its work in the cold nights around the new year, when the "
    "river rose and three cellars had to be emptied. Nobody spoke against the new benches in "
    "the park, although some would like them closer to the trees and away from the road.",
    "Noise at the harbour was measured in June, mostly by night and near the pier. Two cranes "
    "are louder than allowed, and their owner promised new motors before the winter. The youth "
    "club gets its rooms painted by volunteers; the town pays for brushes and colours alone. "
    "A bus to the swimming lake runs again on every hot weekend until the end of the holidays.",
)
COUNCIL = {
    "council-2024-01-17.md": f"# Council\n\n{_TALKS[0]}\n",
    "council-2024-07-24.md": f"# Council\n\n{_TALKS[1]}\n",
}


def test_a_limit_is_there_in_other_words(tmp_path):
    files = {"cycle.md": "# Cycle scheme\n\nThe maximum value you can apply for is 2500 pounds.\n"}
    answer = ask(tmp_path, files, "What is the limit of the cycle scheme?")
    assert (answer.state, answer.assessment.missing) == ("answered", ())


@pytest.mark.parametrize(
    ("question", "state", "missing"),
    [
        ("How do I insure a cargo bike?", "doubtful", ("insure",)),
        ("Who repairs the cargo bikes?", "doubtful", ("repairs",)),
        ("How much can a cargo bike carry?", "answered", ()),
        ("What load can my cargo bike take?", "answered", ()),
    ],
)
def test_a_quote_with_nothing_of_a_question_but_its_topic_is_no_answer(
    tmp_path, question, state, missing
):
    bikes = "# Cargo bikes\n\nTwo of our bikes are cargo bikes. Both carry a load of 80 kg.\n"
    repairs = "# Workshop\n\nPunctures are repaired while you wait.\n"
    answer = ask(tmp_path, {"cargo-bikes.md": bikes, "workshop.md": repairs}, question)
    assert (answer.state, answer.assessment.missing) == (state, missing)


def test_an_answer_says_which_word_of_the_question_no_document_has(tmp_path):
    leave = "# Leave\n\nAll employees have 28 days of annual leave. Holidays are on top.\n"
    answer = ask(
        tmp_path, {"leave.md": leave}, "How many days of paternity leave do employees have?"
    )
    assert answer.state == "answered"
    assert "No passage has “paternity”" in answer.assessment.reason


def test_a_word_that_was_read_as_another_is_none_that_no_passage_has(tmp_path):
    pages = {
        "crew.md": "# Crew\n\nThe crew of the workshop has five members.\n",
        "pump.md": "# Pumps\n\nThe quick pump stands in hall 2.\n",
    }
    answer = ask(tmp_path, pages, "How many members has the fast crew?")
    assert [one.typed for one in answer.trace.corrections] == ["fast"]
    assert "No passage has" not in answer.assessment.reason


def test_what_nobody_says_the_price_of_is_not_answered(tmp_path):
    answer = ask(tmp_path, {"leaflet.md": LEAFLET}, "What is the price of a pack of tablets?")
    assert answer.state == "doubtful"


def test_minutes_that_are_named_by_their_days_are_no_editions(tmp_path):
    files = dict(COUNCIL)
    files["council-2024-01-17.md"] += (
        "\n\nThe plan is to release the website in the middle of this year.\n"
    )
    answer = ask(tmp_path, files, "When is the plan to release the website?")
    assert answer.citations[0].hit.document == "council-2024-01-17.md"
    assert "edition" not in answer.assessment.reason


def test_minutes_are_not_left_out_for_those_of_a_later_day(tmp_path):
    answer = ask(tmp_path, COUNCIL, "Who currently pays for the lamps at the old mill?")
    assert answer.citations[0].hit.document == "council-2024-01-17.md"
    assert "left out" not in answer.assessment.reason
