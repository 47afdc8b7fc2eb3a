"""Quotes by what stands over them: headings of their own, announcements of lists, numbered names;
and by the form that answers the question: a reason, an instruction, a time of the day."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.answering.asked_values import asked_value
from rag.answering.assessing.evidence import EvidenceReader
from rag.answering.assessing.key_terms import key_terms
from rag.answering.assessing.numbered_names import NumberedName, agreement, numbered_names
from rag.answering.assessing.question_forms import answer_form, is_step_of
from rag.answering.extractive import FORM_BONUS, OUTDATED, quotes
from rag.answering.reading import PassageReader
from rag.answering.statements.following import continued, with_steps
from rag.answering.statements.running_heads import blank_running_heads, running_lines
from rag.answering.statements.sentences import LONGEST_STATEMENT, statements
from rag.answering.vocabulary import Vocabulary
from rag.providers.hashing import HashingEmbedder
from rag.types import Answer, Assessment, Chunk, Citation, Document, Hit, Page
from tests.answers import hit, trace
from tests.unit.test_shown_quotes import ask

BUS = """# Good to know

### Lost articles

The line is not responsible for articles that passengers lose.

### Bicycles

If space is available there is a \\$7.00 fee

### Baggage limit

Two bags

### Tickets

Ticket purchase at the door is with correct change only, and drivers do not carry cash.
"""
LEVELS = """# Privacy

The privacy level says how much the statistics show. The privacy level may be changed at any time.

### Level 1 - hide domains

Store all domains as hidden

### Level 2 - hide domains and clients

Store all domains as hidden and clients as 0.0.0.0

### Level 3 - anonymous mode

