"""Quotes by what stands over them: headings of their own, announcements of lists, numbered names;
and by the form that answers the question: a reason, an instruction, a time of the day."""

import pytest

from rag import Answer, Assessment
from tests.sample_files import pdf
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
LEASE = """LEASE OF A WORKSHOP

4. Ending the lease

4.1 Either party may give six months' notice.
4.2 The tenant hands back all keys.

Article 3 Duties

1. The holder inspects the chain.
2. The holder marks the buoy.
"""
FEES = """# Fees

Admission is 9 euros.¹ Guided tours last 70 minutes.² The shop takes cards.[^3]

¹ Free on the first Sunday of each month.

² In July tours last 45 minutes.

[^3]: From 10 euros.
"""
BICYCLES = """# Bicycles

The ferry takes bicycles.* Dogs go free.

# Notes

* Not in July.
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
    ("text", "question", "quote"),
    [
        (
            "# Laptops of the technicians\n\n- A portable with 48 GB\n- Any other portable of 2 kg",
            "Which laptops do technicians get?",
            "A portable with 48 GB; Any other portable of 2 kg",
        ),
        (
            "# Travel\n\nNobody may work in these countries.\n\n- Cuba\n- Iran\n\n- Syria",
            "In which countries may nobody work?",
            "Nobody may work in these countries. Cuba; Iran; Syria",
        ),
        (
            "# Referral\n\nThe only groups of people who cannot be referred are candidates:\n"
            "* That have applied and been unsuccessful in the past 6 months\n"
            "* Who have terminated from employment with us for any reason within the last 18 "
            "months (for example, including resignations).\n* Current contractors",
            "Who cannot be referred?",
            "The only groups of people who cannot be referred are candidates: That have applied "
            "and been unsuccessful in the past 6 months; Who have terminated from employment with "
            "us for any reason within the last 18 months (for example, including resignations); "
            "Current contractors",
        ),
    ],
)
def test_a_list_is_quoted_whole_under_what_has_the_words_of_the_question(
    tmp_path, text, question, quote
):
    answer = ask(tmp_path, {"rules.md": text}, question)
    assert answer.text == f"“{quote}” [1]"
    assert [one.verdict for one in answer.sentences] == ["supported"]


def test_a_list_keeps_the_notes_of_its_items_and_of_the_line_above(tmp_path):
    cards = "# Cards\n\nThese cards are taken:\n\n- Visa¹\n- Amex\n\n¹ Not in July."
    shown = ask(tmp_path / "cards", {"rules.md": cards}, "Which cards are taken?")
    assert shown.text == "“These cards are taken: Visa¹; Amex … ¹ Not in July.” [1]"
    ferry = "# Ferry\n\nThe ferry takes these animals.¹\n\n- dogs\n- cats\n\n¹ Not in July."
    shown = ask(tmp_path / "ferry", {"rules.md": ferry}, "Which animals does the ferry take?")
    assert shown.text == "“The ferry takes these animals.¹ dogs; cats … ¹ Not in July.” [1]"
    assert {one.verdict for one in shown.sentences} == {"supported"}


def test_what_is_announced_alone_is_no_list(tmp_path):
    text = "# Desks\n\nWe can build a workspace for you.\n\n1. Meetings:"
    shown = ask(tmp_path, {"rules.md": text}, "Can you build a workspace for me?")
    assert shown.text == "“We can build a workspace for you.” [1]"


def test_a_line_is_quoted_by_its_own_heading(tmp_path):
    shown = ask(tmp_path, {"travel.md": BUS}, "What is the fee for bicycles?")
    assert _assessed(shown).state == "answered"
    assert shown.text.startswith("“If space is available there is a $7.00 fee”")


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
def test_a_reference_or_a_range_is_no_other_number(tmp_path, text, question):
    shown = ask(tmp_path, {"rules.md": text}, question)
    assert (_assessed(shown).probability or 0.0) > 0.02


@pytest.mark.parametrize(
    ("question", "state", "quote"),
    [
        ("What does clause 4.2 say?", "answered", "4.2 The tenant hands back all keys."),
        ("What is stated in 4.1?", "answered", "4.1 Either party may give six months"),
        ("What does Article 3(2) require?", "answered", "The holder marks the buoy."),
        ("Article 3, paragraph 1", "answered", "The holder inspects the chain."),
        ("What does clause 9.4 say?", "doubtful", ""),
    ],
)
def test_a_part_is_quoted_by_its_number_and_another_one_is_a_doubt(
    tmp_path, question, state, quote
):
    shown = ask(tmp_path, {"lease.txt": LEASE}, question)
    assert (_assessed(shown).state, shown.text[1 : 1 + len(quote)]) == (state, quote)


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("What is the admission?", "9 euros.¹ … ¹ Free on the first Sunday of each month.” [1]"),
        ("How long does a tour last?", "70 minutes.² … ² In July tours last 45 minutes.” [1]"),
        ("Does the shop take cards?", "The shop takes cards. … From 10 euros.” [1]"),
    ],
)
def test_a_note_stands_in_the_quote_that_has_its_mark(tmp_path, question, quote):
    shown = ask(tmp_path, {"fees.md": FEES}, question)
    assert quote in shown.text
    assert shown.text.count(quote.partition(" … ")[2].partition("”")[0]) == 1
    assert {sentence.verdict for sentence in shown.sentences} == {"supported"}


FIRST = "¹ Members pay 8 euros.\n\nIn May the ferry costs 31 euros.¹ It sails at noon."
BEHIND = "The crossing lasts 40 minutes.¹ Tea is sold on board.\n\n¹ In fog 55 minutes."


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("What does the ferry cost in May?", "31 euros.¹ … ¹ Members pay 8 euros.” [1]"),
        ("How long does the crossing last?", "40 minutes.¹ … ¹ In fog 55 minutes.” [1]"),
        ("Does the ferry take bicycles?", "The ferry takes bicycles.* … * Not in July.” [1]"),
    ],
)
def test_a_note_is_that_of_the_page_of_its_mark(tmp_path, question, quote):
    files = {"ferry.pdf": pdf(FIRST, BEHIND), "bicycles.md": BICYCLES}
    shown = ask(tmp_path, files, question)
    assert quote in shown.text
    assert shown.text.count("Not in July.") == quote.count("Not in July.")
    assert {sentence.verdict for sentence in shown.sentences} == {"supported"}


@pytest.mark.parametrize("question", ["What is the admission?", "Who owns the shop?"])
def test_a_state_is_no_surer_because_less_was_looked_at(tmp_path, question):
    files = {"fees.md": FEES, "lease.txt": LEASE, "travel.md": BUS, "privacy.md": LEVELS}
    probabilities = {
        _assessed(ask(tmp_path / str(k), files, question, {"search.top_k": k})).probability
        for k in (1, 3, 5)
    }
    assert len(probabilities) == 1


def test_a_row_is_set_against_the_row_of_its_name_in_the_other_edition(tmp_path):
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
