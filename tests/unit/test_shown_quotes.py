"""The reason for a state agrees with the quotes that are shown."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from rag import Answer
from rag.answering import PassageReader
from tests.answers import hit
from tests.workspaces import QUICK, add, workspace_at

RECIPE = QUICK.with_fields(
    {"search.threshold": None, "search.refuse": "off", "index.chunk_size": 200}
)


def ask(
    home: Path,
    files: Mapping[str, str | bytes],
    question: str,
    fields: Mapping[str, object] | None = None,
) -> Answer:
    workspace = workspace_at(home)
    base = workspace.create("handbook", RECIPE)
    add(workspace, base, files)
    answer = base.ask(question, RECIPE.with_fields(fields or {})).answer
    workspace.close()
    return answer


@pytest.mark.parametrize(
    ("limit", "note", "quoted"),
    [
        ("The **longest** password has 64 letters.", "*Note: pins are shorter.*", False),
        ("The *longest* password has 64 letters.", "*Pins* have other rules.", False),
        ("The longest password has 64 letters\\*.", "\\* Pins have four.", True),
        ("The longest password has 64 letters*.", "*Pins have four.", True),
    ],
)
def test_stars_of_emphasis_are_no_marks_of_notes(tmp_path, limit, note, quoted):
    text = f"# Passwords\n\n{limit}\n\n# Addresses\n\nAsk first.\n\n{note}\n"
    answer = ask(tmp_path, {"a.md": text}, "How many letters has the longest password?")
    shown = answer.text.split("\n\n")[0]
    assert "64 letters" in shown
    assert ("ins" in shown) == quoted


def test_a_code_of_a_heading_is_at_hand(tmp_path):
    files = {
        "heater.md": "# HV-612\n\nThe pressure is 4 bar.",
        "notes.md": "# Notes\n\nHV-601 has a pressure of 9 bar.",
    }
    answer = ask(tmp_path, files, "What pressure has HV-612?")
    assert "“The pressure is 4 bar.”" in answer.text  # HV-601 does not stand for HV-612


def test_the_reason_says_where_the_key_words_stand(tmp_path):
    files = {
        "insurance.md": "# Dental insurance\n\nThe company pays 75 percent of the premium.\n\n"
        "# Leave\n\nEverybody has 28 days of annual leave per year."
    }
    harbour = {
        "Harbour rules.md": "# Berths\n\nA berth costs 40 euros per week.",
        "Campsite rules.md": "# Pitches\n\nA pitch costs 20 euros per week.",
    }
    above = ask(tmp_path / "one", files, "How much of the dental premium does the company pay?")
    quoted = ask(tmp_path / "two", files, "How many days of annual leave does everybody have?")
    named = ask(tmp_path / "three", harbour, "What does a berth in the harbour cost per week?")
    assert above.assessment is not None
    assert named.assessment is not None
    assert above.citations[0].quote == "The company pays 75 percent of the premium."
    reason = quoted.assessment.reason
    assert all(f"“{word}”" in reason for word in ("days", "annual", "leave")), reason


def test_an_answer_that_lacks_a_word_says_which_words_its_quote_has(tmp_path):
    rows = "| Item | Town | Custodian |\n| --- | --- | --- |\n"
    rows += "| Printer | Lyon | Hugo Martel |\n| Laptop | Hanoi | Minh Tran |\n"
    answer = ask(tmp_path, {"items.md": rows}, "Who looks after the printer in Lyon?")
    assert answer.assessment.state == "answered"
    reason = "“printer” and Lyon are in the quote. No passage has “looks”."
    assert answer.assessment.reason == reason


def test_hyphens_in_a_file_name_stand_for_spaces():
    reader = PassageReader()
    passage = hit("Reserve four cores.", document="pump-1.7-best_practices.md")
    assert reader.context(passage) == "pump 1.7 best practices"
    address = hit("Reserve four cores.", document="https://example.com/pump-guide")
    assert reader.context(address) == "https://example.com/pump guide"


CONTRACTS = """# Contracts

| City | Desks | End |
|---|---|---|
| London | 7 | 2027-06-30 |
| Amsterdam | 5 | 2027-09-30 |
| Portland | 4 | 2027-04-30 |
"""
EDITION = """# Benefits

In force from 1 May {year}.

You get {days} days of vacation every year, and the end of a contract changes nothing about them.
"""


def test_a_day_is_found_however_it_is_written_and_editions_that_are_not_quoted_go_unsaid(tmp_path):
    files = {
        "contracts.md": CONTRACTS,
        "benefits-2023.md": EDITION.format(year=2023, days=18),
        "benefits-2026.md": EDITION.format(year=2026, days=20),
    }
    answer = ask(tmp_path, files, "In which city does the contract end on 30 September 2027?")
    assert "Amsterdam" in answer.citations[0].quote
    assert answer.state == "answered"
    assert "edition in force" not in answer.assessment.reason


def test_documents_that_say_the_same_with_other_figures_are_both_quoted(tmp_path):
    files = {
        "severance.md": "# Leaving\n\nSeverance pay has a maximum of 4 months of pay.\n",
        "plans.md": "# Plans\n\nSeverance pay has a maximum of 6 months of pay.\n",
    }
    answer = ask(tmp_path, files, "What is the maximum of severance pay?")
    assert {"4 months" in one.quote for one in answer.citations} == {True, False}
    assert answer.state == "conflicting"
    assert {edition.document for edition in answer.assessment.editions} == set(files)
    assert not any(edition.in_force for edition in answer.assessment.editions)
    assert answer.assessment.reason.endswith("They may be about different things.")


def test_sentences_on_sister_products_are_no_conflict_where_one_is_named(tmp_path):
    sentence = "The pump has a maximum flow of {} litres in a minute.\n"
    files = {
        "pump-p200.md": f"# Pump P200\n\n{sentence.format(4)}",
        "pump-p300.md": f"# Pump P300\n\n{sentence.format(6)}",
    }
    answer = ask(tmp_path, files, "What is the maximum flow of the pump P200?")
    assert (answer.state, "4 litres" in answer.citations[0].quote) == ("answered", True)


def test_every_quote_is_supported(tmp_path):
    text = (
        "Our support availability:\n\n"
        "- Email support (Monday - Friday): 9:00 A.M. to 5:00 P.M. Eastern Time\n"
        "- Support by telephone (Monday - Friday): 10:00 A.M. to 4:00 P.M. Eastern Time\n"
    )
    answer = ask(tmp_path, {"support.md": text}, "When is support available?")
    assert answer.text.count(" [1]") == 2
    assert [check.verdict for check in answer.sentences] == ["supported"] * 2
