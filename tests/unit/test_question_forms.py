"""What a question asks for, a limit, a price, an option, a figure in words, and its answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.answering.asked_values import asked_value
from rag.answering.assessing.codes import identifiers
from rag.answering.assessing.key_terms import key_terms
from rag.answering.assessing.question_forms import bound_pattern
from rag.answering.assessing.ranges import AskedFigure, asked_figures
from rag.answering.statements.following import continued
from rag.answering.statements.sentences import Statement, statements
from rag.answering.vocabulary import Vocabulary
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


@pytest.mark.parametrize(
    ("question", "limit", "no_limit"),
    [
        (
            "What is the spending limit of the scheme?",
            "the maximum value is £2500",
            "£2500 or more",
        ),
        ("What is the most I can spend on food?", "spend a maximum of $80", "spend at least $80"),
        ("What is the highest daily dose?", "up to 45 mg", "15 mg once a day"),
        ("With how few people can a team play?", "at least three players", "a team of three"),
        ("Wie viele Tage darf ich höchstens fehlen?", "bis zu 5 Tage", "mindestens 5 Tage"),
        ("¿Cuál es el importe máximo?", "hasta 45 euros", "al menos 45 euros"),
        ("Wie lange dauert es mindestens?", "mindestens 3 Tage", "höchstens 3 Tage"),
        ("What is the shortest period for notice?", "30 days or more", "30 days or less"),
    ],
)
def test_a_question_for_a_limit_knows_the_words_that_set_one(
    question: str, limit: str, no_limit: str
) -> None:
    pattern = bound_pattern(question)
    assert pattern is not None
    assert (bool(pattern.search(limit)), bool(pattern.search(no_limit))) == (True, False)


@pytest.mark.parametrize(
    "question", ["What is the most common complaint?", "Which pump has the highest price?"]
)
def test_a_superlative_alone_asks_for_no_limit(question: str) -> None:
    assert bound_pattern(question) is None


def test_the_highest_dose_is_the_maximum_and_no_column_has_to_say_so(tmp_path: Path) -> None:
    question = "What is the highest daily dose of pioglitazone?"
    answer = ask(tmp_path, {"leaflet.md": LEAFLET}, question)
    assert answer.citations[0].quote == (
        "Your doctor may increase the dose to a maximum of 45 mg once a day."
    )
    assert answer.state == "answered"


def test_a_limit_is_there_in_other_words(tmp_path: Path) -> None:
    files = {"cycle.md": "# Cycle scheme\n\nThe maximum value you can apply for is 2500 pounds.\n"}
    answer = ask(tmp_path, files, "What is the limit of the cycle scheme?")
    assert answer.assessment is not None
    assert (answer.state, answer.assessment.missing) == ("answered", ())


@pytest.mark.parametrize(
    ("text", "is_price"),
    [
        ("The 30 mg tablets are round, flat tablets marked 30 on one face, ACTOS on the other.", 0),
        ("The team meets for a term of 2 rounds, and elects the person who chairs the meeting.", 0),
        ("A berth in the old harbour of the town is 40 a week, and the fee is due on Monday.", 1),
        ("Adults: 12", 1),
        ("Berth: outer harbour · Week: 40", 1),
        ("Everybody who comes by bicycle gets in free of charge on the first day of the fair.", 1),
        ("Each of the tablets in this pack contains 15 mg of the substance and 2 g of lactose.", 0),
    ],
)
def test_a_bare_figure_is_a_price_only_where_something_says_so(text: str, is_price: int) -> None:
    for question in ("How much does it cost?", "How much are the members paid?"):
        kind = asked_value(question)
        assert kind is not None
        assert (kind.name, kind.is_in(text)) == ("a price", bool(is_price))


def test_what_nobody_says_the_price_of_is_not_answered(tmp_path: Path) -> None:
    answer = ask(tmp_path, {"leaflet.md": LEAFLET}, "What is the price of a pack of tablets?")
    assert answer.state == "doubtful"


def test_shares_and_quick_reactions() -> None:
    share, quickly = asked_value("What share may one firm have?"), asked_value("How quickly is it?")
    assert share is not None
    assert share.is_in("no more than one-fourth of the members")
    assert quickly is not None
    assert quickly.is_in("Critical: 3 days")
    assert not quickly.is_in("It is repaired by the team.")


def test_figures_are_borne_out_in_words_and_words_in_figures() -> None:
    words = Vocabulary()
    (four,) = (term for term in key_terms("A gift for four years", words) if term.text == "four")
    (three,) = (term for term in key_terms("A gift for 3 years", words) if term.text == "3")
    (one,) = (term for term in key_terms("A gift for 1 year", words) if term.text == "1")
    assert four.borne_out(words.terms("Year 4: 200 dollars")) == 1
    assert three.borne_out(words.terms("Three years: 150 dollars")) == 1
    assert one.borne_out(words.terms("the one that is left")) == 0


def test_a_version_is_the_same_with_a_letter_and_without() -> None:
    words = Vocabulary()
    for question, other in (("When was 2.0.0 released?", "v2.0.0"), ("Is v2.0.0 out?", "2.0.0")):
        version = next(term for term in key_terms(question, words) if "2.0.0" in term.text)
        assert version.borne_out(words.terms(f"Version: {other} · Date: 2025-08-11")) == 1
        assert version.borne_out(words.terms("Version: v2.0.1 · Date: 2025-08-11")) == 0


def test_options_are_told_from_words() -> None:
    text = "the -max-clients option, --quota, max_send_kbps, pullerMaxPendingKiB, MAX_SIZE"
    names = ["-max-clients", "--quota", "max_send_kbps", "pullerMaxPendingKiB", "MAX_SIZE"]
    assert identifiers(text) == names
    assert identifiers("A well-known e-mail of GitHub – an iPhone, 5-10 pages, e.g. 2024-25") == []


def test_an_option_that_no_passage_has_is_not_answered(tmp_path: Path) -> None:
    files = {
        "relay.md": "# Relay options\n\n- -max-peers: The number of peers of a relay. The default "
        "is 20, which is enough for a relay at home.\n- -pools: Addresses of pools.\n\n"
        "The status page has the number of clients of the relay and the max rate by default.\n"
    }
    unknown = ask(tmp_path / "one", files, "What is the default of the -max-clients option?")
    known = ask(tmp_path / "two", files, "What is the default of the -max-peers option?")
    assert unknown.assessment is not None
    assert unknown.assessment.reason == "No quoted passage has -max-clients."
    assert known.state == "answered"
    assert known.text.startswith(
        "“-max-peers: … The default is 20, which is enough for a relay at home.” [1]"
    )


@pytest.mark.parametrize(
    ("passage", "texts"),
    [
        (
            "3. Remediation:\n\n– Critical: 3 days\n– High: 10 days\n4. Release: 1 day",
            [
                "Remediation: Critical: 3 days",
                "Remediation: High: 10 days",
                "Release: 1 day",
            ],
        ),
        (
            "Limits:\n\n- For food:\n  - 80 dollars per day.\n- For rooms:\n  - 200 dollars.",
            ["Limits: For food: 80 dollars per day.", "Limits: For rooms: 200 dollars."],
        ),
        (
            "- **timeout**: Seconds to wait. The default is 30, enough for any net of today.",
            [
                "timeout: Seconds to wait.",
                "timeout: The default is 30, enough for any net of today.",
            ],
        ),
        (
            '---\ntitle: "Crêpes"\ndate: 2021-03-14\ntags: [dessert]\n---\nThin, and good.',
            ["date: 2021-03-14", "Thin, and good."],
        ),
        (
            f"[here](https://example.com/{'a' * 300}) We meet on Monday.",
            ["here We meet on Monday."],
        ),
        (f"See https://example.com/{'a' * 300}", []),
    ],
)
def test_statements_say_what_they_are_about(passage: str, texts: list[str]) -> None:
    assert [statement.text for statement in statements(passage)] == texts


@pytest.mark.parametrize(
    ("passage", "text"),
    [
        (
            "A red button is shown.\n\nClicking this button deletes all. Be careful.",
            "A red button is shown. Clicking this button deletes all.",
        ),
        (
            "Relays can ask for a secret. To configure this use the option:\n\n$ relay -token=x\n",
            "Relays can ask for a secret. To configure this use the option: $ relay -token=x",
        ),
        ("A red button is shown.\n\nPumps need oil.", "A red button is shown."),
        (
            "- Send it back to us. Please ensure: \n- That it is clean\n- The plug is in\n",
            "Send it back to us. Please ensure: That it is clean; The plug is in",
        ),
        (
            "1. Appeals are heard monthly. They must include:\n  1. a reason;\n  2. a plan.\n",
            "Appeals are heard monthly. They must include: a reason; a plan.",
        ),
    ],
)
def test_a_statement_goes_on_in_a_sentence_that_leans_on_it(passage: str, text: str) -> None:
    first = statements(passage)[0]
    longer = continued(passage, first)
    assert longer.text == text
    assert passage[longer.start :].startswith(longer.quote)


def test_what_happens_is_answered_with_the_next_sentence(tmp_path: Path) -> None:
    files = {
        "folders.md": "# Folders\n\nA red button to override changes is shown below the folder.\n\n"
        "Clicking this button replaces the files of all other devices.\n"
    }
    happens = ask(tmp_path / "one", files, "What happens if I use the red button below the folder?")
    where = ask(tmp_path / "two", files, "Where is the red button to override changes?")
    assert "Clicking this button replaces the files" in happens.citations[0].quote
    assert "Clicking" not in where.citations[0].quote


def test_minutes_that_are_named_by_their_days_are_no_editions(tmp_path: Path) -> None:
    files = dict(COUNCIL)
    files["council-2024-01-17.md"] += (
        "\n\nThe plan is to release the website in the middle of this year.\n"
    )
    answer = ask(tmp_path, files, "When is the plan to release the website?")
    assert answer.citations[0].hit.document == "council-2024-01-17.md"
    assert answer.assessment is not None
    assert "edition" not in answer.assessment.reason


@pytest.mark.parametrize(
    ("passage", "texts"),
    [
        (
            "---\n\nEmployees get 25 days of leave.\n\n---\n\nThe office opens at nine.",
            ["Employees get 25 days of leave.", "The office opens at nine."],
        ),
        (
            "---\ndescription: >\n  The leave policy of all.\nowners:\n  - Ann\n---\nText here.",
            ["description: > The leave policy of all.", "owners: - Ann", "Text here."],
        ),
        (
            "- If it rains: the pool closes early. Visitors get all of their fee back at the desk.",
            [
                "If it rains: the pool closes early.",
                "Visitors get all of their fee back at the desk.",
            ],
        ),
    ],
)
def test_rules_are_no_front_matter_and_conditions_no_labels(passage: str, texts: list[str]) -> None:
    assert [statement.text for statement in statements(passage)] == texts


def test_what_only_looks_like_an_option_a_number_or_a_limit() -> None:
    words = Vocabulary()
    assert identifiers("Wann sind Arbeitsbeginn und -ende?") == []
    (dos,) = (term for term in key_terms("What stops DoS attacks?", words) if term.text == "DoS")
    assert dos.borne_out(words.terms("It stops 2 attacks.")) == 0
    assert bound_pattern("How little is known?") is None
    limit = bound_pattern("What is the highest number of guests?")
    assert limit is not None
    assert not limit.search("The Max Planck house opened for guests in 1911.")
    assert limit.search("Guests: max. 12")


@pytest.mark.parametrize(
    "text",
    [
        "Die Parkgebühr beträgt für jede angefangene Stunde auf allen Plätzen der Innenstadt 2,50.",
        "La entrada al museo de la ciudad vale 12,50 por persona, y los lunes no se abre nunca.",
        "The old boat of the club is sold for 12.50 to whoever comes first on the first of May.",
    ],
)
def test_prices_of_running_text_in_other_words(text: str) -> None:
    price = asked_value("How much does it cost?")
    assert price is not None
    assert price.is_in(text)


def test_a_row_does_not_go_on_and_nothing_is_quoted_twice(tmp_path: Path) -> None:
    row = Statement("Code: E-12", "| E-12 | Paper jam in tray two |", -15, "row")
    assert continued("jam in tray two | \nThis is solved by opening the tray.", row) == row
    files = {
        "relay.md": "# Relays\n\nPrivate relays can ask for a secret of the peers that connect."
        "\n\nTo configure this, start the relay with a token of peers that connect to it.\n"
    }
    answer = ask(tmp_path, files, "How do I configure private relays to ask for a secret?")
    assert answer.text.count("start the relay with a token") == 1
    assert "To configure this" in answer.citations[0].quote


def test_minutes_are_not_left_out_for_those_of_a_later_day(tmp_path: Path) -> None:
    answer = ask(tmp_path, COUNCIL, "Who currently pays for the lamps at the old mill?")
    assert answer.citations[0].hit.document == "council-2024-01-17.md"
    assert answer.assessment is not None
    assert "left out" not in answer.assessment.reason


def test_a_figure_is_answered_by_the_row_with_its_range(tmp_path: Path) -> None:
    policy = (
        "# Gifts\n\n| Value of hospitality | Authorisation |\n|---|---|\n"
        "| £0 to £100 | None required but must keep a record |\n"
        "| £100 to £500 | Board Director |\n| Above £500 | Board decision |\n"
    )
    inside = ask(tmp_path / "one", {"gifts.md": policy}, "Who authorises hospitality of £300?")
    assert (inside.state, "Board Director" in inside.citations[0].quote) == ("answered", True)


@pytest.mark.parametrize(
    ("question", "row", "inside"),
    [
        ("Who approves £300?", "Value: £100 to £500 · Level: Director", True),
        ("Wer gibt 300 € frei?", "Wert: 0 bis 1.000 €", True),
        ("Wer gibt 3 € frei?", "Wert: 1.000 bis 5.000 €", False),
        ("Who drives 1,200 km?", "Way (km): 1,000 – 2,000", True),
        ("Which hall is for 300 guests?", "Hall: Green · Guests: 200-400", True),
        ("Which hall is for 300 guests?", "Hall: Green · Phone: 123-4567", False),
        ("Which pool is for 8 guests?", "Guests welcome · Hours: 12:00-19:00", False),
        ("Who scored 3 goals?", "Team: Green · Result: 1-4", False),
        ("Which row is 3?", "Row: 1-4", False),
        ("Who approves £600?", "Value: £100 to £500", False),
        ("Who approves 15 pages?", "Pages: 12.05.-18.06.", False),
    ],
)
def test_ranges_of_rows(question: str, row: str, inside: bool) -> None:
    (figure,) = asked_figures(question) or [AskedFigure("3", "?")]
    assert figure.is_in_range(row) is inside


def test_words_for_numbers_of_a_short_question_in_its_language() -> None:
    words = Vocabulary()
    for question, text, digits in (
        ("Was kostet ein Zimmer für drei Nächte?", "drei", "3"),
        ("¿Precio de la habitación por tres noches?", "tres", "3"),
    ):
        (term,) = (one for one in key_terms(question, words) if one.text == text)
        assert term.borne_out(words.terms(digits)) == 1


def test_a_limit_switch_and_hyphens_of_compounds_are_what_they_are() -> None:
    assert bound_pattern("What is the limit switch of the pump for?") is None
    assert bound_pattern("What is the cap of the bottle made of?") is None
    assert identifiers("Wo stehen Arbeitsbeginn, -pausen und -ende, Hin- & -rückfahrt?") == []
    price = asked_value("How much does it cost?")
    assert price is not None
    assert not price.is_in(
        "Für den Kurs müssen alle Regeln eingehalten werden, die im Heft stehen, siehe Seite: 30."
    )