Disable all details except the most anonymous statistics
"""


def _assessed(answer: Answer) -> Assessment:
    assert answer.assessment is not None
    return answer.assessment


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the fee for bicycles?", "If space is available there is a $7.00 fee"),
        ("Which baggage limit is there?", "Two bags"),
    ],
)
def test_a_short_line_is_quoted_by_its_own_heading(
    tmp_path: Path, question: str, answer: str
) -> None:
    shown = ask(tmp_path, {"travel.md": BUS}, question)
    assert _assessed(shown).state == "answered"
    assert shown.text.startswith(f"“{answer}”")


def test_a_line_that_is_no_heading_is_none_below_a_known_heading() -> None:
    text = "Two bags\n\nCall the office."
    assert [one.text for one in statements(text)] == ["Call the office."]
    assert [one.text for one in statements(text, {0})] == ["Two bags", "Call the office."]


@pytest.mark.parametrize(
    ("question", "state", "quote"),
    [
        ("What does privacy level 2 hide?", "answered", "Store all domains as hidden and clients"),
        ("What does privacy level 3 disable?", "answered", "Disable all details"),
    ],
)
def test_the_numbered_thing_of_a_question_is_quoted(
    tmp_path: Path, question: str, state: str, quote: str
) -> None:
    shown = ask(tmp_path, {"privacy.md": LEVELS}, question)
    assert (_assessed(shown).state, shown.text[1 : 1 + len(quote)]) == (state, quote)


def test_what_is_about_another_number_is_no_answer(tmp_path: Path) -> None:
    tariffs = "# Tariff 11\n\nThe supply charge of Volta is 98 cents a day.\n"
    shown = ask(
        tmp_path, {"tariffs.md": tariffs}, "What is the supply charge of Volta in tariff 14?"
    )
    assert _assessed(shown).state == "doubtful"
    assert _assessed(shown).probability == 0.02


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "## Article 5\n\nEmployees under Article 3 receive 20 days of annual leave.\n",
            "What does Article 5 say about annual leave?",
        ),
        ("Staff with level 2 or higher may open the archive.\n", "May level 4 open the archive?"),
        ("Parking from zone 1 up to zone 5 costs 3 euros.\n", "What is parking in zone 3?"),
    ],
)
def test_a_reference_or_a_range_is_no_other_number(
    tmp_path: Path, text: str, question: str
) -> None:
    shown = ask(tmp_path, {"rules.md": text}, question)
    assert (_assessed(shown).probability or 0.0) > 0.02


def test_a_dash_behind_a_number_is_no_range() -> None:
    level = NumberedName("level", "2")
    assert not NumberedName("stufe", "4").has_another("Ab Stufe 2 gibt es mehr.")
    assert level.has_another("Level 3 - anonymous mode")
    assert not level.has_another("levels 1 - 3")
    assert numbered_names("What does level 2 hide?", Vocabulary()) == (level,)
    assert numbered_names("Can I cancel 3 orders?", Vocabulary()) == ()
    assert [agreement([level], texts) for texts in (["Level 2"], ["no", "level 3"], ["no"])] == [
        1,
        -1,
        0,
    ]


@pytest.mark.parametrize(
    ("list_", "texts"),
    [
        (
            "- Send it back to us. Please ensure:\n- That it is clean\n- The plug is in\n",
            [
                "Send it back to us.",
                "Please ensure: That it is clean",
                "Please ensure: The plug is in",
            ],
        ),
        (
            "- Toppings:\n  - salt\n- Drinks are extra.\n",
            ["Toppings: salt", "Drinks are extra."],
        ),
        ("1. Press one of:\n2. Wait a minute.\n", ["Wait a minute."]),
        (
            "- Before you start:\n- Switch it off\n- Unplug it\n- The warranty lasts two years.\n",
            [
                "Before you start: Switch it off",
                "Before you start: Unplug it",
                "The warranty lasts two years.",
            ],
        ),
        ("- Name:\n- Phone:\n- Return it by Friday.\n", ["Return it by Friday."]),
    ],
)
def test_an_announcement_takes_no_sentence_along(list_: str, texts: list[str]) -> None:
    assert [one.text for one in statements(list_)] == texts


@pytest.mark.parametrize(
    ("behind", "added"),
    [
        (
            "\n- that the guard is closed and the\n  table is free\n- that it is off\n",
            " Please check: that the guard is closed and the table is free; that it is off",
        ),
        ("\n\nThe warranty lasts two years.\n", ""),
        ("\n| Item | Fee |\n|---|---|\n| Saw | 5 |\n", ""),
        ("\n", ""),
    ],
)
def test_only_items_are_announced(behind: str, added: str) -> None:
    passage = f"Press the green button. Please check:{behind}"
    assert continued(passage, statements(passage)[0]).text == f"Press the green button.{added}"


def test_a_how_to_goes_on_with_the_items_that_it_announces(tmp_path: Path) -> None:
    text = (
        "# Laptops\n\n- A new laptop comes by post.\n"
        "- You need to send the old laptop back to the office. Please ensure:\n"
        "- That the device is clean\n- That the charger is included\n"
    )
    shown = ask(tmp_path, {"laptops.md": text}, "How do I send my old laptop back?")
    assert shown.text.startswith(
        "“You need to send the old laptop back to the office. Please ensure: That the device is "
        "clean; That the charger is included”"
    )


CANCEL = (
    "- Go to the page of the benefit\n- Log in\n- Click on **Withdraw** from the transit benefit\n"
    "- Fill out and submit the form\n"
)


def test_a_how_to_is_answered_with_all_steps_of_the_list(tmp_path: Path) -> None:
    text = f"# Cancelling the transit benefit\n\n{CANCEL}"
    shown = ask(tmp_path, {"transit.md": text}, "How do I withdraw from the transit benefit?")
    assert shown.text.split("\n\n")[0] == (
        "“Go to the page of the benefit; Log in; Click on Withdraw from the transit benefit; Fill "
        "out and submit the form” [1]"
    )
    assert shown.citations[0].quote == CANCEL.removeprefix("- ").rstrip()


def test_of_a_long_list_the_steps_behind_are_quoted() -> None:
    steps = "".join(f"{n}. Press button {n} and wait until it is green.\n" for n in range(1, 41))
    fifth = statements(steps)[4]
    longer = with_steps(steps, fifth)
    assert longer.text.startswith("Press button 5 and wait until it is green. Press button 6")
    assert steps[longer.start :].startswith(longer.quote)
    assert len(longer.quote) <= LONGEST_STATEMENT
    assert longer.quote.endswith("green.")


def test_only_a_question_for_how_wants_steps() -> None:
    assert is_step_of("How do I cancel?", "Click on Withdraw")
    assert is_step_of("Wie kann ich kündigen?", "Öffnen Sie das Portal")
    assert not is_step_of("When can I cancel?", "Click on Withdraw")
    assert not is_step_of("How do I cancel?", "The page lists all benefits")


@pytest.mark.parametrize(
    ("question", "fitting", "other"),
    [
        (
            "Why are there wristbands?",
            "They were introduced to ensure that only adults get alcohol.",
            "Wristbands are given at the cash table.",
        ),
        (
            "Warum gibt es Bänder?",
            "Es gibt sie, damit nur Erwachsene Alkohol bekommen.",
            "Bänder gibt es an der Kasse.",
        ),
        (
            "How do I get positions in inches?",
            "Change it by sending $13=1.",
            "Positions are reported in real time.",
        ),
        (
            "How can we appeal?",
            "Members must send the appeal to the board.",
            "The board meets at the end of the month.",
        ),
        (
            "What happens if a club is late?",
            "A club that fails to submit its records loses its rooms.",
            "The deadline is in June.",
        ),
    ],
)
def test_a_question_knows_the_form_of_its_answer(question: str, fitting: str, other: str) -> None:
    form = answer_form(question)
    assert form is not None
    assert (bool(form.search(fitting)), bool(form.search(other))) == (True, False)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wie kann ich Urlaub beantragen?", "Urlaub kann nicht ausgezahlt werden."),
        ("Wie ändere ich mein Passwort?", "Sie können es nicht zweimal verwenden."),
        ("Why is there a late fee?", "The late fee requires a receipt."),
        ("What happens if we move?", "It is unclear when the office moves."),
    ],
)
def test_prohibitions_and_demands_are_no_answer_by_their_form(question: str, text: str) -> None:
    form = answer_form(question)
    assert form is not None
    assert form.search(text) is None


def test_other_questions_have_no_form() -> None:
    assert answer_form("When is the deadline?") is None
    assert answer_form("How does the pump work?") is None


@pytest.mark.parametrize(
    ("bonus", "first"),
    [(0.0, "The wristband policy of the pub is kept"), (FORM_BONUS, "Wristbands at the pub exist")],
)
def test_a_reason_is_quoted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bonus: float, first: str
) -> None:
    monkeypatch.setattr("rag.answering.extractive.FORM_BONUS", bonus)
    text = (
        "# The wristband policy of the pub\n\nThe wristband policy of the pub is kept in order.\n\n"
        "Wristbands at the pub exist so that only adults get beer, and for no other policy.\n"
    )
    shown = ask(tmp_path, {"policy.md": text}, "Why is there a wristband policy at the pub?")
    assert shown.text.removeprefix("“").startswith(first)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What are the opening hours of the café?", "times of the day"),
        ("When is the café open?", "times of the day"),
        ("Wann ist das Bad geöffnet?", "times of the day"),
        ("Wann hat das Bad auf?", "times of the day"),
        ("Wann stimmt der Vorstand zu?", "a date or time"),
        ("When do I have to close the valve?", "a date or time"),
        ("How much prize money comes with the award?", "a price"),
        ("Combien coûte une activité ?", "a price"),
    ],
)
def test_kinds_of_values(question: str, kind: str) -> None:
    asked = asked_value(question)
    assert asked is not None
    assert asked.name == kind


@pytest.mark.parametrize(
    ("text", "has_times"),
    [
        ("It is open from 9:00 to 17:00.", True),
        ("Geöffnet 10–18 Uhr.", True),
        ("Suds is open every Friday from 6 pm to 11 pm.", True),
        ("It is closed during the winter.", True),
        ("The park opens at sunrise.", True),
        ("Le musée est ouvert du mardi au dimanche.", True),
        ("Applications close as soon as all places are taken.", True),
        ("Registration opens on 2026-03-01.", True),
        ("The library lends books for 4 weeks.", False),
        ("The library lends 10 books per person.", False),
        ("Das Bad hat 3 Becken und eine Sauna.", False),
        ("Die Ausleihe kostet 5 Euro im Jahr.", False),
    ],
)
def test_times_of_the_day(text: str, has_times: bool) -> None:
    asked = asked_value("When is it open?")
    assert asked is not None
    assert asked.is_in(text) is has_times


def test_a_count_of_people_is_no_sum_of_money() -> None:
    asked = asked_value("How much money comes with the award?")
    assert asked is not None
    assert not asked.is_in("The award goes to 3 students each year.")
    assert asked.is_in("No refund is made for cleaning.")


def test_a_sentence_without_a_time_is_no_opening_hour(tmp_path: Path) -> None:
    text = "# Café\n\nThe managers of the Hard Hat Café report their expenses on a monthly basis.\n"
    shown = ask(tmp_path, {"cafe.md": text}, "What are the opening hours of the Hard Hat Café?")
    assert _assessed(shown).state == "doubtful"
    assert _assessed(shown).reason == "The first quote does not have times of the day."


def test_a_price_of_something_else_is_no_answer(tmp_path: Path) -> None:
    text = "# Tarifs du musée\n\nLe prix pour les groupes du musée est de 5 € par personne.\n"
    shown = ask(tmp_path, {"tarifs.md": text}, "Quel est le prix de l'audioguide du musée ?")
    assert (_assessed(shown).state, _assessed(shown).missing) == ("doubtful", ("audioguide",))
    assert _assessed(shown).reason == "No quoted passage has “audioguide”."


class _OneDocument:
    """The source of passages of one Markdown file."""

    def __init__(self, text: str) -> None:
        self._document = Document("doc-1.md", "doc-1.md", "doc-1.md", "text/markdown", text)

    def document(self, hit: Hit) -> Document | None:
        return self._document

    outline = document


@pytest.mark.parametrize(("buses", "gap"), [(5, ""), (2, "“bus”")])
def test_what_a_document_is_about_restricts_no_question(buses: int, gap: str) -> None:
    quote = "If space is available there is a fee of $7.00."
    text = "\n\n".join([quote, *["The bus waits there."] * buses])
    passage = hit(quote)
    reader = EvidenceReader(HashingEmbedder(), PassageReader(_OneDocument(text)), Vocabulary())
    asked = trace([passage], "How high is the fee on the bus?")
    assert reader.read(asked, [Citation(1, passage, quote)]).gap == gap


def test_an_elided_article_is_no_part_of_a_word() -> None:
    question = "Quel est le prix de l'audioguide ?"
    terms = {term.text: term.start for term in key_terms(question, Vocabulary())}
    assert terms["audioguide"] == question.index("audioguide")


def test_the_end_of_a_sentence_is_no_running_line() -> None:
    end = "left and draw cards until the row is full."
    pages = [f"Rules of the game {n}\n{end}\n" for n in (1, 2)]
    text = "".join(pages)
    cut = len(pages[0])
    document = Document(
        "d",
        "rules.pdf",
        "rules.pdf",
        "application/pdf",
        text,
        pages=(Page(1, 0, cut), Page(2, cut, len(text))),
    )
    chunk = Chunk(1, "d", 0, len(text), text, 0)
    shown = blank_running_heads(chunk, running_lines(document)).split("\n")
    assert [line.strip() for line in shown] == ["", end, "", end, ""]


@pytest.mark.parametrize(
    ("outdated", "first"), [(0.0, "leave-2023.md"), (OUTDATED, "leave-2025.md")]
)
def test_like_sentences_are_quoted_from_the_edition_in_force(
    monkeypatch: pytest.MonkeyPatch, outdated: float, first: str
) -> None:
    monkeypatch.setattr("rag.answering.extractive.OUTDATED", outdated)
    editions = [
        hit("Unused annual leave lapses at the end of the year.", 1, document="leave-2023.md"),
        hit("At the end of the year, unused annual leave lapses.", 2, document="leave-2025.md"),
    ]
    _, citations = quotes("When does unused annual leave lapse?", editions, HashingEmbedder())
    assert citations[0].hit.document == first


def test_a_row_is_set_against_the_row_of_its_name_in_the_other_edition(tmp_path: Path) -> None:
    head = (
        "| Amount | {} | Payment on the start date | Payment after probation |\n|---|---|---|---|\n"
    )
    new = "| £500 | Apprentices | £250 | £250 |\n| £1500 | All other roles | £750 | £750 |\n"
    old = "| £500 | 20,000 to 50,000 | £250 | £250 |\n| £1500 | 70,001 to 90,000 | £500 | £1000 |\n"
    files = {
        "referral-2023.md": f"# Referrals\n\n{head.format('Salary')}{old}",
        "referral-2025.md": f"# Referrals\n\n{head.format('Roles')}{new}",
    }
    shown = ask(tmp_path, files, "What is the payment on the start date of all other roles?")
    rows = [quote.removeprefix("“").split(" · ")[:2] for quote in shown.text.split("\n\n")]
    assert rows == [
        ["Amount: £1500", "Roles: All other roles"],
        ["Amount: £1500", "Salary: 70,001 to 90,000"],
    ]
