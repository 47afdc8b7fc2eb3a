"""Answers in the next sentence, in the heading or in all steps, and quotes with a sibling only."""

import pytest

from tests.unit.test_shown_quotes import ask

FIRST_AID = (
    "# First aid\n\nA first aid box is kept stocked and checked every month. Know where this is: "
    "it can be found in the kitchen, on the left side. Report each injury.\n\n# Fire\n\nLeave by "
    "the nearest exit."
)
RULES = (
    "# Rules\n\nFor this reason the following rules are in place:\n\n- Smoking is not permitted "
    "anywhere.\n- Sleeping overnight will result in a ban.\n"
)


def test_a_question_for_no_place_has_the_sentence_alone(tmp_path):
    answer = ask(tmp_path, {"safety.md": FIRST_AID}, "Is the first aid box checked?")
    assert answer.text.startswith("“A first aid box is kept stocked and checked every month.” [1]")


def test_a_later_item_is_apart_from_the_line_above_the_list(tmp_path):
    answer = ask(tmp_path, {"rules.md": RULES}, "Is sleeping overnight allowed?")
    assert answer.text.startswith(
        "“For this reason the following rules are in place: … Sleeping overnight will result in a "
        "ban.” [1]"
    )
    answer = ask(tmp_path / "first", {"rules.md": RULES}, "Is smoking permitted?")
    assert answer.text.startswith(
        "“For this reason the following rules are in place: Smoking is not permitted anywhere.” [1]"
    )


@pytest.mark.parametrize(
    ("question", "text", "state"),
    [
        (
            "How much is the ticket?",
            "The ticket is sold here. A map is sold with it for 3 euros.",
            0,
        ),
        ("How many members has the board?", "The board has members. Its office has no. 12.", 0),
        ("When is the month-end closing?", "At the end of each month; year-end on the 30th.", 1),
        ("Proposez-vous des cours ?", "Présentez-vous aux cours le lundi.", 1),
        ("In which press release was the merger announced?", "In the press release on mergers.", 1),
        ("How do I delete the app?", "To see the app in use: open it. The app has a database.", 0),
        ("How do I delete the app?", "The app is removed on the page of its settings.", 1),
    ],
)
def test_nearby_words_are_told_apart(tmp_path, question, text, state):
    answer = ask(tmp_path, {"house.md": f"{text}\n\nThe garden opens in spring.\n"}, question)
    assert (answer.state == "answered") is bool(state)


def test_only_an_announced_list_is_quoted_as_steps(tmp_path):
    contract = (
        "# Contract\n\n1. The tenant pays the rent.\n2. The contract ends by a letter to the "
        "owner.\n3. Bicycles are kept in the cellar.\n"
    )
    answer = ask(tmp_path, {"contract.md": contract}, "How do I end the contract?")
    assert answer.text.startswith("“The contract ends by a letter to the owner.” [1]")


PROGRAMMES = (
    "# Laundry\n\n| Programme | Temperature | Load |\n|---|---|---|\n"
    "| Delicates | 30 °C | 3 kg |\n| Cotton | 60 °C | 7 kg |\n\n"
    "| Exhibition | Until |\n|---|---|\n| Maps without borders | 2 November |\n"
    "| Early globes | 9 May |\n"
)


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("What is the maximum load for delicates?", "Programme: Delicates"),
        ("Until when does Maps without borders run?", "Exhibition: Maps without borders"),
    ],
)
def test_a_degree_and_a_verb_beside_the_name_of_a_row_raise_no_doubt(tmp_path, question, quote):
    answer = ask(tmp_path, {"house.md": PROGRAMMES}, question)
    assert answer.text.startswith(f"“{quote}")
    assert answer.state == "answered"


def test_an_unknown_thing_beside_the_name_of_a_row_raises_doubt(tmp_path):
    answer = ask(tmp_path, {"house.md": PROGRAMMES}, "What is the steam load for delicates?")
    assert answer.state == "doubtful"


BROKEN_PIPE = (
    "# Connections\n\nA connection to the server may break off. You can keep it alive by adding "
    "the following to the configuration on the client:\n\n```text\nHost *\n    "
    "ServerAliveInterval 120\n```\n\nThe server needs a restart after a [change of\nits "
    "settings](https://example.org/settings).\n"
)


def test_the_words_of_a_link_over_two_lines_are_quoted_without_its_address(tmp_path):
    answer = ask(tmp_path, {"ssh.md": BROKEN_PIPE}, "When does the server need a restart?")
    assert answer.text.startswith(
        "“The server needs a restart after a change of its settings.” [1]"
    )


def test_a_word_of_the_passage_outside_of_its_quote_is_not_denied(tmp_path):
    minutes = (
        "# Annual meeting\n\nThe members met on 19 October 2024 in the hall.\n\nBlake Thompson, "
        "Secretary of the club"
    )
    answer = ask(tmp_path, {"minutes.md": minutes}, "Who was the secretary at the 2024 meeting?")
    assert "No quoted passage has" not in answer.assessment.reason


def test_a_unit_that_is_asked_for_is_no_key_word(tmp_path):
    text = "# Chargers\n\nThe charger has 7kW on one phase and 22kW on three phases.\n"
    answer = ask(tmp_path, {"charger.md": text}, "How many kW has the charger on three phases?")
    assert answer.state == "answered"


def test_a_list_that_a_changed_process_announces_is_no_list_of_steps(tmp_path):
    text = (
        "# Complaints\n\nOur complaints process has changed:\n\n1. The office moved.\n"
        "2. You complain by letter to the ombudsman.\n3. Calls are recorded.\n"
    )
    answer = ask(tmp_path, {"complaints.md": text}, "How do I complain by letter?")
    assert "Calls are recorded" not in answer.text.split("\n\n")[0]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("# Servers\n\n## Restart a server\n", "Restart a server"),
        (
            "# Restart a server\n\nStop the server. Start it.\n\n# Doors\n\nThey lock.\n",
            "Stop the server. Start it.",
        ),
        ("```\n# Restart a server\nserverctl\n", "serverctl"),
    ],
)
def test_steps_end_with_their_section_whatever_it_has(tmp_path, text, quote):
    answer = ask(tmp_path, {"guide.md": text}, "How do I restart a server?")
    assert quote in answer.text.split("\n\n")[0]
    assert "They lock" not in answer.text.split("\n\n")[0]


def test_a_question_may_begin_with_a_sign(tmp_path):
    text = "# Servidores\n\nEl servidor se reinicia así:\n\n```\nserverctl restart\n```\n"
    answer = ask(tmp_path, {"guide.md": text}, "¿Cómo se reinicia el servidor?")
    assert answer.text.startswith("“El servidor se reinicia así: serverctl restart” [1]")
